"""torch.distributed.fsdp.api: settings of FullyShardedDataParallel."""
from __future__ import annotations

import dataclasses
import enum
from collections.abc import Sequence
from typing import Any

from ...nn.modules.batchnorm import _BatchNorm


class ShardingStrategy(enum.Enum):
    """The tensors that FSDP shards: parameters, gradients and optimizer states; only gradients and states; none; or all of them, within
    each machine."""

    FULL_SHARD = enum.auto()
    SHARD_GRAD_OP = enum.auto()
    NO_SHARD = enum.auto()
    HYBRID_SHARD = enum.auto()
    _HYBRID_SHARD_ZERO2 = enum.auto()


class BackwardPrefetch(enum.Enum):
    """The time at which backward prefetches the next parameters: before it computes the current gradients, or after."""

    BACKWARD_PRE = enum.auto()
    BACKWARD_POST = enum.auto()


class StateDictType(enum.Enum):
    """The form of state dicts: full tensors, this rank's flat shard, or sharded tensors."""

    FULL_STATE_DICT = enum.auto()
    LOCAL_STATE_DICT = enum.auto()
    SHARDED_STATE_DICT = enum.auto()


@dataclasses.dataclass
class MixedPrecision:
    """Dtypes of full parameters, of the gradient reduction and of buffers; whether inputs are cast."""

    param_dtype: Any = None
    reduce_dtype: Any = None
    buffer_dtype: Any = None
    keep_low_precision_grads: bool = False
    cast_forward_inputs: bool = False
    cast_root_forward_inputs: bool = True
    _module_classes_to_ignore: Sequence[type[Any]] = (_BatchNorm,)


@dataclasses.dataclass
class CPUOffload:
    """Setting that keeps shards, their gradients and optimizer states on the CPU."""

    offload_params: bool = False


@dataclasses.dataclass
class StateDictConfig:
    """Setting that moves the tensors of a state dict to the CPU."""

    offload_to_cpu: bool = False


@dataclasses.dataclass
class FullStateDictConfig(StateDictConfig):
    """Config of state dicts with full tensors, on every rank or only on rank 0."""

    rank0_only: bool = False


@dataclasses.dataclass
class LocalStateDictConfig(StateDictConfig):
    """Config of state dicts with each rank's flat shards."""


@dataclasses.dataclass
class ShardedStateDictConfig(StateDictConfig):
    """Config of state dicts with sharded tensors."""

    _use_dtensor: bool = False


@dataclasses.dataclass
class OptimStateDictConfig:
    """Setting that moves the tensors of an optimizer state dict to the CPU."""

    offload_to_cpu: bool = True


@dataclasses.dataclass
class FullOptimStateDictConfig(OptimStateDictConfig):
    """Config of optimizer state dicts with full tensors, on every rank or only on rank 0."""

    rank0_only: bool = False


@dataclasses.dataclass
class LocalOptimStateDictConfig(OptimStateDictConfig):
    """Config of optimizer state dicts with each rank's flat shards."""

    offload_to_cpu: bool = False


@dataclasses.dataclass
class ShardedOptimStateDictConfig(OptimStateDictConfig):
    """Config of optimizer state dicts with sharded tensors."""

    _use_dtensor: bool = False


@dataclasses.dataclass
class StateDictSettings:
    """The StateDictType, and the configs of model and optimizer states."""

    state_dict_type: StateDictType
    state_dict_config: StateDictConfig
    optim_state_dict_config: OptimStateDictConfig


__all__ = [
    "BackwardPrefetch", "CPUOffload", "FullOptimStateDictConfig", "FullStateDictConfig", "LocalOptimStateDictConfig",
    "LocalStateDictConfig", "MixedPrecision", "OptimStateDictConfig", "ShardedOptimStateDictConfig", "ShardedStateDictConfig",
    "ShardingStrategy", "StateDictConfig", "StateDictSettings", "StateDictType",
]  # fmt: skip
