"""Errors for arguments of wrong types, in torch's words.

Arguments are checked only after a call has failed: the declared types of the arguments replace a Python error by torch's; an error that
they do not explain is raised unchanged.
"""
from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ..backend import runtime
from ..backend.errors import ADVISED, NAMELESS, WRONG_TYPE, NoKernel, about, not_for, telling
from ..backend.float8 import STORED
from ..backend.mindspore_errors import checks_arguments
from ..backend.raw import Raw, RawDtype
from .call_forms import (
    OVERFLOW,
    beyond_64_bits,
    has_long_integer,
    kind_of,
    of_no_tensor,
    refusal,
    refusal_below,
    with_numbers,
)
from .dtype import OF_MS, PYTHON_TYPES
from .public_names import HANDED_ON, IN_PYTHON
from .raised import foreign, in_a_library
from .sparse_parts import is_sparse
from .tensor_base import TensorBase

EXPLAINED = (AttributeError, TypeError, ValueError, IndexError, RuntimeError, OverflowError)
"""The exceptions for which ``explained`` may find torch's error."""


def in_numbers(
    spoken: str, args: tuple[Any, ...], named: dict[str, Any], refused: bool
) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
    """Return the arguments of a failed call with 0-d tensors converted to numbers where torch accepts that, or whole numbers of NumPy to
    Python's; None if no argument changes.

    A call that was ``refused`` in torch's words is retried only if the tensors are in lists.
    """
    given = (*args, *named.values())
    if not refused and any(isinstance(item, np.integer) for item in given):
        plain = [int(item) if isinstance(item, np.integer) else item for item in given]
        return tuple(plain[: len(args)]), dict(zip(named, plain[len(args) :]))
    if not any(_may_be_numbers(item) for item in given if not refused or not isinstance(item, TensorBase)):
        return None
    if refused and any(_may_be_numbers(item) for item in given if isinstance(item, TensorBase)):
        return None
    room, last = heard(spoken)
    method = room == "Tensor"
    found = with_numbers(room, last, args[method:], named)
    return None if found is None else ((*args[:method], *found[0]), found[1])


def with_dtypes(args: tuple[Any, ...], named: dict[str, Any], error: Exception) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
    """Return the arguments of a failed call with Python's types replaced by the dtypes they stand for; None if there are none, or if
    the ``error`` is about a value."""
    given = (*args, *named.values())
    if isinstance(error, ValueError) or not any(value.__class__ is type and value in PYTHON_TYPES for value in given):
        return None
    found = [PYTHON_TYPES[value] if value.__class__ is type and value in PYTHON_TYPES else value for value in given]
    return tuple(found[: len(args)]), dict(zip(named, found[len(args) :]))


def _may_be_numbers(value: Any, depth: int = 0) -> bool:
    """Return whether a value is a tensor of one element or another object that is a number to Python, or a list that has one."""
    if isinstance(value, (tuple, list)):
        return depth < 4 and any(_may_be_numbers(item, depth + 1) for item in value)
    if isinstance(value, TensorBase):
        return not value._ms_sparse and set(value._ms_shape) <= {1}
    return not isinstance(value, int) and hasattr(type(value), "__index__")


def of_mindspore(args: tuple[Any, ...], named: dict[str, Any], error: Exception) -> TypeError | None:
    """Return advice for a call that failed with ``error`` because of a tensor or a dtype of MindSpore's; None for other calls."""
    if not isinstance(error, (TypeError, AttributeError)) or about(error) is ADVISED:
        return None
    given = (*args, *named.values())
    items = [*given, *(item for value in given if isinstance(value, (list, tuple)) for item in value)]
    theirs = next((item for item in items if isinstance(item, RawDtype)), None)
    if theirs is not None:
        ours = OF_MS.get(theirs)
        return telling(TypeError(f"{error}. {theirs!r} was given: it is {ours} here" if ours else str(error)), ADVISED)
    if not any(isinstance(item, Raw) for item in items):
        return None
    text = f"{error}. A mindspore.Tensor was given: mstorch.from_mindspore(tensor) is the same memory as a tensor of torch's"
    return telling(TypeError(text), ADVISED)


def from_below(spoken: str, args: tuple[Any, ...], named: dict[str, Any], error: Exception) -> RuntimeError | None:
    """Return torch's class of error if a library, or the interpreter within mstorch's code, refused an argument; else None."""
    if isinstance(error, NotImplementedError) or not foreign(error):
        return None
    if isinstance(error, TypeError) and (kind := next((item._ms_dtype for item in args if _of_codes(item)), None)) is not None:
        last = spoken.rpartition(".")[2]
        return not_for(_float8_words().get(last, last), kind.name)
    if runtime.DEVICE_TARGET != "CPU" and not checks_arguments(error):
        return None  # the runtime of a device raised it: it is about a kernel, memory or a message, of this call or of an earlier one
    given = (*args, *named.values())
    if not in_a_library(error) and not (isinstance(error, (IndexError, ValueError)) and any(map(_holds_tensors, given))):
        return None
    sizes = [*map(_sized, args), *(f"{key}={_sized(value)}" for key, value in named.items())]
    return RuntimeError(f"{spoken.rpartition('.')[2]}(): these arguments do not fit together: {', '.join(sizes)}")


def _holds_tensors(value: TensorBase | list[Any] | tuple[Any, ...]) -> bool:
    return isinstance(value, TensorBase) or isinstance(value, (list, tuple)) and any(map(_holds_tensors, value))


def _of_codes(value: TensorBase | int | tuple[int | None, ...]) -> bool:
    return isinstance(value, TensorBase) and value._ms_dtype.ms is None


def _sized(value: TensorBase) -> str:
    return f"a tensor of shape {list(value.shape)} and {value.dtype}" if isinstance(value, TensorBase) else repr(value)[:80]


def in_python(room: str, name: str) -> bool:
    """Return True if torch implements a function of a namespace, or a method, in Python: it then accepts no aliases of its parameter names.
    """
    return IN_PYTHON.get(_PLACES.get(room, room), {}).get(name, False)


_PLACES = {"torch": "", "functional": "nn.functional"}


def heard(spoken: str) -> tuple[str, str]:
    """Return the namespace of a public name ("torch", "Tensor", "functional", …), and the name within it."""
    path, _, last = spoken.rpartition(".")
    return ("torch" if path == "torch.functional" else path.rpartition(".")[2]), last


@functools.cache
def _float8_words() -> dict[str, str]:
    """Return, by function name, the name of torch's kernel in its error for float8 dtypes."""
    found: dict[str, str] = {}
    for line in Path(__file__).with_name("float8_words.txt").read_text("utf-8").splitlines():
        word, _, names = line.partition(": ")
        found.update(dict.fromkeys(names.split(), word) if line[0] != "#" else {})
    return found


def of_eight_bits(spoken: str, error: Exception) -> NotImplementedError | None:
    """Return torch's error for an eight-bit dtype that a kernel of mstorch refused, with torch's name of the kernel; None if the names are
    equal.
    """
    refused = about(error)
    if not isinstance(refused, NoKernel) or refused.dtype not in STORED:
        return None
    name = _float8_words().get(spoken.rpartition(".")[2], refused.kernel)
    return None if name == refused.kernel else not_for(name, refused.dtype)


def explained(
    spoken: str, function: Callable[..., Any], args: tuple[Any, ...], named: dict[str, Any], error: Exception
) -> TypeError | ValueError | None:
    """Return torch's error for a call with wrong types that ended in ``error``; None if the types do not explain it."""
    room, last = heard(spoken)
    unread = _no_matching_form(room, last, args, named)
    if unread is not None:
        return TypeError(unread)
    if last in ("__getitem__", "__setitem__"):
        return ValueError(OVERFLOW) if any(map(beyond_64_bits, args[1:])) else None
    if has_long_integer(room, last, args[room == "Tensor" :], named):
        return ValueError(OVERFLOW)
    if isinstance(error, RuntimeError) or last.startswith("__"):
        return None
    if isinstance(error, AttributeError) and in_python(room, last):
        return _of_a_missing_tensor(last, function, args, named, error)
    if about(error) not in (WRONG_TYPE, NAMELESS) and not (foreign(error) and _of_a_value(error)):
        return None
    try:
        signature = inspect.signature(function)
    except ValueError:
        return None
    given = bound_arguments(signature, args, named)
    if given is None and room == "Tensor" and in_python(room, last) and inspect.unwrap(function).__qualname__ == last:
        return TypeError(f"Tensor.{error}")
    if about(error) is NAMELESS:
        return TypeError(f"{last}(): {error}")
    if not given:
        return None
    called = HANDED_ON.get(_PLACES.get(room, room), {}).get(last)
    below = None if called is None else refusal_below(*called, given)
    if below is None and isinstance(error, ValueError) and any(map(_holds_tensors, (*args, *named.values()))):
        below = _of_a_text(last, signature, given)
    return None if below is None else TypeError(below)


def _of_a_missing_tensor(
    last: str, function: Callable[..., Any], args: tuple[Any, ...], named: dict[str, Any], error: AttributeError
) -> TypeError | None:
    """Return the error of a compiled function that got another object in the place of a tensor from a function of torch in Python; None if
    the ``error`` is about something else."""
    if isinstance(error.obj, TensorBase) or not hasattr(TensorBase, str(error.name)):
        return None
    signature = inspect.signature(function)
    for place, (key, (value, _)) in enumerate((bound_arguments(signature, args, named) or {}).items()):
        if value is error.obj:
            return TypeError(f"{last}(): argument '{key}' (position {place + 1}) must be Tensor, not {kind_of(value)}")
        if signature.parameters[key].kind is inspect.Parameter.VAR_POSITIONAL and len(value) == 1:
            value = value[0]  # the tensors were given in a list
        for number, item in enumerate(value if isinstance(value, (list, tuple)) else (value,)):
            if item is error.obj:
                return TypeError(f"expected Tensor as element {number} in argument {place}, but got {kind_of(item)}")
    return None


def refusal_by_function_below(
    room: str, last: str, function: Callable[..., Any], args: tuple[Any, ...], named: dict[str, Any]
) -> str | None:
    """Return the message with which the compiled function that a function of torch in Python calls at once refuses its arguments; None if
    it takes them, or if there is none."""
    called = HANDED_ON.get(_PLACES.get(room, room), {}).get(last)
    if called is None:
        return None
    signature = inspect.signature(function)
    if any(parameter.kind is parameter.VAR_POSITIONAL for parameter in signature.parameters.values()):
        return None  # Python takes tensors apart that are given in a list, as `meshgrid` and `atleast_2d` do
    given = bound_arguments(signature, args, named)
    usual = () if given is None else [key for key, (value, usual) in given.items() if value is usual]
    return refusal_below(*called, given, frozenset(usual)) if given else None


def _of_a_text(name: str, signature: inspect.Signature, given: dict[str, tuple[Any, Any]]) -> str | None:
    """Return the message for a str that cannot be parsed as a number, for a parameter that does not accept a str; None without one."""
    texts = [key for key, (value, usual) in given.items() if isinstance(value, str) and not isinstance(usual, str)]
    wrong = next((key for key in texts if "str" not in str(signature.parameters[key].annotation)), None)
    return None if wrong is None else f"{name}(): argument '{wrong}' must be a number or several, not str"


def bound_arguments(signature: inspect.Signature, args: tuple[Any, ...], named: dict[str, Any]) -> dict[str, tuple[Any, Any]] | None:
    """Return the arguments by name, each with its parameter's default; None if they do not fit the signature."""
    try:
        given = signature.bind(*args, **named).arguments
    except TypeError:
        return None
    return {key: (value, signature.parameters[key].default) for key, value in given.items()}


def _no_matching_form(room: str, name: str, args: tuple[Any, ...], named: dict[str, Any]) -> str | None:
    """Return torch's message for arguments that match no signature of its compiled function; torch checks signatures before anything else.
    """
    if in_python(room, name) or name.startswith("__"):
        return None
    if room == "Tensor" and (told := of_no_tensor(name, args)) is not None:
        return told
    given = (*args, *named.values())
    if any(hasattr(type(item), "__torch_function__") and not isinstance(item, TensorBase) for item in given):
        return None
    if any(map(is_sparse, given)):  # sparse tensors raise their own errors
        return None
    try:
        return refusal(room, name, args[room == "Tensor" :], named)
    except OSError:  # the stubs cannot be read because no file can be opened: keep the original error
        return None


def _of_a_value(error: Exception) -> bool:
    """Return False for an AttributeError raised by an object that is not of a built-in type (str, int, list, …), True for any other error.
    """
    return not isinstance(error, AttributeError) or error.obj.__class__ in (
        str, int, float, bool, list, tuple, dict, bytes, complex, type(None)
    )


def refuse_in_transform(name: str, further: str = "") -> None:
    """Raise torch's error for calls that are not allowed inside a function transform."""
    raise RuntimeError(
        f"You are attempting to call Tensor.{name}{further} inside of a function being transformed by a functorch transform. This is "
        f"unsupported, please attempt to use the functorch transforms (e.g. grad, vjp, jacrev, jacfwd, hessian) or call {name} outside "
        "of a function being transformed instead."
    )
