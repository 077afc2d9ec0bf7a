"""Convolutions on the host, by windows and matrix products: for forked processes, which MindSpore's kernels do not reach."""
from __future__ import annotations

from typing import Any

import numpy as np

from ..kernels.windows import strided_table, transposed_table
from ..table import define_host
from ._ufunc import COMPLEX, FLOATS, HALF, INTS
from .matmul import product
from .resample import windows

Sizes = tuple[int, ...]


def _with_bias(y: np.ndarray, bias: np.ndarray | None) -> np.ndarray:
    if bias is not None:
        y += bias.reshape(-1, *([1] * (y.ndim - 2)))
    return y


def _contract(columns: np.ndarray, w: np.ndarray, groups: int, out: Sizes) -> np.ndarray:
    """(N, C, K, L) windows times (groups, out channels / groups, C / groups * K) weights: (N, out channels, *out)."""
    n, c, k, length = columns.shape
    wide = columns.reshape(n, groups, c // groups * k, length).transpose(1, 2, 0, 3).reshape(groups, c // groups * k, n * length)
    flat = np.stack([product(np.ascontiguousarray(w[i]), wide[i]) for i in range(groups)])
    return np.array(flat.reshape(-1, n, length).transpose(1, 0, 2), order="C").reshape(n, -1, *out)


def _grouped(w: np.ndarray, groups: int) -> np.ndarray:
    return np.ascontiguousarray(w).reshape(groups, w.shape[0] // groups, int(np.prod(w.shape[1:])))


def _crossed(w: np.ndarray, groups: int) -> np.ndarray:
    """(C, out / groups, *kernel) → (groups, out / groups, C / groups * kernel elements)."""
    parts = np.ascontiguousarray(w).reshape(groups, w.shape[0] // groups, w.shape[1], int(np.prod(w.shape[2:])))
    return parts.transpose(0, 2, 1, 3).reshape(groups, w.shape[1], -1)


def _out_sizes(sizes: Sizes, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes) -> Sizes:
    return tuple((n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, p, d in zip(sizes, kernel, stride, padding, dilation))


def numpy_conv(
    x: np.ndarray, w: np.ndarray, bias: np.ndarray | None, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int
) -> np.ndarray:
    """(N, C, *spatial) with weights (out, C / groups, *kernel): (N, out, *spatial'). Padding is on both sides."""
    sizes, kernel = x.shape[2:], w.shape[2:]
    out = _out_sizes(sizes, kernel, stride, padding, dilation)
    if not x.size or not w.size or 0 in out:
        return _with_bias(np.zeros((x.shape[0], w.shape[0], *out), x.dtype), bias)
    columns = windows(x, strided_table(sizes, kernel, stride, padding, dilation, out))
    return _with_bias(_contract(columns, _grouped(w, groups), groups, out), bias)


def numpy_conv_transpose(
    x: np.ndarray, w: np.ndarray, bias: np.ndarray | None, stride: Sizes, padding: Sizes, output_padding: Sizes, dilation: Sizes,
    groups: int,
) -> np.ndarray:  # fmt: skip
    """(N, C, *spatial) with weights (C, out / groups, *kernel): (N, out, *spatial')."""
    out = tuple(
        (n - 1) * s - 2 * p + d * (k - 1) + o + 1
        for n, k, s, p, o, d in zip(x.shape[2:], w.shape[2:], stride, padding, output_padding, dilation)
    )
    return _with_bias(_transposed(x, w, out, stride, padding, dilation, groups), bias)


def _transposed(x: np.ndarray, w: np.ndarray, out: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int) -> np.ndarray:
    if not x.size or not w.size or 0 in out:
        return np.zeros((x.shape[0], w.shape[1] * groups, *out), x.dtype)
    table = transposed_table(x.shape[2:], w.shape[2:], stride, padding, dilation, out)
    return _contract(windows(x, table), _crossed(w, groups), groups, out)


def numpy_conv2d_input(g: np.ndarray, w: np.ndarray, shape: Sizes, *attributes: Any) -> np.ndarray:
    """The gradient of ``conv2d`` for an input of ``shape``."""
    return _transposed(g, w, tuple(shape[2:]), *attributes)


def numpy_conv2d_weight(
    g: np.ndarray, x: np.ndarray, shape: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int
) -> np.ndarray:
    """The gradient of ``conv2d`` for weights of ``shape``."""
    n, channels = g.shape[:2]
    columns = windows(x, strided_table(x.shape[2:], tuple(shape[2:]), stride, padding, dilation, g.shape[2:]))
    c, k, length = columns.shape[1:]
    wide = columns.reshape(n, groups, c // groups * k, length).transpose(1, 0, 3, 2).reshape(groups, n * length, c // groups * k)
    rows = np.ascontiguousarray(g).reshape(n, groups, channels // groups, length).transpose(1, 2, 0, 3)
    rows = rows.reshape(groups, channels // groups, n * length)
    return np.stack([product(rows[i], wide[i]) for i in range(groups)]).reshape(shape)


_DTYPES = (*FLOATS, *INTS, *COMPLEX)
define_host("conv", numpy_conv, _DTYPES, HALF, spare=True)
define_host("conv_transpose", numpy_conv_transpose, _DTYPES, HALF, spare=True)
define_host("conv2d", numpy_conv, FLOATS, HALF, spare=True)
define_host("conv2d_input", numpy_conv2d_input, FLOATS, HALF, spare=True)
define_host("conv2d_weight", numpy_conv2d_weight, FLOATS, HALF, spare=True)
