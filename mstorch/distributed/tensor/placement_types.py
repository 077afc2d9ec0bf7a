"""torch.distributed.tensor.placement_types: how a tensor is spread along one dimension of a grid of processes."""
from __future__ import annotations

import dataclasses


class Placement:
    """How a tensor is spread along one dimension of a grid of processes."""

    def is_shard(self, dim: int | None = None) -> bool:
        """Return whether it is cut, along a dimension if one is given."""
        return isinstance(self, Shard) and (dim is None or self.dim == dim)

    def is_replicate(self) -> bool:
        """Return whether it is the same everywhere."""
        return isinstance(self, Replicate)

    def is_partial(self, reduce_op: str | None = None) -> bool:
        """Return whether the processes have parts of a sum."""
        return isinstance(self, Partial) and (reduce_op is None or self.reduce_op == reduce_op)


@dataclasses.dataclass(frozen=True)
class Shard(Placement):
    """Cut along a dimension, as ``chunk`` cuts: the last processes may have less, or nothing."""

    dim: int

    @staticmethod
    def local_shard_size_and_offset(curr_local_size: int, num_chunks: int, rank: int) -> tuple[int, int]:
        """Return the length of a process's part of a dimension, and where it begins."""
        each = -(-curr_local_size // num_chunks)
        first = min(rank * each, curr_local_size)
        return min(first + each, curr_local_size) - first, first

    def __str__(self) -> str:
        return f"S({self.dim})"


class _StridedShard(Shard):
    """Raises NotImplementedError: a dimension is cut once here."""

    def __init__(self, dim: int, *, split_factor: int) -> None:
        raise NotImplementedError("mstorch: a dimension of a DTensor that is cut in an order of its own (_StridedShard)")


@dataclasses.dataclass(frozen=True)
class Replicate(Placement):
    """The same everywhere."""

    def __repr__(self) -> str:
        return "Replicate()"

    def __str__(self) -> str:
        return "R"


@dataclasses.dataclass(frozen=True)
class Partial(Placement):
    """Parts that are to be combined."""

    reduce_op: str = "sum"

    def __repr__(self) -> str:
        return f"Partial({self.reduce_op})"

    def __str__(self) -> str:
        return f"P({self.reduce_op})"


__all__ = ["Partial", "Placement", "Replicate", "Shard"]
