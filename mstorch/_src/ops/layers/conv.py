"""Convolutions in one to three dimensions."""
from __future__ import annotations

import functools
import math
import operator
from collections.abc import Sequence
from typing import Any

from ...backend import runtime
from ...backend.errors import nameless, not_for
from ...backend.onednn.library import FOUND
from ...backend.table import kernel
from ...core.dtype import float64
from ...core.modes import followed_capture
from ...core.strides import channels_last_strides, normalize, suggests_channels_last
from ...core.tensor_base import TensorBase, in_order
from ...core.warned import warn_once
from ...tape.apply import apply
from ...tape.ways import fused, ways
from ...tape.windows import no_view
from .._autocast import LOWER
from .._dispatch import INTS, call, cpp_word, type_word, with_format
from .._named import call_node
from .._operation import operation
from ..memory.copying import is_contiguous
from ..shape import views
from ..shape.join import cat

_conv = kernel("conv")
_conv2d = kernel("conv2d")
_conv_transpose = kernel("conv_transpose")
_conv_transpose2d = kernel("conv_transpose2d")
_pad = kernel("pad")

Sizes = tuple[int, ...]


def expand_numbers(value: Any, rank: int, name: str) -> Sizes:
    """Return an int per spatial dimension, from one int or a sequence. Raise torch's error for another length."""
    if value.__class__ is tuple and len(value) == rank and INTS.issuperset(map(type, value)):
        return value
    if isinstance(value, (tuple, list)):
        numbers = tuple(int(v) if isinstance(v, int) else v.__index__() for v in value)
        if len(numbers) == 1:
            return numbers * rank
        if len(numbers) != rank:
            raise RuntimeError(
                f"expected {name} to be a single integer value or a list of {rank} values to match the convolution dimensions, "
                f"but got {name}={list(numbers)}"
            )
        return numbers
    if isinstance(value, float):
        raise nameless(f"argument '{name}' must be tuple of ints, not float")
    return (int(value),) * rank


def _check_tensor(value: object, function: str, argument: str, position: int) -> None:
    if not isinstance(value, TensorBase):
        raise TypeError(f"{function}(): argument '{argument}' (position {position}) must be Tensor, not {type(value).__name__}")


def _sizes_text(sizes: Sizes) -> str:
    return " x ".join(str(size) for size in sizes)


def _check(
    x: Sizes, w: Sizes, bias: TensorBase | None, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int, transposed: bool
) -> None:
    """Raise torch's errors for the sizes of a convolution; those that passed once are remembered."""
    check = _check_sizes if groups.__class__ is int else _check_sizes.__wrapped__
    check(x, w, None if bias is None else bias._ms_shape, stride, padding, dilation, groups, transposed)


@functools.lru_cache(maxsize=512)
def _check_sizes(
    x: Sizes, w: Sizes, bias: Sizes | None, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int, transposed: bool
) -> None:
    if min(padding) < 0:
        raise RuntimeError("negative padding is not supported")
    if min(stride) <= 0:
        raise RuntimeError("non-positive stride is not supported")
    if min(dilation) <= 0:
        shown = [1, *dilation] if len(dilation) == 1 else list(dilation)
        raise RuntimeError(f"dilation should be greater than zero, but got {shown}")
    if groups <= 0:
        raise RuntimeError("non-positive groups is not supported")
    if len(w) < 3:
        raise RuntimeError("weight should have at least three dimensions")
    if len(w) != len(x):
        raise RuntimeError(
            f"Expected {len(w)}-dimensional input for {len(w)}-dimensional weight {list(w)}, but got {len(x)}-dimensional input "
            f"of size {list(x)} instead"
        )
    if w[0] < groups:
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be at least {groups} at dimension 0, but got weight of size {list(w)} "
            "instead"
        )
    if w[0] % groups:
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be divisible by {groups} at dimension 0, but got weight of size "
            f"{list(w)} instead"
        )
    out_channels = w[1] * groups if transposed else w[0]
    if transposed:
        if x[1] != w[0]:
            raise RuntimeError(
                f"Given transposed=1, weight of size {list(w)}, expected input{list(x)} to have {w[0]} channels, but got "
                f"{x[1]} channels instead"
            )
    elif x[1] != w[1] * groups:
        raise RuntimeError(
            f"Given groups={groups}, weight of size {list(w)}, expected input{list(x)} to have {w[1] * groups} channels, but "
            f"got {x[1]} channels instead"
        )
    if bias is not None and bias != (out_channels,):
        words = "Given transposed=1, weight" if transposed else "Given weight"
        raise RuntimeError(
            f"{words} of size {list(w)}, expected bias to be 1-dimensional with {out_channels} elements, but got bias of "
            f"size {list(bias)} instead"
        )
    if not transposed:
        padded = tuple([n + 2 * p for n, p in zip(x[2:], padding)])
        reach = tuple([d * (k - 1) + 1 for k, d in zip(w[2:], dilation)])
        if any(map(operator.lt, padded, reach)):
            raise RuntimeError(
                f"Calculated padded input size per channel: ({_sizes_text(padded)}). Kernel size: ({_sizes_text(reach)}). Kernel size "
                "can't be greater than actual input size"
            )


def _old_name(tensor: TensorBase) -> str:
    """Return the name of a tensor's type as torch's convolutions spell it: ``torch.FloatTensor``, ``CPUBFloat16Type``."""
    kind, word = tensor._ms_dtype, type_word(tensor._ms_dtype)
    return f"CPU{word}Type" if kind.is_complex or kind.name == "bfloat16" else f"torch.{word}Tensor"


_NOT_CONVOLVED = ("bool", "uint16", "uint32", "uint64")
_NOT_TRANSPOSED = (*_NOT_CONVOLVED, "uint8", "int8", "int16", "int32")
"""Dtypes that torch's kernels refuse; MindSpore's, also those of a device, would compute some of them."""


def _kernel_name(rank: int, transposed: bool) -> str:
    if transposed:
        return f"slow_conv_transpose{max(rank, 2)}d_out_cpu"
    return "compute_columns3d" if rank == 3 else "slow_conv2d_cpu"


def _check_types(input: TensorBase, weight: TensorBase, bias: TensorBase | None, grouped: bool, transposed: bool) -> None:
    kind = input._ms_dtype
    if bias is not None and bias._ms_dtype is not kind and (not transposed or weight._ms_dtype is kind):
        raise RuntimeError(f"Input type ({cpp_word(kind)}) and bias type ({cpp_word(bias._ms_dtype)}) should be the same")
    if weight._ms_dtype is not kind:
        if kind.name == "bfloat16" or kind.is_complex or grouped and kind.name == "float32":
            end = "" if kind.is_complex else " or input should be a MKLDNN tensor and weight is a dense tensor"
            raise RuntimeError(f"Input type ({_old_name(input)}) and weight type ({_old_name(weight)}) should be the same{end}")
        raise RuntimeError(f"expected scalar type {type_word(kind)} but found {type_word(weight._ms_dtype)}")
    if kind.name in (_NOT_TRANSPOSED if transposed else _NOT_CONVOLVED):
        raise not_for(_kernel_name(len(input._ms_shape) - 2, transposed), kind.name)


def _batched(input: TensorBase, rank: int, name: str) -> tuple[Any, bool]:
    shape = input._ms_shape
    if len(shape) == rank + 2:
        return input, False
    if len(shape) == rank + 1:
        return views.unsqueeze(input, 0), True
    raise RuntimeError(
        f"Expected {rank + 1}D (unbatched) or {rank + 2}D (batched) input to {name}, but got input of size: {list(shape)}"
    )


def _padded_same(input: TensorBase, weight: TensorBase, stride: Sizes, dilation: Sizes) -> tuple[Any, Sizes]:
    """Return the input and the symmetric padding for ``padding="same"``; where the total padding is odd, the input is padded by one element
    at the end."""
    if any(s != 1 for s in stride):
        raise RuntimeError("padding='same' is not supported for strided convolutions")
    totals = tuple(d * (k - 1) for k, d in zip(weight._ms_shape[2:], dilation))
    if any(total % 2 for total in totals):
        warn_once(
            "Using padding='same' with even kernel lengths and odd dilation may require a zero-padded copy of the input be created"
        )
        extra = []
        for total in reversed(totals):
            extra += [0, total % 2]
        input = call(_pad, (input,), tuple(extra), 0)
    return input, tuple(total // 2 for total in totals)


def _convolve(
    rank: int, input: TensorBase, weight: TensorBase, bias: TensorBase | None, stride: int | Sequence[int],
    padding: int | str | Sequence[int], dilation: int | Sequence[int], groups: int
) -> TensorBase:
    name = f"conv{rank}d"
    _check_tensor(input, name, "input", 1)
    _check_tensor(weight, name, "weight", 2)
    input, single = _batched(input, rank, name)
    stride = expand_numbers(stride, rank, "stride")
    dilation = expand_numbers(dilation, rank, "dilation")
    if isinstance(padding, str):
        if padding not in ("same", "valid"):
            raise RuntimeError(f"Invalid padding string: '{padding}'")
        if padding == "same":
            input, padding = _padded_same(input, weight, stride, dilation)
        else:
            padding = (0,) * rank
    else:
        padding = expand_numbers(padding, rank, "padding")
    _check(input._ms_shape, weight._ms_shape, bias, stride, padding, dilation, groups, False)
    _check_types(input, weight, bias, groups > 1, False)
    if not input._ms_shape[1]:
        result = _without_channels(input, weight, bias, stride, padding, dilation)
    elif _is_direct(input, rank < 3) and math.prod(input._ms_shape) and math.prod(weight._ms_shape):
        result = _direct(rank, input, weight, bias, stride, padding, dilation, groups)
    elif bias is None:
        result = call(_conv, (input, weight), None, stride, padding, dilation, groups, label=_node_name(input))
    else:
        result = call(_conv, (input, weight, bias), stride, padding, dilation, groups, label=_node_name(input))
    no_view(result)
    return views.squeeze(result, 0) if single else _ordered(result, input, weight)


def _node_name(input: TensorBase) -> str:
    """Return torch's name of the node, which for complex numbers is that of the sum of two convolutions."""
    return "AddBackward0" if input._ms_dtype.is_complex else "ConvolutionBackward0"


def _without_channels(
    input: TensorBase, weight: TensorBase, bias: TensorBase | None, stride: Sizes, padding: Sizes, dilation: Sizes
) -> TensorBase:
    """Return the convolution of an input with 0 channels: an empty result with 0 channels, as in torch, whatever the number of output
    channels of ``weight``."""
    sizes = zip(input._ms_shape[2:], weight._ms_shape[2:], stride, padding, dilation)
    shape = (input._ms_shape[0], 0, *((n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, p, d in sizes))
    parts = [views.reshape(part, (-1,))[:0] for part in (input, weight, bias) if part is not None]
    return views.reshape(cat(parts), shape)


def _ordered(result: TensorBase, input: TensorBase, weight: TensorBase) -> TensorBase:
    """Return a result in the order of memory of the input or the weight. torch convolves lines as images of height 1, which are channels
    last if the stride of a dimension of length 1 says so."""
    stride = input._ms_stride
    if len(input._ms_shape) != 3 or stride is None or not is_contiguous(input):
        return with_format(result, input, weight)
    (n, c, length), (first, second, last) = input._ms_shape, stride
    if not suggests_channels_last((n, c, 1, length), (first, second, length * last, last)):
        return result
    strides = channels_last_strides(result._ms_shape)
    return in_order(result, normalize(result._ms_shape, strides))


_DIRECT = ("float32", "float16", "bfloat16")
_ON_HOST = (*_DIRECT, "float64")
_BESIDE = runtime.HOST_TARGET != "CPU"


@ways(host=lambda input: bool(FOUND or _BESIDE))
def _any_rank(input: TensorBase) -> bool:
    """Return whether the kernel of ``conv2d`` also supports one and three dimensions and transposed groups: False by default, True on the
    host.

    Without oneDNN, MindSpore's convolution is faster, except on an Ascend host, where it would run on the device.
    """
    return False


def _is_direct_on_host(input: TensorBase, plain: bool) -> bool:
    # float64 too: MindSpore has no convolution of it, and its gradient of one composed of gathers copies each input for each kernel element
    return (plain or _any_rank(input)) and input._ms_dtype.name in _ON_HOST


def _is_direct_on_device(input: TensorBase, plain: bool) -> bool:
    if input._ms_dtype is float64:  # the host computes it for a device without such a kernel
        return not fused("conv", input._ms_dtype, input)
    return (plain or fused("conv_grad", input._ms_dtype, input)) and input._ms_dtype.name in _DIRECT


def _is_direct_in_graph(input: TensorBase, plain: bool) -> bool:
    return followed_capture() and _is_direct_on_device(input, plain)  # else MindSpore differentiates the graph, by its own convolution


@ways(host=_is_direct_on_host, captured=_is_direct_in_graph, device=_is_direct_on_device)
def _is_direct(input: TensorBase, plain: bool) -> bool:
    """Return whether the kernel with a gradient rule of its own can be used: the dtype is supported and the call is ``plain``."""
    return plain and input._ms_dtype.name in _DIRECT


def _direct(
    rank: int, input: TensorBase, weight: TensorBase, bias: TensorBase | None, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int
) -> TensorBase:
    """Compute the convolution in float32, by the kernel that has its own gradient rule."""
    if rank == 1 and not _any_rank(input):
        return _lowered(_direct(2, *_lifted(input, weight), bias, (1, *stride), (0, *padding), (1, *dilation), groups))
    for n, k, p, d in zip(input._ms_shape[2:], weight._ms_shape[2:], padding, dilation):
        if n + 2 * p < d * (k - 1) + 1:
            raise RuntimeError("Kernel size can't be greater than actual input size")
    tensors = (input, weight) if bias is None else (input, weight, bias)
    if bias is None:
        return apply(_conv2d, input._ms_dtype, (*tensors, None), (stride, padding, dilation, groups))
    return apply(_conv2d, input._ms_dtype, tensors, (stride, padding, dilation, groups))


def _lifted(input: TensorBase, weight: TensorBase) -> tuple[Any, Any]:
    """Return the operands of a convolution of lines as those of one of images with one row."""
    return views.unsqueeze(input, 2), views.unsqueeze(weight, 2)


def _lowered(image: TensorBase) -> TensorBase:
    return call_node(views.squeeze(image, 2), "ConvolutionBackward0")


def _convolve_transposed(
    rank: int, input: TensorBase, weight: TensorBase, bias: TensorBase | None, stride: int | Sequence[int],
    padding: int | Sequence[int], output_padding: int | Sequence[int], groups: int, dilation: int | Sequence[int]
) -> TensorBase:
    name = f"conv_transpose{rank}d"
    _check_tensor(input, name, "input", 1)
    _check_tensor(weight, name, "weight", 2)
    input, single = _batched(input, rank, name)
    stride = expand_numbers(stride, rank, "stride")
    padding = expand_numbers(padding, rank, "padding")
    dilation = expand_numbers(dilation, rank, "dilation")
    output_padding = expand_numbers(output_padding, rank, "output_padding")
    x, w = input._ms_shape, weight._ms_shape
    _check(x, w, bias, stride, padding, dilation, groups, True)
    _check_types(input, weight, bias, groups > 1, True)
    if any(o >= s and o >= d for o, s, d in zip(output_padding, stride, dilation)):
        names = ("depth", "height", "width")[3 - rank :] if rank > 1 else ("height", "width")
        lists = {"output_padding": output_padding, "stride": stride, "dilation": dilation}
        fill = {"output_padding": 0, "stride": 1, "dilation": 1}
        words = " ".join(
            f"{key}_{axis}: {number}"
            for key, numbers in lists.items()
            for axis, number in zip(names, numbers if rank > 1 else (fill[key], *numbers))
        )
        raise RuntimeError(f"output padding must be smaller than either stride or dilation, but got {words}")
    spread = [
        (n - 1) * s - 2 * p + d * (k - 1) + o + 1
        for n, k, s, p, o, d in zip(x[2:], w[2:], stride, padding, output_padding, dilation)
    ]
    # oneDNN, which computes narrower dtypes in torch unless they are few, has empty results, torch's own loop has none.
    if min(spread) < (input._ms_dtype is float64) and math.prod(x):
        flat = (1,) if rank == 1 else ()  # a line is an image of one row
        sizes, calculated = (" x ".join(map(str, (*flat, *lengths))) for lengths in (x[2:], spread))
        raise RuntimeError(
            f"Given input size per channel: ({sizes}). Calculated output size per channel: ({calculated}). Output size is too small"
        )
    args = (stride, padding, output_padding, dilation, groups)
    if _is_direct(input, rank == 2 and groups == 1) and math.prod(input._ms_shape) and math.prod(weight._ms_shape):
        if rank == 1 and not _any_rank(input):
            args = ((1, *stride), (0, *padding), (0, *output_padding), (1, *dilation), groups)
            result = _lowered(apply(_conv_transpose2d, input._ms_dtype, (*_lifted(input, weight), bias), args))
        else:
            result = apply(_conv_transpose2d, input._ms_dtype, (input, weight, bias), args)
    elif bias is None:
        result = call(_conv_transpose, (input, weight), None, *args, label=_node_name(input))
    else:
        result = call(_conv_transpose, (input, weight, bias), *args, label=_node_name(input))
    no_view(result)
    return views.squeeze(result, 0) if single else _ordered(result, input, weight)


@operation(autocast=LOWER)
def conv1d(
    input: TensorBase, weight: TensorBase, bias: TensorBase | None = None, stride: int | Sequence[int] = 1,
    padding: int | str | Sequence[int] = 0, dilation: int | Sequence[int] = 1, groups: int = 1
) -> TensorBase:
    """Return the convolution of (N, C, L) or (C, L) with weight (out, C / groups, k) and bias (out)."""
    return _convolve(1, input, weight, bias, stride, padding, dilation, groups)


@operation(autocast=LOWER)
def conv2d(
    input: TensorBase, weight: TensorBase, bias: TensorBase | None = None, stride: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0, dilation: int | Sequence[int] = 1, groups: int = 1
) -> TensorBase:
    """Return the convolution of (N, C, H, W) or (C, H, W) with weight (out, C / groups, kH, kW) and bias (out)."""
    return _convolve(2, input, weight, bias, stride, padding, dilation, groups)


@operation(autocast=LOWER)
def conv3d(
    input: TensorBase, weight: TensorBase, bias: TensorBase | None = None, stride: int | Sequence[int] = 1,
    padding: int | str | Sequence[int] = 0, dilation: int | Sequence[int] = 1, groups: int = 1
) -> TensorBase:
    """Return the convolution of (N, C, D, H, W) or (C, D, H, W) with weight (out, C / groups, kD, kH, kW) and bias (out)."""
    return _convolve(3, input, weight, bias, stride, padding, dilation, groups)


@operation(autocast=LOWER)
def conv_transpose1d(
    input: TensorBase, weight: TensorBase, bias: TensorBase | None = None, stride: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0, output_padding: int | Sequence[int] = 0, groups: int = 1, dilation: int | Sequence[int] = 1,
) -> TensorBase:  # fmt: skip
    """Return the transposed convolution, conv1d's input gradient, of (N, C, L) or (C, L) with weight (C, out / groups, k)."""
    return _convolve_transposed(1, input, weight, bias, stride, padding, output_padding, groups, dilation)


@operation(autocast=LOWER)
def conv_transpose2d(
    input: TensorBase, weight: TensorBase, bias: TensorBase | None = None, stride: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0, output_padding: int | Sequence[int] = 0, groups: int = 1, dilation: int | Sequence[int] = 1,
) -> TensorBase:  # fmt: skip
    """Return the transposed convolution, conv2d's input gradient, of (N, C, H, W) or (C, H, W) with weight (C, out / groups, kH, kW)."""
    return _convolve_transposed(2, input, weight, bias, stride, padding, output_padding, groups, dilation)


@operation(autocast=LOWER)
def conv_transpose3d(
    input: TensorBase, weight: TensorBase, bias: TensorBase | None = None, stride: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0, output_padding: int | Sequence[int] = 0, groups: int = 1, dilation: int | Sequence[int] = 1,
) -> TensorBase:  # fmt: skip
    """Return the transposed convolution of (N, C, D, H, W) or (C, D, H, W) with weight (C, out / groups, kD, kH, kW)."""
    return _convolve_transposed(3, input, weight, bias, stride, padding, output_padding, groups, dilation)


@operation(autocast=LOWER)
def conv_tbc(input: TensorBase, weight: TensorBase, bias: TensorBase, pad: int = 0) -> TensorBase:
    """Return the convolution over time of (T, B, C) with weight (k, C, out)."""
    moved = conv1d(views.permute(input, (1, 2, 0)), views.permute(weight, (2, 1, 0)), bias, padding=pad)
    return views.permute(moved, (2, 0, 1))


def convolution(
    input: TensorBase, weight: TensorBase, bias: TensorBase, stride: Sequence[int], padding: Sequence[int], dilation: Sequence[int],
    transposed: bool, output_padding: Sequence[int], groups: int,
) -> TensorBase:  # fmt: skip
    """Return a convolution of any rank, transposed or not."""
    rank = len(weight._ms_shape) - 2
    if transposed:
        return _convolve_transposed(rank, input, weight, bias, stride, padding, output_padding, groups, dilation)
    return _convolve(rank, input, weight, bias, stride, padding, dilation, groups)
