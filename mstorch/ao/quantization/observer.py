"""torch.ao.quantization.observer: modules that observe tensors and determine scales and zero points."""
from __future__ import annotations

from abc import ABCMeta, abstractmethod
from collections import OrderedDict
from collections.abc import Sequence
from functools import partial
from typing import Any

import mstorch as torch
from mstorch._src.core.warned import warn

from ..._src.hook import missing as _missing
from ..._src.namespace.process import qscheme
from ..._tensor import Tensor
from ...nn.modules.module import Module
from ._histogram import Histograms
from .utils import (
    calculate_qmin_qmax,
    check_min_max_valid,
    is_per_channel,
    is_per_tensor,
    nothing_observed,
    qparams_of,
    validate_qmin_qmax,
)

_EPS = torch.finfo(torch.float32).eps
_ALLOWED = (
    torch.qint8, torch.quint8, torch.quint4x2, torch.qint32, torch.int8, torch.uint8, torch.int16, torch.int32, torch.float8_e5m2,
    torch.float8_e4m3fn, torch.uint16,
)  # fmt: skip


class _PartialWrapper:
    """A factory of modules with bound arguments; ``callable_args`` are evaluated at each call."""

    def __init__(self, p: Any) -> None:
        self.p = p
        self.callable_args: dict[str, Any] = {}

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        return self.p(*args, **{**{name: make() for name, make in self.callable_args.items() if name not in keywords}, **keywords})

    def __repr__(self) -> str:
        return repr(self.p) + repr(self.callable_args)

    def with_args(self, **kwargs: Any) -> _PartialWrapper:
        """Return a factory with additional bound arguments."""
        return _with_args(self, **kwargs)

    def with_callable_args(self, **kwargs: Any) -> _PartialWrapper:
        """Return a factory with additional arguments that are evaluated at each call."""
        made = _PartialWrapper(self.p)
        made.callable_args = {**self.callable_args, **kwargs}
        return made


def _with_args(cls_or_self: _PartialWrapper | type[Any], **kwargs: Any) -> _PartialWrapper:
    """Return a factory of instances of a class with these arguments."""
    return _PartialWrapper(partial(cls_or_self, **kwargs))


def _with_callable_args(cls_or_self: type[Any], **kwargs: Any) -> _PartialWrapper:
    """Return a factory of instances of a class with arguments that are evaluated at each call."""
    return _PartialWrapper(partial(cls_or_self)).with_callable_args(**kwargs)


ABC: Any = ABCMeta("ABC", (object,), {})


class ObserverBase(ABC, Module):
    """Base of observers: ``forward`` observes a tensor and returns it, ``calculate_qparams`` determines scale and zero point."""

    def __init__(self, dtype: torch.dtype, is_dynamic: bool = False) -> None:
        super().__init__()
        self.dtype = dtype
        self.is_dynamic = is_dynamic

    @abstractmethod
    def forward(self, x: Any) -> Any:
        """Observe a tensor and return it."""

    @abstractmethod
    def calculate_qparams(self, **kwargs: Any) -> Any:
        """Return scale and zero point for the observed values."""

    with_args = classmethod(_with_args)
    with_callable_args = classmethod(_with_callable_args)


class UniformQuantizationObserverBase(ObserverBase):
    """Base of observers of bounds, for uniform quantization."""

    _version = 3
    eps: Any
    min_val: Any
    max_val: Any

    def __init__(
        self, dtype: torch.dtype = torch.quint8, qscheme: qscheme = torch.per_tensor_affine, reduce_range: bool = False,
        quant_min: int | None = None,
        quant_max: int | None = None, factory_kwargs: dict[str, Any] | None = None, eps: float = _EPS, is_dynamic: bool = False,
        **kwargs: Any,
    ) -> None:  # fmt: skip
        made = torch.nn.factory_kwargs(factory_kwargs)
        super().__init__(dtype=dtype, is_dynamic=is_dynamic, **kwargs)
        self.qscheme = qscheme
        if reduce_range:
            warn(
                "Please use quant_min and quant_max to specify the range for observers.                     reduce_range will be "
                "deprecated in a future release of PyTorch."
            )
        self.reduce_range = reduce_range
        self.register_buffer("eps", torch.tensor([eps], **made))
        if not (is_per_tensor(qscheme) or is_per_channel(qscheme)):
            raise AssertionError(
                "Default Observer only works for per_tensor_affine, per_tensor_symmetric, per_channel_affine, per_channel_symmetric and "
                "per_channel_float_qparams quantization scheme"
            )
        if dtype not in _ALLOWED:
            raise AssertionError(f"Default Observer only works for {_ALLOWED} data type")
        self.has_customized_qrange = quant_min is not None and quant_max is not None
        if self.has_customized_qrange:
            validate_qmin_qmax(quant_min, quant_max)  # type: ignore[arg-type]
        self.quant_min, self.quant_max = calculate_qmin_qmax(quant_min, quant_max, self.has_customized_qrange, dtype, reduce_range)

    def _load_from_state_dict(self, state_dict: Any, prefix: str, local_metadata: dict[Any, Any], *rest: Any) -> None:
        if local_metadata.get("version") in (None, 1):  # old files lack this buffer
            state_dict[prefix + "eps"] = torch.tensor([_EPS])
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *rest)

    def _validate_qmin_qmax(self, quant_min: int, quant_max: int) -> None:
        validate_qmin_qmax(quant_min, quant_max)

    def _calculate_qparams(self, min_val: Tensor, max_val: Tensor) -> tuple[Any, Any]:
        if not check_min_max_valid(min_val, max_val):
            return nothing_observed(min_val)
        limits = (self.quant_min, self.quant_max)
        return qparams_of(min_val, max_val, self.qscheme, self.dtype, limits, self.eps, self.has_customized_qrange)

    def reset_min_max_vals(self) -> None:
        """Raise NotImplementedError: this observer has no bounds to reset."""
        raise NotImplementedError("Cannot reset min/max values in the given observer.")

    def _bounds_made(self, factory_kwargs: dict[Any, Any] | None, low: float | Sequence[Any], high: float | Sequence[Any]) -> None:
        made = torch.nn.factory_kwargs(factory_kwargs)
        self.register_buffer("min_val", torch.tensor(low, **made))
        self.register_buffer("max_val", torch.tensor(high, **made))

    def _keep(self, low: Tensor, high: Tensor) -> None:
        for own, new in ((self.min_val, low), (self.max_val, high)):
            own.resize_(new.shape)
            own.copy_(new)


_ObserverBase = UniformQuantizationObserverBase


class MinMaxObserver(UniformQuantizationObserverBase):
    """Records the running minimum and maximum."""

    def __init__(
        self, dtype: torch.dtype = torch.quint8, qscheme: qscheme = torch.per_tensor_affine, reduce_range: bool = False,
        quant_min: int | None = None,
        quant_max: int | None = None, factory_kwargs: dict[str, Any] | None = None, eps: float = _EPS, is_dynamic: bool = False,
        **kwargs: Any,
    ) -> None:  # fmt: skip
        if not is_per_tensor(qscheme):
            raise NotImplementedError(
                "MinMaxObserver's qscheme only support torch.per_tensor_symmetric                     and torch.per_tensor_affine."
            )
        super().__init__(dtype, qscheme, reduce_range, quant_min, quant_max, factory_kwargs, eps, is_dynamic, **kwargs)
        self._bounds_made(factory_kwargs, float("inf"), float("-inf"))
        if qscheme is torch.per_tensor_symmetric and reduce_range and dtype is torch.quint8:
            raise NotImplementedError(
                "Cannot reduce range for symmetric                                        quantization for quint8"
            )

    def forward(self, x_orig: Tensor) -> Tensor:
        """Update the bounds by the values of a tensor, and return the tensor."""
        if x_orig.numel():
            low, high = torch.aminmax(x_orig.detach().to(self.min_val.dtype))
            self._keep(*self._taken_in(low, high))
        return x_orig

    def _taken_in(self, low: Tensor, high: Tensor) -> tuple[Any, Any]:
        return torch.minimum(low, self.min_val), torch.maximum(high, self.max_val)

    def calculate_qparams(self) -> Any:
        """Return scale and zero point for the bounds."""
        return self._calculate_qparams(self.min_val, self.max_val)

    def extra_repr(self) -> str:
        """Return the bounds, for the module's repr."""
        return f"min_val={self.min_val}, max_val={self.max_val}"

    def reset_min_max_vals(self) -> None:
        """Reset the bounds."""
        self.min_val.copy_(torch.tensor(float("inf")))
        self.max_val.copy_(torch.tensor(float("-inf")))


class MovingAverageMinMaxObserver(MinMaxObserver):
    """Records moving averages of the bounds, with weight ``averaging_constant`` of each new tensor."""

    def __init__(
        self, averaging_constant: float = 0.01, dtype: torch.dtype = torch.quint8, qscheme: qscheme = torch.per_tensor_affine,
        reduce_range: bool = False, quant_min: int | None = None, quant_max: int | None = None, eps: float = _EPS,
        is_dynamic: bool = False, **kwargs: Any,
    ) -> None:  # fmt: skip
        if not is_per_tensor(qscheme):
            raise NotImplementedError(
                "MovingAverageMinMaxObserver's qscheme only support                 torch.per_tensor_symmetric and torch.per_tensor_affine."
                f"                 but got: {qscheme}"
            )
        self.averaging_constant = averaging_constant
        if is_dynamic and averaging_constant != 1:
            raise NotImplementedError(
                f"MovingAverageMinMaxObserver doesn't support dynamic quantization for averaging constant of {averaging_constant}"
            )
        super().__init__(
            dtype=dtype, qscheme=qscheme, reduce_range=reduce_range, quant_min=quant_min, quant_max=quant_max, eps=eps,
            is_dynamic=is_dynamic, **kwargs,
        )  # fmt: skip

    def _taken_in(self, low: Tensor, high: Tensor) -> tuple[Any, Any]:
        if self.min_val == float("inf") and self.max_val == float("-inf"):
            return low, high
        return _nearer(self.min_val, low, self.averaging_constant), _nearer(self.max_val, high, self.averaging_constant)


def _nearer(own: Tensor, new: Tensor, share: float) -> Tensor:
    return own + share * (new - own)


class PerChannelMinMaxObserver(UniformQuantizationObserverBase):
    """Records the running minimum and maximum of each channel."""

    _called = "PerChannelMinMaxObserver"  # the name in error messages

    def __init__(
        self, ch_axis: int = 0, dtype: torch.dtype = torch.quint8, qscheme: qscheme = torch.per_channel_affine, reduce_range: bool = False,
        quant_min: int | None = None, quant_max: int | None = None, factory_kwargs: dict[str, Any] | None = None, eps: float = _EPS,
        is_dynamic: bool = False, **kwargs: Any,
    ) -> None:  # fmt: skip
        self._check(qscheme, is_dynamic)
        super().__init__(dtype, qscheme, reduce_range, quant_min, quant_max, factory_kwargs, eps, is_dynamic, **kwargs)
        self.ch_axis = ch_axis
        self._bounds_made(factory_kwargs, [], [])
        if qscheme is torch.per_channel_symmetric and reduce_range and dtype is torch.quint8:
            raise NotImplementedError("Cannot reduce range for symmetric quantization for quint8")

    @classmethod
    def _check(cls, qscheme: qscheme, is_dynamic: bool) -> None:
        name = cls._called
        if not is_per_channel(qscheme):
            raise NotImplementedError(
                f"{name}'s qscheme only support                     torch.per_channel_symmetric, torch.per_channel_affine and "
                "torch.per_channel_affine_float_qparams."
            )
        if is_dynamic:
            raise NotImplementedError(f"{name} doesn't support dynamic quantization")

    def forward(self, x_orig: Tensor) -> Tensor:
        """Update the channels' bounds by the values of a tensor, and return the tensor."""
        return self._forward(x_orig)

    def _forward(self, x_orig: Tensor) -> Tensor:
        if x_orig.numel():
            x = x_orig.detach().to(self.min_val.dtype)
            low, high = torch.aminmax(torch.flatten(x.transpose(0, self.ch_axis), start_dim=1), dim=1)
            seen = self.min_val.numel() and self.max_val.numel()
            self._keep(*(self._taken_in(low, high) if seen else (low, high)))
        return x_orig

    def _taken_in(self, low: Tensor, high: Tensor) -> tuple[Any, Any]:
        return torch.minimum(low, self.min_val), torch.maximum(high, self.max_val)

    def calculate_qparams(self) -> Any:
        """Return scales and zero points for the channels' bounds."""
        return self._calculate_qparams(self.min_val, self.max_val)

    def extra_repr(self) -> str:
        """Return the bounds, for the module's repr."""
        return f"min_val={self.min_val}, max_val={self.max_val}"

    def reset_min_max_vals(self) -> None:
        """Reset the bounds."""
        for name in ("min_val", "max_val"):
            setattr(self, name, torch.rand(0))

    def _load_from_state_dict(
        self, state_dict: dict[str, Any], prefix: str, local_metadata: dict[Any, Any], strict: bool, missing_keys: list[str],
        unexpected_keys: list[str], error_msgs: list[str],
    ) -> None:  # fmt: skip
        version = local_metadata.get("version")
        old = version is not None and version < 3
        for name in ("min_val", "max_val"):
            key = f"{prefix}{name}{'s' if old else ''}"
            if key in state_dict:
                getattr(self, name).resize_(state_dict[key].shape)
            elif strict:
                missing_keys.append(key)
        super()._load_from_state_dict(state_dict, prefix, local_metadata, False, missing_keys, unexpected_keys, error_msgs)


class MovingAveragePerChannelMinMaxObserver(PerChannelMinMaxObserver):
    """Records moving averages of each channel's bounds, with weight ``averaging_constant`` of each new tensor."""

    _called = "MovingAveragePerChannelMinMaxObserver"

    def __init__(
        self, averaging_constant: float = 0.01, ch_axis: int = 0, dtype: torch.dtype = torch.quint8,
        qscheme: qscheme = torch.per_channel_affine,
        reduce_range: bool = False, quant_min: int | None = None, quant_max: int | None = None, eps: float = _EPS,
        is_dynamic: bool = False, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(
            ch_axis=ch_axis, dtype=dtype, qscheme=qscheme, reduce_range=reduce_range, quant_min=quant_min, quant_max=quant_max, eps=eps,
            is_dynamic=is_dynamic, **kwargs,
        )  # fmt: skip
        self.averaging_constant = averaging_constant

    def _taken_in(self, low: Tensor, high: Tensor) -> tuple[Any, Any]:
        return _nearer(self.min_val, low, self.averaging_constant), _nearer(self.max_val, high, self.averaging_constant)


class HistogramObserver(Histograms, UniformQuantizationObserverBase):
    """Records a histogram, and selects the bounds that minimize the squared quantization error."""

    histogram: Any

    def __init__(
        self, bins: int = 2048, dtype: torch.dtype = torch.quint8, qscheme: qscheme = torch.per_tensor_affine, reduce_range: bool = False,
        quant_min: int | None = None, quant_max: int | None = None, factory_kwargs: dict[str, Any] | None = None,
        eps: float = _EPS,
        is_dynamic: bool = False, **kwargs: Any,
    ) -> None:  # fmt: skip
        if not is_per_tensor(qscheme):
            raise NotImplementedError(
                "HistogramObserver's qscheme only support torch.per_tensor_symmetric                     and torch.per_tensor_affine."
            )
        if is_dynamic:
            raise NotImplementedError("HistogramObserver doesn't support dynamic quantization")
        super().__init__(dtype, qscheme, reduce_range, quant_min, quant_max, factory_kwargs, eps, is_dynamic, **kwargs)
        self.bins = bins
        self.register_buffer("histogram", torch.zeros(bins, **torch.nn.factory_kwargs(factory_kwargs)))
        self._bounds_made(factory_kwargs, float("inf"), float("-inf"))
        self.dst_nbins = 2 ** torch.iinfo(dtype).bits
        self.upsample_rate = 16

    def forward(self, x_orig: Tensor) -> Tensor:
        """Add a tensor's values to the histogram, and return the tensor."""
        if x_orig.numel():
            self._count(x_orig.detach())
        return x_orig

    def calculate_qparams(self) -> Any:
        """Return scale and zero point for the bounds of least error."""
        if self.min_val == float("inf") and self.max_val == float("-inf"):
            warn(
                "must run observer before calling calculate_qparams.                                    Returning default scale and zero "
                "point "
            )
            return nothing_observed(self.min_val)
        if self.bins != len(self.histogram):
            raise AssertionError(
                "The number of bins in histogram should be equal to the number of bins supplied while making this observer"
            )
        return self._calculate_qparams(*self._non_linear_param_search())

    def extra_repr(self) -> str:
        """Return the bounds, for the module's repr."""
        return f"min_val={self.min_val}, max_val={self.max_val}"

    def _load_from_state_dict(
        self, state_dict: Any, prefix: str, local_metadata: dict[Any, Any], strict: bool, missing_keys: list[str], *rest: Any
    ) -> None:
        version = local_metadata.get("version")
        for name, start in (("min_val", "inf"), ("max_val", "-inf")):
            key = prefix + name
            if key not in state_dict:
                if strict:
                    missing_keys.append(key)
                continue
            if (version is None or version < 3) and tuple(state_dict[key].shape) == (0,):
                state_dict[key] = torch.tensor(float(start))
            setattr(self, name, state_dict[key])
        super()._load_from_state_dict(state_dict, prefix, local_metadata, strict, missing_keys, *rest)


class FixedQParamsObserver(ObserverBase):
    """Observer with a fixed scale and zero point, independent of the data."""

    scale: Any
    zero_point: Any

    def __init__(
        self, scale: float, zero_point: int, dtype: torch.dtype = torch.quint8, qscheme: qscheme = torch.per_tensor_affine,
        quant_min: int = 0,
        quant_max: int = 255, is_dynamic: bool = False, **kwargs: Any,
    ) -> None:  # fmt: skip
        if is_dynamic:
            raise NotImplementedError("FixedQParamsObserver doesn't support dynamic quantization")
        super().__init__(dtype=dtype, is_dynamic=is_dynamic, **kwargs)
        self.quant_min = quant_min
        self.quant_max = quant_max
        self.register_buffer("scale", torch.tensor([scale], dtype=torch.float))
        self.register_buffer("zero_point", torch.tensor([zero_point], dtype=torch.int))
        self.dtype = dtype
        self.qscheme = qscheme

    def forward(self, X: Tensor) -> Tensor:
        """Return the tensor unchanged."""
        return X

    def calculate_qparams(self) -> Any:
        """Return the fixed scale and zero point."""
        return self.scale, self.zero_point


class _Unasked(ObserverBase):
    """Base of observers without scale and zero point."""

    def forward(self, x: Tensor) -> Tensor:
        """Return the tensor unchanged."""
        return x

    def calculate_qparams(self) -> Any:
        """Raise Exception, as torch does."""
        raise Exception(f"calculate_qparams should not be called for {type(self).__name__}")


class PlaceholderObserver(_Unasked):
    """Observer that only stores its dtype and quantization settings, without statistics."""

    def __init__(
        self, dtype: torch.dtype = torch.float32, custom_op_name: str = "", compute_dtype: Any = None, quant_min: int | None = None,
        quant_max: int | None = None, qscheme: Any = None, eps: float | None = None, is_dynamic: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(dtype=dtype, is_dynamic=is_dynamic)
        self.dtype = dtype
        self.qscheme = torch.per_tensor_affine if qscheme is None else qscheme
        self.quant_min = quant_min
        self.quant_max = quant_max
        self.eps = _EPS if eps is None else eps
        self.custom_op = custom_op_name
        if compute_dtype:
            warn(
                "Please use `is_dynamic` instead of `compute_dtype`.                     `compute_dtype` will be deprecated in a future "
                "release                     of PyTorch."
            )

    def extra_repr(self) -> str:
        """Return the dtype, and whether quantization is dynamic, for the module's repr."""
        return f"dtype={self.dtype}, is_dynamic={self.is_dynamic}"


class RecordingObserver(_Unasked):
    """Stores a copy of each observed tensor."""

    def __init__(self, dtype: torch.dtype = torch.quint8) -> None:
        super().__init__(dtype=dtype, is_dynamic=False)
        self.tensor_val: list[Any] = []

    def forward(self, x: Tensor) -> Tensor:
        """Store a copy of a tensor, and return the tensor."""
        self.tensor_val.append(x.clone())
        return x

    def get_tensor_value(self) -> list[Any]:
        """Return the stored copies."""
        return self.tensor_val


class NoopObserver(_Unasked):
    """Only stores a dtype."""

    def __init__(self, dtype: torch.dtype = torch.float16, custom_op_name: str = "") -> None:
        super().__init__(dtype=dtype, is_dynamic=False)
        self.dtype = dtype
        self.custom_op = custom_op_name


class ReuseInputObserver(_Unasked):
    """Represents the observer of an operation's input, which is reused."""

    def __init__(self) -> None:
        super().__init__(torch.quint8, is_dynamic=False)


observers: list[Any] = [ObserverBase]
"""The classes that count as observers; fake quantization adds its own."""


def _is_activation_post_process(module: Any) -> bool:
    return isinstance(module, tuple(observers))


def get_observer_state_dict(mod: Module) -> Any:
    """Return the observers' entries of a model's state_dict."""
    whole = mod.state_dict()
    found = OrderedDict((key, value) for key, value in whole.items() if "activation_post_process" in key)
    found._metadata = whole._metadata  # type: ignore[attr-defined]
    return found


def load_observer_state_dict(mod: Module, obs_dict: Any) -> None:
    """Load the observers' entries that ``get_observer_state_dict`` returned."""
    missing: list[str] = []
    unexpected: list[str] = []
    for name, module in mod.named_modules():
        if _is_activation_post_process(module):
            module._load_from_state_dict(obs_dict, name + ".", {}, False, missing, unexpected, [])
    for word, keys in (("Missing", missing), ("Unexpected", unexpected)):
        for key in keys:
            if "observer" in key or "activation_post_process" in key:
                raise Exception(f"{word} keys for observer {key} in state_dict")


default_observer = MinMaxObserver.with_args(quant_min=0, quant_max=127)
default_placeholder_observer = PlaceholderObserver
default_debug_observer = RecordingObserver
default_weight_observer = MinMaxObserver.with_args(dtype=torch.qint8, qscheme=torch.per_tensor_symmetric)
weight_observer_range_neg_127_to_127 = MinMaxObserver.with_args(
    dtype=torch.qint8, qscheme=torch.per_tensor_symmetric, quant_min=-127, quant_max=127, eps=2**-12
)
default_histogram_observer = HistogramObserver.with_args(quant_min=0, quant_max=127)
default_per_channel_weight_observer = PerChannelMinMaxObserver.with_args(dtype=torch.qint8, qscheme=torch.per_channel_symmetric)
per_channel_weight_observer_range_neg_127_to_127 = PerChannelMinMaxObserver.with_args(
    dtype=torch.qint8, qscheme=torch.per_channel_symmetric, quant_min=-127, quant_max=127, eps=2**-12
)
default_dynamic_quant_observer = PlaceholderObserver.with_args(dtype=torch.quint8, quant_min=0, quant_max=255, is_dynamic=True)
default_float_qparams_observer = PerChannelMinMaxObserver.with_args(
    dtype=torch.quint8, qscheme=torch.per_channel_affine_float_qparams, ch_axis=0
)
default_float_qparams_observer_4bit = PerChannelMinMaxObserver.with_args(
    dtype=torch.quint4x2, qscheme=torch.per_channel_affine_float_qparams, ch_axis=0
)
default_fixed_qparams_range_neg1to1_observer = FixedQParamsObserver.with_args(
    scale=2.0 / 256.0, zero_point=128, dtype=torch.quint8, quant_min=0, quant_max=255
)
default_fixed_qparams_range_0to1_observer = FixedQParamsObserver.with_args(
    scale=1.0 / 256.0, zero_point=0, dtype=torch.quint8, quant_min=0, quant_max=255
)
default_symmetric_fixed_qparams_observer = default_fixed_qparams_range_neg1to1_observer
default_affine_fixed_qparams_observer = default_fixed_qparams_range_0to1_observer
default_reuse_input_observer = ReuseInputObserver

__all__ = [
    "FixedQParamsObserver", "HistogramObserver", "MinMaxObserver", "MovingAverageMinMaxObserver", "MovingAveragePerChannelMinMaxObserver",
    "NoopObserver", "ObserverBase", "PerChannelMinMaxObserver", "PlaceholderObserver", "RecordingObserver", "ReuseInputObserver",
    "UniformQuantizationObserverBase", "default_affine_fixed_qparams_observer", "default_debug_observer", "default_dynamic_quant_observer",
    "default_fixed_qparams_range_0to1_observer", "default_fixed_qparams_range_neg1to1_observer", "default_float_qparams_observer",
    "default_float_qparams_observer_4bit", "default_histogram_observer", "default_observer", "default_per_channel_weight_observer",
    "default_placeholder_observer", "default_reuse_input_observer", "default_symmetric_fixed_qparams_observer", "default_weight_observer",
    "get_observer_state_dict", "load_observer_state_dict", "per_channel_weight_observer_range_neg_127_to_127",
    "weight_observer_range_neg_127_to_127",
]  # fmt: skip

__getattr__ = _missing(__name__)
