"""torch.ao.quantization.fake_quantize: modules that simulate quantization in training."""
from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import mstorch as torch

from ..._src.hook import missing as _missing
from ..._tensor import Tensor
from ...nn.modules.module import Module
from .observer import (
    FixedQParamsObserver,
    HistogramObserver,
    MovingAverageMinMaxObserver,
    MovingAveragePerChannelMinMaxObserver,
    _PartialWrapper,
    _with_args,
    default_fixed_qparams_range_0to1_observer,
    default_fixed_qparams_range_neg1to1_observer,
    observers,
)
from .utils import SYMMETRIC, is_per_channel, is_per_tensor


class FakeQuantizeBase(ABC, Module):
    """A module that observes and fake-quantizes tensors; both can be disabled."""

    fake_quant_enabled: Any
    observer_enabled: Any

    def __init__(self) -> None:
        super().__init__()
        for name in ("fake_quant_enabled", "observer_enabled"):  # buffers, which are saved and moved with the model
            self.register_buffer(name, torch.tensor([1], dtype=torch.uint8))

    @abstractmethod
    def forward(self, x: Any) -> Any:
        """Observe and fake-quantize a tensor."""

    @abstractmethod
    def calculate_qparams(self, **kwargs: Any) -> Any:
        """Return scale and zero point for the observed values."""

    def enable_fake_quant(self, enabled: bool = True) -> None:
        """Enable or disable fake quantization."""
        self.fake_quant_enabled[0] = 1 if enabled else 0

    def disable_fake_quant(self) -> None:
        """Disable fake quantization."""
        self.enable_fake_quant(False)

    def enable_observer(self, enabled: bool = True) -> None:
        """Enable or disable observation."""
        self.observer_enabled[0] = 1 if enabled else 0

    def disable_observer(self) -> None:
        """Disable observation."""
        self.enable_observer(False)

    @classmethod
    def with_args(cls, **kwargs: Any) -> _PartialWrapper:
        """Return a factory of instances with these arguments."""
        made = _with_args(cls, **kwargs)
        made.__module__ = "torch.ao.quantization.fake_quantize"
        return made


class FakeQuantize(FakeQuantizeBase):
    """Fake-quantizes tensors with the scale and zero point of an observer that it updates."""

    scale: Any
    zero_point: Any

    def __init__(
        self, observer: Any = MovingAverageMinMaxObserver, quant_min: int | None = None, quant_max: int | None = None,
        is_dynamic: bool = False, **observer_kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__()
        if quant_min is not None and quant_max is not None:
            _check_range(observer, observer_kwargs.get("dtype", torch.quint8), quant_min, quant_max)
            observer_kwargs.update(quant_min=quant_min, quant_max=quant_max)
        observer_kwargs["is_dynamic"] = is_dynamic
        self.activation_post_process = made = observer(**observer_kwargs)
        self.quant_min = made.quant_min
        self.quant_max = made.quant_max
        self.is_dynamic = made.is_dynamic
        point = torch.float if made.qscheme is torch.per_channel_affine_float_qparams else torch.int
        self.register_buffer("scale", torch.tensor([1.0], dtype=torch.float))
        self.register_buffer("zero_point", torch.tensor([0], dtype=point))
        self.dtype = made.dtype
        self.qscheme = made.qscheme
        self.ch_axis = made.ch_axis if hasattr(made, "ch_axis") else -1
        if not (is_per_channel(self.qscheme) or is_per_tensor(self.qscheme)):
            raise AssertionError(
                f"Only per channel and per tensor quantization are supported in fake quantize got qscheme: {self.qscheme}"
            )
        self.is_per_channel = is_per_channel(self.qscheme)

    def calculate_qparams(self) -> Any:
        """Return scale and zero point for the observed values."""
        return self.activation_post_process.calculate_qparams()

    def forward(self, X: Tensor) -> Tensor:
        """Observe ``X``, and return it fake-quantized."""
        if self.observer_enabled[0] == 1:
            self.activation_post_process(X.detach())
            self._take(*self.calculate_qparams())
        if self.fake_quant_enabled[0] == 1:
            limits = self.activation_post_process.quant_min, self.activation_post_process.quant_max
            if self.is_per_channel:
                return torch.fake_quantize_per_channel_affine(X, self.scale, self.zero_point, self.ch_axis, *limits)
            return torch.fake_quantize_per_tensor_affine(X, self.scale, self.zero_point, *limits)
        return X

    def _take(self, scale: Tensor, point: Tensor) -> None:
        if self.scale.shape != scale.shape:
            self.scale.resize_(scale.shape)
            self.zero_point.resize_(point.shape)
        self.scale.copy_(scale.to(self.scale.device))
        self.zero_point.copy_(point.to(self.zero_point.device))

    def _switches(self) -> str:
        return f"fake_quant_enabled={self.fake_quant_enabled}, observer_enabled={self.observer_enabled}, "

    def _limits(self) -> str:
        return f"quant_min={self.activation_post_process.quant_min}, quant_max={self.activation_post_process.quant_max}, "

    def extra_repr(self) -> str:
        """Return the switches, the range, scale and zero point, for the module's repr."""
        return (
            f"{self._switches()}{self._limits()}dtype={self.dtype}, qscheme={self.qscheme}, ch_axis={self.ch_axis}, "
            f"scale={self.scale}, zero_point={self.zero_point}"
        )

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        destination[prefix + "scale"] = self.scale
        destination[prefix + "zero_point"] = self.zero_point

    def _load_from_state_dict(
        self, state_dict: Any, prefix: str, local_metadata: Any, strict: bool, missing_keys: list[str], *rest: Any
    ) -> None:
        for name in ("scale", "zero_point"):
            if prefix + name in state_dict:  # as many channels as in the file
                getattr(self, name).resize_(state_dict[prefix + name].shape)
            elif strict:
                missing_keys.append(prefix + name)
        super()._load_from_state_dict(state_dict, prefix, local_metadata, strict, missing_keys, *rest)


def _check_range(observer: type, kind: torch.dtype, quant_min: int, quant_max: int) -> None:
    if quant_min > quant_max:
        raise AssertionError("quant_min must be less than or equal to quant_max")
    kind = getattr(getattr(observer, "p", None), "keywords", {}).get("dtype", kind)
    if torch.iinfo(kind).min > quant_min:
        raise AssertionError("quant_min out of bound")
    if quant_max > torch.iinfo(kind).max:
        raise AssertionError("quant_max out of bound")


class FixedQParamsFakeQuantize(FakeQuantize):
    """Fake-quantizes tensors with a fixed scale and zero point."""

    def __init__(self, observer: _PartialWrapper | type[Any]) -> None:
        super().__init__(observer=observer)
        if type(self.activation_post_process) is not FixedQParamsObserver:
            raise AssertionError(f"{self.__class__.__name__}'s observer must be a {FixedQParamsObserver.__name__}")
        self._observer_ctr = observer
        self.scale = self.activation_post_process.scale
        self.zero_point = self.activation_post_process.zero_point
        if not is_per_tensor(self.qscheme):
            raise AssertionError(
                f"Only per tensor quantization is supported FixedQParamsFakeQuantize module, got qscheme:{self.qscheme}"
            )

    def calculate_qparams(self) -> Any:
        """Return the fixed scale and zero point."""
        return self.scale, self.zero_point

    def extra_repr(self) -> str:
        """Return the switches, scale and range, for the module's repr."""
        return (
            f"{self._switches()}scale={self.scale}, zero_point={self.zero_point}, dtype={self.dtype}, {self._limits()}"
            f"qscheme={self.qscheme}"
        )


class FusedMovingAvgObsFakeQuantize(FakeQuantize):
    """Observes and fake-quantizes in one operation; bounds are moving averages."""

    def __init__(
        self, observer: Any = MovingAverageMinMaxObserver, quant_min: int = 0, quant_max: int = 255, **observer_kwargs: Any
    ) -> None:
        super().__init__(observer, quant_min, quant_max, **observer_kwargs)
        if not isinstance(self.activation_post_process, (MovingAverageMinMaxObserver, MovingAveragePerChannelMinMaxObserver)):
            raise AssertionError("Fused observer+fake_quant module only works with MovingAverageMinMaxObserver")
        for name in ("fake_quant_enabled", "observer_enabled"):
            self.register_buffer(name, torch.tensor([1], dtype=torch.long))
        self.is_symmetric_quant = self.activation_post_process.qscheme in SYMMETRIC

    def extra_repr(self) -> str:
        """Return the switches, scale, zero point and range, for the module's repr."""
        return (
            f"{self._switches()}scale={self.scale}, zero_point={self.zero_point}, dtype={self.dtype}, {self._limits()}"
            f"qscheme={self.qscheme}, reduce_range={self.activation_post_process.reduce_range}"
        )

    def forward(self, X: Tensor) -> Tensor:
        """Observe ``X``, and return it fake-quantized."""
        made = self.activation_post_process
        return torch.fused_moving_avg_obs_fake_quant(
            X, self.observer_enabled, self.fake_quant_enabled, made.min_val, made.max_val, self.scale, self.zero_point,
            made.averaging_constant, made.quant_min, made.quant_max, self.ch_axis, self.is_per_channel, self.is_symmetric_quant,
        )  # fmt: skip


observers.append(FakeQuantizeBase)

_ACTIVATIONS = {"quant_min": 0, "quant_max": 255, "dtype": torch.quint8}
_WEIGHTS = {"quant_min": -128, "quant_max": 127, "dtype": torch.qint8}
_NARROW = {"quant_min": -127, "quant_max": 127, "dtype": torch.qint8}
_TENSOR, _CHANNEL = MovingAverageMinMaxObserver, MovingAveragePerChannelMinMaxObserver

default_fake_quant = FakeQuantize.with_args(observer=_TENSOR, **_ACTIVATIONS, qscheme=torch.per_tensor_affine, reduce_range=True)
default_weight_fake_quant = FakeQuantize.with_args(observer=_TENSOR, **_WEIGHTS, qscheme=torch.per_tensor_symmetric, reduce_range=False)
default_dynamic_fake_quant = FakeQuantize.with_args(
    observer=_TENSOR, quant_min=0, quant_max=255, is_dynamic=True, dtype=torch.quint8, averaging_constant=1
)
default_fixed_qparams_range_neg1to1_fake_quant = FixedQParamsFakeQuantize.with_args(observer=default_fixed_qparams_range_neg1to1_observer)
default_fixed_qparams_range_0to1_fake_quant = FixedQParamsFakeQuantize.with_args(observer=default_fixed_qparams_range_0to1_observer)
default_symmetric_fixed_qparams_fake_quant = default_fixed_qparams_range_neg1to1_fake_quant
default_affine_fixed_qparams_fake_quant = default_fixed_qparams_range_0to1_fake_quant
default_per_channel_weight_fake_quant = FakeQuantize.with_args(
    observer=_CHANNEL, **_WEIGHTS, qscheme=torch.per_channel_symmetric, reduce_range=False, ch_axis=0
)
default_embedding_fake_quant = FakeQuantize.with_args(
    observer=_CHANNEL, qscheme=torch.per_channel_affine_float_qparams, dtype=torch.quint8, quant_min=0, quant_max=255, ch_axis=0,
    averaging_constant=1,
)  # fmt: skip
default_embedding_fake_quant_4bit = FakeQuantize.with_args(
    observer=_CHANNEL, qscheme=torch.per_channel_affine_float_qparams, ch_axis=0, dtype=torch.quint4x2, averaging_constant=1
)
default_histogram_fake_quant = FakeQuantize.with_args(
    observer=HistogramObserver, **_ACTIVATIONS, qscheme=torch.per_tensor_affine, reduce_range=True
)
default_fused_act_fake_quant = FusedMovingAvgObsFakeQuantize.with_args(observer=_TENSOR, **_ACTIVATIONS)
default_fused_wt_fake_quant = FusedMovingAvgObsFakeQuantize.with_args(observer=_TENSOR, **_WEIGHTS, qscheme=torch.per_tensor_symmetric)
default_fused_per_channel_wt_fake_quant = FusedMovingAvgObsFakeQuantize.with_args(
    observer=_CHANNEL, **_WEIGHTS, qscheme=torch.per_channel_symmetric
)
fused_wt_fake_quant_range_neg_127_to_127 = FusedMovingAvgObsFakeQuantize.with_args(
    observer=_TENSOR, **_NARROW, qscheme=torch.per_tensor_symmetric, eps=2**-12
)
fused_per_channel_wt_fake_quant_range_neg_127_to_127 = FusedMovingAvgObsFakeQuantize.with_args(
    observer=_CHANNEL, **_NARROW, qscheme=torch.per_channel_symmetric, eps=2**-12
)


def _switching(name: str, doc: str) -> Callable[..., Any]:
    def switch(mod: Any) -> None:
        if isinstance(mod, FakeQuantizeBase):
            getattr(mod, name)()

    switch.__name__ = switch.__qualname__ = name
    switch.__doc__ = doc
    return switch


disable_fake_quant = _switching("disable_fake_quant", "Disable a module's fake-quantization, if any: ``model.apply(disable_fake_quant)``.")
enable_fake_quant = _switching("enable_fake_quant", "Enable a module's fake-quantization, if any: ``model.apply(enable_fake_quant)``.")
disable_observer = _switching("disable_observer", "Disable a module's observer, if it has one: ``model.apply(disable_observer)``.")
enable_observer = _switching("enable_observer", "Enable a module's observer, if it has one: ``model.apply(enable_observer)``.")

__all__ = [
    "FakeQuantize", "FakeQuantizeBase", "FixedQParamsFakeQuantize", "FusedMovingAvgObsFakeQuantize",
    "default_affine_fixed_qparams_fake_quant", "default_dynamic_fake_quant", "default_embedding_fake_quant",
    "default_embedding_fake_quant_4bit", "default_fake_quant", "default_fixed_qparams_range_0to1_fake_quant",
    "default_fixed_qparams_range_neg1to1_fake_quant", "default_fused_act_fake_quant", "default_fused_per_channel_wt_fake_quant",
    "default_fused_wt_fake_quant", "default_histogram_fake_quant", "default_per_channel_weight_fake_quant",
    "default_symmetric_fixed_qparams_fake_quant", "default_weight_fake_quant", "disable_fake_quant", "disable_observer",
    "enable_fake_quant", "enable_observer", "fused_per_channel_wt_fake_quant_range_neg_127_to_127",
    "fused_wt_fake_quant_range_neg_127_to_127",
]  # fmt: skip

__getattr__ = _missing(__name__)
