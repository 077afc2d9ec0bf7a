"""torch.distributed.algorithms.ddp_comm_hooks: communication hooks of DistributedDataParallel."""
from __future__ import annotations

import enum
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from ..._group import ProcessGroup
from . import debugging_hooks, default_hooks, powerSGD_hook, quantization_hooks

if TYPE_CHECKING:
    from ....nn.parallel.distributed import DistributedDataParallel

__all__ = [
    "DDPCommHookType", "debugging_hooks", "default_hooks", "powerSGD_hook", "quantization_hooks", "register_ddp_comm_hook",
]  # fmt: skip


def _register(model: DistributedDataParallel, state: ProcessGroup, hook: Callable[..., Any]) -> None:
    model.register_comm_hook(state, hook)


def _register_power(
    model: DistributedDataParallel, state: ProcessGroup, hook: Callable[..., Any], rank: int, start_powerSGD_iter: int = 1_000
) -> None:
    model.register_comm_hook(powerSGD_hook.PowerSGDState(state, rank, start_powerSGD_iter), hook)


class DDPCommHookType(enum.Enum):
    """Communication hooks by name."""

    ALLREDUCE = partial(_register, hook=default_hooks.allreduce_hook)
    FP16_COMPRESS = partial(_register, hook=default_hooks.fp16_compress_hook)
    BF16_COMPRESS = partial(_register, hook=default_hooks.bf16_compress_hook)
    QUANTIZE_PER_TENSOR = partial(_register, hook=quantization_hooks.quantization_pertensor_hook)
    QUANTIZE_PER_CHANNEL = partial(_register, hook=quantization_hooks.quantization_perchannel_hook)
    POWER_SGD = partial(_register_power, hook=powerSGD_hook.powerSGD_hook, rank=1)
    POWER_SGD_RANK2 = partial(_register_power, hook=powerSGD_hook.powerSGD_hook, rank=2)
    BATCHED_POWER_SGD = partial(_register_power, hook=powerSGD_hook.batched_powerSGD_hook, rank=1)
    BATCHED_POWER_SGD_RANK2 = partial(_register_power, hook=powerSGD_hook.batched_powerSGD_hook, rank=2)
    NOOP = partial(_register, hook=debugging_hooks.noop_hook)


def register_ddp_comm_hook(comm_hook_type: DDPCommHookType, model: DistributedDataParallel, state: ProcessGroup | None = None) -> None:
    """Register a communication hook on a DistributedDataParallel."""
    comm_hook_type.value(model=model, state=state)
