"""The functions of the torch namespace that read and change autocast's state."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._src.core.device import device
from .._src.core.dtype import dtype as _dtype
from .._src.core.warned import warn
from .._src.ops._autocast import DEVICE, fast_dtype, set_enabled, state

_AVAILABLE = frozenset(("cpu", "cuda", "ipu", "xpu", "maia", "xla", "mps", "hpu", "mtia", "privateuseone", DEVICE))


def device_name(device_type: str, function: str) -> str:
    """Return the device type that a string names. Raise RuntimeError for an unknown one."""
    if not isinstance(device_type, str):
        raise TypeError(f"{function}(): argument 'device_type' (position 1) must be str, not {type(device_type).__name__}")
    return device(device_type).type  # raises for an unknown device type


def _with_autocast(device_type: str, function: str) -> str:
    name = device_name(device_type, function)
    if name not in _AVAILABLE:
        raise RuntimeError("unknown device type for autocast in get_autocast_dispatch_key_from_device_type")
    return name


def is_autocast_available(device_type: str) -> bool:
    """Return whether torch has autocast for a device type. Raise RuntimeError for an unknown name."""
    return device_name(device_type, "_is_autocast_available") in _AVAILABLE


def is_autocast_enabled(device_type: str = "cuda") -> bool:
    """Return whether autocast is enabled for a device type."""
    name = _with_autocast(device_type, "is_autocast_enabled")
    return state.enabled.get(name, False)


def set_autocast_enabled(device_type: Any, enabled: bool | None = None) -> None:
    """Enable or disable autocast for a device type (CUDA if there is one argument)."""
    if enabled is None:
        device_type, enabled = "cuda", device_type
    name = _with_autocast(device_type, "set_autocast_enabled")
    if not isinstance(enabled, bool):
        raise TypeError(f"set_autocast_enabled(): argument 'enabled' (position 2) must be bool, not {type(enabled).__name__}")
    set_enabled(name, enabled)


def get_autocast_dtype(device_type: str) -> _dtype:
    """Return autocast's dtype for a device type."""
    name = device_name(device_type, "get_autocast_dtype")
    if name not in _AVAILABLE:
        raise RuntimeError("unsupported scalarType")
    return fast_dtype(name)


def set_autocast_dtype(device_type: str, dtype: _dtype) -> None:
    """Set autocast's dtype for a device type."""
    name = _with_autocast(device_type, "set_autocast_dtype")
    if not isinstance(dtype, _dtype):
        raise TypeError(f"set_autocast_dtype(): argument 'dtype' (position 2) must be torch.dtype, not {type(dtype).__name__}")
    state.dtypes[name] = dtype


def is_autocast_cache_enabled() -> bool:
    """Return whether casts of parameters are cached within an autocast region."""
    return state.cache_enabled


def set_autocast_cache_enabled(enabled: bool) -> None:
    """Enable or disable caching of parameter casts within an autocast region."""
    state.cache_enabled = enabled


def clear_autocast_cache() -> None:
    """Clear the cached casts."""
    state.cache.clear()


def autocast_increment_nesting() -> int:
    """Increment the nesting depth of autocast regions and return it."""
    state.nesting += 1
    return state.nesting


def autocast_decrement_nesting() -> int:
    """Decrement the nesting depth of autocast regions and return it."""
    state.nesting -= 1
    return state.nesting


def _deprecated(old: str, new: str, device_type: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the deprecated device-specific form of an autocast function, under its former name."""
    value = "" if not old.startswith("set") else "dtype" if old.endswith("dtype") else "enabled"
    call = f"{new}('{device_type}'{value and ', ' + value})"

    def deprecated(*args: Any) -> Any:
        warn(
            f"torch.{old}({value}) is deprecated. Please use torch.{call} instead.", DeprecationWarning
        )
        return function(device_type, *args)

    deprecated.__name__ = deprecated.__qualname__ = old
    deprecated.__doc__ = f"Deprecated form of ``torch.{call}``."
    return deprecated


def _deprecated_forms(device_type: str, short: str) -> tuple[Callable[..., Any], ...]:
    return tuple(
        _deprecated(f"{verb}_autocast_{short}_{what}", f"{verb}_autocast_{what}", device_type, function)
        for verb, what, function in (
            ("is", "enabled", is_autocast_enabled), ("set", "enabled", set_autocast_enabled),
            ("get", "dtype", get_autocast_dtype), ("set", "dtype", set_autocast_dtype),
        )
    )  # fmt: skip


is_autocast_cpu_enabled, set_autocast_cpu_enabled, get_autocast_cpu_dtype, set_autocast_cpu_dtype = _deprecated_forms("cpu", "cpu")
is_autocast_ipu_enabled, set_autocast_ipu_enabled, get_autocast_ipu_dtype, set_autocast_ipu_dtype = _deprecated_forms("ipu", "ipu")
is_autocast_xla_enabled, set_autocast_xla_enabled, get_autocast_xla_dtype, set_autocast_xla_dtype = _deprecated_forms("xla", "xla")
get_autocast_gpu_dtype, set_autocast_gpu_dtype = _deprecated_forms("cuda", "gpu")[2:]
