"""Arithmetic on shapes and strides, in elements; ``None`` means row-major strides."""
from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from ..backend.geometry import contiguous_strides, may_overlap, row_major_strides

Strides = tuple[int, ...]
REMEMBERED = 4096  # number of results that a cached function keeps; a program uses few shapes


def columns_first(shape: Sequence[int]) -> Strides | None:
    """Return the strides of column-major matrices, LAPACK's order; None if these are row-major too."""
    strides = contiguous_strides((*shape[:-2], shape[-1], shape[-2]))
    return normalize(shape, (*strides[:-2], strides[-1], strides[-2]))


def is_contiguous(shape: Sequence[int], strides: Sequence[int]) -> bool:
    """Return whether the elements are in row-major order without gaps; dimensions of length 0 and 1 are ignored."""
    step = 1
    for length in shape:
        if length == 0:
            return True
    for length, stride in zip(reversed(shape), reversed(strides)):
        if length != 1:
            if stride != step:
                return False
            step *= length
    return True


def channels_last_strides(shape: Sequence[int]) -> Strides:
    """Return channels-last strides for (N, C, …)."""
    order = [1, *range(len(shape) - 1, 1, -1), 0]
    strides = [0] * len(shape)
    step = 1
    for i in order:
        strides[i] = step
        step *= max(shape[i], 1)
    return tuple(strides)


def is_channels_last(shape: Sequence[int], strides: Sequence[int]) -> bool:
    """Return whether (N, C, H, W) or (N, C, D, H, W) is dense in channels-last order."""
    if len(shape) not in (4, 5):
        return False
    return all(
        length == 1 or stride == expected
        for length, stride, expected in zip(shape, strides, channels_last_strides(shape))
    )


def suggests_channels_last(shape: Sequence[int], strides: Sequence[int]) -> bool:
    """Return whether a tensor is ordered channels last, dense or not, so that torch gives its results in this order.

    Where the stride of a dimension of length 1 is ambiguous, the other strides decide; row-major order takes precedence.
    """
    if len(shape) not in (4, 5) or strides[1] == 0 or 0 in shape:
        return False
    least = 0
    for axis in (1, *range(len(shape) - 1, 1, -1), 0):
        if strides[axis] < least or (axis == 0 and least == strides[1]):
            return False
        least = strides[axis] * max(shape[axis], 1)
    return True


def normalize(shape: Sequence[int], strides: Sequence[int]) -> Strides | None:
    """Return None for exactly row-major strides, else the strides as a tuple."""
    strides = strides if strides.__class__ is tuple else tuple(strides)
    return None if strides == row_major_strides(shape if shape.__class__ is tuple else tuple(shape)) else strides


def overlaps(shape: Sequence[int], strides: Sequence[int]) -> bool:
    """Return whether the tensor is expanded: not empty, with a stride of 0 in a dimension longer than 1. Torch's quick test for overlapping
    memory."""
    return 0 not in shape and any(length > 1 and stride == 0 for length, stride in zip(shape, strides))


@lru_cache(REMEMBERED)
def may_share_places(shape: tuple[int, ...], strides: Strides) -> bool:
    """Return whether two elements of a tensor may share memory."""
    return 0 not in shape and may_overlap(shape, strides)


def dense_order(shape: Sequence[int], strides: Sequence[int]) -> list[int] | None:
    """Return the dimensions from outermost to innermost if the tensor is dense, else None."""
    order = sorted(range(len(shape)), key=lambda i: (strides[i], shape[i] != 1), reverse=True)
    if 0 in shape:
        return order  # without elements there are no gaps
    step = 1
    for i in reversed(order):
        if shape[i] == 1:
            continue
        if strides[i] != step:
            return None
        step *= shape[i]
    return order


@lru_cache(REMEMBERED)
def dense_layout(shape: tuple[int, ...], strides: Strides) -> tuple[tuple[int, ...], tuple[int, ...], Strides | None, bool]:
    """Return a dense geometry's dimensions from outermost to innermost, the inverse of this permutation, the strides (None if row-major),
    and whether the elements are in row-major order (strides of dimensions of length 1 may still differ)."""
    order = dense_order(shape, strides)
    assert order is not None, "the result of an operation is dense"
    long = [axis for axis in order if shape[axis] != 1]
    return tuple(order), tuple(sorted(order, key=order.__getitem__)), normalize(shape, strides), long == sorted(long)


def view_strides(shape: Sequence[int], strides: Sequence[int], new_shape: Sequence[int]) -> Strides | None:
    """Return strides that show the same elements in another shape; None if no such strides exist (torch's ``view`` then raises)."""
    numel = 1
    for length in shape:
        numel *= length
    if numel == 0:
        return contiguous_strides(new_shape) if tuple(shape) != tuple(new_shape) else tuple(strides)
    new_strides = [0] * len(new_shape)
    view_d = len(new_shape) - 1
    chunk_base = strides[-1] if shape else 1
    tensor_numel = view_numel = 1
    for d in range(len(shape) - 1, -1, -1):
        tensor_numel *= shape[d]
        if d == 0 or (shape[d - 1] != 1 and strides[d - 1] != tensor_numel * chunk_base):
            while view_d >= 0 and (view_numel < tensor_numel or new_shape[view_d] == 1):
                new_strides[view_d] = view_numel * chunk_base
                view_numel *= new_shape[view_d]
                view_d -= 1
            if view_numel != tensor_numel:
                return None
            if d > 0:
                chunk_base = strides[d - 1]
                tensor_numel = view_numel = 1
    if view_d != -1:
        if not shape:
            return contiguous_strides(new_shape)
        return None
    return tuple(new_strides)


@lru_cache(REMEMBERED)
def elementwise_strides(
    shape: tuple[int, ...], operands: tuple[tuple[tuple[int, ...], Strides], ...], with_numbers: bool = False
) -> Strides | None:
    """Return the strides that torch gives to the result of an elementwise operation on non-contiguous operands.

    The dimensions are ordered by the operands' strides (the first operand decides, broadcast dimensions abstain), and the result is dense
    in that order. ``with_numbers``: a Python number takes part, which torch treats as a tensor of another shape.
    """
    rank = len(shape)
    full = []
    for own_shape, own_strides in operands:
        lead = rank - len(own_shape)
        full.append(
            tuple(0 if i < lead or (own_shape[i - lead] == 1 and shape[i] != 1) else own_strides[i - lead] for i in range(rank))
        )
    same_shape = [strides for (own_shape, _), strides in zip(operands, full) if own_shape == shape]
    if len(same_shape) == len(operands) and (not with_numbers or not shape):
        first = same_shape[0]
        if all(is_contiguous(shape, strides) for strides in same_shape):
            return None
        if len(shape) == 4 and all(is_channels_last(shape, strides) for strides in same_shape):
            return normalize(shape, channels_last_strides(shape))
        if all(strides == first for strides in same_shape) and dense_order(shape, first) is not None:
            return normalize(shape, first)
    return iterated_strides(shape, full)


def iterated_strides(shape: tuple[int, ...], operands: Sequence[Strides]) -> Strides | None:
    """Return the strides that TensorIterator gives to a new result of ``shape``; ``operands`` are the operands' strides along the result's
    dimensions."""
    rank = len(shape)
    order = iteration_order(shape, operands)
    if 0 in shape and order == list(range(rank - 1, -1, -1)):
        return None
    strides = [0] * rank
    step = 1
    for i in order:
        strides[i] = step
        step *= shape[i]
    return normalize(shape, strides)


@lru_cache(REMEMBERED)
def preserved_strides(shape: tuple[int, ...], strides: Strides) -> Strides | None:
    """Return the strides of a copy that preserves the memory format: the same if dense, else dense in iteration order."""
    if dense_order(shape, strides) is not None:
        return normalize(shape, strides)
    return elementwise_strides(shape, ((shape, strides),))


def iteration_order(shape: tuple[int, ...], operands: Sequence[Strides]) -> list[int]:
    """Return the dimensions from innermost to outermost by torch's insertion sort on strides, which keeps ambiguous pairs."""
    rank = len(shape)
    order = list(range(rank - 1, -1, -1))

    def compare(dim0: int, dim1: int) -> int:
        for strides in operands:
            s0, s1 = strides[dim0], strides[dim1]
            if s0 == 0 or s1 == 0:
                continue
            if s0 < s1:
                return -1
            if s0 > s1:
                return 1
            if shape[dim0] > shape[dim1]:
                return 1
        return 0

    for i in range(1, rank):
        position = i
        for j in range(i - 1, -1, -1):
            comparison = compare(order[j], order[position])
            if comparison > 0:
                order[j], order[position] = order[position], order[j]
                position = j
            elif comparison < 0:
                break
    return order


def broadcast_shape(first: Sequence[int], second: Sequence[int]) -> tuple[int, ...]:
    """Return the shape that two shapes broadcast to; raise RuntimeError with torch's message if they are incompatible."""
    return tuple(first) if first == second else _broadcast_shape(tuple(first), tuple(second))


@lru_cache(REMEMBERED)
def _broadcast_shape(first: tuple[int, ...], second: tuple[int, ...]) -> tuple[int, ...]:
    rank = max(len(first), len(second))
    result = [1] * rank
    for i in range(1, rank + 1):
        a = first[-i] if i <= len(first) else 1
        b = second[-i] if i <= len(second) else 1
        if a != b and a != 1 and b != 1:
            raise RuntimeError(
                f"The size of tensor a ({a}) must match the size of tensor b ({b}) at non-singleton dimension {rank - i}"
            )
        result[-i] = b if a == 1 else a
    return tuple(result)


def beyond_storage(size: Sequence[int], stride: Sequence[int], offset: int, itemsize: int, held: int) -> RuntimeError:
    """Return torch's error for a view that needs more than the ``held`` bytes of its storage."""
    need = (offset + 1 + sum((length - 1) * step for length, step in zip(size, stride))) * itemsize
    return RuntimeError(
        f"setStorage: sizes {list(size)}, strides {list(stride)}, storage offset {offset}, and itemsize {itemsize} requiring a storage "
        f"size of {need} are out of bounds for storage of size {held}"
    )
