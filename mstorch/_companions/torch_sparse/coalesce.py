"""torch_sparse.coalesce: one value for each place."""
from __future__ import annotations

import mstorch as torch

from ..torch_scatter import scatter

Tensor = torch.Tensor


def order(row: Tensor, col: Tensor, columns: int) -> Tensor:
    """Return the order of places by row, and by column in a row."""
    return (row * columns + col).sort(stable=True).indices


def coalesce(index: Tensor, value: Tensor | None, m: int, n: int, op: str = "add") -> tuple[Tensor, Tensor | None]:
    """Return the places (2, elements) of an (m, n) matrix by row and column, each once, and their values reduced by ``op``."""
    flat = index[0] * n + index[1]
    single, group = flat.unique(return_inverse=True)
    places = torch.stack([torch.div(single, n, rounding_mode="floor"), single % n]) if n else index
    if value is None:
        return places, None
    return places, scatter(value, group, 0, None, single.shape[0], op)


__all__ = ["coalesce", "order"]
