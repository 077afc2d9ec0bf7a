"""Pooling in one to three dimensions."""
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ...backend.table import kernel
from ...core.call_forms import refusal_below
from ...core.dtype import float64, int64
from ...core.strides import channels_last_strides, is_channels_last, normalize, suggests_channels_last
from ...core.tensor_base import TensorBase, in_order, is_tracked, recording, strides_of
from ...tape.ways import in_arrays
from ...tape.windows import no_view
from .._autocast import FLOAT32_ON_CPU
from .._dispatch import INTS, call, finish_exactly, refuse_dtype, type_word, with_format
from .._named import call_node, node_called
from .._operation import operation
from ..memory.creation import ones_like, zeros_like
from ..shape import views
from .conv import expand_numbers
from .padding import constant_pad_nd

_max_pool = kernel("max_pool")
_max_pool_indices = kernel("max_pool_indices")
_adaptive_max_pool = kernel("adaptive_max_pool")
_avg_pool = kernel("avg_pool")
_adaptive_avg_pool, _mean = kernel("adaptive_avg_pool"), kernel("mean")

Sizes = tuple[int, ...]
_NUMBERS = {1: "one int", 2: "two ints", 3: "three ints"}


def _numbers(value: TensorBase | int | Sequence[TensorBase | int], rank: int, function: str, name: str) -> Sizes:
    if isinstance(value, (tuple, list)) and len(value) not in (1, rank):
        single = "either be a single int, or a tuple of"
        raise RuntimeError(f"{function}: {name} must {single} {_NUMBERS[rank]}")
    return expand_numbers(value, rank, name)


def pooled_sizes(
    sizes: Sizes, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, ceil_mode: bool
) -> Sizes:
    """Return the number of windows in each dimension; with ``ceil_mode`` including one that starts inside and ends outside."""
    found = []
    for n, k, s, p, d in zip(sizes, kernel, stride, padding, dilation):
        reach = n + 2 * p - d * (k - 1) - 1 + (s - 1 if ceil_mode else 0)
        out = reach // s + 1
        if ceil_mode and (out - 1) * s >= n + p:
            out -= 1
        found.append(out)
    return tuple(found)


def _prepare(
    function: str, rank: int, input: TensorBase, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None,
    padding: int | Sequence[int], dilation: int | Sequence[int], ceil_mode: bool, indices: bool = False,
) -> tuple[Any, bool, Sizes, Sizes, Sizes, Sizes, Sizes]:
    """Return the batched input, whether it was unbatched, and kernel, stride, padding, dilation and output sizes."""
    kernel_ = _numbers(kernel_size, rank, function, "kernel_size")
    if stride is None or (isinstance(stride, (tuple, list)) and not stride):
        stride_ = kernel_
    else:
        stride_ = _numbers(stride, rank, function, "stride")
    padding_ = _numbers(padding, rank, function, "padding")
    dilation_ = _numbers(dilation, rank, function, "dilation")
    shape = input._ms_shape
    if function == "max_pool1d" and not indices:
        _check_line(shape, kernel_, stride_, padding_, dilation_)
    if len(shape) not in (rank + 1, rank + 2):
        raise RuntimeError(f"non-empty {rank + 1}D or {rank + 2}D (batch mode) tensor expected for input")
    _check_windows(kernel_, stride_, padding_, dilation_)
    _check_not_empty("max_pool3d_with_indices_out_cpu_template" if "max" in function else function, rank, shape)
    sizes = shape[len(shape) - rank :]
    if function == "avg_pool3d" and any(size < k for size, k in zip(sizes, kernel_)):
        raise RuntimeError(
            "input image (T: {} H: {} W: {}) smaller than kernel size (kT: {} kH: {} kW: {})".format(*sizes, *kernel_)
        )
    out = pooled_sizes(sizes, kernel_, stride_, padding_, dilation_, ceil_mode)
    if min(out) < 1:
        if function == "max_pool1d" and not indices:
            raise RuntimeError(f"max_pool1d() Invalid computed output size: {out[0]}")
        flat = (shape[-2], 1) if rank == 1 else (shape[-rank - 1],)  # a line is pooled as an image of one row
        raise RuntimeError(
            f"Given input size: ({_x(*flat, *sizes)}). Calculated output size: ({_x(*flat, *out)}). Output size is too small"
        )
    single = len(shape) == rank + 1
    return views.unsqueeze(input, 0) if single else input, single, kernel_, stride_, padding_, dilation_, out


def _check_windows(kernel_: Sizes, stride_: Sizes, padding_: Sizes, dilation_: Sizes) -> None:
    """Raise RuntimeError for windows that are empty, do not move on, or would lie in the padding alone."""
    if min(stride_) <= 0:
        raise RuntimeError("stride should not be zero")
    if min(kernel_) <= 0:
        raise RuntimeError(f"kernel size should be greater than zero, but got {_dims('k', kernel_)}")
    if min(dilation_) <= 0:
        raise RuntimeError(f"dilation should be greater than zero, but got {_dims('dilation', dilation_)}")
    for p, k, d in zip(padding_, kernel_, dilation_):
        if p < 0:
            raise RuntimeError(f"pad must be non-negative, but got pad: {p}")
        if p > ((k - 1) * d + 1) // 2:
            raise RuntimeError(
                f"pad should be at most half of effective kernel size, but got pad={p}, kernel_size={k} and dilation={d}"
            )
    for p, k in zip(padding_, kernel_):
        if p > k // 2:
            (kt, kh, kw), (pt, ph, pw) = (1, 1, *kernel_)[-3:], (0, 0, *padding_)[-3:]
            of_volumes = f"kT: {kt} kW: {kw} kH: {kh} padT: {pt} padW: {pw} padH: {ph}"
            numbers = of_volumes if len(kernel_) == 3 else f"padW = {pw}, padH = {ph}, kW = {kw}, kH = {kh}"
            raise RuntimeError(f"pad should be smaller than or equal to half of kernel size, but got {numbers}")


def _check_line(shape: Sizes, kernel_: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes) -> None:
    """Raise torch's errors for invalid arguments of ``max_pool1d`` without indices."""
    if len(shape) not in (2, 3) or 0 in shape[len(shape) - 2 :]:
        raise RuntimeError(
            f"max_pool1d: Expected 2D or 3D (batch mode) tensor with optional 0 dim batch size for input, but got:{list(shape)}"
        )
    (k,), (s,), (p,), (d,) = kernel_, stride, padding, dilation
    for name, value in (("kernel_size", k), ("stride", s)):
        if value <= 0:
            raise RuntimeError(f"max_pool1d() {name} must be greater than zero, but got {value}")
    if p < 0:
        raise RuntimeError(f"max_pool1d() padding must be non-negative, but got {p}")
    if p > k // 2:
        raise RuntimeError(f"max_pool1d() padding should be at most half of kernel size, but got padding={p} and kernel_size={k}")
    if d <= 0:
        raise RuntimeError(f"max_pool1d() dilation must be greater than zero, but got {d}")


def _check_not_empty(function: str, rank: int, shape: Sizes) -> None:
    """Raise torch's errors of pooling for dimensions of length 0."""
    first = len(shape) - rank - 1
    if 0 not in shape[first:]:
        return
    if rank == 3:
        raise RuntimeError(
            f"{function}(): Expected input's non-batch dimensions to have positive length, but input "
            f"has a shape of {list(shape)} and non-batch dimension 0 has length zero!"
        )
    seen = list(shape) if rank == 2 else [*shape[:-1], 1, *shape[-1:]]
    raise RuntimeError(f"Expected 3D or 4D (batch mode) tensor with optional 0 dim batch size for input, but got:{seen}")


def _x(*sizes: int) -> str:
    return "x".join(str(size) for size in sizes)


def _dims(name: str, values: Sizes) -> str:
    axes = "THW"[3 - len(values) :]
    return " ".join(f"{name}{axis}: {value}" for axis, value in zip(axes, values))


def _squeeze_label(rank: int, *args: Any) -> str:
    """Return the name of torch's node that removes the added dimension of height 1 in 1-d pooling, "SqueezeBackward1"; "" for other ranks.
    """
    return "SqueezeBackward1" if rank == 1 else ""


def _without_batch(values: TensorBase) -> TensorBase:
    made = no_view(views.squeeze(values, 0))
    return made if values._ms_node is None else call_node(made, type(values._ms_node).label)


@node_called(_squeeze_label)
def max_pool(
    rank: int, input: TensorBase, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None, padding: int | Sequence[int],
    dilation: int | Sequence[int], ceil_mode: bool, indices: bool
) -> Any:
    """Return the maximum of each window, and with ``indices`` its flat spatial index."""
    input, single, *numbers = _prepare(
        f"max_pool{rank}d", rank, input, kernel_size, stride, padding, dilation, ceil_mode, indices
    )
    if indices:
        values, positions = call(_max_pool_indices, (input,), *numbers, label=_label("MaxPool", rank, "WithIndices"))
        values, positions = (_in_format(rank, part, input, single) for part in (values, positions))
        return (_without_batch(values), _without_batch(positions)) if single else (values, positions)
    if rank == 1:
        refuse_dtype("max_pool1d_impl", input._ms_dtype, 2)
    refuse_dtype(f"max_pool{rank}d", input._ms_dtype)
    values = call(_max_pool, (input,), *numbers, label=_label("MaxPool", rank, "WithIndices"))
    if rank > 1 or recording((input,)) or not in_arrays(input):  # torch's other kernel of lines has no format
        values = _in_format(rank, values, input, single)
    return _without_batch(values) if single else values


def _in_format(rank: int, values: TensorBase, input: TensorBase, single: bool) -> TensorBase:
    """Return the result in the input's memory format. A single volume is batched for the kernel; it has a format if it is dense."""
    if rank == 1:
        return values if single else _pooled_as_images(values, input)
    if single and rank == 3 and input._ms_stride is not None and is_channels_last(input._ms_shape, input._ms_stride):
        return in_order(values, normalize(values._ms_shape, channels_last_strides(values._ms_shape)))
    return with_format(values, input)


def _pooled_as_images(values: TensorBase, input: TensorBase) -> TensorBase:
    """Return the result of 1-d pooling in torch's memory order: torch pools a line as an image of height 1, and keeps channels-last order
    if the image's strides suggest it."""
    (*front, length), (*steps, step) = input._ms_shape, strides_of(input)
    if not suggests_channels_last((*front, 1, length), (*steps, step * length, step)):
        return values
    shape = values._ms_shape
    strides = channels_last_strides((*shape[:2], 1, shape[2]))
    return in_order(values, normalize(shape, (*strides[:2], strides[3])))


def _label(name: str, rank: int, rest: str = "") -> str:
    """Return torch's name of a pooling node; 1-d input is pooled as an image of height 1."""
    return f"{name}{max(rank, 2)}D{rest}Backward0"


def _formatted(rank: int, values: TensorBase, input: TensorBase) -> TensorBase:
    """Return the result in the input's memory format where torch's kernel keeps the format: in one and two dimensions."""
    if rank == 1:
        return _pooled_as_images(values, input)
    return values if rank == 3 else with_format(values, input)


@node_called(_squeeze_label)
def avg_pool(
    rank: int, input: TensorBase, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None, padding: int | Sequence[int],
    ceil_mode: bool, count_include_pad: bool, divisor_override: int | None,
) -> TensorBase:  # fmt: skip
    """Return the mean of each window."""
    if divisor_override == 0:
        raise RuntimeError("divisor must be not zero")
    input, single, kernel_, stride_, padding_, _, out = _prepare(
        f"avg_pool{rank}d", rank, input, kernel_size, stride, padding, 1, ceil_mode
    )
    if input._ms_dtype is not int64:
        refuse_dtype("avg_pool3d_out_frame" if rank == 3 else "avg_pool2d", input._ms_dtype, 2)
        numbers = (kernel_, stride_, padding_, out, count_include_pad, divisor_override)
        values = call(_avg_pool, (input,), *numbers, label=_label("AvgPool", rank))
    else:
        # Sums of integers are divided by integer division.
        wide = input.to(float64)
        total = call(_avg_pool, (wide,), kernel_, stride_, padding_, out, True, 1)
        ones = (ones_like if divisor_override is None else zeros_like)(wide)
        if divisor_override is None and count_include_pad:
            ones = constant_pad_nd(ones, [p for pad in reversed(padding_) for p in (pad, pad)], 1)
            counts = call(_avg_pool, (ones,), kernel_, stride_, (0,) * rank, out, True, 1)
        else:
            counts = call(_avg_pool, (ones,), kernel_, stride_, padding_, out, True, 1) + (divisor_override or 0)
        values = (total / counts).to(int64)
    return _without_batch(values) if single else _formatted(rank, values, input)


def _adaptive(
    rank: int, name: str, input: TensorBase, output_size: Any
) -> tuple[Any, bool, Sizes]:
    shape = input._ms_shape
    if rank > 1 and not isinstance(output_size, int):
        if len(output_size) >= len(shape):
            raise ValueError(f"Input dimension should be at least {len(output_size) + 1}")
        output_size = list(output_size)
    if len(shape) not in (rank + 1, rank + 2):
        raise RuntimeError(f"{name}(): Expected {rank + 1}D or {rank + 2}D tensor, but got {list(shape)}")
    sizes = shape[len(shape) - rank :]
    average = "avg" in name
    if not isinstance(output_size, (tuple, list)):
        output_size = (output_size,) * rank
    if len(output_size) == 1 and rank > 1 and average:
        output_size = tuple(output_size) * rank
    if len(output_size) != rank:
        raise RuntimeError(
            "'output_size' should contain one int" if rank == 1 else f"{name}(): internal error: output_size must be {rank}"
        )
    if not INTS.issuperset(map(type, output_size)):
        output_size = [n if o is None else o for n, o in zip(sizes, output_size)]
        told = refusal_below(name, False, {"input": (input, None), "output_size": (output_size, 1)})
        if told is not None:
            raise TypeError(told)
    out = tuple(map(int, output_size))
    _check_adaptive_sizes(name, shape[: len(shape) - rank], out)
    # Average pooling checks the spatial dimensions only, and nothing if the output size is 1.
    first = len(shape) - rank if average and rank < 3 else 1
    if 0 in shape[first:] and not (average and set(out) == {1}):
        if rank == 1 and average:  # torch treats it as an image of one row
            raise _empty(name.replace("1d", "2d"), "input", (*shape[:-1], 1, shape[-1]), first)
        raise _empty(name, "input", shape, first)
    single = len(shape) == rank + 1
    return views.unsqueeze(input, 0) if single else input, single, out


def _check_adaptive_sizes(name: str, lead: Sizes, out: Sizes) -> None:
    """Raise RuntimeError for a negative size, or a result beyond all memory."""
    if min(out) >= 0 and math.prod(lead) * math.prod(out) < 2**60:
        return
    whole = [*lead, *([1] if len(out) == 1 else []), *out]
    if math.prod([max(o, 0) for o in whole]) >= 2**60:
        raise RuntimeError(f"Storage size calculation overflowed with sizes={whole}")
    if "max" in name:
        raise RuntimeError(f"Trying to create tensor with negative dimension {min(out)}: {whole}")
    raise RuntimeError(f"{name}: elements of output_size must be greater than or equal to 0 but received {list(out)}")


def _empty(name: str, word: str, shape: Sizes, first: int) -> RuntimeError:
    return RuntimeError(
        f"{name}(): Expected {word} to have non-zero size for non-batch dimensions, but {word} has sizes {list(shape)} with "
        f"dimension {shape.index(0, first)} being empty"
    )


def _refused_backward(values: Any, name: str, rank: int, single: bool) -> Any:
    """Return the result of adaptive pooling. If it is empty in a dimension other than the batch, register a hook so that backward raises
    torch's error."""
    shape = values._ms_shape[single:]
    if 0 in shape[1:] and is_tracked(values):

        def refuse(gradient: TensorBase) -> Any:
            raise _empty(f"{name}_pool{max(rank, 2)}d_backward", "grad_output", (*shape[:-1], 1, shape[-1]) if rank == 1 else shape, 1)

        values.register_hook(refuse)
    return values


@node_called(_squeeze_label)
def adaptive_avg_pool(rank: int, input: TensorBase, output_size: int | tuple[TensorBase | int | None, ...]) -> TensorBase:
    """Average-pool to ``output_size``."""
    input, single, out = _adaptive(rank, f"adaptive_avg_pool{rank}d", input, output_size)
    if set(out) == {1} and rank > 1 and input._ms_dtype.is_integral:
        raise RuntimeError(
            "mean(): could not infer output dtype. Input dtype must be either a floating point or complex dtype. Got: "
            f"{type_word(input._ms_dtype)}"
        )
    refuse_dtype("adaptive_avg_pool3d_cpu" if rank == 3 else "adaptive_avg_pool2d", input._ms_dtype, 2)
    if set(out) == {1}:
        rank_of_input = len(input._ms_shape)
        values = call(_mean, (input,), tuple(range(rank_of_input - rank, rank_of_input)), True)
    else:
        values = call(_adaptive_avg_pool, (input,), out, label=_label("AdaptiveAvgPool", rank))
        _refused_backward(values, "adaptive_avg", rank, single)
    if single:
        return _without_batch(values)
    # With output size 1 torch computes a mean, which keeps the memory format in three dimensions too.
    return with_format(values, input) if set(out) == {1} and rank > 1 else _formatted(rank, values, input)


@node_called(_squeeze_label)
def adaptive_max_pool(rank: int, input: TensorBase, output_size: int | tuple[TensorBase | int | None, ...]) -> tuple[Any, Any]:
    """Max-pool to ``output_size``; return the maxima and their flat spatial indices."""
    input, single, out = _adaptive(rank, f"adaptive_max_pool{rank}d", input, output_size)
    refuse_dtype("adaptive_max_pool3d_cpu" if rank == 3 else "adaptive_max_pool2d", input._ms_dtype, 2)
    values, positions = call(_adaptive_max_pool, (input,), out, label=_label("AdaptiveMaxPool", rank))
    _refused_backward(values, "adaptive_max", rank, single)
    if single:
        return _without_batch(values), _without_batch(positions)
    return _formatted(rank, values, input), _formatted(rank, positions, input)


def max_pool1d(
    input: TensorBase, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None = (), padding: int | Sequence[int] = 0,
    dilation: int | Sequence[int] = 1, ceil_mode: bool = False
) -> TensorBase | tuple[TensorBase, TensorBase]:
    """Return the maximum of each window of (N, C, L) or (C, L)."""
    return max_pool(1, input, kernel_size, stride, padding, dilation, ceil_mode, False)


def max_pool1d_with_indices(
    input: TensorBase, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None = (), padding: int | Sequence[int] = 0,
    dilation: int | Sequence[int] = 1, ceil_mode: bool = False
) -> tuple[TensorBase, TensorBase]:
    """Return the maximum of each window of (N, C, L) or (C, L), and its index."""
    return max_pool(1, input, kernel_size, stride, padding, dilation, ceil_mode, True)


def max_pool2d(
    input: TensorBase, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None = (), padding: int | Sequence[int] = 0,
    dilation: int | Sequence[int] = 1, ceil_mode: bool = False
) -> TensorBase | tuple[TensorBase, TensorBase]:
    """Return the maximum of each window of (N, C, H, W) or (C, H, W)."""
    return max_pool(2, input, kernel_size, stride, padding, dilation, ceil_mode, False)


@operation(autocast=FLOAT32_ON_CPU)
def max_pool3d(
    input: TensorBase, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None = (), padding: int | Sequence[int] = 0,
    dilation: int | Sequence[int] = 1, ceil_mode: bool = False
) -> TensorBase | tuple[TensorBase, TensorBase]:
    """Return the maximum of each window of (N, C, D, H, W) or (C, D, H, W)."""
    return max_pool(3, input, kernel_size, stride, padding, dilation, ceil_mode, False)


def avg_pool1d(
    input: TensorBase, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None = (), padding: int | Sequence[int] = 0,
    ceil_mode: bool = False, count_include_pad: bool = True
) -> TensorBase:
    """Return the mean of each window of (N, C, L) or (C, L)."""
    return avg_pool(1, input, kernel_size, stride, padding, ceil_mode, count_include_pad, None)


def avg_pool2d(
    input: TensorBase, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None = None, padding: int | Sequence[int] = 0,
    ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: int | None = None, *, out: TensorBase | None = None,
) -> TensorBase:  # fmt: skip
    """Return the mean of each window of (N, C, H, W) or (C, H, W)."""
    means = avg_pool(2, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)
    return means if out is None else finish_exactly(means, out)


@operation(autocast=FLOAT32_ON_CPU)
def avg_pool3d(
    input: TensorBase, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None = None, padding: int | Sequence[int] = 0,
    ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: int | None = None, *, out: TensorBase | None = None,
) -> TensorBase:  # fmt: skip
    """Return the mean of each window of (N, C, D, H, W) or (C, D, H, W)."""
    means = avg_pool(3, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)
    return means if out is None else finish_exactly(means, out)


def adaptive_avg_pool1d(input: TensorBase, output_size: int | Sequence[int]) -> TensorBase:
    """Average-pool (N, C, L) or (C, L) to ``output_size``."""
    return adaptive_avg_pool(1, input, output_size)


def adaptive_max_pool1d(input: TensorBase, output_size: int | Sequence[int | None] | None) -> tuple[Any, Any]:
    """Max-pool (N, C, L) or (C, L) to ``output_size``; return the maxima and their indices."""
    return adaptive_max_pool(1, input, output_size)
