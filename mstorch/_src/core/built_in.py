"""Python functions as built-in objects, as torch's are: as a class attribute they do not bind the instance.

With ``class Block(nn.Module): act = torch.relu`` torch calls ``relu(x)``; a Python function would get the block as well. Functions that
torch writes in C are therefore objects of Python's built-in function type, whose code is the interpreter's vectorcall entry and whose
``__self__`` is the Python function: calls cost no more, copies are identical, and pickles refer to the name.
"""
from __future__ import annotations

import copyreg
import ctypes
import inspect
import types
from collections.abc import Callable
from typing import Any

Function = Callable[..., Any]

_FASTCALL_WITH_KEYWORDS = 0x0080 | 0x0002
# Arguments: (function, arguments, their number, names), the calling convention of built-in functions with these flags. Python 3.10 has no
# symbol with the first name.
_CALL = getattr(ctypes.pythonapi, "PyObject_Vectorcall", None) or ctypes.pythonapi._PyFunction_Vectorcall
_ADDRESS = ctypes.cast(_CALL, ctypes.c_void_p).value
_new = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.py_object, ctypes.py_object)(("PyCFunction_NewEx", ctypes.pythonapi))


class _Definition(ctypes.Structure):
    _fields_ = (("name", ctypes.c_char_p), ("code", ctypes.c_void_p), ("flags", ctypes.c_int), ("doc", ctypes.c_char_p))


_definitions: list[_Definition] = []  # the interpreter keeps their addresses
_WRITTEN = (bool, int, str, type(None))  # types of defaults that a signature can show


def built_in(function: Function, name: str, module: str) -> Function:
    """Return the function as a built-in function object named ``name``."""
    text = f"{name}{_parameters(function)}\n--\n\n{function.__doc__ or ''}"
    _definitions.append(_Definition(name.encode(), _ADDRESS, _FASTCALL_WITH_KEYWORDS, text.encode()))
    return _new(ctypes.addressof(_definitions[-1]), function, module)


def written(function: Function) -> Function:
    """Return the Python function of an object that ``built_in`` made; any other value unchanged."""
    own = getattr(function, "__self__", None) if type(function) is types.BuiltinFunctionType else None
    return own if type(own) is types.FunctionType else function


def _parameters(function: Function) -> str:
    """Return the signature of a function as for a built-in, with ``...`` for defaults that have no short repr."""
    while not hasattr(function, "__signature__") and hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    if hasattr(function, "__signature__"):
        return _of_signature(function.__signature__)
    code = function.__code__
    names, count, keywords = code.co_varnames, code.co_argcount, code.co_kwonlyargcount
    defaults = function.__defaults__ or ()
    named = function.__kwdefaults__ or {}
    parts = list(names[:count])
    for i, value in enumerate(defaults, count - len(defaults)):
        parts[i] += f"={_text(value)}"
    if code.co_posonlyargcount:
        parts.insert(code.co_posonlyargcount, "/")
    place = count + keywords
    if code.co_flags & inspect.CO_VARARGS:
        parts.append(f"*{names[place]}")
        place += 1
    elif keywords:
        parts.append("*")
    parts += [f"{name}={_text(named[name])}" if name in named else name for name in names[count : count + keywords]]
    if code.co_flags & inspect.CO_VARKEYWORDS:
        parts.append(f"**{names[place]}")
    return f"({', '.join(parts)})"


def _of_signature(signature: inspect.Signature) -> str:
    plain = [
        parameter.replace(annotation=parameter.empty, default=parameter.empty) if parameter.default is parameter.empty
        else parameter.replace(annotation=parameter.empty, default=_Text(parameter.default))
        for parameter in signature.parameters.values()
    ]  # fmt: skip
    return str(signature.replace(parameters=plain, return_annotation=signature.empty))


class _Text:
    """Default value that is shown as the given text in a signature."""

    def __init__(self, value: Any) -> None:
        self._text = _text(value)

    def __repr__(self) -> str:
        return self._text


def _text(value: Any) -> str:
    if type(value) is tuple:
        texts = [_text(item) for item in value]
        return "..." if "..." in texts else f"({', '.join(texts)}{',' * (len(texts) == 1)})"
    return repr(value) if type(value) in _WRITTEN or type(value) is float and abs(value) < float("inf") else "..."


def _reduced(function: Callable[..., Any]) -> Any:
    return function.__reduce__() if written(function) is function else function.__name__


# Python's default pickle would use the name of the wrapped function, which cannot be looked up.
copyreg.pickle(types.BuiltinFunctionType, _reduced)
