"""torch's functions: a package for each subject, a module for each family, named like its kernel module.

The code that all operations share is in modules beside the packages. ``torch._ops`` is this package under torch's name; programs import
from it ``torch.ops`` and the classes of its operators.
"""
from typing import Any

from ..core.above import above


def __getattr__(name: str) -> Any:
    if name == "ops":
        return above.torch.ops
    if name in ("OpOverload", "OpOverloadPacket", "HigherOrderOperator"):
        return getattr(above.torch.ops, name)
    raise AttributeError(f"module 'torch._ops' has no attribute '{name}'")
