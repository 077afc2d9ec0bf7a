"""Scripted functions and modules: Python runs, on copies of the modules that share parameters. A graph is made only of their text."""
from __future__ import annotations

import collections
import enum
import functools
import inspect
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from .._jit_internal import mode
from .._src.core.warned import warn
from .._src.hook import missing as _missing
from .._src.hook import not_yet
from ..nn.modules.module import Module
from ._archive import is_scripted, write
from ._arguments import converted
from ._state import _enabled
from ._torchscript.constants import ConstMap as ConstMap
from ._torchscript.write.scripts import code_of

Attribute = collections.namedtuple("Attribute", ["value", "type"])

_NO_GRAPH = ("graph", "inlined_graph", "code", "code_with_constants", "graph_for")


class _Callable:
    """Base of scripted functions and modules: files, and the graph of the text that a file would hold."""

    _ms_loaded: Callable[[Any], Any]  # loads an object from the archive that is written of it; set by the module that reads archives

    def __getattr__(self, name: str) -> Any:
        if name in ("graph", "inlined_graph") or name == "code" and not is_scripted(self):
            try:
                text = getattr(_Callable._ms_loaded(self), name)
            except RuntimeError as error:
                raise AttributeError(f"'{type(self).__name__}' has no '{name}': {error}") from error
            if isinstance(self, ScriptFunction) and name != "code":
                text.eraseInput(0)  # the archive holds the function as a module's method
            return text
        if name == "code" and is_scripted(self):
            try:
                return code_of(self if isinstance(self, Module) else None, self.__dict__.get("__wrapped__"))
            except RuntimeError as error:
                raise AttributeError(str(error)) from error
        if name == "code_with_constants" and isinstance(self, Module):
            try:
                return self.code, _Callable._ms_loaded(self).code_with_constants[1]
            except RuntimeError as error:
                raise AttributeError(f"'{type(self).__name__}' has no '{name}': {error}") from error
        if name in _NO_GRAPH:
            raise AttributeError(f"mstorch: torch.jit runs Python, '{type(self).__name__}' has no '{name}' {not_yet()}")
        return super().__getattr__(name)

    def save(self, f: Any, _extra_files: dict[str, Any] | None = None) -> None:
        """Save to a file for ``torch.jit.load``."""
        write(self, f, _extra_files)


class ScriptFunction(_Callable):
    """A scripted or traced function."""

    def __init__(self, function: Callable[..., Any], scripted: bool = True) -> None:
        self._scripted = scripted
        functools.update_wrapper(self, function)
        self.name = getattr(function, "__name__", "function")
        self.qualified_name = f"__torch__.{self.name}"
        if scripted:
            self.__name__, self.__qualname__ = "ScriptFunction", "torch.jit.ScriptFunction"

    def __getattr__(self, name: str) -> Any:
        if name in _NO_GRAPH and name != "code_with_constants":  # torch's functions do not have that either
            return super().__getattr__(name)
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not self._scripted:
            return self.__wrapped__(*args, **kwargs)
        args, kwargs = converted(self.__wrapped__, args, kwargs)
        with mode(scripted=True):
            return self.__wrapped__(*args, **kwargs)

    def __reduce__(self) -> Any:
        place: Any = sys.modules.get(self.__module__)
        path = getattr(self.__wrapped__, "__qualname__", "")
        for part in path.split("."):
            place = getattr(place, part, None)
        # A decorated function is found under its own name, which is enough for pickle.
        return path if place is self else (ScriptFunction, (self.__wrapped__, self._scripted))


class ScriptModule(_Callable, Module):
    """The base of scripted and traced modules."""

    def __init__(self) -> None:
        super().__init__()

    def define(self, src: str) -> None:
        """Raise NotImplementedError: mstorch cannot compile TorchScript source."""
        raise NotImplementedError("mstorch: torch.jit runs Python and cannot compile TorchScript's text")


class RecursiveScriptModule(ScriptModule):
    """A scripted module: a copy of a module that shares its parameters and buffers, with scripted children."""

    _scripted = True
    _python: Module
    original_name: str

    def __init__(self, python: Module, children: dict[str, Any]) -> None:
        super().__init__()
        members = self.__dict__
        twin = _shallow(python)
        twin.__dict__["_modules"] = children
        for name in ("_parameters", "_buffers"):
            twin.__dict__[name] = dict(python.__dict__[name])
        for name in ("_parameters", "_buffers", "_modules"):
            members[name] = twin.__dict__[name]
        members["_non_persistent_buffers_set"] = twin.__dict__["_non_persistent_buffers_set"]
        members["training"] = python.training
        members["_python"] = twin
        members["original_name"] = python._get_name()

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Run the module's forward as Python."""
        if not self._scripted:
            return self._python(*args, **kwargs)
        args, kwargs = converted(self._python.forward, args, kwargs)
        with mode(scripted=True):
            return self._python(*args, **kwargs)

    def __getattr__(self, name: str) -> int:
        twin = self.__dict__.get("_python")
        if twin is not None and name not in _NO_GRAPH and not name.startswith("__") and hasattr(twin, name):
            return getattr(twin, name)
        return super().__getattr__(name)

    def __setattr__(self, name: str, value: Any) -> None:
        twin = self.__dict__.get("_python")
        if twin is not None and name in twin.__dict__ and name not in ("_parameters", "_buffers", "_modules"):
            object.__setattr__(twin, name, value)
            if name not in self.__dict__:
                return
        super().__setattr__(name, value)

    def train(self, mode: bool = True) -> RecursiveScriptModule:
        """Set the training mode of this module and its children."""
        self._python.__dict__["training"] = mode
        return super().train(mode)

    def __len__(self) -> int:
        return len(self._python)  # type: ignore[arg-type]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._python)  # type: ignore[call-overload]

    def __getitem__(self, index: Any) -> Any:
        return self._python[index]  # type: ignore[index]

    def __contains__(self, key: Any) -> bool:
        return key in self._python  # type: ignore[operator]

    def __bool__(self) -> bool:
        return True

    def extra_repr(self) -> str:
        """Return the original class's name, for the module's repr."""
        return f"original_name={self.original_name}"


def _shallow(module: Module) -> Module:
    """Return a shallow copy of a module."""
    twin = type(module).__new__(type(module))
    Module.__setstate__(twin, dict(module.__dict__))  # not by the class's own methods, which may refuse pickles, as parametrized modules do
    twin.__dict__["_non_persistent_buffers_set"] = set(module._non_persistent_buffers_set)
    return twin


def wrapped(module: Module, kind: type[RecursiveScriptModule], outer: type[RecursiveScriptModule] | None = None) -> Any:
    """Return a module wrapped in the class ``kind``, and its children too; ``outer`` is the class for the outermost module."""
    made: dict[int, Any] = {}

    def wrap(one: Module, kind_of_one: type[RecursiveScriptModule]) -> Any:
        if isinstance(one, ScriptModule):
            return one
        if id(one) not in made:
            children = {
                name: wrap(child, kind) if isinstance(child, Module) else child for name, child in one._modules.items()
            }
            made[id(one)] = kind_of_one(one, children)
        return made[id(one)]

    return wrap(module, outer or kind)


def deprecated(name: str, instead: str = "switch to `torch.compile` or `torch.export`") -> None:
    """Give torch's warning about a function of torch.jit."""
    warn(f"`torch.jit.{name}` is deprecated. Please {instead}.", DeprecationWarning)


def script(
    obj: Any, optimize: Any = None, _frames_up: int = 0, _rcb: Callable[..., Any] | None = None,
    example_inputs: dict[Callable[..., Any], list[tuple[Any, ...]]] | list[tuple[Any, ...]] | None = None
) -> Any:
    """Return a function or module that follows TorchScript's rules: ``is_scripting()`` is True while it runs.

    A module's copy shares parameters and buffers with the module. Classes are returned unchanged. Differs from torch: Python runs and
    nothing is compiled, so nothing is rejected either.
    ``PYTORCH_JIT=0`` in the environment lets it return its argument.
    """
    deprecated("script")
    if not _enabled or isinstance(obj, (ScriptModule, ScriptFunction)):
        return obj
    if isinstance(obj, Module):
        return wrapped(obj, RecursiveScriptModule)
    if isinstance(obj, type):
        if issubclass(obj, Module):
            raise RuntimeError(
                f"Type '{obj}' cannot be compiled since it inherits from nn.Module, consider passing an instance instead"
            )
        if obj.__module__ == "builtins" and not issubclass(obj, enum.Enum):
            raise RuntimeError("TorchScript classes must be new-style classes. Please inherit from 'object'.")
        return obj
    if not callable(obj) or not (inspect.isroutine(obj) or hasattr(obj, "__wrapped__")):
        kind = type(obj)
        raise TypeError(f"{kind} is a built-in class" if kind.__module__ == "builtins" else f"mstorch: {kind} cannot be scripted")
    return ScriptFunction(obj)


def script_method(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function unchanged: methods of a ScriptModule run as Python."""
    return fn


def interface(obj: type) -> type:
    """Mark a class as an interface and return it. Raise RuntimeError for other objects and built-in classes."""
    if not inspect.isclass(obj):
        raise RuntimeError("interface must be applied to a class")
    if obj.__module__ == "builtins":
        raise RuntimeError("TorchScript interfaces must inherit from 'object'")
    obj.__torch_script_interface__ = True  # type: ignore[attr-defined]
    return obj


def annotate(the_type: type, the_value: Sequence[int]) -> Any:
    """Return ``the_value``; the annotation has no effect."""
    return the_value


class CompilationUnit:
    """Raises NotImplementedError when constructed from source: mstorch cannot compile TorchScript."""

    def __init__(self, lang: str | None = None, _frames_up: int = 0) -> None:
        if lang is not None:
            self.define(lang)

    def define(self, lang: str, rcb: Any = None, _frames_up: int = 0) -> Any:
        """Raise NotImplementedError: mstorch cannot compile TorchScript."""
        raise NotImplementedError("mstorch: torch.jit runs Python and cannot compile TorchScript's text")

__getattr__ = _missing("mstorch.jit._script")
