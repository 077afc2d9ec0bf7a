"""xformers' products: with a mask, and of matrices in tiles."""
from __future__ import annotations

import mstorch as torch

Tensor = torch.Tensor


def masked_matmul(a: Tensor, b: Tensor, mask: Tensor | None = None) -> Tensor:
    """Return ``a @ b``, minus infinity where a mask of bools is False, or plus a mask of numbers."""
    product = a @ b
    if mask is None:
        return product
    return product.masked_fill(~mask, float("-inf")) if mask.dtype is torch.bool else product + mask


def tiled_matmul(a: list[list[Tensor]], b: list[list[Tensor]]) -> list[list[Tensor]]:
    """Return the product of two matrices of tiles, in tiles."""
    if any(len(row) != len(b) for row in a):
        raise ValueError("the first matrix must have as many columns of tiles as the second has rows")
    rows = []
    for row in a:
        tiles = []
        for column in zip(*b):
            products = [one @ other for one, other in zip(row, column)]
            tiles.append(sum(products[1:], products[0]))
        rows.append(tiles)
    return rows


__all__ = ["masked_matmul", "tiled_matmul"]
