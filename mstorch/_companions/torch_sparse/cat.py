"""torch_sparse.cat: matrices joined."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import mstorch as torch

from .storage import SparseStorage
from .tensor import SparseTensor

Tensor = torch.Tensor


def _joined(storages: list[SparseStorage], name: str, offsets: list[int] | None = None, bounds: bool = False) -> Tensor | None:
    """Return what is kept of all storages, joined; None if one lacks it. ``offsets`` are added to each one's."""
    own = [getattr(storage, f"_{name}") for storage in storages]
    if any(item is None for item in own):
        return None
    moved = [item if offsets is None else item + offset for item, offset in zip(own, offsets or [0] * len(own))]
    return torch.cat([item if not bounds or not number else item[1:] for number, item in enumerate(moved)])


def _sums(counts: list[int]) -> list[int]:
    return [sum(counts[:number]) for number in range(len(counts))]


def cat(tensors: Sequence[SparseTensor], dim: int | tuple[int, int]) -> SparseTensor:
    """Return matrices below each other (0), beside each other (1), along the diagonal (0, 1), or with their values' dimensions joined. What
    they keep of rows and columns is kept."""
    if not tensors:
        raise ValueError("there are no matrices to join")
    storages = [one.storage for one in tensors]
    if isinstance(dim, int):
        wrapped = tensors[0].dim() + dim if dim < 0 else dim
        if wrapped > 1:
            values = torch.cat([one._values() for one in tensors], wrapped - 1)
            return tensors[0].set_value(values)
        dim = wrapped
    elif tuple(dim) not in ((0, 1), (1, 0)):
        raise IndexError(f"matrices are joined along 0, 1 or (0, 1), not {dim}")
    down, aside = dim != 1, dim != 0
    heights, widths, counts = ([measure(one) for one in tensors] for measure in _MEASURES)
    below = _sums(heights) if down else [0] * len(tensors)
    beside = _sums(widths) if aside else [0] * len(tensors)
    before = _sums(counts)
    row = torch.cat([storage.row() + offset for storage, offset in zip(storages, below)])
    col = torch.cat([storage.col() + offset for storage, offset in zip(storages, beside)])
    filled = [storage.value() for storage in storages]
    value = None if any(item is None for item in filled) else torch.cat(filled)  # type: ignore[arg-type]
    sizes = (sum(heights) if down else max(heights), sum(widths) if aside else max(widths))
    kept: dict[str, Any] = {}
    if down:
        kept |= {"rowptr": _joined(storages, "rowptr", before, bounds=True), "rowcount": _joined(storages, "rowcount")}
    if aside:
        kept |= {"colptr": _joined(storages, "colptr", before, bounds=True), "colcount": _joined(storages, "colcount")}
    if down and aside:
        kept |= {name: _joined(storages, name, before) for name in ("csr2csc", "csc2csr")}
    return SparseTensor.from_storage(SparseStorage(row, kept.pop("rowptr", None), col, value, sizes, is_sorted=down, **kept))


_MEASURES: tuple[Callable[[SparseTensor], int], ...] = (
    lambda one: one.sparse_size(0),
    lambda one: one.sparse_size(1),
    lambda one: one.nnz(),
)

__all__ = ["cat"]
