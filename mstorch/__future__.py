"""torch.__future__: switches of what becomes the default later."""
from __future__ import annotations


def get_overwrite_module_params_on_conversion() -> bool:
    """Whether conversions of modules replace their parameters."""
    return False


def set_overwrite_module_params_on_conversion(value: bool) -> None:
    """NotImplementedError for True: conversions here change parameters in place."""
    if value:
        raise NotImplementedError("mstorch: conversions of modules change their parameters in place")


def get_swap_module_params_on_conversion() -> bool:
    """Whether conversions of modules swap their parameters."""
    return False


def set_swap_module_params_on_conversion(value: bool) -> None:
    """NotImplementedError for True: conversions here change parameters in place."""
    if value:
        raise NotImplementedError("mstorch: conversions of modules change their parameters in place")
