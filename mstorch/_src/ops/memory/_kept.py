"""Constant tensors that operations read, made once for a device."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...core.modes import modes
from ...core.tensor_base import TensorBase
from ...tape.ways import ways

_MOST = 64
_KEPT: dict[tuple[Any, ...], Any] = {}


def _once(like: TensorBase, key: tuple[Any, ...], make: Callable[[], Any]) -> Any:
    key = (*key, like.device)
    found = _KEPT.get(key)
    if found is None:
        found = make()
        if not modes.inference:  # a tensor made in inference mode could not be saved for backward later
            if len(_KEPT) >= _MOST:
                _KEPT.clear()
            _KEPT[key] = found
    return found


@ways(device=_once)
def kept(like: TensorBase, key: tuple[Any, ...], make: Callable[[], Any]) -> Any:
    """Return ``make()``, a tensor on the device of ``like`` that depends on ``key`` alone and that nobody writes to."""
    return make()
