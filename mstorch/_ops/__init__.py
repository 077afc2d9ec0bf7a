"""torch's functions: a room for each subject, a file for each family, named like its kernel files.

What operations are written with stands beside the rooms.

``torch._ops`` is this room under torch's name; what programs take from there is ``torch.ops`` and the classes of its operators.
"""
from typing import Any

from .._core.above import above


def __getattr__(name: str) -> Any:
    if name == "ops":
        return above.torch.ops
    if name in ("OpOverload", "OpOverloadPacket"):
        return getattr(above.torch.ops, name)
    raise AttributeError(f"module 'torch._ops' has no attribute '{name}'")
