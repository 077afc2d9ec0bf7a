"""torch._C._functorch: tensors of transforms. Those of ``torch.func`` here give their functions plain tensors."""
from __future__ import annotations

from typing import Any


def is_batchedtensor(tensor: Any) -> bool:
    """False: ``vmap`` and the gradients of ``torch.func`` give their functions plain tensors."""
    return False


is_legacy_batchedtensor = is_gradtrackingtensor = is_functionaltensor = is_functorch_wrapped_tensor = is_batchedtensor
