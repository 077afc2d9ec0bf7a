"""Jagged nested tensors: components that differ in one dimension, along which they are concatenated."""
from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..._src.backend.arrays import Array
from ..._src.core.above import above
from ..._src.core.device import device
from ..._src.core.dtype import dtype
from ..._src.core.formats import contiguous_format, jagged, layout, memory_format
from ..._src.core.size import Size
from ..._src.namespace.symbolic import SymInt
from ..._src.ops._dispatch import wrap_dim
from ..._src.ops.memory import creation
from ..._src.ops.shape import join
from ..._tensor import Tensor
from ...autograd import Function
from ...autograd.function import FunctionCtx
from ...utils.weak import WeakTensorKeyDictionary
from .base import Nested, new
from .nested_int import NestedIntNode
from .padding import lengths_on_host, with_host
from .strided import alias

_tensor_symint_registry: Any = WeakTensorKeyDictionary()
_tensor_id_counter = 0


def get_tensor_symint(tensor: Tensor, *, coeff: int = 1) -> SymInt:
    """Return the symbolic length for a tensor of offsets or lengths; each such tensor has its own symbol."""
    global _tensor_id_counter
    found = _tensor_symint_registry.get(tensor)
    if found is None:
        found = _tensor_symint_registry[tensor] = SymInt(NestedIntNode(_tensor_id_counter, coeff))
        _tensor_id_counter += 1
    return found


def share_symint(tensor: Any, other: Any) -> None:
    """Give a tensor the symbolic length of another tensor, of which it is a copy on another device."""
    if tensor is not other:
        _tensor_symint_registry[tensor] = get_tensor_symint(other)


def _store_val_in_tensor(val: int) -> Tensor:
    return creation.zeros(val, 0)


def _load_val_from_tensor(t: Tensor) -> int:
    return t.shape[0]


def _rebuild_njt(constructor_kwargs: dict[str, Any]) -> Tensor:
    tensor = NestedTensor(**constructor_kwargs)
    tables = [lengths_on_host(part) for part in (tensor._offsets, tensor._lengths) if part is not None]
    place, whole = tensor._ragged_idx - 1, tensor._values.shape
    if not 0 <= place < len(whole) or any((table < 0).any() or (table > whole[place]).any() for table in tables):
        raise RuntimeError("a nested tensor in the file has parts outside of its values")
    return tensor


class NestedTensor(Nested):
    """A nested tensor whose ``_values`` hold the components concatenated along dimension ``_ragged_idx - 1``.

    ``_offsets`` are the starts of the components, and the end. ``_lengths``, if given, are the components' lengths, between which there may
    be gaps.
    """

    restorer = staticmethod(_rebuild_njt)
    _offsets: Any
    _lengths: Any
    _ragged_idx: int
    _metadata_cache: dict[str, Any]

    def __new__(
        cls, values: Tensor, offsets: Tensor, *, lengths: Tensor | None = None, requires_grad: bool = False, **kwargs: Any
    ) -> Tensor:
        """Return a nested tensor over an alias of ``values``, so that the autograd state of the user's tensor is not changed."""
        if offsets is None:
            raise AssertionError("offsets must not be None")
        if offsets.dim() != 1:
            raise AssertionError(f"offsets must be 1D, but got {offsets.dim()}D")
        if isinstance(values, NestedTensor):
            raise AssertionError("values must not be a NestedTensor")
        if values.device != offsets.device:
            raise AssertionError(
                f"values and offsets must be on the same device, but got values.device={values.device} and "
                f"offsets.device={offsets.device}"
            )
        count = offsets.shape[0] - 1
        if lengths is not None and count != lengths.shape[0]:
            raise AssertionError(
                f"offsets and lengths batch sizes must match: offsets.shape[0] - 1 = {count}, lengths.shape[0] = {lengths.shape[0]}"
            )
        made = of_values(values.detach() if requires_grad else values, offsets, lengths, **kwargs)
        return made.requires_grad_() if requires_grad else made

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        pass

    def _like(self, values: Tensor) -> Tensor:
        return of_values(values, self._offsets, self._lengths, self._ragged_idx, self._metadata_cache)

    def _seed(self, gradient: Tensor) -> Any:
        """Return the elements of a gradient of this tensor, in the order of ``_values``."""
        return gradient._values

    # Queries of metadata

    @property
    def layout(self) -> layout:
        """The layout: torch.jagged."""
        return jagged

    @property
    def _size(self) -> tuple[Any, ...]:
        lengths = list(self._values.shape)
        lengths[self._ragged_idx - 1] = get_tensor_symint(self._offsets if self._lengths is None else self._lengths)
        return (self._offsets.shape[0] - 1, *lengths)

    @property
    def _strides(self) -> tuple[Any, ...]:
        steps = self._values.stride()
        return (self._size[self._ragged_idx] * steps[self._ragged_idx - 1], *steps)

    def dim(self) -> int:
        """Return the number of dimensions, including the batch dimension."""
        return self._values.dim() + 1

    def size(self, dim: int | None = None) -> tuple[int, ...]:
        """Return the shape, or the length of one dimension; the length of the ragged dimension is symbolic."""
        return Size(self._size) if dim is None else self._size[wrap_dim(dim, self.dim())]

    def stride(self, dim: int | None = None) -> Any:
        """Return the strides, or the stride of one dimension."""
        return self._strides if dim is None else self._strides[wrap_dim(dim, self.dim())]

    def numel(self) -> int:
        """Return the number of elements in all components."""
        if self._lengths is None:
            return self._values.numel()
        rest = np.delete(np.array(self._values.shape), self._ragged_idx - 1).prod()
        return int(rest * lengths_on_host(self._lengths).sum())

    @property
    def nbytes(self) -> int:
        """The size of all elements in bytes."""
        return self.numel() * self._ms_dtype.itemsize

    def is_contiguous(self, memory_format: memory_format = contiguous_format) -> bool:
        """Return whether the components are packed without gaps and the values are contiguous."""
        return self._lengths is None and self._values.is_contiguous(memory_format=memory_format)

    def is_same_size(self, other: Any) -> bool:
        """Return whether both have the same shape, including the symbolic length."""
        return self._size == other._size

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        node = self.grad_fn
        tail = f", grad_fn={node}" if node is not None else ", requires_grad=True" if self.requires_grad else ""
        return f"NestedTensor(size={self._size}, offsets={self._offsets}{tail}, contiguous={self.is_contiguous()})"

    # Components

    def values(self) -> Any:
        """Return a view of the tensor with all components."""
        return alias(self._values)

    def offsets(self) -> Tensor:
        """Return the beginning of each component, and the end of the last."""
        return self._offsets

    def lengths(self) -> Tensor | None:
        """Return the length of each component; None if the offsets determine it."""
        return self._lengths

    def part_lengths(self) -> Array:
        """Return the length of each component, as a host array."""
        return np.diff(lengths_on_host(self._offsets)) if self._lengths is None else lengths_on_host(self._lengths)

    def row_lengths(self) -> Tensor:
        """Return the length of each component, as a tensor."""
        return self._offsets.diff() if self._lengths is None else self._lengths

    def _cached(self, name: str, function: Any) -> int:
        found = self._metadata_cache.get(name)
        if found is None:
            lengths = self.part_lengths()
            found = self._metadata_cache[name] = _store_val_in_tensor(int(function(lengths)) if len(lengths) else 0)
        return _load_val_from_tensor(found)

    def _get_max_seqlen(self) -> int:
        return self._cached("max_seqlen", np.max)

    def _get_min_seqlen(self) -> int:
        return self._cached("min_seqlen", np.min)

    _max_seqlen = property(_get_max_seqlen)
    _min_seqlen = property(_get_min_seqlen)

    def _get_max_seqlen_tensor(self) -> Tensor | None:
        return self._metadata_cache.get("max_seqlen")

    def _set_max_seqlen_tensor(self, val: Any) -> None:
        self._metadata_cache["max_seqlen"] = val

    def _get_min_seqlen_tensor(self) -> Any:
        return self._metadata_cache.get("min_seqlen")

    def _set_min_seqlen_tensor(self, val: Any) -> None:
        self._metadata_cache["min_seqlen"] = val

    _max_seqlen_tensor = property(_get_max_seqlen_tensor, _set_max_seqlen_tensor)
    _min_seqlen_tensor = property(_get_min_seqlen_tensor, _set_min_seqlen_tensor)

    @property
    def _maybe_max_seqlen(self) -> int | None:
        found = self._max_seqlen_tensor
        return None if found is None else _load_val_from_tensor(found)

    @property
    def _maybe_min_seqlen(self) -> int | None:
        found = self._min_seqlen_tensor
        return None if found is None else _load_val_from_tensor(found)

    def unbind(self, dim: int = 0) -> Sequence[Tensor]:
        """Return the components as views of the values."""
        if dim != 0:
            raise RuntimeError("unbind(): only supported for NestedTensor on dim=0")
        place = self._ragged_idx - 1
        if place < 0:
            raise RuntimeError("unbind(): nested tensor ragged_idx out of bounds (should be >= 1)")
        lengths = self.part_lengths().tolist()
        whole = self._values.shape[place]
        if self._lengths is None:
            if sum(lengths) > whole or min(lengths, default=0) < 0:
                raise RuntimeError("unbind(): nested tensor offsets and lengths do not match ragged_idx dimension")
            return self._values.split([*lengths, whole - sum(lengths)], place)[: len(lengths)]
        starts = lengths_on_host(self._offsets).tolist()
        for start, length in zip(starts, lengths):
            if start + length > whole:
                raise RuntimeError("unbind(): nested tensor offsets and lengths do not match ragged_idx dimension")
        return tuple(self._values.narrow(place, start, length) for start, length in zip(starts, lengths))

    def _view_func(self, new_base: Any) -> Any:
        """Return the view of ``new_base`` with the geometry that this tensor has on its base."""
        values = self._values
        return self._like(new_base.as_strided(values.shape, values.stride(), values.storage_offset()))

    # Copies

    def to(self, *args: Any, **kwargs: Any) -> Any:
        """Return the tensor with another dtype or on another device; self if nothing changes."""
        moved = super().to(*args, **kwargs)
        return moved if moved is self else moved._move_offsets()

    def _move_offsets(self) -> Tensor:
        """Move offsets and lengths to the device of the values; return the tensor."""
        where = self._values.device
        if self._offsets.device != where:
            offsets, lengths = self._offsets, self._lengths
            self.__dict__["_offsets"] = with_host(lengths_on_host(offsets), where)
            if lengths is None:
                share_symint(self._offsets, offsets)
            else:
                self.__dict__["_lengths"] = with_host(lengths_on_host(lengths), where)
                share_symint(self._lengths, lengths)
        return self

    def clone(self, *, memory_format: memory_format | None = None) -> Tensor:
        """Return a copy; without gaps if ``memory_format`` is contiguous."""
        if self._lengths is not None and memory_format is contiguous_format:
            if self._ragged_idx != 1:
                raise AssertionError("NJT with ragged_idx != 1 not supported for contiguous clone")
            return jagged_from_list(list(self.unbind()), None)[0]
        return self._like(self._values.clone() if memory_format is None else self._values.clone(memory_format=memory_format))

    def contiguous(self, memory_format: memory_format = contiguous_format) -> Any:
        """Return self if contiguous, else a contiguous copy."""
        return self if self.is_contiguous() else self.clone(memory_format=contiguous_format)

    def _take(self, other: Any) -> None:
        self._values.data = other._values
        for name in ("_offsets", "_lengths", "_ragged_idx", "_metadata_cache"):
            self.__dict__[name] = other.__dict__[name]

    def __deepcopy__(self, memo: dict[int, Any]) -> Tensor:
        if id(self) not in memo:
            made = super().__deepcopy__(memo)
            made.__dict__["_offsets"] = copy.deepcopy(self._offsets, memo)
            made.__dict__["_lengths"] = copy.deepcopy(self._lengths, memo)
        return memo[id(self)]

    def stored(self) -> tuple[Any, ...]:
        """Return the parts of the tensor that a file stores."""
        return ({
            "values": self._values.detach(), "offsets": self._offsets, "lengths": self._lengths, "_ragged_idx": self._ragged_idx,
            "_metadata_cache": self._metadata_cache, "requires_grad": self.requires_grad,
        },)  # fmt: skip

    def __tensor_flatten__(self) -> tuple[list[str], dict[str, Any]]:
        names = ["_values", "_offsets", "_lengths", "_min_seqlen_tensor", "_max_seqlen_tensor"]
        context = {"requires_grad": self.requires_grad, "ragged_idx": self._ragged_idx}
        return [name for name in names if getattr(self, name) is not None], context

    @staticmethod
    def __tensor_unflatten__(inner_tensors: dict[str, Any], meta: dict[str, Any], outer_size: Any, outer_stride: Any) -> Any:
        cache = {name: inner_tensors[f"_{name}_tensor"] for name in ("min_seqlen", "max_seqlen") if f"_{name}_tensor" in inner_tensors}
        return NestedTensor(
            inner_tensors["_values"], inner_tensors["_offsets"], lengths=inner_tensors.get("_lengths"),
            requires_grad=meta["requires_grad"], _ragged_idx=meta["ragged_idx"], _metadata_cache=cache,
        )  # fmt: skip


def of_values(
    values: Tensor, offsets: Tensor, lengths: Tensor | None = None, _ragged_idx: int = 1, _metadata_cache: dict[str, Any] | None = None
) -> Tensor:
    """Return a nested tensor over ``values``; gradients flow back to them."""
    tensor = new(NestedTensor, values)
    tensor._offsets, tensor._lengths, tensor._ragged_idx = offsets, lengths, _ragged_idx
    tensor._metadata_cache = {} if _metadata_cache is None else dict(_metadata_cache)
    return tensor


def nested_from_padded(
    padded: Tensor, offsets: Tensor, ragged_idx: int = 1, min_seqlen: Any = None, max_seqlen: Any = None, sum_S: int | None = None
) -> Tensor:
    """Return a jagged nested tensor from a padded tensor."""
    return above.torch._nested_from_padded_tensor(
        padded, offsets, None, ragged_idx, **_extremes(min_seqlen, max_seqlen)
    )


def _extremes(min_seqlen: int | None, max_seqlen: int | None) -> dict[str, Any]:
    given = {"min_seqlen": min_seqlen, "max_seqlen": max_seqlen}
    return {
        name: value if isinstance(value, Tensor) else _store_val_in_tensor(value) for name, value in given.items() if value is not None
    }


# Making


class ViewBufferFromNested(Function):
    """Returns the values of a nested tensor, as an autograd Function."""

    @staticmethod
    def forward(ctx: FunctionCtx, x: NestedTensor) -> Any:
        """Return the values."""
        return x._values.detach()

    @staticmethod
    def backward(ctx: FunctionCtx, gO: Tensor) -> Any:
        """Return the gradient unchanged."""
        return gO


class ViewNestedFromBuffer:
    """Returns a nested tensor over values, by ``apply``."""

    @staticmethod
    def apply(values: Any, offsets: Any, metadata_cache: dict[str, Any] | None = None) -> Any:
        """Return a nested tensor that is a view of ``values``."""
        known = metadata_cache or {}
        return of_values(alias(values), offsets, None, 1, _extremes(known.get("min_seqlen"), known.get("max_seqlen")))


def buffer_from_jagged(jagged: Any) -> Any:
    """Return the values of a nested tensor; gradients flow back to it."""
    return jagged.values()


def jagged_from_list(
    tensors: Sequence[Any], offsets: Tensor | None, dtype: dtype | None = None, device: device | str | int | None = None
) -> tuple[Any, Any]:
    """Return a nested tensor of copies of tensors that differ in at most one dimension, and its offsets."""
    if len(tensors) == 0:
        raise RuntimeError("Cannot construct a nested tensor from an empty tensor list")
    for what, of in (("dtype", lambda t: t.dtype), ("device", lambda t: t.device), ("dim", lambda t: t.dim())):
        if len({of(tensor) for tensor in tensors}) != 1:
            where = "be on the same device" if what == "device" else f"have the same {what}"
            raise RuntimeError(f"When constructing a nested tensor, all tensors in list must {where}")
    if tensors[0].dim() == 0:
        raise RuntimeError("Cannot construct a nested tensor from a list of zero-dim tensors")
    sizes = np.array([tuple(tensor.shape) for tensor in tensors], np.int64)
    differing = np.flatnonzero((sizes != sizes[0]).any(0))
    if len(differing) > 1:
        raise RuntimeError(
            "Cannot represent given tensor list as a nested tensor with the jagged layout. Note that the jagged layout only allows for a "
            "single ragged dimension. For example: (B, *, D_0, D_1, ..., D_N), with ragged * dim."
        )
    place = int(differing[0]) if len(differing) else 0
    values = join.cat(list(tensors), place)
    values = values.to(device=values.device if device is None else device, dtype=values.dtype if dtype is None else dtype)
    lengths = sizes[:, place]
    if offsets is None:
        offsets = with_host(np.concatenate([[0], np.cumsum(lengths)]), values.device)
    extremes = _extremes(int(lengths.min()), int(lengths.max()))
    return of_values(alias(values), offsets, None, place + 1, extremes), offsets


def jagged_from_tensor_and_lengths(tensor: Tensor, starts: Tensor, lengths: Tensor) -> tuple[Any, Any, Any]:
    """Return a nested view of a slice of each row of a tensor, its offsets and, if there are gaps between components, its lengths."""
    count = tensor.shape[0]
    if any(tuple(item.shape) not in ((), (1,), (count,)) for item in (starts, lengths)):
        raise RuntimeError(
            "When constructing a jagged nested tensor using narrow(), your start and length must be Tensors that broadcast to "
            "input.shape[0]"
        )
    if tensor.dim() < 2:
        raise AssertionError("tensor must at least be 2D for the nested narrow op to work")
    width = tensor.shape[1]
    begin = np.broadcast_to(lengths_on_host(starts).reshape(-1), count)
    long = np.broadcast_to(lengths_on_host(lengths).reshape(-1), count)
    at = begin + width * np.arange(count)
    ends = np.concatenate([at, at[-1:] + long[-1:]])
    values = tensor.view(-1, *tensor.shape[2:])
    extremes = (int(long.min()), int(long.max()))
    whole = (long[1:-1] == width).all() and (np.diff(ends[1:-2]) == width).all() and ends[0] + long[0] == width
    if whole:
        offsets = with_host(ends - ends[0], values.device)
        nested = nested_view_from_values_offsets(values[int(ends[0]) : int(ends[-1])], offsets, 1, *extremes)
        return nested, offsets, None
    offsets, kept = with_host(ends, values.device), with_host(long, values.device)
    return nested_view_from_values_offsets_lengths(values, offsets, kept, 1, *extremes), offsets, kept


_dummies: list[Any] = []


def _nt_view_dummy() -> Tensor:
    if not _dummies:
        meta: dict[str, Any] = {"device": "meta"}
        _dummies.append(NestedTensor(creation.zeros(3, 3, **meta), creation.zeros(3, **meta).long()))
    return _dummies[0]


def nested_view_from_values_offsets(
    values: Tensor, offsets: Tensor, ragged_idx: int = 1, min_seqlen: int | None = None, max_seqlen: int | None = None
) -> Tensor:
    """Return a nested tensor that views values."""
    return nested_view_from_values_offsets_lengths(values, offsets, None, ragged_idx, min_seqlen, max_seqlen)


def nested_view_from_values_offsets_lengths(
    values: Tensor, offsets: Tensor, lengths: Tensor | None, ragged_idx: int = 1, min_seqlen: int | None = None,
    max_seqlen: int | None = None
) -> Tensor:
    """Return a nested tensor that views values, with gaps if there are lengths."""
    return NestedTensor(
        alias(values), offsets, lengths=lengths, _ragged_idx=ragged_idx, _metadata_cache=_extremes(min_seqlen, max_seqlen)
    )


__all__ = [
    "NestedTensor", "ViewBufferFromNested", "ViewNestedFromBuffer", "buffer_from_jagged", "get_tensor_symint", "jagged_from_list",
    "jagged_from_tensor_and_lengths", "nested_from_padded",
    "nested_view_from_values_offsets", "nested_view_from_values_offsets_lengths", "of_values",
]  # fmt: skip
