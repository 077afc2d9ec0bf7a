"""CSR, CSC, BSR and BSC tensors: compressed row (or column) offsets, and plain indices."""
from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..._tensor import Tensor
from ..backend.arrays import Array
from ..core.device import device
from ..core.dtype import dtype
from ..core.formats import layout, sparse_bsc, sparse_bsr, sparse_csc, sparse_csr
from ..core.formats import layout as Layout
from ..core.sparse_parts import is_sparse
from ..ops._dispatch import type_word
from .base import BLOCKED, BY_ROWS, COMPRESSED, NAMES, host, layout_word, sparse
from .coo import invariants_checked, part, with_leaf
from .forms import COMMON, form

# Names of the compressed and the plain indices.


def sparse_compressed_tensor(
    compressed_indices: Tensor | Sequence[int], plain_indices: Tensor | Sequence[int], values: Tensor | Sequence[float],
    size: tuple[int, int] | None = None, *, dtype: dtype | None = None, layout: layout | None = None,
    device: device | str | int | None = None, pin_memory: bool = False, requires_grad: bool = False, check_invariants: bool | None = None,
) -> Tensor:  # fmt: skip
    """Return a tensor of a compressed layout; for BSR and BSC, ``values`` (nnz, rows, columns) hold blocks."""
    if layout is None:
        raise RuntimeError("sparse_compressed_tensor expected sparse compressed tensor layout but got none")
    if layout not in COMPRESSED:
        raise RuntimeError(f"sparse_compressed_tensor expected sparse compressed tensor layout but got {layout!r}")
    compressed, plain, given = part(compressed_indices, None, device), part(plain_indices, None, device), part(values, dtype, device)
    lengths = _inferred(layout, compressed, plain, given) if size is None else tuple(int(length) for length in size)
    if invariants_checked(check_invariants):
        check(layout, compressed, plain, given, lengths)
    return with_leaf(sparse(layout, (compressed, plain), given, lengths, True), requires_grad)


def sparse_csr_tensor(
    crow_indices: Tensor | Sequence[int], col_indices: Tensor | Sequence[int], values: Tensor | Sequence[float],
    size: tuple[int, int] | None = None, *, dtype: dtype | None = None, device: device | str | int | None = None,
    pin_memory: bool = False, requires_grad: bool = False, check_invariants: bool | None = None,
) -> Tensor:  # fmt: skip
    """Return a CSR matrix: row i has the columns ``col_indices[crow_indices[i]:crow_indices[i + 1]]``."""
    return sparse_compressed_tensor(
        crow_indices, col_indices, values, size, dtype=dtype, layout=sparse_csr, device=device, pin_memory=pin_memory,
        requires_grad=requires_grad, check_invariants=check_invariants,
    )  # fmt: skip


def sparse_csc_tensor(
    ccol_indices: Any, row_indices: Any, values: Any, size: Any = None, *, dtype: dtype | None = None,
    device: int | str | device | None = None,
    pin_memory: bool = False, requires_grad: bool = False, check_invariants: bool | None = None,
) -> Any:  # fmt: skip
    """Return a CSC matrix: column j has the rows ``row_indices[ccol_indices[j]:ccol_indices[j + 1]]``."""
    return sparse_compressed_tensor(
        ccol_indices, row_indices, values, size, dtype=dtype, layout=sparse_csc, device=device, pin_memory=pin_memory,
        requires_grad=requires_grad, check_invariants=check_invariants,
    )  # fmt: skip


def sparse_bsr_tensor(
    crow_indices: list[int], col_indices: list[int], values: Tensor, size: tuple[int, int] | None = None, *,
    dtype: dtype | None = None, device: device | str | int | None = None,
    pin_memory: bool = False, requires_grad: bool = False, check_invariants: bool | None = None,
) -> Any:  # fmt: skip
    """Return a BSR matrix, with blocks ``values`` (nnz, rows, columns)."""
    return sparse_compressed_tensor(
        crow_indices, col_indices, values, size, dtype=dtype, layout=sparse_bsr, device=device, pin_memory=pin_memory,
        requires_grad=requires_grad, check_invariants=check_invariants,
    )  # fmt: skip


def sparse_bsc_tensor(
    ccol_indices: Any, row_indices: Any, values: Any, size: Any = None, *, dtype: dtype | None = None,
    device: int | str | device | None = None,
    pin_memory: bool = False, requires_grad: bool = False, check_invariants: bool | None = None,
) -> Any:  # fmt: skip
    """Return a BSC matrix, with blocks ``values`` (nnz, rows, columns)."""
    return sparse_compressed_tensor(
        ccol_indices, row_indices, values, size, dtype=dtype, layout=sparse_bsc, device=device, pin_memory=pin_memory,
        requires_grad=requires_grad, check_invariants=check_invariants,
    )  # fmt: skip


def block_of(kind: Layout, values: Any, batch: int) -> tuple[int, int]:
    """Return the block size (rows, columns); (1, 1) for layouts without blocks."""
    return tuple(values.shape[batch + 1 : batch + 3]) if kind in BLOCKED else (1, 1)


def _inferred(kind: Layout, compressed: Tensor, plain: Tensor, values: Tensor) -> tuple[int, ...]:
    batch = compressed.dim() - 1
    rows = compressed.shape[-1] - 1
    columns = int(host(plain).max()) + 1 if plain.numel() else 0
    high, wide = block_of(kind, values, batch)
    matrix = (rows * high, columns * wide) if kind in BY_ROWS else (columns * high, rows * wide)
    return (*compressed.shape[:-1], *matrix, *values.shape[batch + (3 if kind in BLOCKED else 1) :])


def check(kind: Layout, compressed: Tensor, plain: Tensor, values: Tensor, size: tuple[int, ...]) -> None:
    """Raise torch's error for inconsistent parts."""
    first, second = NAMES[kind]
    if compressed._ms_dtype is not plain._ms_dtype:
        raise RuntimeError(
            f"{first}_indices and {second}_indices must have the same dtype, bot got {_word(compressed)} and {_word(plain)}, "
            "respectively"
        )
    batch = compressed.dim() - 1
    nnz = values.shape[batch]
    if plain.shape[-1] != nnz:
        raise RuntimeError(
            f"{second}_indices.shape[-1] must be equal to nnz (={nnz}) as defined by values.shape[{batch}], but got "
            f"{plain.shape[-1]}"
        )
    block = block_of(kind, values, batch)
    for i in range(2):
        if size[batch + i] % block[i]:
            raise RuntimeError(
                f"tensor shape[{batch + i}] (={size[batch + i]}) must be divisible with blocksize[{i}] (={block[i]}) as defined "
                "by values shape"
            )
    counts = [size[batch + i] // block[i] for i in range(2)]
    if kind not in BY_ROWS:
        counts.reverse()
    rows, columns = counts
    lines = "rows" if kind in BY_ROWS else "columns"
    if compressed.shape[-1] != rows + 1:
        raise RuntimeError(
            f"{first}_indices.shape[-1] must be equal to the number of {lines} + 1 (={rows + 1}), but got {compressed.shape[-1]}"
        )
    count = math.prod(compressed.shape[:-1])
    starts, places = host(compressed).reshape(count, rows + 1), host(plain).reshape(count, nnz)
    if (starts[:, 0] != 0).any():
        raise RuntimeError(f"`{first}_indices[..., 0] == 0` is not satisfied.")
    if (starts[:, -1] != nnz).any():
        raise RuntimeError(f"`{first}_indices[..., -1] == nnz` is not satisfied.")
    lengths = np.diff(starts)
    if (lengths < 0).any() or (lengths > columns).any():
        raise RuntimeError(f"`0 <= {first}_indices[..., 1:] - {first}_indices[..., :-1] <= n{_other(lines)}` is not satisfied.")
    if places.size and (places.min() < 0 or places.max() >= columns):
        raise RuntimeError(f"`0 <= {second}_indices < n{second}s` is not satisfied.")
    for line, part_ in zip(starts, places):
        for begin, end in zip(line[:-1], line[1:]):
            if (np.diff(part_[begin:end]) <= 0).any():
                raise RuntimeError(
                    f"`{second}_indices[..., {first}_indices[..., i - 1]:{first}_indices[..., i]] for all i = 1, ..., n{lines} "
                    "are sorted and distinct along the last dimension values` is not satisfied."
                )


def _other(lines: str) -> str:
    return "cols" if lines == "rows" else "rows"


def _word(tensor: Any) -> str:
    return type_word(tensor._ms_dtype)


def places(self: Any) -> tuple[Array, Any]:
    """Return the full indices of a compressed tensor's elements (batch dimensions, row, column), and the values (nnz, *)."""
    kind, (compressed, plain), values = self._layout, self._index, self._values_part
    starts, others = host(compressed).astype(np.int64), host(plain).astype(np.int64)
    batch = starts.shape[:-1]
    count = math.prod(batch)
    nnz = others.shape[-1]
    lines = np.concatenate(
        [np.repeat(np.arange(starts.shape[-1] - 1), np.diff(line)) for line in starts.reshape(count, -1)]
    ) if count else np.zeros(0, np.int64)  # fmt: skip
    if lines.size != count * nnz:
        raise RuntimeError(f"`{NAMES[kind][0]}_indices[..., -1] == nnz` is not satisfied.")
    row, column = (lines, others.reshape(-1)) if kind in BY_ROWS else (others.reshape(-1), lines)
    lead = np.repeat(np.indices(batch).reshape(len(batch), count), nnz, axis=1)
    flat = values.reshape((count * nnz, *values.shape[len(batch) + 1 :]))
    if kind in BLOCKED:
        high, wide = flat.shape[1:3]
        row = (row[:, None, None] * high + np.arange(high)[None, :, None] + np.zeros((1, 1, wide), np.int64)).reshape(-1)
        column = (column[:, None, None] * wide + np.arange(wide)[None, None, :] + np.zeros((1, high, 1), np.int64)).reshape(-1)
        lead = np.repeat(lead, high * wide, axis=1)
        flat = flat.reshape((count * nnz * high * wide, *flat.shape[3:]))
    return np.stack([*lead, row, column]), flat


def _part(name: str, kinds: tuple[Layout, ...], position: int, words: str) -> Callable[..., Any]:
    def method(self: Any) -> Tensor:
        if not is_sparse(self) or self._layout not in kinds:
            raise RuntimeError(f"{name} expected sparse {words} compressed tensor layout but got {layout_word(self)}")
        return self._index[position]

    method.__name__, method.__qualname__ = name, f"Tensor.{name}"
    method.__doc__ = f"Return the {name.replace('_', ' ')} of a tensor compressed by {words}s."
    return method


_BY_COLUMNS = (sparse_csc, sparse_bsc)
crow_indices = form("crow_indices", COMMON)(_part("crow_indices", BY_ROWS, 0, "row"))
col_indices = form("col_indices", COMMON)(_part("col_indices", BY_ROWS, 1, "row"))
ccol_indices = form("ccol_indices", COMMON)(_part("ccol_indices", _BY_COLUMNS, 0, "column"))
row_indices = form("row_indices", COMMON)(_part("row_indices", _BY_COLUMNS, 1, "column"))
