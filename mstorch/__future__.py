"""torch.__future__: switches of what becomes the default later."""
from __future__ import annotations

_overwrite = False
_swap = False


def get_overwrite_module_params_on_conversion() -> bool:
    """Return whether conversions of modules (``module.half()``) put new parameters in the place of the old ones."""
    return _overwrite


def set_overwrite_module_params_on_conversion(value: bool) -> None:
    """Let conversions of modules put new parameters in the place of the old ones, instead of changing these."""
    global _overwrite
    _overwrite = value


def get_swap_module_params_on_conversion() -> bool:
    """Return whether conversions of modules and ``load_state_dict`` exchange parameters by ``torch.utils.swap_tensors``."""
    return _swap


def set_swap_module_params_on_conversion(value: bool) -> None:
    """Let conversions of modules and ``load_state_dict`` exchange parameters by ``torch.utils.swap_tensors``."""
    global _swap
    _swap = value
