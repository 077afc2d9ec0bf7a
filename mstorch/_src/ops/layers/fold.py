"""``unfold`` and ``fold``: between sliding windows and columns."""
from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

from ...backend.errors import not_for
from ...backend.table import kernel
from ...core.dtype import bool_
from ...core.tensor_base import TensorBase
from ...tape.windows import no_view
from .._dispatch import call
from .._numbers import numbers
from ..shape import views

PUBLIC_IN = "nn.functional"

_im2col = kernel("im2col")
_col2im = kernel("col2im")


def _pair(value: int | list[Any] | tuple[TensorBase | int, ...]) -> tuple[int, int]:
    both = tuple(value) if isinstance(value, (tuple, list)) else (value, value)
    return (both[0], both[0]) if len(both) == 1 else both


def _spread(value: Any) -> tuple[int, ...]:
    """Return the whole numbers of anything that can be iterated over, or one number twice."""
    return tuple(map(operator.index, numbers(value, 2)))


def _blocks(
    sizes: tuple[int, ...], kernel_: tuple[int, int], dilation: tuple[int, ...], padding: tuple[int, ...], stride: tuple[int, ...]
) -> tuple[int, ...]:
    return tuple(
        (n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, d, p, s in zip(sizes, kernel_, dilation, padding, stride)
    )


def _positive(kernel_: tuple[int, int], dilation: tuple[int, ...], padding: tuple[int, ...], stride: tuple[int, ...]) -> None:
    for name, values, low in (("kernel size", kernel_, 1), ("dilation", dilation, 1), ("padding", padding, 0), ("stride", stride, 1)):
        if any(v < low for v in values):
            if low:
                short = name.split()[0]
                raise RuntimeError(
                    f"{name} should be greater than zero, but got {short}_height: {values[0]} {short}_width: {values[1]}"
                )
            raise RuntimeError(
                f"padding should be non-negative, but got pad_height: {values[0]} pad_width: {values[1]}"
            )


def im2col(
    input: TensorBase, kernel_size: Any, dilation: int | tuple[int, ...] = 1, padding: int | tuple[int, ...] = 0,
    stride: int | tuple[int, ...] = 1
) -> TensorBase:
    """Return sliding windows as columns: (N, C, H, W) or (C, H, W) → (N, C * kH * kW, windows)."""
    shape = input._ms_shape
    kernel_, dilation, padding, stride = (_pair(v) for v in (kernel_size, dilation, padding, stride))
    _positive(kernel_, dilation, padding, stride)
    if input._ms_dtype is bool_:
        return im2col(input.float(), kernel_size, dilation, padding, stride).to(bool_)
    if input._ms_dtype.is_integral:
        raise not_for("im2col_out_cpu", input._ms_dtype.name)
    if len(shape) not in (3, 4) or 0 in shape[1:]:
        raise RuntimeError(
            "Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions for input, but got: "
            f"{list(shape)}"
        )
    out = _blocks(shape[-2:], kernel_, dilation, padding, stride)
    if min(out) < 1:
        raise RuntimeError(
            f"Given input with spatial size ({shape[-2]}, {shape[-1]}), kernel_size=({kernel_[0]}, {kernel_[1]}), "
            f"dilation=({dilation[0]}, {dilation[1]}), padding=({padding[0]}, {padding[1]}), stride=({stride[0]}, {stride[1]}), "
            f"calculated shape of the array of sliding blocks as ({out[0]}, {out[1]}), but its components must be at least one."
        )
    single = len(shape) == 3
    batch = views.unsqueeze(input, 0) if single else input
    columns = call(_im2col, (batch,), kernel_, dilation, padding, stride, out)
    return no_view(views.squeeze(columns, 0)) if single else columns


def unfold(input: TensorBase, kernel_size: int | Sequence[int], dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> TensorBase:
    """Return sliding windows as columns: (N, C, H, W) or (C, H, W) → (N, C * kH * kW, windows)."""
    return im2col(input, *map(_spread, (kernel_size, dilation, padding, stride)))


def col2im(
    input: TensorBase, output_size: tuple[int, ...], kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1
) -> TensorBase:
    """Sum overlapping windows: (N, C * kH * kW, windows), or without N → (N, C, H, W)."""
    if input._ms_dtype is bool_:
        return col2im(input.float(), output_size, kernel_size, dilation, padding, stride).to(bool_)
    if input._ms_dtype.is_integral:
        raise not_for("col2im_out_cpu", input._ms_dtype.name)
    shape = input._ms_shape
    sizes, kernel_, dilation, padding, stride = (_pair(v) for v in (output_size, kernel_size, dilation, padding, stride))
    _positive(kernel_, dilation, padding, stride)
    if len(shape) not in (2, 3) or 0 in shape[-2:]:
        raise RuntimeError(
            "Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size and non-zero dimensions for input, but "
            f"got: {list(shape)}"
        )
    count = kernel_[0] * kernel_[1]
    if shape[-2] % count:
        raise RuntimeError(
            "Expected size of input's dimension 1 to be divisible by the product of kernel_size, but got "
            f"input.size(1)={shape[-2]} and kernel_size=({kernel_[0]}, {kernel_[1]})."
        )
    blocks = _blocks(sizes, kernel_, dilation, padding, stride)
    if min(blocks) < 1:
        raise RuntimeError(
            f"Given output_size=({sizes[0]}, {sizes[1]}), kernel_size=({kernel_[0]}, {kernel_[1]}), dilation=({dilation[0]}, "
            f"{dilation[1]}), padding=({padding[0]}, {padding[1]}), stride=({stride[0]}, {stride[1]}), calculated shape of the array "
            f"of sliding blocks as ({blocks[0]}, {blocks[1]}), but its components must be at least one."
        )
    if shape[-1] != blocks[0] * blocks[1]:
        raise RuntimeError(
            f"Given output_size=({sizes[0]}, {sizes[1]}), kernel_size=({kernel_[0]}, {kernel_[1]}), dilation=({dilation[0]}, "
            f"{dilation[1]}), padding=({padding[0]}, {padding[1]}), stride=({stride[0]}, {stride[1]}), expected size of input's "
            f"dimension 2 to match the calculated number of sliding blocks {blocks[0]} * {blocks[1]} = {blocks[0] * blocks[1]}, "
            f"but got input.size(2)={shape[-1]}."
        )
    single = len(shape) == 2
    batch = views.unsqueeze(input, 0) if single else input
    image = call(_col2im, (batch,), sizes, kernel_, dilation, padding, stride, blocks)
    return no_view(views.squeeze(image, 0)) if single else image


def fold(
    input: Any, output_size: Any, kernel_size: int | Sequence[int], dilation: int | Sequence[int] = 1, padding: int | Sequence[int] = 0,
    stride: int | Sequence[int] = 1
) -> TensorBase:
    """Sum overlapping windows: (N, C * kH * kW, windows), or without N → (N, C, H, W)."""
    return col2im(input, *map(_spread, (output_size, kernel_size, dilation, padding, stride)))
