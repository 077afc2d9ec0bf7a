"""torch._C._functorch: tensors of transforms. Those of ``torch.func`` here give their functions plain tensors."""
from __future__ import annotations

from typing import Any


def is_batchedtensor(tensor: Any) -> bool:
    """False: ``vmap`` and the gradients of ``torch.func`` give their functions plain tensors."""
    return False


is_legacy_batchedtensor = is_gradtrackingtensor = is_functionaltensor = is_functorch_wrapped_tensor = is_batchedtensor

# torch computes an operation without a batching rule slice by slice, where that is allowed, and says so where asked to. Here
# ``vmap`` runs the whole function so: no operation is worse off than another, and there is nothing to forbid or to warn of.
_fallback = {"enabled": True, "warned": False}


def _is_vmap_fallback_enabled() -> bool:
    """What ``_set_vmap_fallback_enabled`` chose: True at first."""
    return _fallback["enabled"]


def _set_vmap_fallback_enabled(enabled: bool) -> None:
    """Choose whether operations without a batching rule are allowed in ``vmap``: there is none here."""
    _fallback["enabled"] = enabled


def are_vmap_fallback_warnings_enabled() -> bool:
    """What ``display_vmap_fallback_warnings`` chose: False at first."""
    return _fallback["warned"]


def display_vmap_fallback_warnings(enabled: bool) -> None:
    """Choose whether operations without a batching rule warn in ``vmap``: there is none here."""
    _fallback["warned"] = enabled
