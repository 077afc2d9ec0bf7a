"""Resampling: linear maps along one axis, unfold and fold."""
from __future__ import annotations

import numpy as np
from mindspore import ops

from ..arrays import Array
from ..device_memory import full
from ..geometry import inverse_order
from ..raw import NAME_OF, NP_DTYPE, Raw, from_numpy
from ..table import BUT_BFLOAT16, COMPLEX, FLOATS, VIA_BFLOAT16, VIA_HALF, define
from ._empty import filled
from .sliding_windows import strided_table, transposed_table, windows
from .views import ops_permute as _transpose
from .views import ops_reshape as _reshape

_gather = ops.Gather()
_matmul = ops.MatMul()
_concat = ops.Concat(2)
_sum = ops.ReduceSum(False)


def composed_along(x: Raw, matrix: Array, taps: Array | None, axis: int) -> Raw:
    """Resample (…, n, …) to (…, m, …) by a matrix (n, m); ``taps`` is for the host kernel."""
    rank = len(x.shape)
    order = (*(i for i in range(rank) if i != axis), axis)
    moved = _transpose(x, order) if order != tuple(range(rank)) else x
    lead = tuple(moved.shape[:-1])
    weights = from_numpy(np.ascontiguousarray(matrix, dtype=NP_DTYPE[NAME_OF[x.dtype]]))
    y = _reshape(_matmul(_reshape(moved, (-1, moved.shape[-1])), weights), (*lead, matrix.shape[1]))
    back = inverse_order(order)
    return _transpose(y, back) if back != tuple(range(rank)) else y


def ops_pick_along(x: Raw, positions: Array, axis: int) -> Raw:
    """Return the elements of ``x`` at ``positions`` along ``axis``."""
    return _gather(x, from_numpy(np.ascontiguousarray(positions, dtype=np.int32)), axis)


Sizes = tuple[int, ...]


def composed_unfold(x: Raw, kernel: Sizes, dilation: Sizes, padding: Sizes, stride: Sizes, out: Sizes) -> Raw:
    """Unfold (N, C, *spatial) to (N, C * kernel elements, windows)."""
    n, c = x.shape[:2]
    if x.size == 0:
        return filled((n, c * int(np.prod(kernel)), int(np.prod(out))), 0, NAME_OF[x.dtype], x)
    columns = windows(x, strided_table(tuple(x.shape[2:]), kernel, stride, padding, dilation, out))
    return _reshape(columns, (n, -1, columns.shape[3]))


def composed_fold(
    x: Raw, sizes: Sizes, kernel: Sizes, dilation: Sizes, padding: Sizes, stride: Sizes, blocks: Sizes
) -> Raw:
    """Fold (N, C * kernel elements, windows) to (N, C, *sizes), summing overlapping windows."""
    n = x.shape[0]
    count, length = int(np.prod(kernel)), int(np.prod(blocks))
    c = x.shape[1] // count
    if x.size == 0:
        return filled((n, c, *sizes), 0, NAME_OF[x.dtype], x)
    # For each kernel element and each output element: the window that has this kernel element there, or -1.
    table = transposed_table(blocks, kernel, stride, padding, dilation, sizes)
    flat = _concat((_reshape(x, (n, c, count * length)), full((n, c, 1), 0, NAME_OF[x.dtype])))
    index = np.where(table < 0, count * length, table + np.arange(count)[:, None] * length)
    taken = _gather(flat, from_numpy(index.astype(np.int32).reshape(-1)), 2)
    return _reshape(_sum(_reshape(taken, (n, c, count, -1)), 2), (n, c, *sizes))


define("along", cpu=composed_along, dtypes=FLOATS, via=VIA_HALF)
define("pick_along", cpu=ops_pick_along, dtypes=BUT_BFLOAT16, via=VIA_BFLOAT16)
define("im2col", cpu=composed_unfold, dtypes=FLOATS + COMPLEX, via=VIA_HALF)
define("col2im", cpu=composed_fold, dtypes=FLOATS + COMPLEX, via=VIA_HALF)
