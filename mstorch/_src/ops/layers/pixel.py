"""Pixel shuffle and unshuffle, and channel shuffle."""
from __future__ import annotations

from ...core.formats import contiguous_format
from ...core.strides import channels_last_strides, suggests_channels_last
from ...core.tensor_base import TensorBase, in_order
from ...tape.windows import no_view
from .._dispatch import refuse_codes
from .._named import node_called
from ..memory.copying import clone
from ..shape import views


def _image(name: str, shape: tuple[int, ...]) -> None:
    if len(shape) < 3:
        raise RuntimeError(
            f"{name} expects input to have at least 3 dimensions, but got input with {len(shape)} dimension(s)"
        )


def _like(made: TensorBase, input: TensorBase) -> TensorBase:
    """Return a new result in channels-last format if the image has it."""
    stride = input._ms_stride
    last = stride is not None and suggests_channels_last(input._ms_shape, stride)
    return in_order(made, channels_last_strides(made._ms_shape)) if last else made


@node_called("PixelShuffleBackward0")
def pixel_shuffle(input: TensorBase, upscale_factor: int) -> TensorBase:
    """Rearrange channels to pixels: (*, C * r², H, W) → (*, C, H * r, W * r) (https://arxiv.org/abs/1609.05158)."""
    shape, r = input._ms_shape, upscale_factor
    _image("pixel_shuffle", shape)
    if 0 not in shape:
        refuse_codes("pixel_shuffle", input)
    if r <= 0:
        raise RuntimeError(f"pixel_shuffle expects a positive upscale_factor, but got {r}")
    *lead, c, h, w = shape
    if c % (r * r):
        raise RuntimeError(
            "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of upscale_factor, but "
            f"input.size(-3)={c} is not divisible by {r * r}"
        )
    n = len(lead)
    split = views.reshape(input, (*lead, c // (r * r), r, r, h, w))
    moved = views.permute(split, (*range(n), n, n + 3, n + 1, n + 4, n + 2))
    return _like(no_view(views.reshape(clone(moved, memory_format=contiguous_format), (*lead, c // (r * r), h * r, w * r))), input)


@node_called("PixelUnshuffleBackward0")
def pixel_unshuffle(input: TensorBase, downscale_factor: int) -> TensorBase:
    """Rearrange pixels to channels: (*, C, H * r, W * r) → (*, C * r², H, W)."""
    shape, r = input._ms_shape, downscale_factor
    _image("pixel_unshuffle", shape)
    if 0 not in shape:
        refuse_codes("pixel_unshuffle", input)
    if r <= 0:
        raise RuntimeError(f"pixel_unshuffle expects a positive downscale_factor, but got {r}")
    *lead, c, h, w = shape
    for name, size, place in (("height", h, -2), ("width", w, -1)):
        if size % r:
            raise RuntimeError(
                f"pixel_unshuffle expects {name} to be divisible by downscale_factor, but input.size({place})={size} is not "
                f"divisible by {r}"
            )
    n = len(lead)
    split = views.reshape(input, (*lead, c, h // r, r, w // r, r))
    moved = views.permute(split, (*range(n), n, n + 2, n + 4, n + 1, n + 3))
    return _like(no_view(views.reshape(clone(moved, memory_format=contiguous_format), (*lead, c * r * r, h // r, w // r))), input)


@node_called("ChannelShuffleBackward0")
def channel_shuffle(input: TensorBase, groups: int) -> TensorBase:
    """Interleave the channels of ``groups`` groups of (N, C, *) (https://arxiv.org/abs/1707.01083)."""
    shape = input._ms_shape
    if len(shape) < 3:
        raise RuntimeError(
            f"channel_shuffle expects input with > 2 dims, but got input with sizes {list(shape)}"
        )
    if groups <= 0:
        raise RuntimeError(f"Number of groups to divide channels in must be positive. Value of groups:{groups}")
    n, c = shape[:2]
    if c % groups:
        raise RuntimeError(
            f"Number of channels must be divisible by groups. Got {c} channels and {groups} groups."
        )
    if 0 not in shape:
        refuse_codes("channel_shuffle", input)
    split = views.reshape(input, (n, groups, c // groups, -1 if 0 not in shape else 0))
    return _like(no_view(views.reshape(clone(views.permute(split, (0, 2, 1, 3)), memory_format=contiguous_format), shape)), input)
