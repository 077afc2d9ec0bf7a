"""torch._jit_internal: TorchScript's markers in Python code, and its queries about types."""
from __future__ import annotations

import collections.abc
import inspect
import threading
import typing
import weakref
from collections.abc import Callable
from typing import Any, Dict, Final, List, Optional, Tuple, Union  # noqa: UP035  # torch's module has these names

from ._src.leaving import values_set_to
from .futures import Future


class FunctionModifiers:
    """Markers of functions, with torch's values of ``_torchscript_modifier``."""

    UNUSED = "unused (ignored and replaced with raising of an exception)"
    IGNORE = "ignore (leave as a call to Python, cannot be torch.jit.save'd)"
    EXPORT = "export (compile this function even if nothing calls it)"
    DEFAULT = "default (compile if called from an exported function / forward)"
    COPY_TO_SCRIPT_WRAPPER = "if this method is not scripted, copy the python method onto the scripted model"
    _DROP = "_drop (function is fully ignored, declaration can be unscriptable)"


def _marked(function: Callable[..., Any], mark: str) -> Callable[..., Any]:
    target: Any = function.fget if isinstance(function, property) else function
    target._torchscript_modifier = mark
    return function


def export(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a method as exported by a scripted module; return it."""
    return _marked(fn, FunctionModifiers.EXPORT)


def unused(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a function or a property as not callable by a scripted module; return it."""
    return _marked(fn, FunctionModifiers.UNUSED)


def ignore(drop: int | Callable[..., Any] = False, **kwargs: Any) -> Callable[..., Any]:
    """Mark a function as one that stays Python; with ``drop`` a scripted module cannot call it."""
    if callable(drop):
        return _marked(drop, FunctionModifiers.IGNORE)
    if not isinstance(drop, bool):
        raise RuntimeError(f"Argument to @torch.jit.ignore must be a bool or a function but got {drop}")
    mark = FunctionModifiers.UNUSED if drop or kwargs.get("drop_on_export") else FunctionModifiers.IGNORE
    return lambda fn: _marked(fn, mark)


def _drop(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a function whose source is not compiled; return it."""
    return _marked(fn, FunctionModifiers._DROP)


def _copy_to_script_wrapper(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a method that a scripted module keeps in Python; return it."""
    return _marked(fn, FunctionModifiers.COPY_TO_SCRIPT_WRAPPER)


def get_torchscript_modifier(fn: Callable[..., Any]) -> str:
    """Return the marker of a function."""
    return getattr(getattr(fn, "__func__", fn), "_torchscript_modifier", FunctionModifiers.DEFAULT)


def is_ignored_fn(fn: Any) -> bool:
    """Return whether a function is marked as unused or ignored."""
    return get_torchscript_modifier(fn) in (FunctionModifiers.UNUSED, FunctionModifiers.IGNORE, FunctionModifiers._DROP)


_overloaded: set[tuple[str, str]] = set()
"""The modules and names of functions and methods that have overloads."""


def has_overloads(fn: Any) -> bool:
    """Return whether declarations of a function's name were marked as overloads."""
    return (getattr(fn, "__module__", ""), getattr(fn, "__qualname__", "")) in _overloaded


def _overload(func: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a declaration as an overload of a function; return it."""
    _overloaded.add((func.__module__, func.__qualname__))
    return func


def _overload_method(func: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a declaration as an overload of a method; return it."""
    return _overload(func)


boolean_dispatched: weakref.WeakKeyDictionary[Callable[..., Any], dict[str, Any]] = weakref.WeakKeyDictionary()
"""The arguments of ``boolean_dispatch`` for each function that it returned."""


def boolean_dispatch(
    arg_name: str, arg_index: int, default: bool, if_true: Callable[..., Any], if_false: Callable[..., Any],
    module_name: str | None, func_name: str | None,
) -> Callable[..., Any]:  # fmt: skip
    """Return a function that calls ``if_true`` or ``if_false``, depending on its argument ``arg_name``.

    At most one of the two may have a docstring; RuntimeError is raised otherwise.
    """
    if if_true.__doc__ is not None and if_false.__doc__ is not None:
        raise RuntimeError("only one function can have a docstring")

    def chosen(*args: Any, **kwargs: Any) -> Any:
        flag = kwargs.get(arg_name, args[arg_index] if arg_index < len(args) else default)
        return (if_true if flag else if_false)(*args, **kwargs)

    chosen.__doc__ = if_true.__doc__ or if_false.__doc__
    chosen.__module__ = module_name or chosen.__module__
    chosen.__name__ = func_name or chosen.__name__
    boolean_dispatched[chosen] = {"if_true": if_true, "if_false": if_false, "index": arg_index, "default": default, "arg_name": arg_name}
    return chosen


class _Running(threading.local):
    """Thread-local state: the scripted functions that are running, and the function that is being traced."""

    scripted = False
    traced = False


running = _Running()
states: list[Any] = []
"""The states of the traces that ``_get_trace_graph`` writes, the innermost last."""


def mode(**state: bool) -> values_set_to:
    """Context manager that sets ``scripted=`` or ``traced=`` for this thread."""
    return values_set_to(running, **state)


def is_scripting() -> bool:
    """Return whether a scripted function or module is running."""
    return running.scripted


# Types


class _BroadcastingList:
    """Annotation of a number or a list with a fixed length: ``BroadcastingList2[int]``."""

    def __getitem__(self, kind: Any) -> None:
        return None


BroadcastingList1 = _BroadcastingList()
BroadcastingList2 = _BroadcastingList()
BroadcastingList3 = _BroadcastingList()
BroadcastingList4 = _BroadcastingList()
BroadcastingList5 = _BroadcastingList()
BroadcastingList6 = _BroadcastingList()


def is_tuple(ann: Any) -> bool:
    """Return whether an annotation is a tuple with item types."""
    return typing.get_origin(ann) is tuple


def is_list(ann: Any) -> bool:
    """Return whether an annotation is a list with an item type."""
    return typing.get_origin(ann) is list


def is_dict(ann: Any) -> bool:
    """Return whether an annotation is a dictionary with key and value types."""
    return typing.get_origin(ann) is dict


def is_union(ann: Any) -> bool:
    """Return whether an annotation is a union."""
    return typing.get_origin(ann) in (Union, type(int | str))


def is_optional(ann: Any) -> bool:
    """Return whether an annotation is the union of None and one more type."""
    return is_union(ann) and len(typing.get_args(ann)) == 2 and type(None) in typing.get_args(ann)


def is_final(ann: Any) -> bool:
    """Return whether an annotation is ``Final``."""
    return ann is Final or typing.get_origin(ann) is Final


_BARE: dict[type, tuple[str, str, str]] = {
    list: ("a contained type", "a contained type", "list[int]"),
    dict: ("contained types", "contained type", "dict[int, int]"),
    tuple: ("a contained type", "a contained type", "tuple[int]"),
}


def _isinstance(obj: Any, target_type: Any) -> bool:
    """Return whether a value has a type, including the item types of containers: ``List[int]``, ``Optional[Dict[str, int]]``.

    Raise RuntimeError for container types without item types.
    """
    if isinstance(target_type, tuple):
        return any(_isinstance(obj, one) for one in target_type)
    for bare, (missing, added, example) in _BARE.items():
        if target_type is bare or target_type is getattr(typing, bare.__name__.capitalize()):
            raise RuntimeError(f"Attempted to use {bare.__name__} without {missing}. Please add {added}, e.g. {example}")
    origin, args = typing.get_origin(target_type), typing.get_args(target_type)
    if origin is None:
        return target_type is Any or isinstance(obj, target_type)
    if is_union(target_type):
        return any(_isinstance(obj, one) if one is not type(None) else obj is None for one in args)
    if not isinstance(obj, origin):
        return False
    if origin is tuple:
        return len(obj) == len(args) and all(map(_isinstance, obj, args))
    if origin is dict:
        return all(_isinstance(key, args[0]) and _isinstance(value, args[1]) for key, value in obj.items())
    if issubclass(origin, collections.abc.Iterable):
        return all(_isinstance(item, args[0]) for item in obj)
    return True


def get_callable_argument_names(fn: Any) -> list[str]:
    """Return the names of a function's parameters; empty if it is variadic."""
    try:
        parameters = inspect.signature(fn).parameters.values()
    except ValueError:
        return []
    if any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in parameters):
        return []
    return [p.name for p in parameters]


__all__ = [
    "BroadcastingList1", "BroadcastingList2", "BroadcastingList3", "BroadcastingList4", "BroadcastingList5",
    "BroadcastingList6", "Dict", "Final", "FunctionModifiers", "Future", "List", "Optional", "Tuple", "Union",
    "_copy_to_script_wrapper", "_drop", "_isinstance", "_overload", "_overload_method", "boolean_dispatch", "boolean_dispatched", "export",
    "get_callable_argument_names", "get_torchscript_modifier", "ignore", "is_dict", "is_final", "is_ignored_fn", "is_list",
    "is_optional", "is_scripting", "is_tuple", "is_union", "unused",
]  # fmt: skip
