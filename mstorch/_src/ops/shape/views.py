"""Views: another shape, order or part of the same storage, through which writes are visible."""
from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from ...backend import tape
from ...backend.arrays import Array
from ...backend.errors import wrong_type
from ...backend.geometry import inverse_order, row_major_strides
from ...backend.raw import Raw
from ...backend.table import kernel
from ...core.dtype import dtype
from ...core.no_memory import counted
from ...core.promotion import type_text
from ...core.storage import Counter
from ...core.strides import REMEMBERED, beyond_storage, is_contiguous, view_strides
from ...core.tensor_base import TensorBase, make_view, strides_of, whole_storage
from ...tape import movement, windows
from ...tape.vocabulary import sum_array
from .._dispatch import INTS, call, shape_args, whole, wrap_dim, wrap_each
from .._forms import SIZE, Forms
from .._operation import operation
from .._two_forms import ABSENT
from ..memory._view_dtype import view_dtype

_reshape = kernel("reshape")
_permute = kernel("permute")
_expand = kernel("expand")
_slice = kernel("slice")
_select = kernel("select")
_clone = kernel("clone")


def infer_size(shape: Sequence[int], numel: int) -> tuple[int, ...]:
    """Return the shape with its -1 replaced by the inferred length. Raise RuntimeError if the number of elements does not fit."""
    known, unknown = 1, -1
    for i, length in enumerate(shape):
        if length == -1:
            if unknown >= 0:
                raise RuntimeError("only one dimension can be inferred")
            unknown = i
        elif length < 0:
            raise RuntimeError(f"invalid shape dimension {length} at index {i} of shape {list(shape)}")
        else:
            known *= length
    if unknown >= 0:
        if known == 0 and numel == 0:
            raise RuntimeError(
                f"cannot reshape tensor of 0 elements into shape {list(shape)} because the unspecified dimension size -1 can "
                "be any value and is ambiguous"
            )
        if known == 0 or numel % known:
            raise RuntimeError(f"shape '{list(shape)}' is invalid for input of size {numel}")
        return tuple(numel // known if i == unknown else length for i, length in enumerate(shape))
    if known != numel:
        raise RuntimeError(f"shape '{list(shape)}' is invalid for input of size {numel}")
    return tuple(shape)


def _as_shape(
    input: TensorBase, shape: tuple[int, ...], strides: tuple[int, ...], label: str = "ViewBackward0"
) -> TensorBase:
    return windows.sorted_view(input, label, shape, strides, input._ms_offset, _RESHAPED, shape)


def _reshaped(own: tuple[int, ...], shape: tuple[int, ...]) -> tuple[Callable[..., Any], Callable[..., Any]]:
    return lambda array: array.reshape(shape), lambda array: array.reshape(own)


_RESHAPED = windows.Sort(
    lambda name, shape: lambda raw: _reshape[name](raw, shape), _reshaped, lambda raw, own, _: movement.reshaped(raw, own)
)


@operation(forms=Forms({"dtype": "size"}, "size"))
def view(self: TensorBase, *shape: Any, **named: Any) -> TensorBase:
    """Return a view with another shape (``size``) or dtype (``dtype``); never copies."""
    if named:
        if shape or len(named) > 1 or not named.keys() <= {"dtype", "size"}:
            raise TypeError(f"view() received an invalid combination of arguments: {shape}, {named}")
        shape = tuple(named.values())
    if len(shape) == 1 and isinstance(shape[0], dtype):
        return view_dtype(self, shape[0])
    wanted = infer_size(shape_args(shape, "view"), math.prod(self._ms_shape))
    return _as_shape(self, wanted, _strides_as(self, wanted))


def _strides_as(self: TensorBase, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the strides with which a tensor has another shape without a copy. Raise torch's error if there are none."""
    if self._ms_stride is None:
        return row_major_strides(shape)
    strides = view_strides(self._ms_shape, self._ms_stride, shape)
    if strides is None:
        raise RuntimeError(
            "view size is not compatible with input tensor's size and stride (at least one dimension spans across two "
            "contiguous subspaces). Use .reshape(...) instead."
        )
    return strides


@operation(forms=Forms(star="shape"))
def reshape(input: TensorBase, *shape: int | Sequence[int]) -> Any:
    """Return the elements in another shape: a view where the strides allow it, else a copy."""
    given = shape[0] if len(shape) == 1 and shape[0].__class__ is tuple else shape
    lengths = given if INTS.issuperset(map(type, given)) else shape_args(shape, "reshape")
    wanted, strides, label = _reshape_plan(input._ms_shape, input._ms_stride, lengths)
    if strides is not None:
        return windows.sorted_view(input, label, wanted, strides, input._ms_offset, _RESHAPED, wanted)
    return unsafe_view(call(_clone, (input,)), wanted)


@lru_cache(REMEMBERED)
def _reshape_plan(
    own: tuple[int, ...], steps: tuple[int, ...] | None, lengths: tuple[int, ...]
) -> tuple[tuple[int, ...], tuple[int, ...] | None, str]:
    """Return the shape that ``lengths`` stand for, the strides of a view in it (None if there is none), and the name of the view's node."""
    wanted = infer_size(lengths, math.prod(own))
    strides = row_major_strides(wanted) if steps is None else view_strides(own, steps, wanted)
    return wanted, strides, "ViewBackward0" if steps is None or is_contiguous(own, steps) else "ReshapeAliasBackward0"


def unsafe_view(input: TensorBase, shape: tuple[int, ...], fresh: bool = True) -> Any:
    """Return the tensor in another shape over the same memory, as a result that autograd does not treat as a view.

    ``fresh``: the tensor is row-major and not referenced elsewhere. Otherwise it may have any strides, and the result gets its own version
    counter."""
    strides = row_major_strides(shape) if fresh else _strides_as(input, shape)
    made = windows.no_view(windows.sorted_view(input, "UnsafeViewBackward0", shape, strides, input._ms_offset, _RESHAPED, shape))
    if not fresh:
        made._ms_counter = Counter(made._ms_counter.version)
    return made


def flatten(input: TensorBase, start_dim: int = 0, end_dim: int = -1) -> TensorBase:
    """Merge dimensions ``start_dim`` to ``end_dim``; a view where the strides allow it."""
    own = input._ms_shape
    first, last = wrap_dim(start_dim, len(own)), wrap_dim(end_dim, len(own))
    if first > last:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    if not own:
        return reshape(input, (1,))
    if first == last:
        return input
    return reshape(input, (*own[:first], math.prod(own[first : last + 1]), *own[last + 1 :]))


@operation(numpy_names=True)
def unflatten(input: TensorBase, dim: int, sizes: Sequence[int]) -> TensorBase:
    """Split dimension ``dim`` into several."""
    own = input._ms_shape
    dim = wrap_dim(dim, len(own))
    sizes = shape_args((sizes,), "unflatten")
    if not sizes:
        raise RuntimeError("unflatten: sizes must be non-empty")
    if not own:
        raise RuntimeError("unflatten got an unexpected error:\ntensor has no dimensions")
    try:
        filled = infer_size(sizes, own[dim])
    except RuntimeError:
        raise RuntimeError(
            f"unflatten: Provided sizes {list(sizes)} don't multiply up to the size of dim {dim} ({own[dim]}) in the input tensor"
        ) from None
    return view(input, (*own[:dim], *filled, *own[dim + 1 :]))


@operation(forms=Forms(star="dims"))
def permute(input: TensorBase, *dims: int | Sequence[int]) -> TensorBase:
    """Return a view with permuted dimensions."""
    order = shape_args(dims, "permute")
    own = input._ms_shape
    if len(order) != len(own):
        raise RuntimeError(
            f"permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired "
            f"ordering of dimensions i.e. input.dim() = {len(own)} is not equal to len(dims) = {len(order)}"
        )
    order = wrap_each(order, len(own))
    if len(set(order)) != len(order):
        raise RuntimeError("permute(): duplicate dims are not allowed.")
    return _permuted(input, order, "PermuteBackward0")


def _permuted(input: TensorBase, order: tuple[int, ...], label: str) -> TensorBase:
    shape, steps = _permuted_geometry(input._ms_shape, input._ms_stride, order)
    return windows.sorted_view(input, label, shape, steps, input._ms_offset, _PERMUTED, order)


@lru_cache(REMEMBERED)
def _permuted_geometry(
    own: tuple[int, ...], steps: tuple[int, ...] | None, order: tuple[int, ...]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the shape and strides of a view with the dimensions in another order."""
    steps = row_major_strides(own) if steps is None else steps
    return tuple([own[d] for d in order]), tuple([steps[d] for d in order])


def _transposed(own: tuple[int, ...], order: tuple[int, ...]) -> tuple[Callable[..., Any], Callable[..., Any]]:
    inverse = inverse_order(order)
    return lambda array: array.transpose(order), lambda array: array.transpose(inverse)


_PERMUTED = windows.Sort(
    lambda name, order: lambda raw: _permute[name](raw, order), _transposed,
    lambda raw, _, order: movement.permuted(raw, inverse_order(order)),
)  # fmt: skip


@operation(forms=Forms({"axis0": "dim0", "axis1": "dim1"}))
def transpose(input: TensorBase, dim0: int, dim1: int) -> TensorBase:
    """Return a view with two dimensions swapped."""
    rank = len(input._ms_shape)
    if not (dim0.__class__ is int is dim1.__class__ and -rank <= dim0 < rank and -rank <= dim1 < rank):  # `wrap_dim` written out
        dim0, dim1 = wrap_dim(dim0, rank), wrap_dim(dim1, rank)
    order = _exchange(rank, dim0, dim1)
    shape, steps = _permuted_geometry(input._ms_shape, input._ms_stride, order)
    return windows.sorted_view(input, "TransposeBackward0", shape, steps, input._ms_offset, _PERMUTED, order)


@lru_cache(REMEMBERED)
def _exchange(rank: int, dim0: int, dim1: int) -> tuple[int, ...]:
    """Return the order of the dimensions with two of them swapped; negative ones count from the end."""
    order = list(range(rank))
    if rank:
        order[dim0], order[dim1] = order[dim1], order[dim0]
    return tuple(order)


def t(input: TensorBase) -> TensorBase:
    """Return the transpose of a matrix; tensors of fewer dimensions unchanged."""
    shape = input._ms_shape
    if len(shape) == 2:  # a faster _permuted
        (rows, columns), own = shape, input._ms_stride
        steps = (1, columns or 1) if own is None else (own[1], own[0])
        return windows.sorted_view(input, "TBackward0", (columns, rows), steps, input._ms_offset, _PERMUTED, (1, 0))
    if len(shape) > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {len(shape)}D")
    return alias(input)


def alias(input: TensorBase) -> TensorBase:
    """Return a view of all elements."""
    return windows.sorted_view(input, "AliasBackward0", input._ms_shape, strides_of(input), input._ms_offset, _ALIAS, None)


def _same(value: Array) -> Array:
    return value


_ALIAS = windows.Sort(lambda name, argument: _same, lambda own, argument: (_same, _same), lambda raw, own, argument: raw)


def detach(input: Any) -> Any:
    """Return a view of all elements, detached from the autograd graph."""
    return make_view(input, tape.detached, input._ms_shape, strides_of(input), input._ms_offset)


def movedim(input: TensorBase, source: int | Sequence[int], destination: Any) -> TensorBase:
    """Return a view with dimensions ``source`` moved to the positions ``destination``."""
    rank = len(input._ms_shape)
    sources = [source] if isinstance(source, int) else list(source)
    destinations = [destination] if isinstance(destination, int) else list(destination)
    if len(sources) != len(destinations):
        raise RuntimeError(
            f"movedim: Invalid source or destination dims: source ({sources} dims) should contain the same number of dims "
            f"as destination ({destinations} dims)"
        )
    given = (("source", sources), ("destination", destinations))
    sources = list(wrap_each(sources, rank))
    destinations = list(wrap_each(destinations, rank))
    for (name, asked), dims in zip(given, (sources, destinations)):
        if len(set(dims)) != len(dims):
            raise RuntimeError(f"movedim: repeated dim in `{name}` ({asked})")
    if not rank:
        return alias(input)
    order = [-1] * rank
    for s, d in zip(sources, destinations):
        order[d] = s
    rest = iter(d for d in range(rank) if d not in sources)
    return permute(input, [next(rest) if d < 0 else d for d in order])


@operation(numpy_names=True)
def squeeze(input: TensorBase, dim: int | Sequence[int] = ABSENT) -> TensorBase:
    """Return a view without the dimensions of length 1: without all of them, or those in ``dim``."""
    own, strides = input._ms_shape, strides_of(input)
    whole_shape = dim is ABSENT
    if whole_shape:
        gone = set(range(len(own)))
    else:
        if dim is None:
            raise wrong_type("squeeze(): argument 'dim' must be int, not NoneType")
        dims = (dim,) if isinstance(dim, int) else tuple(dim)
        gone = set(wrap_each(dims, len(own)))
        if len(gone) != len(dims):
            raise RuntimeError(f"dim {dims[0]} appears multiple times in the list of dims")
    kept = [i for i in range(len(own)) if not (i in gone and own[i] == 1)]
    label = "SqueezeBackward0" if whole_shape else "SqueezeBackward1" if isinstance(dim, int) else "SqueezeBackward2"
    return _as_shape(input, tuple(own[i] for i in kept), tuple(strides[i] for i in kept), label)


@operation(numpy_names=True)
def unsqueeze(input: TensorBase, dim: int) -> Any:
    """Return a view with a dimension of length 1 inserted at ``dim``."""
    own, strides = input._ms_shape, strides_of(input)
    dim = wrap_dim(dim, len(own) + 1)
    step = own[dim] * strides[dim] if dim < len(own) else 1
    return _as_shape(input, (*own[:dim], 1, *own[dim:]), (*strides[:dim], step, *strides[dim:]), "UnsqueezeBackward0")


@operation(forms=SIZE)
def expand(input: TensorBase, *size: int | Sequence[int], implicit: bool = False) -> Any:
    """Expand dimensions of length 1 without a copy (stride 0); -1 keeps a length; new dimensions are prepended."""
    given = size[0] if len(size) == 1 and size[0].__class__ is tuple else size
    lengths = given if INTS.issuperset(map(type, given)) else shape_args(size, "expand")
    shape, strides = _expanded_geometry(input._ms_dtype, input._ms_shape, input._ms_stride, lengths)
    return windows.sorted_view(input, "ExpandBackward0", shape, strides, input._ms_offset, _EXPANDED, shape)


@lru_cache(REMEMBERED)
def _expanded_geometry(
    kind: dtype, own: tuple[int, ...], strides: tuple[int, ...] | None, wanted: tuple[int, ...]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the shape and strides of a tensor expanded to ``wanted``. Raise torch's error, which names the dtype, if it can't be."""
    strides = row_major_strides(own) if strides is None else strides
    lead = len(wanted) - len(own)
    if lead < 0:
        raise RuntimeError(
            f"expand({type_text(kind)}{{{list(own)}}}, size={list(wanted)}): the number of sizes provided ({len(wanted)}) "
            f"must be greater or equal to the number of dimensions in the tensor ({len(own)})"
        )
    shape, steps = list(wanted), [0] * len(wanted)
    for i in reversed(range(len(wanted))):  # as in torch, which names the last dimension that does not fit
        length, mine = wanted[i], own[i - lead] if i >= lead else None
        if length == -1:
            if mine is None:
                raise RuntimeError(
                    f"The expanded size of the tensor ({length}) isn't allowed in a leading, non-existing dimension {i}"
                )
            length = mine
        if mine is not None and mine != 1 and mine != length:
            raise RuntimeError(
                f"The expanded size of the tensor ({length}) must match the existing size ({mine}) at non-singleton "
                f"dimension {i}.  Target sizes: {list(wanted)}.  Tensor sizes: {list(own)}"
            )
        shape[i] = length
        if mine is not None and mine == length:
            steps[i] = strides[i - lead]
    for i in reversed(range(lead if own else 0)):  # a new dimension of length 1 gets the stride that spans the next dimension
        if shape[i] == 1:
            steps[i] = shape[i + 1] * steps[i + 1]
    target = tuple(shape)
    counted(target)
    return target, tuple(steps)


def _repeated(own: tuple[int, ...], shape: tuple[int, ...]) -> tuple[Callable[..., Any], Callable[..., Any]]:
    return lambda array: np.broadcast_to(array, shape), lambda array: sum_array(array, own)


_EXPANDED = windows.Sort(
    lambda name, shape: lambda raw: _expand[name](raw, shape), _repeated, lambda raw, own, _: movement.fitted(raw, own)
)


def expand_as(self: TensorBase, other: TensorBase) -> TensorBase:
    """Expand to the size of ``other``."""
    return expand(self, other._ms_shape)


def view_as(self: TensorBase, other: TensorBase) -> TensorBase:
    """Return a view with the size of ``other``."""
    return view(self, other._ms_shape)


def reshape_as(self: TensorBase, other: TensorBase) -> TensorBase:
    """Reshape to the size of ``other``."""
    return reshape(self, other._ms_shape)


@operation(forms=Forms({"shape": "size"}))
def broadcast_to(input: TensorBase, size: Sequence[int]) -> TensorBase:
    """Return ``expand`` of the arguments; an alias."""
    return expand(input, size)


def narrowed(own: tuple[int, ...], dim: int, start: TensorBase | int, length: int) -> tuple[int, int, int]:
    """Return ``narrow``'s dimension, start and length as numbers that are not negative. Raise torch's error if they exceed the shape."""
    if not own:
        raise RuntimeError("narrow() cannot be applied to a 0-dim tensor.")
    length = whole(length)
    if length < 0:
        raise RuntimeError("narrow(): length must be non-negative.")
    dim = wrap_dim(dim, len(own))
    if isinstance(start, TensorBase) and (start._ms_shape or start._ms_dtype.category != 1):
        raise RuntimeError("start must be an 0-dim integral Tensor.")
    start = whole(start)
    if not -own[dim] <= start <= own[dim]:
        raise IndexError(
            f"start out of range (expected to be in range of [{-own[dim]}, {own[dim]}], but got {start})"
        )
    if start < 0:
        start += own[dim]
    if start + length > own[dim]:
        raise RuntimeError(f"start ({start}) + length ({length}) exceeds dimension size ({own[dim]}).")
    return dim, start, length


@operation(numpy_names=True)
def narrow(input: TensorBase, dim: int, start: TensorBase | int, length: int) -> TensorBase:
    """Return a view of ``length`` elements of dimension ``dim`` from ``start`` on."""
    dim, start, length = narrowed(input._ms_shape, dim, start, length)
    return slice_dim(input, dim, start, start + length, 1)


def slice_dim(input: Any, dim: int, start: int, stop: int, step: int) -> Any:
    """Return the view ``input[start:stop:step]`` of one dimension, for bounds that are in range and a positive ``step``."""
    own, strides = input._ms_shape, strides_of(input)
    length = max(0, -((start - stop) // step))
    shape = (*own[:dim], length, *own[dim + 1 :])
    steps = (*strides[:dim], strides[dim] * step, *strides[dim + 1 :])
    return windows.sorted_view(
        input, "SliceBackward0", shape, steps, input._ms_offset + start * strides[dim], _SLICED, (dim, start, stop, step)
    )


def _stretch(own: tuple[int, ...], argument: tuple[int, int, int, int]) -> tuple[Callable[..., Any], Callable[..., Any]]:
    dim, start, stop, step = argument
    key = (slice(None),) * dim + (slice(start, stop, step),)
    return lambda array: array[key], windows.placing(key, own)


def _stretch_back(raw: Raw, own: tuple[int, ...], argument: tuple[int, int, int, int]) -> Raw:
    dim, start, stop, step = argument
    return movement.placed(raw, (slice(None),) * dim + (slice(start, stop, step),), own)


_SLICED = windows.Sort(lambda name, argument: lambda raw: _slice[name](raw, *argument), _stretch, _stretch_back)


@operation(numpy_names=True)
def select(input: TensorBase, dim: int, index: int) -> TensorBase:
    """Return a view of index ``index`` in dimension ``dim``, which is removed."""
    own, strides = input._ms_shape, strides_of(input)
    if not own:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    dim = wrap_dim(dim, len(own))
    index = whole(index)
    if not -own[dim] <= index < own[dim]:
        raise IndexError(
            f"select(): index {index} out of range for tensor of size {list(own)} at dimension {dim}"
        )
    if index < 0:
        index += own[dim]
    return windows.sorted_view(
        input, "SelectBackward0", own[:dim] + own[dim + 1 :], strides[:dim] + strides[dim + 1 :],
        input._ms_offset + index * strides[dim], _SELECTED, (dim, index),
    )  # fmt: skip


def _entry(own: tuple[int, ...], argument: tuple[int, int]) -> tuple[Callable[..., Any], Callable[..., Any]]:
    dim, index = argument
    key = (slice(None),) * dim + (index,)
    return lambda array: np.asarray(array[key]), windows.placing(key, own)


def _entry_back(raw: Raw, own: tuple[int, ...], argument: tuple[int, int]) -> Raw:
    dim, index = argument
    return movement.placed(raw, (slice(None),) * dim + (index,), own)


_SELECTED = windows.Sort(lambda name, argument: lambda raw: _select[name](raw, *argument), _entry, _entry_back)


def diagonal(input: TensorBase, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Any:
    """Return a view of the diagonal of two dimensions, as the last dimension."""
    own, strides, offset = input._ms_shape, strides_of(input), whole(offset)
    dim1, dim2 = wrap_dim(dim1, len(own)), wrap_dim(dim2, len(own))
    if dim1 == dim2:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    if offset >= 0:
        length = max(min(own[dim1], own[dim2] - offset), 0)
        start = input._ms_offset + (offset * strides[dim2] if length else 0)
    else:
        length = max(min(own[dim1] + offset, own[dim2]), 0)
        start = input._ms_offset - (offset * strides[dim1] if length else 0)
    rest = [i for i in range(len(own)) if i not in (dim1, dim2)]
    shape = (*(own[i] for i in rest), length)
    steps = (*(strides[i] for i in rest), strides[dim1] + strides[dim2])
    return windows.window_on(input, shape, steps, start, "DiagonalBackward0")


def unfold(self: TensorBase, dimension: int, size: int, step: int) -> TensorBase:
    """Return a view of sliding windows of ``size`` along a dimension, with stride ``step``, as a new last dimension."""
    own, strides = self._ms_shape, strides_of(self)
    dimension, size, step = wrap_dim(dimension, len(own)), whole(size), whole(step)
    length = own[dimension] if own else 1
    if size < 0:
        raise RuntimeError(f"size is {size} but must be >= 0")
    if size > length:
        raise RuntimeError(f"maximum size for tensor at dimension {dimension} is {length} but size is {size}")
    if step <= 0:
        raise RuntimeError(f"step is {step} but must be > 0")
    if not own:
        return windows.window_on(self, (size,), (1,), self._ms_offset, "UnfoldBackward0")
    shape = (*own[:dimension], (length - size) // step + 1, *own[dimension + 1 :], size)
    steps = (*strides[:dimension], strides[dimension] * step, *strides[dimension + 1 :], strides[dimension])
    lead = (slice(None),) * dimension

    def forward(array: Array) -> Array:
        return np.array(np.lib.stride_tricks.sliding_window_view(array, size, dimension)[(*lead, slice(None, None, step))], order="C")

    def back(array: Array) -> Array:
        # By the tensor's own elements, not by the memory: it may itself hold an element several times.
        found = np.zeros(own, array.dtype)
        for place in range(size):
            found[(*lead, slice(place, place + step * (shape[dimension] - 1) + 1, step))] += array[..., place]
        return found

    maps = movement.unfolding(forward, back, own, shape, dimension, step)
    return windows.window_on(self, shape, steps, self._ms_offset, "UnfoldBackward0", maps)


def check_window(input: TensorBase, size: tuple[int, ...], stride: tuple[int, ...], offset: int) -> None:
    """Raise torch's error for a window that does not lie in the storage of ``input``."""
    if len(size) != len(stride):
        raise RuntimeError("mismatch in length of strides and shape")
    if any(step < 0 for step in stride):
        raise RuntimeError(f"as_strided: Negative strides are not supported at the moment, got strides: {list(stride)}")
    if offset < 0:
        raise RuntimeError(f"Tensor: invalid storage offset {offset}")
    limit, item = whole_storage(input).numel(), input._ms_dtype.itemsize
    last = offset + sum((length - 1) * step for length, step in zip(size, stride))
    if counted(size) and last >= limit:
        raise beyond_storage(size, stride, offset, item, limit * item)


def as_strided(input: TensorBase, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None) -> TensorBase:
    """Return a view of the storage of ``input`` with any size, strides and offset (in elements)."""
    size, stride = tuple(map(int, size)), tuple(map(int, stride))
    offset = input._ms_offset if storage_offset is None else int(storage_offset)
    check_window(input, size, stride, offset)
    return windows.window_on(input, size, stride, offset, "AsStridedBackward0")


def is_tensor(obj: Any) -> bool:
    """Return whether ``obj`` is a tensor."""
    return isinstance(obj, TensorBase)


def swapaxes(input: TensorBase, axis0: int, axis1: int) -> TensorBase:
    """Return a view with two dimensions swapped."""
    return transpose(input, axis0, axis1)


swapdims = transpose
moveaxis = movedim
