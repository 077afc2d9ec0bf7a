"""torch.distributed.algorithms.ddp_comm_hooks: ways to reduce gradients."""
from __future__ import annotations

import enum
from functools import partial
from typing import Any

from . import default_hooks

__all__ = ["DDPCommHookType", "default_hooks", "register_ddp_comm_hook"]


def _register(model: Any, state: Any, hook: Any) -> None:
    model.register_comm_hook(state, hook)


class DDPCommHookType(enum.Enum):
    """Ways to reduce gradients, by name."""

    ALLREDUCE = partial(_register, hook=default_hooks.allreduce_hook)
    FP16_COMPRESS = partial(_register, hook=default_hooks.fp16_compress_hook)
    BF16_COMPRESS = partial(_register, hook=default_hooks.bf16_compress_hook)


def register_ddp_comm_hook(comm_hook_type: DDPCommHookType, model: Any, state: Any = None) -> None:
    """Let a DistributedDataParallel reduce its gradients in a way."""
    comm_hook_type.value(model=model, state=state)
