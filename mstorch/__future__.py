"""torch.__future__: options for future defaults."""
from __future__ import annotations

_overwrite = False
_swap = False


def get_overwrite_module_params_on_conversion() -> bool:
    """Return whether module conversions (``module.half()``) replace parameters by new ones."""
    return _overwrite


def set_overwrite_module_params_on_conversion(value: bool) -> None:
    """Set whether module conversions replace parameters by new ones instead of modifying them."""
    global _overwrite
    _overwrite = value


def get_swap_module_params_on_conversion() -> bool:
    """Return whether module conversions and ``load_state_dict`` use ``torch.utils.swap_tensors``."""
    return _swap


def set_swap_module_params_on_conversion(value: bool) -> None:
    """Set whether module conversions and ``load_state_dict`` use ``torch.utils.swap_tensors``."""
    global _swap
    _swap = value
