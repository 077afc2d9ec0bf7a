"""torch.ao.quantization.utils: helpers of observers, qconfigs and conversions."""
from __future__ import annotations

import functools
from typing import Any, Protocol

import mstorch as torch
from mstorch._src.core.warned import warn

from ..._src.hook import missing as _missing
from ..._src.namespace.process import qscheme
from ..._tensor import Tensor
from ...nn.modules.module import Module
from ...nn.utils.parametrize import is_parametrized
from .quant_type import QuantType


class _Observers(Protocol):
    """A QConfig."""

    @property
    def activation(self) -> Any: ...

    @property
    def weight(self) -> Any: ...


__all__ = [
    "DEPRECATION_WARNING", "activation_dtype", "activation_is_dynamically_quantized", "activation_is_int32_quantized",
    "activation_is_int8_quantized", "activation_is_statically_quantized", "calculate_qmin_qmax", "check_min_max_valid", "determine_qparams",
    "get_combined_dict", "get_qconfig_dtypes", "get_qparam_dict", "get_quant_type", "get_swapped_custom_module_class", "getattr_from_fqn",
    "has_no_children_ignoring_parametrizations", "is_per_channel", "is_per_tensor", "op_is_int8_dynamically_quantized",
    "to_underlying_dtype", "validate_qmin_qmax", "weight_dtype", "weight_is_quantized", "weight_is_statically_quantized",
]  # fmt: skip

DEPRECATION_WARNING = (
    "torch.ao.quantization is deprecated and will be removed in 2.10. \n"
    "For migrations of users: \n"
    "1. Eager mode quantization (torch.ao.quantization.quantize, torch.ao.quantization.quantize_dynamic), please migrate to use torchao "
    "eager mode quantize_ API instead \n"
    "2. FX graph mode quantization (torch.ao.quantization.quantize_fx.prepare_fx,torch.ao.quantization.quantize_fx.convert_fx, please "
    "migrate to use torchao pt2e quantization API instead (prepare_pt2e, convert_pt2e) \n"
    "3. pt2e quantization has been migrated to torchao (https://github.com/pytorch/ao/tree/main/torchao/quantization/pt2e) \n"
    "see https://github.com/pytorch/ao/issues/2259 for more details"
)
PER_TENSOR = (torch.per_tensor_affine, torch.per_tensor_symmetric)
PER_CHANNEL = (torch.per_channel_affine, torch.per_channel_affine_float_qparams, torch.per_channel_symmetric)
SYMMETRIC = (torch.per_tensor_symmetric, torch.per_channel_symmetric)
_UNDERLYING = {
    torch.quint8: torch.uint8, torch.qint8: torch.int8, torch.qint32: torch.int32, torch.quint4x2: torch.uint8, torch.quint2x4: torch.uint8,
    **{kind: kind for kind in (torch.uint8, torch.int8, torch.uint16, torch.int16, torch.int32, torch.float8_e5m2, torch.float8_e4m3fn)},
}  # fmt: skip
_BYTES = (torch.quint8, torch.qint8, torch.uint8, torch.int8)
_LONG = (torch.qint32, torch.int32)
_STATIC = (*_BYTES, *_LONG, torch.int16, torch.float8_e5m2, torch.float8_e4m3fn)
_RANGES = {
    torch.qint8: (-128, 127), torch.int8: (-128, 127), torch.quint8: (0, 255), torch.uint8: (0, 255), torch.qint32: (-(2**31), 2**31 - 1),
    torch.int32: (-(2**31), 2**31 - 1), torch.uint16: (0, 2**16 - 1), torch.int16: (-(2**15), 2**15 - 1),
}  # fmt: skip


def get_combined_dict(default_dict: dict[Any, Any], additional_dict: dict[Any, Any]) -> dict[Any, Any]:
    """Return a dict with the entries of both dicts; the entries of the second have precedence."""
    return {**default_dict, **additional_dict}


def is_per_tensor(qscheme: qscheme) -> bool:
    """Return whether a qscheme is per tensor."""
    return qscheme in PER_TENSOR


def is_per_channel(qscheme: qscheme) -> bool:
    """Return whether a qscheme is per channel."""
    return qscheme in PER_CHANNEL


def getattr_from_fqn(obj: Any, fqn: str) -> Module:
    """Return the attribute at a dotted name."""
    return functools.reduce(getattr, fqn.split("."), obj)


def to_underlying_dtype(qdtype: Any) -> Any:
    """Return the integer dtype that a quantized dtype is stored as."""
    if qdtype not in _UNDERLYING:
        raise AssertionError("Unsupported dtype: " + str(qdtype))
    return _UNDERLYING[qdtype]


def get_qparam_dict(observer_or_fake_quant: Any) -> dict[str, Any]:
    """Return a dict of an observer's qscheme, dtype, scale, zero point, range and channel axis."""
    found = observer_or_fake_quant
    scheme, kind = getattr(found, "qscheme", None), found.dtype
    if not scheme or type(found).__name__ == "PlaceholderObserver":
        return {"qscheme": None, "dtype": kind}
    params = {"qscheme": scheme, "dtype": kind}
    if is_per_tensor(scheme):
        params["qscheme"] = torch.per_tensor_affine
    elif is_per_channel(scheme):
        params["qscheme"] = torch.per_channel_affine if scheme is torch.per_channel_symmetric else scheme
        params["axis"] = found.ch_axis
    else:
        raise RuntimeError(f"Unrecognized qscheme: {scheme}")
    params["scale"], params["zero_point"] = found.calculate_qparams()
    params.update({name: getattr(found, name) for name in ("quant_min", "quant_max") if hasattr(found, name)})
    return params


def get_swapped_custom_module_class(custom_module: Any, custom_module_class_mapping: dict[Any, Any], qconfig: _Observers | None) -> Any:
    """Return the replacement of a custom module's class, from a mapping by quantization type and class."""
    mapping = custom_module_class_mapping.get(get_quant_type(qconfig), {})
    if type(custom_module) not in mapping:
        raise AssertionError(f"did not find corresponding observed module class for {type(custom_module)} in mapping: {mapping}")
    return mapping[type(custom_module)]


def _required(qconfig: _Observers | None, what: str) -> Any:
    if qconfig is None:
        raise AssertionError(f"qconfig must be provided to {what}")
    return qconfig


def activation_dtype(qconfig: _Observers | None) -> Any:
    """Return the dtype of activations in a qconfig."""
    return _required(qconfig, "determine activation dtype").activation().dtype


def weight_dtype(qconfig: _Observers | None) -> Any:
    """Return the dtype of weights in a qconfig."""
    return _required(qconfig, "determine weight dtype").weight().dtype


def get_qconfig_dtypes(qconfig: Any) -> tuple[Any, Any, bool]:
    """Return the dtypes of activations and weights, and whether activations are quantized dynamically."""
    activation, weight = _required(qconfig, "extract dtypes").activation(), qconfig.weight()
    return activation.dtype, weight.dtype, getattr(activation, "is_dynamic", False)


def activation_is_dynamically_quantized(qconfig: _Observers | None) -> bool:
    """Return whether activations are quantized dynamically."""
    return get_qconfig_dtypes(qconfig)[2]


def activation_is_statically_quantized(qconfig: _Observers | None) -> bool:
    """Return whether activations are quantized statically, by earlier observations."""
    return activation_dtype(qconfig) in (*_STATIC, torch.float16) and not activation_is_dynamically_quantized(qconfig)


def activation_is_int8_quantized(qconfig: _Observers | None) -> bool:
    """Return whether activations are int8 or uint8."""
    return activation_dtype(qconfig) in _BYTES


def activation_is_int32_quantized(qconfig: _Observers | None) -> bool:
    """Return whether activations are int32."""
    return activation_dtype(qconfig) in _LONG


def weight_is_quantized(qconfig: _Observers | None) -> bool:
    """Return whether weights are quantized or float16."""
    return weight_dtype(qconfig) in (*_STATIC, torch.float16, torch.quint4x2)


def weight_is_statically_quantized(qconfig: _Observers | None) -> bool:
    """Return whether weights are int8 or uint8."""
    return weight_dtype(qconfig) in _BYTES


def op_is_int8_dynamically_quantized(qconfig: _Observers | None) -> bool:
    """Return whether activations are quantized to uint8 dynamically, and weights to int8."""
    activation, weight, dynamic = get_qconfig_dtypes(qconfig)
    return activation in (torch.quint8, torch.uint8) and weight in (torch.qint8, torch.int8) and dynamic


def get_quant_type(qconfig: Any) -> QuantType:
    """Return the QuantType of a qconfig."""
    activation, weight = _required(qconfig, "determine quant type").activation(), qconfig.weight()
    dynamic = getattr(activation, "is_dynamic", False)
    static = (*_STATIC, torch.quint4x2)
    if weight.dtype in static:
        return QuantType.DYNAMIC if dynamic else QuantType.STATIC if activation.dtype in static else QuantType.WEIGHT_ONLY
    if weight.dtype is torch.float16:
        if dynamic:
            return QuantType.DYNAMIC
        if activation.dtype is torch.float16:
            return QuantType.STATIC
    raise Exception(  # as in torch
        f"Unrecognized dtype combination in get_quant_type: activation({activation.dtype}),weight({weight.dtype})"
    )


def check_min_max_valid(min_val: Tensor, max_val: Tensor) -> bool:
    """Return whether bounds were observed. Raise AssertionError if the lower exceeds the upper."""
    unseen = min_val.numel() == 0 or max_val.numel() == 0
    if not unseen and (min_val.dim() == 0 or max_val.dim() == 0):
        unseen = bool(min_val == float("inf") and max_val == float("-inf"))
    if unseen:
        warn("must run observer before calling calculate_qparams. Returning default values.")
        return False
    if bool((min_val > max_val).any()):
        raise AssertionError(f"min {min_val} should be less than max {max_val}")
    return True


def validate_qmin_qmax(quant_min: int, quant_max: int) -> None:
    """Raise AssertionError for a range that excludes zero, or has a single value."""
    if not quant_min <= 0 <= quant_max:
        raise AssertionError("Used-specified quantization range must include 0.")
    if quant_min >= quant_max:
        raise AssertionError("qmin must be strictly less than qmax for user-specified quantization range.")


def calculate_qmin_qmax(
    quant_min: Any, quant_max: Any, has_customized_qrange: bool, dtype: torch.dtype, reduce_range: bool
) -> tuple[int, int]:
    """Return the range of integers of a dtype, or the user's range, reduced by one bit on request."""
    if not has_customized_qrange:
        low, high = _RANGES.get(dtype, (0, 15))
        return (int(low / 2), high // 2) if reduce_range and dtype in _BYTES else (low, high)
    count, bits = quant_max - quant_min + 1, 32 if dtype in _LONG else 8
    if dtype in (torch.qint8, torch.int8, *_LONG) and not 0 < count <= 2**bits:
        raise AssertionError(f"quantization range should be positive and not exceed the maximum bit range (={2**bits}).")
    return (quant_min // 2, quant_max // 2) if reduce_range else (quant_min, quant_max)


def qparams_of(
    low: Tensor, high: Tensor, scheme: qscheme, kind: torch.dtype, limits: tuple[int, int], eps: Tensor, customized: bool, wide: bool = True
) -> tuple[Any, Any]:  # fmt: skip
    """Return scales and zero points for observed bounds, as tensors of at least 1 dimension.

    With ``wide``, unsigned 16-bit types also have a symmetric zero point."""
    least, greatest = limits
    down, up = torch.minimum(low, torch.zeros_like(low)), torch.maximum(high, torch.zeros_like(high))
    point = torch.zeros(down.size(), dtype=torch.int64, device=down.device)
    if scheme in SYMMETRIC:
        scale = torch.maximum(torch.maximum(-down, up) / (float(greatest - least) / 2), eps)
        if kind in (torch.quint8, torch.uint8):
            point = torch.full_like(point, (least + greatest) // 2 if customized else 128)
        elif kind is torch.uint16 and wide:
            point = torch.full_like(point, 2**15)
    elif scheme is torch.per_channel_affine_float_qparams:
        scale = (high - low) / float(greatest - least)
        scale = torch.where(scale > eps, scale, torch.ones_like(scale))
        point = -1 * low / scale
    else:
        scale = torch.maximum((up - down) / float(greatest - least), eps)
        point = torch.clamp(least - torch.round(down / scale).to(torch.int), least, greatest)
    return (scale.reshape(1) if scale.dim() == 0 else scale), (point.reshape(1) if point.dim() == 0 else point)


def nothing_observed(like: Tensor) -> tuple[Any, Any]:
    """Return the scale and zero point of an observer without observations."""
    return torch.tensor([1.0], device=like.device.type), torch.tensor([0], device=like.device.type)


def determine_qparams(
    min_val: Tensor, max_val: Tensor, quant_min: int, quant_max: int, dtype: torch.dtype, eps: Tensor, has_customized_qrange: bool,
    qscheme: qscheme = torch.per_tensor_affine,
) -> tuple[Any, Any]:  # fmt: skip
    """Return float64 scales and int64 zero points for observed bounds."""
    if not check_min_max_valid(min_val, max_val):
        return nothing_observed(min_val)
    limits = (quant_min, quant_max)
    scale, point = qparams_of(min_val, max_val, qscheme, dtype, limits, eps.to(min_val.device), has_customized_qrange, wide=False)
    return scale.to(torch.double), point.to(torch.int64)


def has_no_children_ignoring_parametrizations(module: Module) -> bool:
    """Return whether a module has no children except parametrizations."""
    own = module._modules
    return not own or (is_parametrized(module) and list(own) == ["parametrizations"])


def _parent_name(target: str) -> tuple[str, str]:
    head, _, last = target.rpartition(".")
    return head, last


__getattr__ = _missing(__name__)
