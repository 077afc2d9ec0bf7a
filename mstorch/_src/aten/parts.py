"""Run composite functions with public calls in place of internal ones, so that handlers below autograd see each part.

The implementation of a composite operation calls internal functions, which bypass handlers. Here the same code runs with other globals:
names of operations resolve to the public functions; a kernel or a read of memory aborts the decomposition, because the function is not
composite.
"""
from __future__ import annotations

import inspect
import types
from collections.abc import Callable
from typing import Any

from ... import ops
from ..._tensor import Tensor
from ..core.above import above
from ..core.dtype import dtype
from ..core.overriding import ENTRIES_OF

Function = Callable[..., Any]
_HOME = __name__.partition(".")[0]
_FAMILIES = tuple(f"{_HOME}.{room}" for room in ("_src.ops", "_src.namespace", "nn._functional", "functional", "masked"))
_TAPE = f"{_HOME}._src.tape"
_KERNELS = frozenset((
    "call unary _unary binary elementwise elementwise_in cast_tensor write write_array array_of value_of in_order wrap laid_out "
    "contiguous_copy"
).split())  # fmt: skip


class NotInParts(Exception):
    """Raised when a function performs a computation of its own."""


def _computes(*args: Any, **kwargs: Any) -> Any:
    raise NotInParts


def _unchanged(tensor: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    return tensor


def _finish(result: Any, out: Any, *operands: Any, **words: Any) -> Any:
    if out is not None:
        raise NotInParts
    return result


def _no_check(tensor: Tensor) -> None:
    """Do nothing. Replaces functions that read memory to check values: the parts of the composite operation check them themselves."""


def _sliced(x: Tensor, dim: int, start: int, stop: int, step: int = 1) -> Tensor:
    return ops.aten.slice.Tensor(x, dim, start, stop, step)


def _p_norm(x: Tensor, p: float, dim: int, keepdim: bool = False, share: bool = True) -> Tensor:
    return ops.aten.linalg_vector_norm.default(x, p, list(dim) if isinstance(dim, (tuple, list)) else [dim], keepdim)


def _times(x: Tensor, number: float, label: str, operation: Function | None = None) -> Tensor:
    return x * number if operation is None else _public(operation, operation.__name__)(x, number)


def _unsafe_view(x: Tensor, shape: tuple[int, ...], fresh: bool = True) -> Tensor:
    return ops.aten._unsafe_view.default(x, list(shape))


def _to_dtype(x: Tensor, kind: dtype, copy: bool = False, format: Any = None) -> Tensor:
    return x.to(kind, copy=copy, **({} if format is None else {"memory_format": format}))


def _in_place(tensor: Tensor, function: Function, *args: Any) -> Tensor:
    """Call the in-place form of an operation under its public name."""
    name = f"{getattr(function, '__name__', '')}_"
    form = getattr(above.torch, name, None) or getattr(Tensor, name, None)
    if form is None:
        raise NotInParts
    return form(tensor, *args)


# Replacements, by name, for helper functions that are not public operations.
_STANDING: dict[str, Function] = {
    "no_view": _unchanged, "view_of_hidden": _unchanged, "watch": _unchanged, "readable": _no_check, "slice_dim": _sliced,
    "unsafe_view": _unsafe_view, "p_norm": _p_norm, "unkept": _times, "to_dtype": _to_dtype, "in_place": _in_place,
    **dict.fromkeys(("finish", "deliver", "finish_exactly", "finish_safely", "finish_recorded"), _finish),
}  # fmt: skip


class _Names(dict[str, Any]):
    """Globals of a module with operations replaced by their public forms."""

    def __init__(self, module: dict[str, Any]) -> None:
        super().__init__()
        self._module = module

    def __missing__(self, name: str) -> Any:
        if name not in self._module:
            raise KeyError(name)
        found = self[name] = _public(self._module[name], name)
        return found


class _Room:
    """Stands for a module of operations: its attributes are the public forms of the module's functions."""

    def __init__(self, module: types.ModuleType) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Callable[..., Any]:
        return _public(getattr(self._module, name), name)


def _home(value: Any) -> str:
    """Return the name under which a module, or a function's module, was imported; its ``__name__`` may be torch's name."""
    space = vars(value) if isinstance(value, types.ModuleType) else value.__globals__
    return getattr(space.get("__spec__"), "name", "")


def _public(value: Any, name: str) -> Any:
    if isinstance(value, types.ModuleType):
        return _Room(value) if _home(value).startswith((*_FAMILIES, _TAPE)) else value
    if not isinstance(value, types.FunctionType):
        return value
    home = _home(value)
    if not home.startswith(_HOME):
        return value
    if value.__name__ in _STANDING:
        return _STANDING[value.__name__]
    if value.__name__ in _KERNELS or home.startswith(_TAPE):
        return _computes
    inner = inspect.unwrap(value)
    known = ENTRIES_OF.get(inner)
    if known is not None:
        return known
    return in_parts(value) if home.startswith(_FAMILIES) and "_dispatch" not in home else value


_made: dict[Function, Function] = {}
_spaces: dict[int, _Names] = {}


def in_parts(function: Function) -> Function:
    """Return the function with its callees replaced by public forms; raise ``NotInParts`` if it performs a computation of its own."""
    inner: Any = inspect.unwrap(function)
    found = _made.get(inner)
    if found is None:
        space = _spaces.setdefault(id(inner.__globals__), _Names(inner.__globals__))
        found = types.FunctionType(inner.__code__, space, inner.__name__, inner.__defaults__, inner.__closure__)
        found.__kwdefaults__ = inner.__kwdefaults__
        _made[inner] = found
    return found
