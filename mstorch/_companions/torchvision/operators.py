"""torchvision's operators in ``torch.ops.torchvision``: schemas, kernels, meta forms, gradients and autocast.

torchvision 0.29 registers its own meta forms, gradients and autocast over these, as over its compiled ones.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mstorch as torch

from ..._library import registry
from ..._src.core.schemas import parse
from .. import absent
from . import boxes, deformable, quantized, regions

Tensor = torch.Tensor
_SPACE = "torchvision"
_REGION = "Tensor rois, float spatial_scale, SymInt pooled_height, SymInt pooled_width"
_MAPPED = _REGION.replace("rois", "rois, Tensor channel_mapping")
_IMAGES = "SymInt batch_size, SymInt channels, SymInt height, SymInt width"
_TAPS = (
    "Tensor weight, Tensor offset, Tensor mask, Tensor bias, SymInt stride_h, SymInt stride_w, SymInt pad_h, SymInt pad_w, "
    "SymInt dilation_h, SymInt dilation_w, SymInt groups, SymInt offset_groups, bool use_mask"
)
_QUANTIZED = "float input_scale, int input_zero_point, float rois_scale, int rois_zero_point"
SCHEMAS = (
    "nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    "qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    "_cuda_version() -> int",
    f"roi_align(Tensor input, {_REGION}, int sampling_ratio, bool aligned) -> Tensor",
    f"qroi_align(Tensor input, Tensor rois, {_QUANTIZED}, {_REGION.partition(', ')[2]}, int sampling_ratio, bool aligned) -> Tensor",
    f"_roi_align_backward(Tensor grad, {_REGION}, {_IMAGES}, int sampling_ratio, bool aligned) -> Tensor",
    f"roi_pool(Tensor input, {_REGION}) -> (Tensor, Tensor)",
    f"_roi_pool_backward(Tensor grad, {_REGION.replace('rois', 'rois, Tensor argmax')}, {_IMAGES}) -> Tensor",
    f"ps_roi_align(Tensor input, {_REGION}, int sampling_ratio) -> (Tensor, Tensor)",
    f"_ps_roi_align_backward(Tensor grad, {_MAPPED}, int sampling_ratio, {_IMAGES}) -> Tensor",
    f"ps_roi_pool(Tensor input, {_REGION}) -> (Tensor, Tensor)",
    f"_ps_roi_pool_backward(Tensor grad, {_MAPPED}, {_IMAGES}) -> Tensor",
    f"deform_conv2d(Tensor input, {_TAPS}) -> Tensor",
    f"_deform_conv2d_backward(Tensor grad, Tensor input, {_TAPS}) -> (Tensor, Tensor, Tensor, Tensor, Tensor)",
    "box_iou_rotated(Tensor boxes1, Tensor boxes2) -> Tensor",
)


KERNELS: dict[str, Callable[..., Any]] = {
    "nms": boxes.nms,
    "qnms": quantized.qnms,
    "_cuda_version": lambda: -1,
    "roi_align": regions.roi_align,
    "qroi_align": quantized.qroi_align,
    "_roi_align_backward": regions.roi_align_backward,
    "roi_pool": regions.roi_pool,
    "_roi_pool_backward": regions.roi_pool_backward,
    "ps_roi_align": regions.ps_roi_align,
    "_ps_roi_align_backward": regions.ps_roi_align_backward,
    "ps_roi_pool": regions.ps_roi_pool,
    "_ps_roi_pool_backward": regions.ps_roi_pool_backward,
    "deform_conv2d": deformable.deform_conv2d,
    "_deform_conv2d_backward": deformable.deform_conv2d_backward,
    "box_iou_rotated": absent("torch.ops.torchvision.box_iou_rotated", "compute it with torch's operations, or use boxes along the axes"),
}


# Meta forms


def _of_regions(input: Tensor, rois: Tensor, channels: int, height: int, width: int) -> Tensor:
    if rois.dim() != 2 or rois.size(1) != 5:
        raise RuntimeError("rois must have shape as Tensor[K, 5]")
    if input.dtype != rois.dtype:
        raise RuntimeError(
            "Expected tensor for input to have the same type as tensor for rois; "
            f"but type {input.dtype} does not equal {rois.dtype}"
        )
    return input.new_empty((rois.shape[0], channels, height, width))


def _meta_align(input: Tensor, rois: Tensor, scale: float, height: int, width: int, *rest: Any) -> Tensor:
    return _of_regions(input, rois, input.shape[1], height, width)


def _meta_pool(input: Tensor, rois: Tensor, scale: float, height: int, width: int, *rest: Any) -> tuple[Tensor, Tensor]:
    result = _of_regions(input, rois, input.shape[1], height, width)
    return result, torch.empty_like(result, dtype=torch.int32)


def _meta_by_channel(input: Tensor, rois: Tensor, scale: float, height: int, width: int, *rest: Any) -> tuple[Tensor, Tensor]:
    if input.shape[1] % (height * width):
        raise RuntimeError("input channels must be a multiple of pooling height * pooling width")
    result = _of_regions(input, rois, input.shape[1] // (height * width), height, width)
    return result, torch.empty_like(result, dtype=torch.int32)


def _meta_deform(input: Tensor, weight: Tensor, offset: Tensor, *rest: Any) -> Tensor:
    return input.new_empty((input.shape[0], weight.shape[0], *offset.shape[-2:]))


def _meta_deform_backward(grad: Tensor, *given: Any) -> tuple[Tensor, ...]:
    return tuple(item.new_empty(item.shape) for item in given[:5])


def _meta_images(start: int) -> Callable[..., Tensor]:
    return lambda grad, *given: grad.new_empty(given[start : start + 4])


METAS: dict[str, Callable[..., Any]] = {
    "roi_align": _meta_align, "roi_pool": _meta_pool, "ps_roi_align": _meta_by_channel, "ps_roi_pool": _meta_by_channel,
    "deform_conv2d": _meta_deform, "_deform_conv2d_backward": _meta_deform_backward, "_roi_align_backward": _meta_images(4),
    "_roi_pool_backward": _meta_images(5), "_ps_roi_align_backward": _meta_images(6), "_ps_roi_pool_backward": _meta_images(5),
}  # fmt: skip


# Gradients


def _keep_regions(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    ctx.save_for_backward(inputs[1], *(output[1:] if isinstance(output, tuple) else ()))
    ctx.numbers, ctx.images = inputs[2:], inputs[0].shape


def _of_roi_align(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
    scale, height, width, samples, aligned = ctx.numbers
    backward = torch.ops.torchvision._roi_align_backward
    return backward(grad, *ctx.saved_tensors, scale, height, width, *ctx.images, samples, aligned), *[None] * 6


def _of_pooled(name: str) -> Callable[..., Any]:
    def backward(ctx: Any, grad: Tensor, _: Any) -> tuple[Any, ...]:
        operator = getattr(torch.ops.torchvision, f"_{name}_backward")
        return operator(grad, *ctx.saved_tensors, *ctx.numbers, *ctx.images), *[None] * (len(ctx.numbers) + 1)

    return backward


def _keep_taps(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    ctx.save_for_backward(*inputs[:5])
    ctx.numbers = inputs[5:]


def _of_deform(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
    return *torch.ops.torchvision._deform_conv2d_backward(grad, *ctx.saved_tensors, *ctx.numbers), *[None] * 9


GRADIENTS: dict[str, tuple[Callable[..., None], Callable[..., Any]]] = {
    "roi_align": (_keep_regions, _of_roi_align),
    "deform_conv2d": (_keep_taps, _of_deform),
    **{name: (_keep_regions, _of_pooled(name)) for name in ("roi_pool", "ps_roi_align", "ps_roi_pool")},
}


def _once(name: str) -> Callable[..., Any]:
    def backward(ctx: Any, *grads: Any) -> Any:
        raise RuntimeError(f"double backwards on {name} not supported")

    return backward


# Autocast


def _single(item: Any) -> Any:
    """Return a tensor in single precision, unless it is in double precision or of integers; other values as they are."""
    whole = not isinstance(item, Tensor) or item.dtype is torch.float64 or not item.is_floating_point()
    return item if whole else item.float()


def _cast(name: str) -> Callable[..., Any]:
    """Return a kernel for autocast: single precision inside, the dtype of the images outside."""

    def call(*given: Any) -> Any:
        found = getattr(torch.ops.torchvision, name)(*map(_single, given))
        if name == "nms":
            return found
        kind = given[0].dtype
        return tuple(item.to(kind) for item in found) if isinstance(found, tuple) else found.to(kind)

    return call


_ON_CPU = ("nms", "roi_align")  # torchvision casts these on each device, the others on GPUs alone


def register() -> None:
    """Define the operators. A program may have defined one itself, to import torchvision without its library: it gets these kernels."""
    for text in SCHEMAS:
        schema = parse(_SPACE, text)
        key = (_SPACE, schema.name, "")
        if key not in registry.operators:
            registry.add(schema)
        registry.add_kernel(key, "CompositeExplicitAutograd", KERNELS[schema.name])
        if schema.name in METAS:
            registry.add_kernel(key, "Meta", METAS[schema.name])
    for name, (keep, backward) in GRADIENTS.items():
        operator = registry.operators[_SPACE, name, ""]
        operator.setup_context, operator.backward = keep, backward
        registry.operators[_SPACE, f"_{name}_backward", ""].backward = _once(name)
    for name in ("nms", *GRADIENTS):
        for place in ("AutocastCUDA", "AutocastPrivateUse1", *(("AutocastCPU", "AutocastXPU") if name in _ON_CPU else ())):
            registry.add_kernel((_SPACE, name, ""), place, _cast(name))


__all__ = ["register"]
