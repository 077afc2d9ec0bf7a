"""Diagonals and triangles, splits, copies of views, and methods that change a tensor's own view."""
from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from ...backend.errors import not_for
from ...backend.geometry import contiguous_strides, flat_index
from ...backend.table import kernel
from ...core import device as devices
from ...core.device import device
from ...core.device_tensors import as_asked
from ...core.dtype import dtype, int32, int64
from ...core.formats import contiguous_format, layout
from ...core.tensor_base import TensorBase, strides_of, tensor_of
from ...core.warned import warn_once
from ...core.writable import check_history, refuse_inference
from ...tape.apply import of_sizes
from ...tape.composite import record
from ...tape.node import named
from ...tape.ways import ways
from ...tape.windows import set_apart
from ...tape.writes import review
from .._dispatch import (
    call,
    contiguous_copy,
    finish,
    finish_exactly,
    shape_args,
    type_word,
    whole,
    without_grad,
    wrap_dim,
)
from .._forms import SECTIONS, SIZE, Forms
from .._in_place import in_place_form
from .._named import name_written, node_called
from .._operation import operation
from .._two_forms import ABSENT
from ..elementwise.complex_views import view_as_complex, view_as_real
from ..indexing.index import keep_gaps
from ..indexing.scatter import put_flat
from ..memory.copying import clone, copy_
from ..memory.creation import zeros_like
from ..memory.placing import placed
from ..reduce.scan import cumprod
from . import parts, views
from .join import cat, flip

_triangle = kernel("triangle")


# Triangles and diagonals


def _triangular(name: str, input: TensorBase, diagonal: int, lower: bool, out: TensorBase | None) -> TensorBase:
    diagonal = whole(diagonal)
    if len(input._ms_shape) < 2:
        raise RuntimeError(f"{name}: input tensor must have at least 2 dimensions")
    return finish_exactly(call(_triangle, (input,), diagonal, lower, label=f"{name.capitalize()}Backward0"), out)


@operation(writes_some=True)
def tril(input: TensorBase, diagonal: int = 0, *, out: TensorBase | None = None) -> TensorBase:
    """Return the elements of matrices on and below a diagonal, zeros above."""
    return _triangular("tril", input, diagonal, True, out)


@operation(writes_some=True)
def triu(input: Any, diagonal: int = 0, *, out: TensorBase | None = None) -> Any:
    """Return the elements of matrices on and above a diagonal, zeros below."""
    return _triangular("triu", input, diagonal, False, out)


def _triangle_indices(row: int, col: int, offset: int, dtype: dtype | None, device: device | str | int | None, lower: bool) -> TensorBase:
    for name, count in (("row", row), ("col", col)):
        if count < 0:
            raise RuntimeError(f"{name} must be non-negative, got{count}")
    if dtype not in (None, int32, int64):
        raise not_for("tril_indices" if lower else "triu_indices", dtype.name)
    found = np.tril_indices(row, offset, col) if lower else np.triu_indices(row, offset, col)
    made = tensor_of(np.ascontiguousarray(np.stack(found), np.int64))
    made = made if dtype in (None, int64) else made.to(dtype)
    return made if device is None else as_asked(made, device)


@operation
@placed
def tril_indices(
    row: int, col: int, offset: int = 0, *, dtype: dtype | None = None, device: device | str | int | None = None,
    layout: layout | None = None, pin_memory: bool = False, requires_grad: bool = False,
) -> TensorBase:  # fmt: skip
    """Return row and column indices of the elements on and below a diagonal, as a (2, n) tensor."""
    devices.refuse_pinning(pin_memory, device)
    return _triangle_indices(row, col, offset, dtype, device, True)


@operation
@placed
def triu_indices(
    row: int, col: int, offset: int = 0, *, dtype: dtype | None = None, device: device | str | int | None = None,
    layout: layout | None = None, pin_memory: bool = False, requires_grad: bool = False,
) -> TensorBase:  # fmt: skip
    """Return row and column indices of the elements on and above a diagonal, as a (2, n) tensor."""
    devices.refuse_pinning(pin_memory, device)
    return _triangle_indices(row, col, offset, dtype, device, False)


def _on_device_of(src: TensorBase, input: TensorBase) -> TensorBase:
    """Return the source of a copy, moved to the device of ``input``; torch copies between devices too."""
    return src if src._ms_storage.__class__ is input._ms_storage.__class__ else src.to(input.device)


def _check_part(src: TensorBase, part: TensorBase) -> None:
    if src._ms_shape != part._ms_shape:
        raise RuntimeError(
            "expected src to have a size equal to the slice of self. src size = "
            f"{list(src._ms_shape)}, slice size = {list(part._ms_shape)}"
        )


def _scattered_there(input: TensorBase, src: TensorBase, part: Callable[[Any], Any]) -> TensorBase:
    with without_grad():
        found = clone(input)
        view = part(found)
        _check_part(src, view)
        copy_(view, src)

    def forward(tangents: Any, outputs: Any, inputs: Any) -> Any:
        whole, inside = (zeros_like(like) if tangent is None else tangent for tangent, like in zip(tangents, inputs))
        return (_scattered_there(whole, inside, part),)

    return record("SliceScatterBackward0", partial(_part_and_rest, part), (input, src), (found,), needed=(), kept=(), forward=forward)[0]


def _part_and_rest(
    part: Callable[[Any], Any], gradients: Sequence[TensorBase], outputs: Sequence[Any], inputs: Sequence[Any]
) -> tuple[TensorBase, TensorBase]:
    """Return the gradients of a tensor and of the part that was put in its place."""
    inside = part(gradients[0])
    return _scattered_there(gradients[0], zeros_like(inside), part), inside


@ways(device=_scattered_there)
def _scattered(input: TensorBase, src: TensorBase, part: Callable[[Any], Any]) -> TensorBase:
    """Return a copy of ``input`` in which the elements that ``part`` selects (a function that returns a view) are those of ``src``."""
    shape = input._ms_shape
    places = part(tensor_of(np.arange(math.prod(shape), dtype=np.int64).reshape(shape)))
    _check_part(src, places)
    return keep_gaps(input, of_sizes(put_flat(input, places, _on_device_of(src, input).to(input._ms_dtype), False)))


@node_called("DiagonalScatterBackward0")
def diagonal_scatter(input: TensorBase, src: TensorBase, offset: int = 0, dim1: int = 0, dim2: int = 1) -> TensorBase:
    """Return a copy with ``src`` on a diagonal."""
    return _scattered(input, src, lambda every: views.diagonal(every, offset, dim1, dim2))


@operation(numpy_names=True)
@node_called("SelectScatterBackward0")
def select_scatter(input: TensorBase, src: TensorBase, dim: int, index: int) -> TensorBase:
    """Return a copy with ``src`` at index ``index`` of a dimension."""
    return _scattered(input, src, lambda every: views.select(every, dim, index))


@operation(numpy_names=True)
@node_called("SliceScatterBackward0")
def slice_scatter(
    input: TensorBase, src: TensorBase, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1, *,
    out: TensorBase | None = None
) -> TensorBase:
    """Return a copy with ``src`` in a slice of a dimension."""
    length = input._ms_shape[wrap_dim(dim, len(input._ms_shape))]
    first, last, _ = slice(start, end, step).indices(length)
    axis = wrap_dim(dim, len(input._ms_shape))
    return finish(_scattered(input, src, lambda every: views.slice_dim(every, axis, first, max(first, last), step)), out)


def as_strided_scatter(
    input: TensorBase, src: TensorBase, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None
) -> TensorBase:
    """Return a copy with ``src`` in the elements that ``as_strided`` views."""
    offset = input._ms_offset if storage_offset is None else storage_offset
    shape, own = input._ms_shape, strides_of(input)
    views.check_window(input, tuple(size), tuple(stride), offset)
    positions = flat_index(tuple(size), tuple(stride), offset)
    hit = None
    if own != contiguous_strides(shape) or input._ms_offset:
        # The position of each element of the part among the elements of ``input``, by storage position.
        mine = flat_index(shape, own, input._ms_offset).reshape(-1)
        order = np.argsort(mine, kind="stable")
        places = order[np.searchsorted(mine[order], positions).clip(0, max(mine.size - 1, 0))]
        hit = mine[places] == positions  # positions between the elements are not part of the result
        positions = places
    if src._ms_shape != tuple(size):
        raise RuntimeError(
            "expected src to have a size equal to the slice of self. src size = "
            f"{list(src._ms_shape)}, slice size = {list(size)}"
        )
    src = _on_device_of(src, input)
    if hit is not None and not hit.all():
        src, positions = src[tensor_of(hit)], positions[hit]
    where = tensor_of(np.ascontiguousarray(positions, np.int64))
    found = keep_gaps(input, put_flat(input.detach(), where, src.detach(), False))

    def forward(tangents: Any, outputs: Any, inputs: Any) -> Any:
        whole, part = (zeros_like(like) if tangent is None else tangent for tangent, like in zip(tangents, inputs))
        return (put_flat(whole, where, part, False),)

    return record(
        "AsStridedScatterBackward0", _as_strided_scatter_backward, (input, src), (found,), where, needed=(), kept=(), forward=forward
    )[0]


def _as_strided_scatter_backward(gradients: Any, outputs: list[Any], inputs: list[TensorBase], where: TensorBase) -> Any:
    if gradients[0] is None:
        return None, None
    part = gradients[0].take(where)
    # In torch 2.13 the gradient of ``input`` is that of the replaced elements, not of the kept ones.
    return put_flat(zeros_like(inputs[0].detach()), where, part, False), part


@node_called("DiagEmbedBackward0")
def diag_embed(input: TensorBase, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Any:
    """Return matrices in ``dim1`` and ``dim2`` with the last dimension on a diagonal, zeros elsewhere."""
    shape, offset = input._ms_shape, whole(offset)
    rank = len(shape) + 1
    dim1, dim2 = wrap_dim(dim1, rank), wrap_dim(dim2, rank)
    if dim1 == dim2:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    length = shape[-1] + abs(offset)
    lead = iter(shape[:-1])
    target = tuple(length if d in (dim1, dim2) else next(lead) for d in range(rank))
    return diagonal_scatter(input.new_zeros(target), input, offset, dim1, dim2)


def diag(input: TensorBase, diagonal: int = 0, *, out: TensorBase | None = None) -> TensorBase:
    """Return the matrix with a vector on its diagonal, or the diagonal of a matrix."""
    rank = len(input._ms_shape)
    if rank not in (1, 2):
        raise RuntimeError(f"diag(): Supports 1D or 2D tensors. Got {rank}D")
    made = diag_embed(input, diagonal) if rank == 1 else diagonal_copy(input, diagonal)
    return finish_exactly(made, out)


def diagflat(input: TensorBase, offset: int = 0) -> TensorBase:
    """Return the matrix with all elements of the flattened input on its diagonal."""
    return diag_embed(views.reshape(input, (math.prod(input._ms_shape),)), offset)


def fill_diagonal_(self: TensorBase, fill_value: complex, wrap: bool = False) -> TensorBase:
    """Set the diagonal to one value. With ``wrap``, further diagonals of a tall matrix are filled, each after one row is left out. Return
    the tensor."""
    shape, strides = self._ms_shape, strides_of(self)
    if len(shape) < 2:
        raise RuntimeError("dimensions must larger than 1")
    if len(shape) > 2 and len(set(shape)) > 1:
        raise RuntimeError("all dimensions of input must be of equal length")
    step, size = sum(strides), min(shape)
    views.as_strided(self, (size,), (step,), self._ms_offset).fill_(fill_value)
    if wrap and len(shape) == 2 and shape[0] > shape[1] + 1:
        width = shape[1]
        rest = (shape[0] * width + width) // (width + 1) - size
        views.as_strided(self, (rest,), (step,), self._ms_offset + strides[0] * (width + 1)).fill_(fill_value)
    return self


def vander(x: TensorBase, N: int | None = None, increasing: bool = False) -> TensorBase:
    """Return the powers of a vector as the columns of a matrix, decreasing unless ``increasing``."""
    shape = x._ms_shape
    if len(shape) != 1:
        raise RuntimeError("x must be a one-dimensional tensor.")
    count = shape[0] if N is None else N
    if count < 0:
        raise RuntimeError("N must be non-negative.")
    if x._ms_dtype.is_integral:
        x = x.to(int64)
    if count == 0:
        return x.new_zeros((shape[0], 0))
    made = x.new_ones((shape[0], 1))
    if count > 1:
        powers = cumprod(views.expand(views.unsqueeze(x, 1), (shape[0], count - 1)), 1)
        made = cat((made, powers), 1)
    return made if increasing else flip(made, (1,))


# Splits


@operation(forms=Forms({**SECTIONS.names, "tensor_indices_or_sections": "indices_or_sections"}), numpy_names=True)
def tensor_split(input: TensorBase, indices_or_sections: TensorBase | int | Sequence[int], dim: int = 0) -> tuple[Any, ...]:
    """Split along a dimension into a number of nearly equal chunks, or at the indices in a list."""
    shape = input._ms_shape
    if not shape:
        raise RuntimeError("tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims")
    dim = wrap_dim(dim, len(shape))
    if isinstance(indices_or_sections, TensorBase):
        if indices_or_sections._ms_dtype is not int64:
            raise RuntimeError(
                "tensor_split expected tensor_indices_or_sections to have dtype of long, but got "
                f"{type_word(indices_or_sections._ms_dtype)}"
            )
        if len(indices_or_sections._ms_shape) > 1:
            raise RuntimeError(
                "tensor_split expected tensor_indices_or_sections to be a zero-dimensional or one-dimensional tensor, but got "
                f"a tensor with {len(indices_or_sections._ms_shape)} dims"
            )
        indices_or_sections = indices_or_sections.tolist()
    length = shape[dim]
    if isinstance(indices_or_sections, int):
        sections = indices_or_sections
        if sections <= 0:
            raise RuntimeError(f"number of sections must be larger than 0, got {sections}")
        size, more = divmod(length, sections)
        bounds = [0]
        for i in range(sections):
            bounds.append(bounds[-1] + size + (i < more))
        return tuple(views.slice_dim(input, dim, a, b, 1) for a, b in zip(bounds, bounds[1:]))
    parts, start = [], 0
    for stop in [*indices_or_sections, length]:
        first, last, _ = slice(start, stop).indices(length)
        parts.append(views.slice_dim(input, dim, first, max(first, last), 1))
        start = stop
    return tuple(parts)


def _directed_split(name: str, input: TensorBase, sections: int | Sequence[int], dim: int, least: int) -> tuple[Any, ...]:
    shape = input._ms_shape
    if len(shape) < least:
        raise RuntimeError(
            f"torch.{name} requires a tensor with at least {least} dimension, but got a tensor with {len(shape)} dimensions!"
        )
    if isinstance(sections, TensorBase) and math.prod(sections._ms_shape) == 1 and sections._ms_dtype.category == 1:
        sections = int(sections)
    if isinstance(sections, int):
        if sections <= 0 or shape[dim] % sections:
            raise RuntimeError(
                f"torch.{name} attempted to split along dimension {dim}, but the size of the dimension {shape[dim]} is not "
                f"divisible by the split_size {sections}!"
            )
    elif not isinstance(sections, (tuple, list)) or any(isinstance(place, float) for place in sections):
        raise TypeError(
            f"{name}() received an invalid combination of arguments - got (Tensor, {type(sections).__name__}): sections must be an "
            "int or a tuple of ints"
        )
    return tensor_split(input, sections, dim)


def _counts(first: TensorBase | float | Sequence[Any], rest: tuple[Any, ...]) -> Any:
    return (first, *rest) if rest else first


@operation(forms=SECTIONS)
def hsplit(input: TensorBase, indices_or_sections: TensorBase | float | Sequence[float | str | None], *more: int) -> tuple[Any, ...]:
    """Split along the second dimension, a vector along the first."""
    dim = 0 if len(input._ms_shape) == 1 else 1
    return _directed_split("hsplit", input, _counts(indices_or_sections, more), dim, 1)


@operation(forms=SECTIONS)
def vsplit(input: TensorBase, indices_or_sections: int | Sequence[int], *more: int) -> tuple[Any, ...]:
    """Split along the first dimension."""
    return _directed_split("vsplit", input, _counts(indices_or_sections, more), 0, 2)


@operation(forms=SECTIONS)
def dsplit(input: TensorBase, indices_or_sections: int | Sequence[int], *more: int) -> tuple[Any, ...]:
    """Split along the third dimension."""
    return _directed_split("dsplit", input, _counts(indices_or_sections, more), 2, 3)


@operation(numpy_names=True)
def split_with_sizes(input: TensorBase, split_sizes: Sequence[int], dim: int = 0) -> tuple[Any, ...]:
    """Split along a dimension into chunks of the given sizes."""
    return parts.split(input, list(split_sizes), dim)


@operation(numpy_names=True)
def unsafe_split(input: TensorBase, split_size: int, dim: int = 0) -> tuple[Any, ...]:
    """Split along a dimension into chunks of one size, which may be modified in place."""
    return set_apart(parts.split(input, split_size, dim), "UnsafeSplitBackward0")


@operation(numpy_names=True)
def unsafe_split_with_sizes(input: TensorBase, split_sizes: Sequence[int], dim: int = 0) -> tuple[Any, ...]:
    """Split along a dimension into chunks of the given sizes, which may be modified in place."""
    return set_apart(split_with_sizes(input, split_sizes, dim), "UnsafeSplitWithSizesBackward0")


@operation(numpy_names=True)
def unsafe_chunk(input: TensorBase, chunks: int, dim: int = 0) -> tuple[Any, ...]:
    """Split along a dimension into at most ``chunks`` equal chunks, which may be modified in place."""
    return set_apart(parts.chunk(input, chunks, dim), "UnsafeSplitBackward0")


# Other shapes


def ravel(input: TensorBase) -> TensorBase:
    """Return all elements as a 1-d tensor; a copy only if they are not contiguous."""
    whole = input if input._ms_stride is None or input.is_contiguous() else contiguous_copy(input)
    return views.reshape(whole, (math.prod(input._ms_shape),))


def numel(input: TensorBase) -> int:
    """Return the number of elements."""
    if not isinstance(input, TensorBase):
        raise TypeError(f"numel(): argument 'input' (position 1) must be Tensor, not {type(input).__name__}")
    return int(math.prod(input._ms_shape))


def adjoint(input: TensorBase) -> TensorBase:
    """Return the conjugate transpose of the last two dimensions."""
    if not input._ms_shape:
        return input.conj() if input._ms_dtype.is_complex else input
    if len(input._ms_shape) < 2:
        raise RuntimeError(
            f"tensor.adjoint() is only supported on matrices or batches of matrices. Got {len(input._ms_shape)}-D tensor."
        )
    flipped = views.transpose(input, -2, -1)
    return flipped.conj() if input._ms_dtype.is_complex else flipped


def _matrix_transpose(self: TensorBase) -> TensorBase:
    """Return the transpose of the last two dimensions."""
    if not self._ms_shape:
        return self
    if len(self._ms_shape) < 2:
        raise RuntimeError(
            f"tensor.mT is only supported on matrices or batches of matrices. Got {len(self._ms_shape)}-D tensor."
        )
    return views.transpose(self, -2, -1)


def _all_reversed(self: TensorBase) -> TensorBase:
    """Return the tensor with its dimensions in reverse order."""
    if len(self._ms_shape) not in (0, 2):
        warn_once(
            "The use of `x.T` on tensors of dimension other than 2 to reverse their shape is deprecated and it will throw an "
            "error in a future release. Consider `x.mT` to transpose batches of matrices or `x.permute(*torch.arange(x.ndim - 1, "
            "-1, -1))` to reverse the dimensions of a tensor."
        )
    return views.permute(self, tuple(range(len(self._ms_shape) - 1, -1, -1)))


def _hermitian(self: TensorBase) -> TensorBase:
    """Return the conjugate transpose of a matrix."""
    rank = len(self._ms_shape)
    if rank not in (0, 2):
        raise RuntimeError(
            f"tensor.H is only supported on matrices (2-D tensors). Got {rank}-D tensor. For batches of matrices, consider using "
            "tensor.mH"
        )
    return adjoint(self) if rank else (self.conj() if self._ms_dtype.is_complex else self)


@operation(forms=SIZE)
def sum_to_size(self: TensorBase, *size: int | Sequence[int]) -> TensorBase:
    """Return the sum over the dimensions that broadcasting from this size would have expanded."""
    target, own = shape_args(size), self._ms_shape
    lead = len(own) - len(target)
    if lead < 0 or any(n != 1 and n != own[lead + i] for i, n in enumerate(target)):
        raise RuntimeError(f"size {{{list(target)}}} is not expandable to size {{{list(own)}}}.")
    dims = tuple(d for d in range(len(own)) if d < lead or (target[d - lead] == 1 and own[d] != 1))
    total = self.sum() if not target else self.sum(dims, keepdim=True) if dims else self
    return views.reshape(total, target) if lead else total


# Copies of views


def _copying(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    def copy(input: TensorBase, *args: Any, out: Any = None, **kwargs: Any) -> Any:
        shown = function(input, *args, **kwargs)
        if isinstance(shown, tuple):
            made = tuple(_copied(part) for part in shown)
            if out is None:
                return made
            for part, target in zip(made, out):
                finish_exactly(part, target)
            return None
        return finish_exactly(_copied(shown), out)

    copy.__name__ = copy.__qualname__ = name
    copy.__doc__ = f"Return ``{name[:-5]}`` as a copy."
    return copy


def _copied(part: TensorBase) -> TensorBase:
    made = part.clone(memory_format=contiguous_format)
    if made._ms_node is not None and part._ms_node is not None:
        made._ms_node.__class__ = named(type(made._ms_node), f"{type(part._ms_node).label}_copy")
    return made


def _slice(input: TensorBase, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1) -> TensorBase:
    axis = wrap_dim(dim, len(input._ms_shape))
    first, last, _ = slice(start, end, step).indices(input._ms_shape[axis])
    return views.slice_dim(input, axis, first, max(first, last), step)


def _viewed(input: TensorBase, *shape: Sequence[int], **named: Any) -> TensorBase:
    """Return ``view`` of the arguments, but a row-major copy if the strides allow no view."""
    given = next(iter(named.values())) if named else shape[0]
    return views.view(input, *shape, **named) if isinstance(given, dtype) else views.reshape(input, *(shape or (given,)))


alias_copy = _copying(views.alias, "alias_copy")
as_strided_copy = _copying(views.as_strided, "as_strided_copy")
detach_copy = _copying(views.detach, "detach_copy")
diagonal_copy = _copying(views.diagonal, "diagonal_copy")
expand_copy = _copying(views.expand, "expand_copy")
_narrow_copy = _copying(views.narrow, "narrow_copy")


@operation(numpy_names=True)
def narrow_copy(input: TensorBase, dim: int, start: int, length: int, *, out: TensorBase | None = None) -> TensorBase:
    """Return a copy of ``narrow``'s view."""
    shape = input._ms_shape
    if dim >= max(len(shape), 1):
        raise RuntimeError("Expected dim < static_cast<int64_t>(self_sizes.size()) to be true, but got false.")
    if shape and length < 0:
        raise RuntimeError(f"start ({start}) + length ({length}) exceeds dimension size ({shape[dim]}).")
    return _narrow_copy(input, dim, start, length, out=out)


permute_copy = _copying(views.permute, "permute_copy")
select_copy = _copying(views.select, "select_copy")
slice_copy = _copying(_slice, "slice_copy")
split_copy = operation(forms=Forms({"split_size": "split_size_or_sections"}))(_copying(parts.split, "split_copy"))
split_with_sizes_copy = _copying(split_with_sizes, "split_with_sizes_copy")
squeeze_copy = _copying(views.squeeze, "squeeze_copy")
t_copy = _copying(views.t, "t_copy")
transpose_copy = _copying(views.transpose, "transpose_copy")
unbind_copy = _copying(parts.unbind, "unbind_copy")
unfold_copy = _copying(views.unfold, "unfold_copy")
unsqueeze_copy = _copying(views.unsqueeze, "unsqueeze_copy")
view_as_complex_copy = _copying(view_as_complex, "view_as_complex_copy")
view_as_real_copy = _copying(view_as_real, "view_as_real_copy")
view_copy = _copying(_viewed, "view_copy")


# Methods that change the view of its storage that a tensor is


def _own_view(function: Callable[..., Any], name: str, node: str | Callable[..., str]) -> Callable[..., Any]:
    def method(self: TensorBase, *args: Any, **kwargs: Any) -> TensorBase:
        refuse_inference(self)
        check_history(self)
        review(self, function(self, *args, **kwargs))
        label = node if isinstance(node, str) else node(*args, **kwargs)
        if self._ms_node is not None and type(self._ms_node).label[:-1] == label[:-1]:  # one of several views keeps its node
            name_written(self, label)
        return self

    method.__name__ = name
    method.__qualname__ = f"Tensor.{name}"
    method.__doc__ = f"Apply ``{name[:-1]}`` in place; return the tensor."
    return method


def _squeezed(input: TensorBase, *dim: int, **named: Any) -> TensorBase:
    return views.squeeze(input, *(dim if len(dim) < 2 else (dim,)), **named)


def _squeeze_node(*given: Any, dim: Any = ABSENT) -> str:
    dims = given if len(given) > 1 else given[0] if given else dim
    return f"SqueezeBackward{3 if dims is ABSENT else 4 if isinstance(dims, int) else 5}"


NAMED_METHODS = {
    f"{function.__name__}_": _own_view(function, f"{function.__name__}_", f"{function.__name__.capitalize()}Backward1")
    for function in (views.t, views.transpose, views.unsqueeze)
}
NAMED_METHODS["squeeze_"] = _own_view(_squeezed, "squeeze_", _squeeze_node)
NAMED_METHODS.update(tril_=in_place_form(tril, "tril_", uniform=True), triu_=in_place_form(triu, "triu_", uniform=True))
NAMED_METHODS["swapaxes_"] = NAMED_METHODS["swapdims_"] = NAMED_METHODS["transpose_"]
PROPERTIES = {"mT": _matrix_transpose, "mH": adjoint, "T": _all_reversed, "H": _hermitian}
