"""pyg_lib.partition: parts of a graph with few edges between them. The parts are not METIS's own."""
from __future__ import annotations

import mstorch as torch

from ...drawing import array, tensor
from .growing import parts

Tensor = torch.Tensor


def metis(
    rowptr: Tensor, col: Tensor, num_partitions: int, node_weight: Tensor | None = None, edge_weight: Tensor | None = None,
    recursive: bool = False,
) -> Tensor:  # fmt: skip
    """Return the part of each node: parts of about equal weight. Both ways of METIS are one here."""
    weights = [None if item is None else array(item) for item in (node_weight, edge_weight)]
    return tensor(parts(array(rowptr), array(col), num_partitions, *weights), rowptr)


__all__ = ["metis"]
