"""The shape and offset of a rank's shard."""
from __future__ import annotations

from collections.abc import Sequence

from ..device_mesh import DeviceMesh
from ._moves import bounds
from .placement_types import Placement, Shard


def compute_local_shape_and_global_offset(
    global_shape: Sequence[int], mesh: DeviceMesh, placements: Sequence[Placement]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the shape of the local shard and its offset in the global tensor."""
    sizes, begin = list(global_shape), [0] * len(global_shape)
    for dim, placement in enumerate(placements):
        if isinstance(placement, Shard):
            group = mesh.get_group(dim)
            first, last = bounds(sizes[placement.dim], group.size(), group.rank())
            sizes[placement.dim] = last - first
            begin[placement.dim] += first
    return tuple(sizes), tuple(begin)


__all__ = ["compute_local_shape_and_global_offset"]
