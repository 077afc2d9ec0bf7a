"""ATen operators that programs in files call and that torch's Python functions do not name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .. import functional, nn
from .._src.core.dtype import by_name
from .._src.core.strides import broadcast_shape
from .._src.ops.layers import native
from .._tensor import Tensor
from ..nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence
from ..nn.utils.rnn import pad_sequence as _pad_sequence
from .aten_losses import REDUCTIONS

F = nn.functional


def _convolution(
    input: Tensor, weight: Tensor, bias: Tensor | None, stride: Sequence[int], padding: Sequence[int], dilation: Sequence[int],
    transposed: bool, output_padding: Sequence[int], groups: int, *backends: bool,
) -> Tensor:  # fmt: skip
    """Return the convolution, transposed if asked for; the switches of backends have no effect."""
    rank = weight.dim() - 2
    stride, padding, dilation = ([one] * rank if isinstance(one, int) else list(one) for one in (stride, padding, dilation))
    if transposed:
        function = (F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d)[rank - 1]
        return function(input, weight, bias, stride, padding, list(output_padding), groups, dilation)
    return (F.conv1d, F.conv2d, F.conv3d)[rank - 1](input, weight, bias, stride, padding, dilation, groups)


def _convolution_mode(
    input: Tensor, weight: Tensor, bias: Tensor | None, stride: Sequence[int], padding: str, dilation: Sequence[int], groups: int
) -> Tensor:
    """Return the convolution whose padding is "same" or "valid"."""
    return (F.conv1d, F.conv2d, F.conv3d)[weight.dim() - 3](input, weight, bias, stride, padding, dilation, groups)


def _plain_convolution(rank: int) -> Callable[..., Tensor]:
    def convolution(
        self: Tensor,
        weight: Tensor,
        kernel_size: Sequence[int],
        bias: Tensor | None = None,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
    ) -> Tensor:
        """Return the convolution; ``kernel_size`` is the weight's."""
        return (F.conv2d, F.conv3d)[rank - 2](self, weight, bias, stride, padding, dilation)

    return convolution


thnn_conv2d = slow_conv_dilated2d = _plain_convolution(2)
slow_conv3d = slow_conv_dilated3d = _plain_convolution(3)


def cross_entropy_loss(
    self: Tensor, target: Tensor, weight: Tensor | None = None, reduction: int = 1, ignore_index: int = -100, label_smoothing: float = 0.0
) -> Tensor:
    """Return the cross entropy of logits."""
    return F.cross_entropy(
        self, target, weight, ignore_index=ignore_index, reduction=REDUCTIONS[reduction], label_smoothing=label_smoothing
    )


def nll_loss_nd(self: Tensor, target: Tensor, weight: Tensor | None = None, reduction: int = 1, ignore_index: int = -100) -> Tensor:
    """Return the negative log likelihood."""
    return F.nll_loss(self, target, weight, ignore_index=ignore_index, reduction=REDUCTIONS[reduction])


nll_loss2d = nll_loss_nd


def _pack_padded_sequence(input: Tensor, lengths: Tensor, batch_first: bool) -> tuple[Tensor, Tensor]:
    """Return the data of sorted sequences without padding, and the batch size of each step."""
    packed = pack_padded_sequence(input, lengths, batch_first)
    return packed.data, packed.batch_sizes


def _pad_packed_sequence(
    data: Tensor, batch_sizes: Tensor, batch_first: bool, padding_value: float, total_length: int
) -> tuple[Tensor, Tensor]:
    """Return padded sequences, and their lengths."""
    return pad_packed_sequence(PackedSequence(data, batch_sizes), batch_first, padding_value, total_length if total_length > 0 else None)


def pad_sequence(
    sequences: Sequence[Tensor], batch_first: bool = False, padding_value: float = 0.0, padding_side: str = "right"
) -> Tensor:
    """Stack sequences of different lengths, padded."""
    return _pad_sequence(sequences, batch_first, padding_value, padding_side)


def _weight_norm(v: Tensor, g: Tensor, dim: int = 0) -> Tensor:
    """Return ``v`` with the norms ``g`` along a dimension."""
    return _weight_norm_interface(v, g, dim)[0]


def _weight_norm_interface(v: Tensor, g: Tensor, dim: int = 0) -> tuple[Tensor, Tensor]:
    """Return ``v`` with the norms ``g`` along a dimension, and its own norms."""
    norms = v.norm(2, [one for one in range(v.dim()) if one != dim % v.dim()], keepdim=True)
    return v * (g / norms), norms


def numpy_T(self: Tensor) -> Tensor:
    """Return the tensor with its dimensions reversed."""
    return self.T


def mT(self: Tensor) -> Tensor:
    """Return the tensor with its last two dimensions exchanged."""
    return self.mT


def mH(self: Tensor) -> Tensor:
    """Return the adjoint matrices."""
    return self.mH


def matrix_H(self: Tensor) -> Tensor:
    """Return the adjoint matrix."""
    return self.H


def zero(self: Tensor) -> Tensor:
    """Return zeros like the tensor."""
    return self.clone().zero_()


def lift(self: Tensor) -> Tensor:
    """Return the tensor."""
    return self


def lift_fresh_copy(self: Tensor) -> Tensor:
    """Return a copy of a constant."""
    return self.clone()


def log_sigmoid(self: Tensor) -> Tensor:
    """Return the logarithm of the sigmoid."""
    return F.logsigmoid(self)


def gelu_(self: Tensor, *, approximate: str = "none") -> Tensor:
    """In-place version of ``gelu``."""
    return self.copy_(F.gelu(self, approximate=approximate))


def relu6_(self: Tensor) -> Tensor:
    """In-place version of ``relu6``."""
    return self.clamp_(0, 6)


def im2col(self: Tensor, kernel_size: Sequence[int], dilation: Sequence[int], padding: Sequence[int], stride: Sequence[int]) -> Tensor:
    """Return the sliding blocks as columns."""
    return F.unfold(self, kernel_size, dilation, padding, stride)


def col2im(
    self: Tensor,
    output_size: Sequence[int],
    kernel_size: Sequence[int],
    dilation: Sequence[int],
    padding: Sequence[int],
    stride: Sequence[int],
) -> Tensor:
    """Return the sums of columns at the places of their blocks."""
    return F.fold(self, output_size, kernel_size, dilation, padding, stride)


def _reshape_alias(self: Tensor, size: Sequence[int], stride: Sequence[int]) -> Tensor:
    """Return a view of the tensor."""
    return self.as_strided(tuple(size), tuple(stride))


def _infer_size(size: Sequence[int], other: Sequence[int]) -> list[int]:
    """Return the shape to which two shapes broadcast."""
    return list(broadcast_shape(size, other))


def _cast_to(name: str) -> Callable[..., Tensor]:
    def cast(self: Tensor, non_blocking: bool = False) -> Tensor:
        """Return the tensor in another dtype."""
        return self.to(by_name(name))

    return cast


_cast_Byte, _cast_Char, _cast_Short = _cast_to("uint8"), _cast_to("int8"), _cast_to("int16")
_cast_Int, _cast_Long = _cast_to("int32"), _cast_to("int64")
_cast_Half, _cast_Float, _cast_Double = _cast_to("float16"), _cast_to("float32"), _cast_to("float64")


def stft(
    self: Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Tensor | None = None,
    *rest: Any,
    **options: Any,
) -> Tensor:
    """Return the short-time Fourier transform. Without ``center`` and ``pad_mode`` the signal is not padded."""
    names: tuple[str, ...] = ("center", "pad_mode", "normalized", "onesided", "return_complex", "align_to_window")
    if not (len(rest) > 1 and isinstance(rest[1], str) or "center" in options or "pad_mode" in options):
        options["center"], names = False, names[2:]
    return functional.stft(self, n_fft, hop_length, win_length, window, **dict(zip(names, rest)), **options)


def _native_batch_norm_legit_no_training(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor, running_var: Tensor, momentum: float, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the tensor, normalized by the running statistics, and two empty tensors."""
    found = F.batch_norm(input, running_mean, running_var, weight, bias, False, momentum, eps)
    return found, input.new_empty((0,)), input.new_empty((0,))


def _native_batch_norm_legit_functional(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor,
    running_var: Tensor,
    training: bool,
    momentum: float,
    eps: float,
) -> tuple[Tensor, ...]:
    """Return the normalized tensor, the batch's mean and inverse deviation, and the new running statistics; write to no argument."""
    mean, variance = running_mean.clone(), running_var.clone()
    if not training:
        return *native.native_batch_norm(input, weight, bias, mean, variance, False, momentum, eps), mean, variance
    native.batch_norm_update_stats(input, mean, variance, momentum)
    return *native.native_batch_norm(input, weight, bias, None, None, True, momentum, eps), mean, variance
