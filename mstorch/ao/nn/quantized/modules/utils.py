"""torch.ao.nn.quantized.modules.utils: quantization of weights by observers, and reprs without packed weights."""
from __future__ import annotations

import abc
from typing import Any

import mstorch as torch

from ..... import nn
from ....._tensor import Tensor
from .....ao.quantization.utils import is_per_tensor

__all__ = ["WeightedQuantizedModule"]


class WeightedQuantizedModule(nn.Module, metaclass=abc.ABCMeta):
    """Base of quantized layers with weights."""

    @classmethod
    @abc.abstractmethod
    def from_reference(cls, ref_module: Any, output_scale: Any, output_zero_point: Any) -> Any:
        """Construct the module from a reference module; each subclass defines this."""
        raise NotImplementedError


def _get_weight_observer(observer: Any) -> Any:
    return observer.activation_post_process if hasattr(observer, "activation_post_process") else observer


def _needs_weight_clamping(observer: Any, dtype: torch.dtype) -> bool:
    observer = _get_weight_observer(observer)
    if dtype not in (torch.qint8, torch.quint8, torch.qint32):
        return False
    info = torch.iinfo(dtype)
    return bool(observer.quant_min > info.min or observer.quant_max < info.max)


def _clamp_weights(qweight: Tensor, observer: Any, scale: Any, zp: Any) -> Tensor:
    """Return the weight with its integers clamped to the observer's range."""
    if not _needs_weight_clamping(observer, qweight.dtype):
        return qweight
    observer = _get_weight_observer(observer)
    integers = torch.clamp(qweight.int_repr(), observer.quant_min, observer.quant_max)
    if is_per_tensor(observer.qscheme):
        return torch._make_per_tensor_quantized_tensor(integers, scale.item(), zp.item())
    return torch._make_per_channel_quantized_tensor(integers, scale, zp, axis=observer.ch_axis)


def _quantize_weight(float_wt: Tensor, observer: Any) -> Tensor:
    """Return a weight quantized with its observer's scale and zero point."""
    scale, point = observer.calculate_qparams()
    if is_per_tensor(observer.qscheme):
        found = torch.quantize_per_tensor(float_wt, float(scale), int(point), torch.qint8)
    elif observer.qscheme is torch.per_channel_affine_float_qparams:
        found = torch.quantize_per_channel(float_wt, scale.to(torch.float), point.to(torch.float), observer.ch_axis, observer.dtype)
    else:
        found = torch.quantize_per_channel(float_wt, scale.to(torch.double), point.to(torch.int64), observer.ch_axis, torch.qint8)
    return _clamp_weights(found, observer, scale, point)


def indented(text: str) -> str:
    """Return a text with all lines but the first indented by two spaces."""
    return text.replace("\n", "\n  ")


def text_without(module: Any, hidden: Any) -> str:
    """Return a module's repr without the children of some classes."""
    extra = module.extra_repr().split("\n") if module.extra_repr() else []
    children = [f"({name}): {indented(repr(child))}" for name, child in module._modules.items() if not isinstance(child, hidden)]
    lines = [*extra, *children]
    if not lines:
        return f"{module._get_name()}()"
    inside = lines[0] if len(lines) == 1 and not children else "\n  " + "\n  ".join(lines) + "\n"
    return f"{module._get_name()}({inside})"


_hide_packed_params_repr = text_without


def expect_observed(mod: Any) -> None:
    """Raise AssertionError if a module has no qconfig."""
    if not hasattr(mod, "qconfig"):
        raise AssertionError("Input float module must have qconfig defined")
