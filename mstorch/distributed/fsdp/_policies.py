"""What fully_shard is told: dtypes, and where shards are kept."""
from __future__ import annotations

import dataclasses
from typing import Any


@dataclasses.dataclass(frozen=True)
class MixedPrecisionPolicy:
    """The dtypes of unsharded parameters, of gradient reduction and of outputs, and whether ``forward`` casts its floating-point inputs."""

    param_dtype: Any = None
    reduce_dtype: Any = None
    output_dtype: Any = None
    cast_forward_inputs: bool = True


@dataclasses.dataclass
class OffloadPolicy:
    """No offloading: shards stay on the device."""


@dataclasses.dataclass
class CPUOffloadPolicy(OffloadPolicy):
    """Shards, their gradients and states are kept on the CPU; parameters are gathered on the device."""

    pin_memory: bool = True
