"""torch.ao.quantization.qconfig: the observers of a layer's activations and weights."""
from __future__ import annotations

import copy
from collections import namedtuple
from typing import Any

import mstorch as torch
from mstorch._src.core.warned import warn

from ..._src.hook import missing as _missing
from ...nn.modules.module import Module
from .fake_quantize import (
    FakeQuantize,
    FakeQuantizeBase,
    FusedMovingAvgObsFakeQuantize,
    default_dynamic_fake_quant,
    default_embedding_fake_quant,
    default_embedding_fake_quant_4bit,
    default_fake_quant,
    default_fused_act_fake_quant,
    default_fused_per_channel_wt_fake_quant,
    default_fused_wt_fake_quant,
    default_per_channel_weight_fake_quant,
    default_weight_fake_quant,
    fused_per_channel_wt_fake_quant_range_neg_127_to_127,
    fused_wt_fake_quant_range_neg_127_to_127,
)
from .observer import (
    HistogramObserver,
    MinMaxObserver,
    MovingAverageMinMaxObserver,
    MovingAveragePerChannelMinMaxObserver,
    NoopObserver,
    PerChannelMinMaxObserver,
    PlaceholderObserver,
    ReuseInputObserver,
    _PartialWrapper,
    default_debug_observer,
    default_dynamic_quant_observer,
    default_float_qparams_observer,
    default_float_qparams_observer_4bit,
    default_observer,
    default_per_channel_weight_observer,
    default_placeholder_observer,
    default_reuse_input_observer,
    default_weight_observer,
    per_channel_weight_observer_range_neg_127_to_127,
    weight_observer_range_neg_127_to_127,
)


class QConfig(namedtuple("QConfig", ["activation", "weight"])):
    """Observer factories for a layer's activations and weights: classes, or results of ``with_args``."""

    __slots__ = ()

    def __new__(cls, activation: Any, weight: Any) -> Any:
        if isinstance(activation, Module) or isinstance(weight, Module):
            raise ValueError(
                "QConfig received observer instance, please pass observer class instead. Use MyObserver.with_args(x=1) to override "
                "arguments to constructor if needed"
            )
        return super().__new__(cls, activation, weight)


class QConfigDynamic(namedtuple("QConfigDynamic", ["activation", "weight"])):
    """Deprecated form of ``QConfig`` for dynamically quantized activations."""

    __slots__ = ()

    def __new__(cls, activation: Any = torch.nn.Identity, weight: Any = torch.nn.Identity) -> Any:
        warn("`QConfigDynamic` is going to be deprecated in PyTorch 1.12, please use `QConfig` instead", FutureWarning)
        if isinstance(weight, Module):
            raise ValueError(
                "QConfigDynamic received observer instance, please pass observer class instead. Use MyObserver.with_args(x=1) to override "
                "arguments to constructor if needed"
            )
        return super().__new__(cls, activation, weight)


default_qconfig = QConfig(default_observer, default_weight_observer)
default_debug_qconfig = QConfig(default_debug_observer, default_weight_observer)
default_per_channel_qconfig = QConfig(default_observer, default_per_channel_weight_observer)
default_dynamic_qconfig = QConfig(default_dynamic_quant_observer, default_weight_observer)
float16_dynamic_qconfig = QConfig(
    PlaceholderObserver.with_args(dtype=torch.float16, is_dynamic=True), PlaceholderObserver.with_args(dtype=torch.float16)
)
float16_static_qconfig = QConfig(PlaceholderObserver.with_args(dtype=torch.float16), PlaceholderObserver.with_args(dtype=torch.float16))
per_channel_dynamic_qconfig = QConfig(default_dynamic_quant_observer, default_per_channel_weight_observer)
float_qparams_weight_only_qconfig = QConfig(default_placeholder_observer, default_float_qparams_observer)
float_qparams_weight_only_qconfig_4bit = QConfig(default_placeholder_observer, default_float_qparams_observer_4bit)
default_qat_qconfig = QConfig(default_fake_quant, default_weight_fake_quant)
default_dynamic_qat_qconfig = QConfig(default_dynamic_fake_quant, default_weight_fake_quant)
default_weight_only_qconfig = QConfig(torch.nn.Identity, default_weight_fake_quant)
default_activation_only_qconfig = QConfig(default_fake_quant, torch.nn.Identity)
default_qat_qconfig_v2 = QConfig(default_fused_act_fake_quant, default_fused_wt_fake_quant)
default_reuse_input_qconfig = QConfig(default_reuse_input_observer, NoopObserver)
default_symmetric_qnnpack_qconfig = QConfig(
    HistogramObserver.with_args(dtype=torch.qint8, reduce_range=False, eps=2**-12), weight_observer_range_neg_127_to_127
)
default_per_channel_symmetric_qnnpack_qconfig = QConfig(
    HistogramObserver.with_args(dtype=torch.qint8, reduce_range=False, eps=2**-12), per_channel_weight_observer_range_neg_127_to_127
)
default_embedding_qat_qconfig = QConfig(NoopObserver.with_args(dtype=torch.float32), default_embedding_fake_quant)
default_embedding_qat_qconfig_4bit = QConfig(NoopObserver.with_args(dtype=torch.float32), default_embedding_fake_quant_4bit)
default_quint8_weight_qconfig = QConfig(HistogramObserver, MinMaxObserver)


def _symmetric_activations() -> _PartialWrapper:
    return FusedMovingAvgObsFakeQuantize.with_args(
        observer=MovingAverageMinMaxObserver, quant_min=-128, quant_max=127, dtype=torch.qint8, reduce_range=False, eps=2**-12
    )


default_symmetric_qnnpack_qat_qconfig = QConfig(_symmetric_activations(), fused_wt_fake_quant_range_neg_127_to_127)
default_per_channel_symmetric_qnnpack_qat_qconfig = QConfig(
    _symmetric_activations(), fused_per_channel_wt_fake_quant_range_neg_127_to_127
)
_default_fp32_placeholder_qconfig = QConfig(
    PlaceholderObserver.with_args(dtype=torch.float32), PlaceholderObserver.with_args(dtype=torch.float32)
)
_default_quint8_placeholder_qconfig = QConfig(PlaceholderObserver.with_args(dtype=torch.quint8), None)

_BACKENDS = ["fbgemm", "x86", "qnnpack", "onednn"]
_REDUCED = ("fbgemm", "x86")  # backends whose int8 products overflow unless the range has one bit less


def _check_backend(backend: str) -> None:
    if backend not in _BACKENDS:
        raise AssertionError(f"backend: {backend} not supported. backend must be one of {_BACKENDS}")


def get_default_qconfig(backend: str = "x86", version: int = 0) -> Any:
    """Return the QConfig of post-training quantization for a backend: x86, fbgemm, qnnpack or onednn."""
    _check_backend(backend)
    if version != 0:
        raise AssertionError(f"Version number: {version} in get_default_qconfig is not supported. Version number must be 0")
    weight = default_weight_observer if backend == "qnnpack" else default_per_channel_weight_observer
    return QConfig(HistogramObserver.with_args(reduce_range=backend in _REDUCED), weight)


def get_default_qat_qconfig(backend: str = "x86", version: int = 1) -> Any:
    """Return the QConfig of quantization-aware training for a backend: x86, fbgemm, qnnpack or onednn; version 1 observes and
    fake-quantizes in one operation.
    """
    _check_backend(backend)
    if version not in (0, 1):
        raise AssertionError(
            f"Version number: {version}in get_default_qat_qconfig is not supported. Version number must be 0 or 1"
        )
    tensor = backend == "qnnpack"
    kind: Any
    if version == 1:
        kind, weight = FusedMovingAvgObsFakeQuantize, default_fused_wt_fake_quant if tensor else default_fused_per_channel_wt_fake_quant
    else:
        kind, weight = FakeQuantize, default_weight_fake_quant if tensor else default_per_channel_weight_fake_quant
    reduced = {} if backend == "onednn" else {"reduce_range": backend in _REDUCED}
    return QConfig(kind.with_args(observer=MovingAverageMinMaxObserver, quant_min=0, quant_max=255, **reduced), weight)


QConfigAny = QConfig | None


def _assert_valid_qconfig(qconfig: QConfig, mod: Any) -> None:
    transposed = (torch.nn.ConvTranspose1d, torch.nn.ConvTranspose2d, torch.nn.ConvTranspose3d)
    if qconfig is None or not isinstance(mod, transposed) or qconfig.weight is None:
        return
    if isinstance(qconfig.weight(), (PerChannelMinMaxObserver, MovingAveragePerChannelMinMaxObserver)):
        raise AssertionError("Per channel weight observer is not supported yet for ConvTranspose{n}d.")


def _add_module_to_qconfig_obs_ctr(qconfig: QConfig, module: Any) -> QConfig | None:
    """Return a qconfig whose observers are created on the device of the module's parameters."""
    if module is None or qconfig is None or qconfig._fields != ("activation", "weight"):
        return qconfig

    def place() -> dict[Any, Any] | None:
        devices = {item.device for item in (*module.parameters(), *module.buffers())}
        return {"device": next(iter(devices))} if devices else None

    def placed(maker: _PartialWrapper) -> Any:
        try:
            maker.with_args(factory_kwargs=None)()
            return maker.with_callable_args(factory_kwargs=place)
        except (AttributeError, TypeError):  # it is not an observer, or has no device argument
            return maker

    return QConfig(placed(qconfig.activation), placed(qconfig.weight))


def _obs_or_fq_ctr_equals(one: Any, other: Any) -> bool:
    if not (isinstance(one, _PartialWrapper) and isinstance(other, _PartialWrapper)):
        return bool(one == other)
    ours, theirs = copy.copy(one.p.keywords), copy.copy(other.p.keywords)
    same = True
    if "observer" in ours and "observer" in theirs:
        same = _obs_or_fq_ctr_equals(ours.pop("observer"), theirs.pop("observer"))
    return bool(one.p.func == other.p.func and one.p.args == other.p.args and same and ours == theirs)


_partial_wrapper_equals = _obs_or_fq_ctr_equals


def qconfig_equals(q1: Any, q2: Any) -> bool:
    """Return whether two qconfigs create the same observers."""
    if q1 is None or q2 is None:
        return q1 is q2
    try:
        return _obs_or_fq_ctr_equals(q1.activation, q2.activation) and _obs_or_fq_ctr_equals(q1.weight, q2.weight)
    except AttributeError:
        return bool(q1 == q2)


def _activation_is_memoryless(qconfig: QConfig) -> bool:
    """Return whether a qconfig observes activations without memory of earlier ones."""
    found = qconfig.activation()
    if isinstance(found, FakeQuantizeBase) and hasattr(found, "activation_post_process"):
        found = found.activation_post_process
    return bool(getattr(found, "averaging_constant", None) == 1)


def _is_reuse_input_qconfig(qconfig: Any) -> bool:
    return (
        qconfig is not None and isinstance(qconfig.activation(), ReuseInputObserver) and isinstance(qconfig.weight(), NoopObserver)
    )


__all__ = [
    "QConfig", "QConfigAny", "QConfigDynamic", "default_activation_only_qconfig", "default_debug_qconfig", "default_dynamic_qat_qconfig",
    "default_dynamic_qconfig", "default_embedding_qat_qconfig", "default_embedding_qat_qconfig_4bit",
    "default_per_channel_qconfig", "default_per_channel_symmetric_qnnpack_qat_qconfig", "default_per_channel_symmetric_qnnpack_qconfig",
    "default_qat_qconfig", "default_qat_qconfig_v2", "default_qconfig", "default_quint8_weight_qconfig", "default_reuse_input_qconfig",
    "default_symmetric_qnnpack_qat_qconfig", "default_symmetric_qnnpack_qconfig", "default_weight_only_qconfig",
    "float16_dynamic_qconfig", "float16_static_qconfig", "float_qparams_weight_only_qconfig", "float_qparams_weight_only_qconfig_4bit",
    "get_default_qat_qconfig", "get_default_qconfig", "per_channel_dynamic_qconfig", "qconfig_equals",
]  # fmt: skip

__getattr__ = _missing(__name__)
