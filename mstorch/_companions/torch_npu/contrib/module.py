"""torch_npu.contrib.module: layers that models written for Ascend use in place of torch's."""
from __future__ import annotations

from typing import Any

import mstorch as torch
from mstorch import nn, npu

from .boxes import deprecated
from .function import dropout_with_byte_mask
from .sampled import DCNv2, ModulatedDeformConv, ROIAlign

F = nn.functional


class _Deprecated(nn.Module):
    """An activation that torch.nn also has; deprecated."""

    activation: Any

    def __init__(self) -> None:
        super().__init__()
        deprecated(f"module.{type(self).__name__}", f"torch.nn.{type(self).__name__}")

    def forward(self, x: Any) -> Any:
        """Apply the activation elementwise."""
        return self.activation(x)


class Mish(_Deprecated):
    """Applies x · tanh(softplus(x)); deprecated in favor of ``torch.nn.Mish``."""

    activation = staticmethod(F.mish)


class SiLU(_Deprecated):
    """Applies x · sigmoid(x); deprecated in favor of ``torch.nn.SiLU``."""

    activation = staticmethod(F.silu)


Swish = SiLU


class BiLSTM(nn.Module):
    """Two LSTMs over (L, N, C), one of them in reverse; deprecated."""

    def __init__(self, input_size: int, hidden_size: int) -> None:
        super().__init__()
        deprecated("BiLSTM", "torch.nn.LSTM")
        self.fw_rnn, self.bw_rnn = nn.LSTM(input_size, hidden_size), nn.LSTM(input_size, hidden_size)

    def forward(self, inputs: Any) -> Any:
        """Run the LSTM; return (L, N, 2 · hidden_size)."""
        return torch.cat((self.fw_rnn(inputs)[0], torch.flip(self.bw_rnn(torch.flip(inputs, [0]))[0], [0])), 2)


class ChannelShuffle(nn.Module):
    """Interleaves the channels of two tensors, as one tensor or (``split_shuffle``) as two halves. As in torch_npu there are two groups."""

    def __init__(self, in_channels: int, groups: int = 2, split_shuffle: bool = True) -> None:
        super().__init__()
        self.split_shuffle, self.groups, self.group_len = split_shuffle, groups, in_channels // groups

    def forward(self, x1: Any, x2: Any) -> Any:
        """Return one tensor with the channels of both, or two halves."""
        mixed = F.channel_shuffle(torch.cat([x1, x2], dim=1), self.groups)
        return (mixed[:, : self.group_len], mixed[:, self.group_len :]) if self.split_shuffle else mixed


class LabelSmoothingCrossEntropy(nn.Module):
    """Cross entropy with label smoothing: the target has 1 - ``smooth_factor``, the other classes share the rest; the mean is float32."""

    def __init__(self, num_classes: int = 1000, smooth_factor: float = 0.0) -> None:
        super().__init__()
        self.on_value, self.off_value = 1.0 - smooth_factor, smooth_factor / (num_classes - 1)

    def forward(self, pred: Any, target: Any) -> Any:
        """Return the mean loss of (N, C) logits and (N,) targets."""
        logs = F.log_softmax(pred, -1)
        wanted = self.off_value * logs.sum(-1) + (self.on_value - self.off_value) * logs.gather(1, target.long().unsqueeze(1)).squeeze(1)
        return torch.mean(-wanted, [0], dtype=torch.float32)


class NpuDropPath(nn.Module):
    """Stochastic depth: in training, sets whole samples to zero with probability ``drop_prob`` and scales the others."""

    def __init__(self, drop_prob: float | None = None) -> None:
        super().__init__()
        self.drop_prob = 0.0 if drop_prob is None else drop_prob
        self.keep_prob = 1 - self.drop_prob

    def forward(self, x: Any) -> Any:
        """Drop samples at random. Raise RuntimeError if ``x`` is not a tensor."""
        if not isinstance(x, torch.Tensor):
            raise RuntimeError("input type error!")
        if self.drop_prob == 0.0 or not self.training:
            return x
        kept = torch.rand((x.shape[0],) + (1,) * (x.ndim - 1), dtype=x.dtype, device=x.device).add(self.keep_prob).floor()
        return x.div(self.keep_prob) * kept

    @classmethod
    def enable_droppath_ensemble(cls, model: Any) -> None:
        """Do nothing: each call draws its own random numbers on the device."""


class NpuCachedDropout(nn.Dropout):
    """Dropout; ``module_name`` is stored only."""

    def __init__(self, p: float, module_name: str | None = None) -> None:
        super().__init__(p)
        self.module_name = module_name

    @classmethod
    def enable_dropout_ensemble(cls, model: Any) -> None:
        """Do nothing: each call draws its own mask on the device."""


class NpuPreGenDropout(NpuCachedDropout):
    """Dropout, under torch_npu's name."""


class NpuFairseqDropout(NpuCachedDropout):
    """Dropout, under torch_npu's name."""


class DropoutWithByteMask(nn.Dropout):
    """Dropout, under torch_npu's name."""

    def forward(self, input1: Any) -> Any:
        """Apply dropout."""
        return dropout_with_byte_mask(input1, self.p, self.training, self.inplace)


class _Conv(nn.Module):
    """Convolution without bias, batch normalization and leaky ReLU."""

    def __init__(self, c1: int, c2: int, k: int, s: int, p: int | None, g: int, act: bool) -> None:
        super().__init__()
        self.conv = nn.Conv2d(c1, c2, k, s, k // 2 if p is None else p, groups=g, bias=False)
        self.bn = nn.BatchNorm2d(c2)
        self.act = nn.LeakyReLU(0.1, inplace=True) if act else nn.Identity()

    def forward(self, x: Any) -> Any:
        """Return (N, ``c2``, H', W')."""
        return self.act(self.bn(self.conv(x)))

    def fuseforward(self, x: Any) -> Any:
        """Apply the layer without batch normalization, which was folded into the convolution."""
        return self.act(self.conv(x))


class Focus(nn.Module):
    """YOLO's Focus layer: space-to-depth by 2 (C → 4C channels), then a convolution."""

    def __init__(self, c1: int, c2: int, k: int = 1, s: int = 1, p: int | None = None, g: int = 1, act: bool = True) -> None:
        super().__init__()
        self.conv = _Conv(c1 * 4, c2, k, s, p, g, act)

    def forward(self, x: Any) -> Any:
        """Return (N, ``c2``, H', W') for images (N, ``c1``, H, W)."""
        return self.conv(torch.cat([x[..., ::2, ::2], x[..., 1::2, ::2], x[..., ::2, 1::2], x[..., 1::2, 1::2]], 1))


class _CountInInt32(nn.Module):
    """Batch normalization that counts batches in int32."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        count = self._buffers.get("num_batches_tracked")
        if count is not None:
            self._buffers["num_batches_tracked"] = count.int()


class FastBatchNorm1d(_CountInInt32, nn.BatchNorm1d):
    """``BatchNorm1d`` that counts batches in int32."""


class FastBatchNorm2d(_CountInInt32, nn.BatchNorm2d):
    """``BatchNorm2d`` that counts batches in int32."""


class FastBatchNorm3d(_CountInInt32, nn.BatchNorm3d):
    """``BatchNorm3d`` that counts batches in int32."""


class FastSyncBatchNorm(_CountInInt32, nn.SyncBatchNorm):
    """``SyncBatchNorm`` that counts batches in int32."""


class Prefetcher:
    """Copies (input, target) pairs of a loader to the device on a separate stream, one pair ahead."""

    def __init__(self, loader: Any, stream: Any = None) -> None:
        self.loader = iter(loader)
        self.stream = npu.Stream() if stream is None else stream
        self.next_input: Any = None
        self.next_target: Any = None
        self.preload()

    def preload(self) -> None:
        """Start to copy the next pair to the device."""
        self.next_input, self.next_target = next(self.loader, (None, None))
        if self.next_target is not None:
            with npu.stream(self.stream):
                self.next_input, self.next_target = (one.npu(non_blocking=True) for one in (self.next_input, self.next_target))

    def next(self) -> tuple[Any, Any]:
        """Return the next pair; (None, None) at the end."""
        npu.current_stream().wait_stream(self.stream)
        found = self.next_input, self.next_target
        if found[1] is not None:
            self.preload()
        return found


__all__ = [
    "BiLSTM", "ChannelShuffle", "DCNv2", "DropoutWithByteMask", "FastBatchNorm1d", "FastBatchNorm2d", "FastBatchNorm3d",
    "FastSyncBatchNorm", "Focus", "LabelSmoothingCrossEntropy", "Mish", "ModulatedDeformConv", "NpuCachedDropout", "NpuDropPath",
    "NpuFairseqDropout", "NpuPreGenDropout", "Prefetcher", "ROIAlign", "SiLU", "Swish",
]  # fmt: skip
