"""torch.distributed.fsdp.api: settings of FullyShardedDataParallel."""
from __future__ import annotations

import dataclasses
import enum
from collections.abc import Sequence
from typing import Any

from ...nn.modules.batchnorm import _BatchNorm


class ShardingStrategy(enum.Enum):
    """The values that are spread over processes: parameters, gradients and states; only the latter two; none; or within machines."""

    FULL_SHARD = enum.auto()
    SHARD_GRAD_OP = enum.auto()
    NO_SHARD = enum.auto()
    HYBRID_SHARD = enum.auto()
    _HYBRID_SHARD_ZERO2 = enum.auto()


class BackwardPrefetch(enum.Enum):
    """When the next parameters of backward are asked for: before or after the present gradients."""

    BACKWARD_PRE = enum.auto()
    BACKWARD_POST = enum.auto()


class StateDictType(enum.Enum):
    """The form of states: whole tensors, this process's flat part, or parts that know the whole."""

    FULL_STATE_DICT = enum.auto()
    LOCAL_STATE_DICT = enum.auto()
    SHARDED_STATE_DICT = enum.auto()


@dataclasses.dataclass
class MixedPrecision:
    """Dtypes of whole parameters, of the averages of gradients and of buffers; which inputs are cast."""

    param_dtype: Any = None
    reduce_dtype: Any = None
    buffer_dtype: Any = None
    keep_low_precision_grads: bool = False
    cast_forward_inputs: bool = False
    cast_root_forward_inputs: bool = True
    _module_classes_to_ignore: Sequence[type[Any]] = (_BatchNorm,)


@dataclasses.dataclass
class CPUOffload:
    """Whether parts, their gradients and states are kept on the CPU."""

    offload_params: bool = False


@dataclasses.dataclass
class StateDictConfig:
    """Where a state's tensors are put."""

    offload_to_cpu: bool = False


@dataclasses.dataclass
class FullStateDictConfig(StateDictConfig):
    """Whole tensors, in every process or only in the first."""

    rank0_only: bool = False


@dataclasses.dataclass
class LocalStateDictConfig(StateDictConfig):
    """Flat parts."""


@dataclasses.dataclass
class ShardedStateDictConfig(StateDictConfig):
    """Parts that know the whole."""

    _use_dtensor: bool = False


@dataclasses.dataclass
class OptimStateDictConfig:
    """Where the tensors of an optimiser's state are put."""

    offload_to_cpu: bool = True


@dataclasses.dataclass
class FullOptimStateDictConfig(OptimStateDictConfig):
    """Whole tensors, in every process or only in the first."""

    rank0_only: bool = False


@dataclasses.dataclass
class LocalOptimStateDictConfig(OptimStateDictConfig):
    """Flat parts."""

    offload_to_cpu: bool = False


@dataclasses.dataclass
class ShardedOptimStateDictConfig(OptimStateDictConfig):
    """Parts that know the whole."""

    _use_dtensor: bool = False


@dataclasses.dataclass
class StateDictSettings:
    """The kind of states, and its settings."""

    state_dict_type: StateDictType
    state_dict_config: StateDictConfig
    optim_state_dict_config: OptimStateDictConfig


__all__ = [
    "BackwardPrefetch", "CPUOffload", "FullOptimStateDictConfig", "FullStateDictConfig", "LocalOptimStateDictConfig",
    "LocalStateDictConfig", "MixedPrecision", "OptimStateDictConfig", "ShardedOptimStateDictConfig", "ShardedStateDictConfig",
    "ShardingStrategy", "StateDictConfig", "StateDictSettings", "StateDictType",
]  # fmt: skip
