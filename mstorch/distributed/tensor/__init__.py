"""torch.distributed.tensor: tensors spread over processes, which needs process groups. Programs ask whether they meet one."""
from __future__ import annotations

import dataclasses
from typing import Any, NoReturn

from ..._hook import not_yet


class Placement:
    """How a tensor is spread along one dimension of a grid of processes."""


@dataclasses.dataclass(frozen=True)
class Shard(Placement):
    """Cut along a dimension."""

    dim: int


@dataclasses.dataclass(frozen=True)
class Replicate(Placement):
    """The same everywhere."""


@dataclasses.dataclass(frozen=True)
class Partial(Placement):
    """Parts of a sum."""

    reduce_op: str = "sum"


class DTensor:
    """A tensor spread over processes. None can be made here."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        distribute_tensor(None)

    @staticmethod
    def from_local(*args: Any, **kwargs: Any) -> NoReturn:
        """Raises NotImplementedError: there are no process groups here."""
        distribute_tensor(None)


def distribute_tensor(
    tensor: Any, device_mesh: Any = None, placements: Any = None, *, src_data_rank: int | None = 0
) -> NoReturn:
    """Raises NotImplementedError: there are no process groups here."""
    raise NotImplementedError(f"mstorch: torch.distributed has no process groups to spread a tensor over {not_yet()}")


__all__ = ["DTensor", "Partial", "Placement", "Replicate", "Shard", "distribute_tensor"]
