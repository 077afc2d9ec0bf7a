"""torch_sparse's functions of indices (2, elements) and values."""
from __future__ import annotations

import mstorch as torch

from ..torch_scatter import scatter_sum
from .coalesce import coalesce, order
from .storage import elements_of

Tensor = torch.Tensor


def spmm(index: Tensor, value: Tensor | None, m: int, n: int, matrix: Tensor) -> Tensor:
    """Return the product of an (m, n) sparse matrix and a dense one (…, n, columns)."""
    if matrix.dim() == 1:
        matrix = matrix.unsqueeze(-1)
    if matrix.shape[-2] != n:
        raise RuntimeError(f"a matrix of {n} columns cannot be multiplied by one of {matrix.shape[-2]} rows")
    row, col = index
    terms = matrix.index_select(-2, col)
    if value is not None:
        terms = terms * value.unsqueeze(-1)
    return scatter_sum(terms, row, terms.dim() - 2, None, m)


def product(
    first: tuple[Tensor, Tensor, Tensor | None], second: tuple[Tensor, Tensor, Tensor | None], sizes: tuple[int, int, int]
) -> tuple[Tensor, Tensor, Tensor | None]:
    """Return the row, column and value of each product of an element and one of the row of its column, not yet summed."""
    row, col, value = first
    own_row, own_col, own_value = second
    by_row = order(own_row, own_col, max(sizes[2], 1))
    bounds = torch.searchsorted(own_row[by_row].contiguous(), torch.arange(sizes[1] + 1, device=row.device))
    left, places = elements_of(bounds, col)
    right = by_row[places]
    if value is None and own_value is None:
        return row[left], own_col[right], None
    factors = [item[places] for item, places in ((value, left), (own_value, right)) if item is not None]
    return row[left], own_col[right], factors[0] if len(factors) == 1 else factors[0] * factors[1]


def spspmm(
    indexA: Tensor, valueA: Tensor, indexB: Tensor, valueB: Tensor, m: int, k: int, n: int, coalesced: bool = False
) -> tuple[Tensor, Tensor | None]:  # fmt: skip
    """Return the places and values of the product of an (m, k) and a (k, n) sparse matrix."""
    row, col, value = product((indexA[0], indexA[1], valueA), (indexB[0], indexB[1], valueB), (m, k, n))
    return coalesce(torch.stack([row, col]), value, m, n)


def spadd(
    indexA: Tensor, valueA: Tensor, indexB: Tensor, valueB: Tensor, m: int, n: int
) -> tuple[Tensor, Tensor | None]:  # fmt: skip
    """Return the places and values of the sum of two (m, n) sparse matrices."""
    return coalesce(torch.cat([indexA, indexB], 1), torch.cat([valueA, valueB]), m, n)


def transpose(index: Tensor, value: Tensor | None, m: int, n: int, coalesced: bool = True) -> tuple[Tensor, Tensor | None]:
    """Return the places and values of the transpose of an (m, n) matrix, by row and column unless not ``coalesced``."""
    turned = index.flip(0)
    return coalesce(turned, value, n, m) if coalesced else (turned, value)


def eye(m: int, dtype: torch.dtype | None = None, device: torch.device | None = None) -> tuple[Tensor, Tensor]:
    """Return the places and values of the identity."""
    places = torch.arange(m, device=device)
    return torch.stack([places, places]), torch.ones(m, dtype=dtype, device=device)


__all__ = ["eye", "product", "spadd", "spmm", "spspmm", "transpose"]
