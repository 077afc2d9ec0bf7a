"""Composite operators, decomposed as torch does into the calls that a dispatch mode sees."""
from __future__ import annotations

import builtins
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ... import ops
from ..._tensor import Tensor
from ..backend.arrays import Number
from ..backend.geometry import contiguous_strides
from ..core import device as devices
from ..core.device import device
from ..core.dtype import bool_, by_name, dtype, float32, float64
from ..core.formats import contiguous_format, memory_format
from ..core.storage import Counter
from ..core.strides import view_strides
from ..core.tensor_base import TensorBase, strides_of
from ..ops.memory import from_data
from ..ops.memory.from_data import made
from ..ops.shape import views
from .binding import without_defaults

Function = Callable[..., Any]
COMPOSITES: dict[str, Function] = {}
REFUSING: set[Function] = set()
"""Decompositions that would run some calls before they raise the function's error: the function first runs on meta tensors, to raise it."""


def composite(*names: str, refusing: bool = False) -> Callable[[Function], Function]:
    """Register the decomposition of a public function. If it returns NotImplemented, the call is bound to an overload instead.

    ``refusing``: see ``REFUSING``."""

    def enter(function: Function) -> Function:
        for name in names:
            COMPOSITES[name] = function
        if refusing:
            REFUSING.add(function)
        return function

    return enter


def operator(name: str) -> Any:
    """Return an overload: ``operator("sum.dim_IntList")``."""
    packet, _, which = name.partition(".")
    return getattr(getattr(ops.aten, packet), which or "default")


def aten(name: str, *args: Any, **kwargs: Any) -> Any:
    """Call an overload without trailing defaults, as torch passes arguments to handlers: ``aten("sum.dim_IntList", x, [0])``."""
    called = operator(name)
    return called(*without_defaults(called._known, args), **kwargs)


def _sizes(size: tuple[Any, ...]) -> list[int]:
    return [int(n) for n in (size[0] if len(size) == 1 and isinstance(size[0], (tuple, list)) else size)]


def _inferred_shape(shape: Sequence[int], count: int) -> list[int]:
    """Replace -1 in a shape by the inferred length."""
    known = math.prod(n for n in shape if n != -1)
    return [count // known if n == -1 else n for n in shape]


def _in_rows(x: Tensor) -> bool:
    steps = zip(x._ms_shape, strides_of(x), contiguous_strides(x._ms_shape))
    return 0 in x._ms_shape or all(length == 1 or step == wanted for length, step, wanted in steps)


def _viewed(x: Tensor, shape: list[int]) -> Tensor:
    """Reshape the tensor, as a view if its strides allow."""
    shape = _inferred_shape(shape, math.prod(x._ms_shape))
    if _in_rows(x) or view_strides(x._ms_shape, strides_of(x), shape) is not None:
        return aten("view", x, shape)
    return aten("_unsafe_view", aten("clone", x, memory_format=contiguous_format), shape)


@composite("reshape")
def _reshape(input: Tensor, *shape: int | Sequence[int], **named: Any) -> Tensor:
    return _viewed(input, _sizes(shape or tuple(named.values())))


@composite("isfinite")
def _isfinite(input: Tensor) -> Tensor:
    return aten("mul.Tensor", aten("eq.Tensor", input, input), aten("ne.Scalar", aten("abs", input), math.inf))


@composite("softsign")
def _softsign(input: Tensor) -> Tensor:
    return aten("div.Tensor", input, aten("add.Tensor", aten("abs", input), 1))


@composite("tanhshrink")
def _tanhshrink(input: Tensor) -> Tensor:
    return aten("sub.Tensor", input, aten("tanh", input))


@composite("view_as")
def _view_as(self: Tensor, other: Tensor) -> Tensor:
    return aten("view", self, list(other.shape))


@composite("reshape_as")
def _reshape_as(self: Any, other: Any) -> Any:
    return _viewed(self, list(other.shape))


@composite("expand_as")
def _expand_as(self: Any, other: Any) -> Any:
    return aten("expand", self, list(other.shape))


@composite("broadcast_to")
def _broadcast_to(input: Tensor, size: tuple[int, ...]) -> Tensor:
    return aten("expand", input, list(size))


@composite("flatten", refusing=True)
def _flatten(input: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    rank = input.dim()
    if rank == 0:
        return aten("view", input, [1])
    first, last = start_dim % rank, end_dim % rank
    if first == last:
        return input
    shape = list(input.shape)
    return _viewed(input, [*shape[:first], math.prod(shape[first : last + 1]), *shape[last + 1 :]])


@composite("ravel")
def _ravel(input: Any) -> Any:
    return _viewed(input, [-1])


@composite("unflatten", refusing=True)
def _unflatten(input: Tensor, dim: int, sizes: Sequence[int]) -> Tensor:
    shape = list(input.shape)
    dim %= len(shape)
    return aten("view", input, [*shape[:dim], *_inferred_shape(list(sizes), shape[dim]), *shape[dim + 1 :]])


@composite("contiguous")
def _contiguous(self: Tensor, memory_format: memory_format = contiguous_format) -> Tensor:
    if memory_format is contiguous_format and _in_rows(self):
        return self
    return aten("clone", self, memory_format=memory_format)


@composite("T of a tensor")
def _T(self: Tensor) -> Tensor:
    return aten("permute", self, list(builtins.range(self.dim()))[::-1])


@composite("mT of a tensor", "mH of a tensor")
def _mT(self: Tensor) -> Tensor:
    return aten("transpose.int", self, -2, -1)


@composite("H of a tensor", "adjoint")
def _H(self: Any) -> Any:
    return aten("transpose.int", self, 0, 1)


@composite("data of a tensor")
def _data(self: Tensor) -> Tensor:
    found = aten("detach", self)
    found._ms_counter = Counter()  # its own version counter: writes to it do not count as writes to the tensor
    return found


@composite("conj", "conj_physical", "resolve_conj", "resolve_neg")
def _conj(input: Tensor) -> Tensor:
    return input if not input._ms_dtype.is_complex else NotImplemented


@composite("real of a tensor", "real")
def _real(self: Any) -> Any:
    return self if not self._ms_dtype.is_complex else NotImplemented


@composite("narrow")
def _narrow(input: Tensor, dim: int, start: int, length: int) -> Tensor:
    _, start, length = views.narrowed(tuple(input.shape), dim, start, length)
    return aten("slice.Tensor", input, dim, start, start + length)


@composite("movedim", "moveaxis", refusing=True)
def _movedim(input: Tensor, source: int | Sequence[int], destination: int | Sequence[int]) -> Tensor:
    rank = input.dim()
    before = [source] if isinstance(source, int) else list(source)
    after = [destination] if isinstance(destination, int) else list(destination)
    places = {d % rank: s % rank for s, d in zip(before, after)}
    rest = iter(d for d in builtins.range(rank) if d not in places.values())
    return aten("permute", input, [places[d] if d in places else next(rest) for d in builtins.range(rank)])


@composite("chunk", refusing=True)
def _chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    length = input.shape[dim]
    return tuple(aten("split.Tensor", input, max(1, -(-length // chunks)), dim))


@composite("split")
def _split(tensor: Any, split_size_or_sections: Any = None, dim: int = 0, split_size: Any = None) -> Any:
    sizes = split_size if split_size_or_sections is None else split_size_or_sections
    if isinstance(sizes, (tuple, list)):
        return tuple(aten("split_with_sizes", tensor, list(sizes), dim))
    return tuple(aten("split.Tensor", tensor, int(sizes), dim))


@composite("square")
def _square(input: Tensor) -> Tensor:
    return aten("pow.Tensor_Scalar", input, 2)


@composite("__rdiv__", "__rtruediv__")
def _reversed_division(self: Tensor, other: Number) -> Tensor:
    return aten("mul.Tensor", aten("reciprocal", self), other)


@composite("__rsub__")
def _reversed_difference(self: Tensor, other: Tensor | Number) -> Tensor:
    return aten("rsub.Tensor" if isinstance(other, TensorBase) else "rsub.Scalar", self, other)


@composite("__rpow__")
def _reversed_power(self: Tensor, other: Number) -> Tensor:
    return aten("pow.Scalar", other, self)


@composite("positive")
def _positive(input: Any) -> Any:
    return input


def _of_two(name: str, below: str) -> None:
    def function(input: Tensor, *args: Any, **kwargs: Any) -> Any:
        other = args[0] if args else kwargs.get("other")
        return aten(below, input, other) if isinstance(other, TensorBase) else NotImplemented

    COMPOSITES[name] = function


_of_two("max", "maximum")
_of_two("min", "minimum")


@composite("where")
def _where(condition: Tensor, input: Tensor | None = None, other: Tensor | Number | None = None) -> Tensor:
    if input is None:
        return NotImplemented
    like = next((v for v in (input, other) if isinstance(v, TensorBase)), None)
    first, second = (v if isinstance(v, TensorBase) else _scalar(v, like) for v in (input, other))
    return aten("where.self", condition, first, second)


def _scalar(value: Any, like: Tensor | None) -> Tensor:
    kind = like.dtype if like is not None else float32
    return aten("scalar_tensor", value, dtype=kind, device=like.device) if like is not None else made(np.asarray(value, kind.np))


def _spread_of(name: str) -> None:
    def function(
        input: Tensor, dim: int | None = None, unbiased: bool | None = None, keepdim: bool = False, *, correction: int = 1, **rest: Any
    ) -> Any:
        if isinstance(dim, bool):
            dim, unbiased = None, dim
        if rest.get("axis") is not None:
            dim = rest.pop("axis")
        dims = None if dim is None else [dim] if isinstance(dim, int) else list(dim)
        named: dict[str, Any] = {}
        if unbiased is not None:
            correction = int(unbiased)
        if dims is not None or correction != 1:
            named["correction"] = correction
        if keepdim:
            named["keepdim"] = True
        return aten(f"{name}.correction", input, *([] if dims is None else [dims]), **named)

    COMPOSITES[name] = function


_spread_of("var")
_spread_of("std")


@composite("to", "type_as")
def _to(self: Tensor, *args: Any, **kwargs: Any) -> Any:
    like = next((arg for arg in args if isinstance(arg, TensorBase)), kwargs.get("other"))
    wanted = next((arg for arg in args if isinstance(arg, dtype)), kwargs.get("dtype")) if like is None else like.dtype
    first = args[0] if args and isinstance(args[0], (str, int, devices.device)) and not isinstance(args[0], bool) else None
    place = kwargs.get("device", first) if like is None else like.device
    copied = kwargs.get("copy") or any(arg is True for arg in args[-1:]) and len(args) > 2
    named: dict[str, Any] = {} if wanted is None or wanted is self.dtype else {"dtype": wanted}
    if place is not None and not _is_at(self, devices.device(place)):
        named["device"] = devices.device(place)
    if kwargs.get("memory_format") is not None:
        named["memory_format"] = kwargs["memory_format"]
    if copied and wanted is not None:
        named["dtype"] = wanted
    return aten("_to_copy", self, **named) if named or copied else self


def _is_at(tensor: Tensor, place: device) -> bool:
    return tensor.device.type == devices.meant(place.type) and place.index in (None, tensor.device.index)


def _cast(name: str, kind: Any) -> None:
    COMPOSITES[name] = lambda self, memory_format=None: _to(self, kind)


_cast("float", float32)
_cast("double", float64)
_cast("bool", bool_)


def _name_casts() -> None:
    for name, kind in (("half", "float16"), ("bfloat16", "bfloat16"), ("int", "int32"), ("long", "int64"), ("short", "int16"),
                       ("char", "int8"), ("byte", "uint8"), ("cdouble", "complex128"), ("cfloat", "complex64")):  # fmt: skip
        _cast(name, by_name(kind))


_name_casts()


@composite("cpu")
def _cpu(self: Tensor, memory_format: memory_format | None = None) -> Tensor:
    return _to(self, "cpu", memory_format=memory_format)


def _moved(name: str) -> None:
    def function(
        self: Any, device: int | str | device | None = None, non_blocking: bool = False, memory_format: memory_format | None = None
    ) -> Any:
        return _to(self, name if device is None else device, memory_format=memory_format)

    COMPOSITES[name] = function


_moved("cuda")
_moved("npu")


def _number(name: str, kind: Function) -> None:
    COMPOSITES[name] = lambda self: kind(aten("_local_scalar_dense", self))


for _word, _kind in (("item", lambda value: value), ("__bool__", bool), ("__int__", int), ("__float__", float), ("__index__", int),
                     ("__complex__", builtins.complex)):  # fmt: skip
    _number(_word, _kind)


def _data_of(name: str) -> None:
    def function(*args: Any, **kwargs: Any) -> Any:
        inner = getattr(from_data, name)
        wanted = kwargs.pop("requires_grad", False)
        value = inner(*args, **kwargs)
        if name != "tensor" and args and value is args[0]:
            return value
        value = aten("lift_fresh", value)
        return value.requires_grad_() if wanted else value

    COMPOSITES[name] = function


for _word in ("tensor", "as_tensor", "asarray", "from_numpy"):
    _data_of(_word)
