"""torch.distributed.tensor.placement_types: placements of a tensor along one mesh dimension."""
from __future__ import annotations

import dataclasses


class Placement:
    """Distribution of a tensor along one mesh dimension."""

    def is_shard(self, dim: int | None = None) -> bool:
        """Return whether this is a Shard, along ``dim`` if given."""
        return isinstance(self, Shard) and (dim is None or self.dim == dim)

    def is_replicate(self) -> bool:
        """Return whether this is a Replicate."""
        return isinstance(self, Replicate)

    def is_partial(self, reduce_op: str | None = None) -> bool:
        """Return whether this is a Partial, with ``reduce_op`` if given."""
        return isinstance(self, Partial) and (reduce_op is None or self.reduce_op == reduce_op)


@dataclasses.dataclass(frozen=True)
class Shard(Placement):
    """Sharded along a dimension, as by ``chunk``: the last ranks may have smaller or empty shards."""

    dim: int

    @staticmethod
    def local_shard_size_and_offset(curr_local_size: int, num_chunks: int, rank: int) -> tuple[int, int]:
        """Return the length of a rank's shard of a dimension, and its offset."""
        each = -(-curr_local_size // num_chunks)
        first = min(rank * each, curr_local_size)
        return min(first + each, curr_local_size) - first, first

    def __str__(self) -> str:
        return f"S({self.dim})"


class _StridedShard(Shard):
    """Raises NotImplementedError: a dimension can be sharded once only."""

    def __init__(self, dim: int, *, split_factor: int) -> None:
        raise NotImplementedError("mstorch: a dimension of a DTensor that is cut in an order of its own (_StridedShard)")


@dataclasses.dataclass(frozen=True)
class Replicate(Placement):
    """The full tensor on every rank."""

    def __repr__(self) -> str:
        return "Replicate()"

    def __str__(self) -> str:
        return "R"


@dataclasses.dataclass(frozen=True)
class Partial(Placement):
    """Values that are still to be reduced over the ranks."""

    reduce_op: str = "sum"

    def __repr__(self) -> str:
        return f"Partial({self.reduce_op})"

    def __str__(self) -> str:
        return f"P({self.reduce_op})"


__all__ = ["Partial", "Placement", "Replicate", "Shard"]
