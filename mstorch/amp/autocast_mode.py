"""autocast: a region in which operations choose their precision; helpers for autograd.Functions."""
from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from .._src.core import cuda_names
from .._src.core.dtype import bfloat16, float16, float64
from .._src.core.dtype import dtype as _dtype
from .._src.core.warned import warn
from .._src.leaving import Block, each, values_again
from .._src.ops._autocast import PLACES, state
from .._tensor import Tensor
from . import _settings
from ._settings import is_autocast_available

_SUPPORTED = (bfloat16, float16)


class autocast(Block):
    """A context manager or decorator in which operations on ``device_type`` run in the precision that suits them.

    Matmuls and convolutions use ``dtype`` (bfloat16 by default on CPU, float16 on accelerators), losses and other operations that need
    precision use float32, and all others use the dtype of their inputs. Parameters and their gradients keep their dtype. The lists of
    operations are torch's for the CPU, and on an accelerator torch's for CUDA.
    """

    def __init__(
        self, device_type: str, dtype: _dtype | None = None, enabled: bool = True, cache_enabled: bool | None = None
    ) -> None:
        if not isinstance(device_type, str):
            raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
        device_type = cuda_names.meant(device_type)
        if device_type == "npu" and not is_autocast_available(device_type):  # a script for Ascend, on a machine without one
            if enabled:
                warn("NPU is not available. Disabling autocast.")
            device_type, enabled = "privateuseone", False
        self.device = device_type
        self.fast_dtype = _settings.get_autocast_dtype(device_type) if dtype is None else dtype
        if not is_autocast_available(device_type):
            raise RuntimeError(f"User specified an unsupported autocast device_type '{device_type}'")
        self._cache_enabled = _settings.is_autocast_cache_enabled() if cache_enabled is None else cache_enabled
        if enabled and device_type == "cuda" and not cuda_names.is_there():
            warn("CUDA is not available or torch_xla is imported. Disabling autocast.")
            enabled = False
        elif enabled and device_type != "cuda" and self.fast_dtype not in _SUPPORTED:
            name = device_type.upper()
            warn(
                f"In {name} autocast, but the target dtype is not supported. Disabling autocast.\n"
                f"{name} Autocast only supports dtypes of {', '.join(map(str, _SUPPORTED))} currently.",
            )
            enabled = False
        self._enabled = enabled

    def __enter__(self) -> autocast:
        self.prev_cache_enabled = _settings.is_autocast_cache_enabled()
        self.prev = _settings.is_autocast_enabled(self.device)
        self.prev_fastdtype = _settings.get_autocast_dtype(self.device)
        enabled, dtypes, forget = state.enabled, state.dtypes, state.cache.clear
        on = any(self._enabled if place == self.device else enabled.get(place) for place in PLACES)
        self.at_end(each(
            values_again(state, "on", "nesting", "cache_enabled"), functools.partial(enabled.update, {self.device: self.prev}),
            functools.partial(dtypes.update, {self.device: self.prev_fastdtype}), *(() if state.nesting else (forget,)),
        ))  # fmt: skip
        enabled[self.device] = self._enabled
        state.on = on
        dtypes[self.device] = self.fast_dtype
        state.nesting += 1
        state.cache_enabled = self._cache_enabled
        return self

    def __call__(self, func: Callable[..., Any]) -> Callable[..., Any]:
        if not callable(func):
            raise TypeError(
                f"autocast()(func) requires a callable, but got {type(func).__name__}. Did you mean to use autocast as a "
                "context manager? For example:\n    with torch.autocast(device_type=...):\n        output = model(input)"
            )
        return autocast_decorator(self, func)


def autocast_decorator(autocast_instance: autocast, func: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap ``func`` to run within an autocast region."""

    @functools.wraps(func)
    def decorate_autocast(*args: Any, **kwargs: Any) -> Any:
        with autocast_instance:
            return func(*args, **kwargs)

    return decorate_autocast


def _cast(value: Any, device_type: str, dtype: _dtype) -> Any:
    """Cast the floating tensors in a tree to ``dtype``, except float64."""
    if isinstance(value, Tensor):
        eligible = value.is_floating_point() and value.device.type == device_type and value.dtype is not float64
        return value.to(dtype) if eligible else value
    if isinstance(value, (str, bytes, np.ndarray)):
        return value
    if isinstance(value, Mapping):
        return {_cast(key, device_type, dtype): _cast(item, device_type, dtype) for key, item in value.items()}
    if isinstance(value, Iterable):
        items = (_cast(item, device_type, dtype) for item in value)
        return type(value)(items) if isinstance(value, (list, tuple)) else items
    return value


def _check_name(device_type: int | str) -> None:
    if not isinstance(device_type, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")


def custom_fwd(fwd: Callable[..., Any] | None = None, *, device_type: str, cast_inputs: _dtype | None = None) -> Callable[..., Any]:
    """Decorate ``forward`` of an ``autograd.Function``: with ``cast_inputs``, within an autocast region, its floating tensors are cast to
    that dtype and it runs with autocast disabled.
    """
    _check_name(device_type)
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)

    @functools.wraps(fwd)
    def decorate_fwd(*args: Any, **kwargs: Any) -> Any:
        args[0]._ms_dtype = _settings.get_autocast_dtype(device_type)
        enabled = _settings.is_autocast_enabled(device_type)
        args[0]._fwd_used_autocast = enabled and cast_inputs is None
        if cast_inputs is None or not enabled:
            return fwd(*args, **kwargs)
        with autocast(device_type=device_type, enabled=False):
            return fwd(*_cast(args, device_type, cast_inputs), **_cast(kwargs, device_type, cast_inputs))

    return decorate_fwd


def custom_bwd(bwd: Callable[..., Any] | None = None, *, device_type: str) -> Callable[..., Any]:
    """Decorate ``backward`` of an ``autograd.Function`` to run with the autocast state of its ``forward``."""
    _check_name(device_type)
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)

    @functools.wraps(bwd)
    def decorate_bwd(*args: Any, **kwargs: Any) -> Any:
        with autocast(device_type=device_type, enabled=args[0]._fwd_used_autocast, dtype=args[0]._ms_dtype):
            return bwd(*args, **kwargs)

    return decorate_bwd


__all__ = ["autocast", "autocast_decorator", "custom_bwd", "custom_fwd", "is_autocast_available"]
