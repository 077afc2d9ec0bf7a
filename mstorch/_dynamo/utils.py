"""torch._dynamo.utils: what programs ask torch's compiler about itself."""
from __future__ import annotations

from typing import Any

from .eval_frame import is_dynamo_supported


def is_compile_supported(device_type: Any) -> bool:
    """Whether ``torch.compile`` works for tensors of a type of device."""
    kind = getattr(device_type, "type", device_type)
    return is_dynamo_supported() and str(kind).partition(":")[0] in ("cpu", "cuda", "npu")


__all__ = ["is_compile_supported"]
