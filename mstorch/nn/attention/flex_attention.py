"""Attention with user-defined score and mask functions, computed on full score matrices.

A score or mask function receives its indices as tensors that broadcast against each other, so that one call covers all positions.
"""
from __future__ import annotations

import inspect
import itertools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import mstorch as torch

from ..._src.hook import missing as _missing
from ..._tensor import Tensor

_score_mod_signature = Callable[[Tensor, Tensor, Tensor, Tensor, Tensor], Tensor]
_mask_mod_signature = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]

_DEFAULT_SPARSE_BLOCK_SIZE = 128
_LARGE_SPARSE_BLOCK_SIZE = 1 << 30


class AuxRequest(NamedTuple):
    """Selects the auxiliary outputs."""

    lse: bool = False
    max_scores: bool = False


class AuxOutput(NamedTuple):
    """The auxiliary outputs; None for those that were not requested."""

    lse: Any = None
    max_scores: Any = None


def noop_mask(batch: Tensor, head: Tensor, token_q: Tensor, token_kv: Tensor) -> Tensor:
    """Return a mask that is True everywhere."""
    return batch.new_ones((), dtype=torch.bool)


def _sliced_mask_mod_error(batch: Any, head: Tensor, token_q: Tensor, token_kv: Tensor) -> Any:
    raise RuntimeError("Cannot use mask_mod from a sliced BlockMask")


def _combined(name: str, start: bool, mask_mods: tuple[Any, ...]) -> Callable[..., Any]:
    if not all(callable(mod) for mod in mask_mods):
        raise RuntimeError(f"All inputs should be callable mask_mods: {mask_mods}")

    def combined(b: Tensor, h: Tensor, q_idx: Tensor, kv_idx: Tensor) -> Tensor:
        result = torch.full((), start, dtype=torch.bool, device=b.device)
        for mod in mask_mods:
            found = mod(b, h, q_idx, kv_idx)
            result = result & found if start else result | found
        return result

    combined.__name__ = combined.__qualname__ = name
    return combined


def or_masks(*mask_mods: Any) -> Callable[..., Any]:
    """Return the union of mask functions, as a mask function."""
    return _combined("or_mask", False, mask_mods)


def and_masks(*mask_mods: Any) -> Callable[..., Any]:
    """Return the intersection of mask functions, as a mask function."""
    return _combined("and_mask", True, mask_mods)


def _indices(B: int, H: int, Q: int, KV: int, device: Any) -> list[Any]:
    """Return the four index tensors, each varying along its own dimension."""
    shapes = ((-1, 1, 1, 1), (-1, 1, 1), (-1, 1), (-1,))
    return [torch.arange(n, device=device).view(shape) for n, shape in zip((B, H, Q, KV), shapes)]


def _takes_scores(mod: Callable[..., Any]) -> bool:
    """Return whether a function is a score_mod (five arguments, the score first) rather than a mask_mod (four indices)."""
    count = sum(
        p.default is inspect.Parameter.empty for p in inspect.signature(mod).parameters.values()
        if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
    )  # fmt: skip
    if count not in (4, 5):
        raise AssertionError
    return count == 5


def create_mask(mod_fn: Any, B: int | None, H: int | None, Q_LEN: int, KV_LEN: int, device: int | str | torch.device | None = None) -> Any:
    """Evaluate a mask_mod (or score_mod: True where the score is above -inf) to a bool tensor (B, H, Q_LEN, KV_LEN)."""
    size = (B or 1, H or 1, Q_LEN, KV_LEN)
    places = _indices(*size, device or "cpu")
    if _takes_scores(mod_fn):
        return ~torch.isneginf(mod_fn(torch.zeros(size, device=places[0].device), *places)).expand(size)
    return mod_fn(*places).expand(size).contiguous()


def _ordered(dense: Tensor) -> tuple[Any, Any]:
    """Return for each row of blocks the number of set blocks, and the block indices with the set ones first."""
    dense = dense.to(torch.int32)
    columns = torch.argsort(dense, dim=-1, descending=True, stable=True)
    return dense.sum(dim=-1).to(torch.int32), columns.to(torch.int32)


def _dense(counts: Tensor, columns: Tensor, width: int) -> Tensor:
    """Return the inverse of ``_ordered``: 1 where a block is set, else 0."""
    valid = torch.arange(columns.shape[-1], device=columns.device) < counts.unsqueeze(-1)
    places = torch.where(valid, columns.to(torch.int64), width)
    room = torch.zeros((*columns.shape[:-1], width + 1), dtype=torch.int32, device=columns.device)
    return room.scatter(-1, places, 1)[..., :width].contiguous()


def _transposed(counts: Tensor, columns: Any) -> tuple[Any, Any]:
    return _ordered(_dense(counts, columns, columns.shape[-1]).transpose(-2, -1))


class BlockMask:
    """A block-sparse mask: for each row of blocks, the blocks that are partially unmasked, and those that are fully unmasked."""

    _TENSORS = (
        "kv_num_blocks", "kv_indices", "full_kv_num_blocks", "full_kv_indices", "q_num_blocks", "q_indices", "full_q_num_blocks",
        "full_q_indices",
    )  # fmt: skip

    def __init__(
        self, seq_lengths: tuple[int, int], kv_num_blocks: Any, kv_indices: Tensor, full_kv_num_blocks: Tensor | None,
        full_kv_indices: Any,
        q_num_blocks: Tensor | None, q_indices: Tensor | None, full_q_num_blocks: Tensor | None, full_q_indices: Tensor | None,
        BLOCK_SIZE: tuple[int, int] = (_DEFAULT_SPARSE_BLOCK_SIZE, _DEFAULT_SPARSE_BLOCK_SIZE), mask_mod: Any = noop_mask,
    ) -> None:  # fmt: skip
        if kv_indices.dim() < 2:
            raise RuntimeError("BlockMask must have at least 2 dimensions")
        for side in ("kv", "q"):
            counts, columns = (full_kv_num_blocks, full_kv_indices) if side == "kv" else (full_q_num_blocks, full_q_indices)
            if (counts is None) != (columns is None):
                raise AssertionError(f"full_{side}_num_blocks and full_{side}_indices must be both provided or omitted")
        self.seq_lengths = seq_lengths
        self.kv_num_blocks, self.kv_indices = kv_num_blocks, kv_indices
        self.full_kv_num_blocks, self.full_kv_indices = full_kv_num_blocks, full_kv_indices
        self.q_num_blocks, self.q_indices = q_num_blocks, q_indices
        self.full_q_num_blocks, self.full_q_indices = full_q_num_blocks, full_q_indices
        self.BLOCK_SIZE = BLOCK_SIZE
        self.mask_mod = mask_mod

    @classmethod
    def from_kv_blocks(
        cls, kv_num_blocks: Tensor, kv_indices: Tensor, full_kv_num_blocks: Tensor | None = None, full_kv_indices: Tensor | None = None,
        BLOCK_SIZE: int | tuple[int, int] = _DEFAULT_SPARSE_BLOCK_SIZE, mask_mod: Any = None, seq_lengths: tuple[int, int] | None = None,
        compute_q_blocks: bool = True,
    ) -> BlockMask:  # fmt: skip
        """Construct a mask from the number and indices of each row's blocks."""
        if kv_indices.dim() < 2:
            raise RuntimeError("BlockMask must have at least 2 dimensions")
        if (full_kv_num_blocks is None) != (full_kv_indices is None):
            raise AssertionError("full_kv_num_blocks and full_kv_indices must be both provided or omitted")
        queries: tuple[Any, ...] = (None,) * 4
        if compute_q_blocks:
            full = (None, None) if full_kv_num_blocks is None else _transposed(full_kv_num_blocks, full_kv_indices)
            queries = (*_transposed(kv_num_blocks, kv_indices), *full)
        size = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else BLOCK_SIZE
        if seq_lengths is None:
            seq_lengths = (kv_indices.shape[-2] * size[0], kv_indices.shape[-1] * size[1])
        return cls(
            seq_lengths, kv_num_blocks, kv_indices, full_kv_num_blocks, full_kv_indices, *queries, BLOCK_SIZE=size,
            mask_mod=mask_mod or noop_mask,
        )  # fmt: skip

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape (batch, heads, queries, keys)."""
        return (*self.kv_indices.shape[:-2], *self.seq_lengths)

    def __getitem__(self, index: Any) -> BlockMask:
        given = index if isinstance(index, tuple) else (index,)
        padded = (*given, *(slice(None),) * 3)[:3]
        sizes = self.kv_num_blocks.shape[:3]
        # A number keeps its dimension, with length 1.
        kept = tuple(
            i if not isinstance(i, int) else slice(i + n, i + n + 1) if -n <= i < 0 else slice(i, i + 1) for i, n in zip(padded, sizes)
        )
        parts: dict[str, Any] = {
            name: None if getattr(self, name) is None else getattr(self, name)[kept] for name in self._TENSORS[:4]
        }
        return BlockMask.from_kv_blocks(
            **parts, BLOCK_SIZE=self.BLOCK_SIZE, mask_mod=_sliced_mask_mod_error, seq_lengths=self.seq_lengths,
            compute_q_blocks=self.q_indices is not None,
        )  # fmt: skip

    def numel(self) -> int:
        """Return the number of query-key pairs."""
        return math.prod(self.shape)

    def sparsity(self) -> float:
        """Return the percentage of query-key pairs that are in no block."""
        blocks = int(self.kv_num_blocks.sum())
        if self.full_kv_num_blocks is not None:
            blocks += int(self.full_kv_num_blocks.sum())
        return 100 * (1 - blocks * self.BLOCK_SIZE[0] * self.BLOCK_SIZE[1] / self.numel())

    def to_dense(self) -> Tensor:
        """Return an int32 tensor (batch, heads, rows, columns) with 1 for each block that is not fully masked."""
        partial = _dense(self.kv_num_blocks, self.kv_indices, self.kv_indices.shape[-1])
        if self.full_kv_num_blocks is None:
            return partial
        return partial | _dense(self.full_kv_num_blocks, self.full_kv_indices, self.full_kv_indices.shape[-1])

    def to_string(self, grid_size: int | tuple[int, int] = (20, 20), limit: int = 4) -> str:
        """Draw the blocks as characters, for the first ``limit`` heads."""
        dense = self.to_dense()
        *batch, rows, columns = dense.shape
        most = (grid_size, grid_size) if isinstance(grid_size, int) else grid_size
        row_step, column_step = (max(1, -(-n // m)) for n, m in zip((rows, columns), most))
        shown = []
        for number, place in enumerate(itertools.product(*map(range, batch))):
            if number == limit:
                shown += ["...", "To print out more, set BlockMask.to_string(limit=N)",
                          "You can also index (BlockMask[batch, head]) to choose a specific batch or head"]  # fmt: skip
                break
            lines = [f"{place}"]
            for r in range(0, rows, row_step):
                shares = [dense[place][r : r + row_step, c : c + column_step].float().mean().item() for c in range(0, columns, column_step)]
                lines.append("".join(("█" if s == 1 else " " if s == 0 else "░") * 2 for s in shares))
            shown.append("\n".join(lines) + "\n")
        return "\n".join(shown)

    def __str__(self) -> str:
        return f"BlockMask(shape={self.shape}, sparsity={self.sparsity():.2f}%, \n{self.to_string().strip()}\n)"

    def to(self, device: Any) -> BlockMask:
        """Return the mask on another device."""
        moved: dict[str, Any] = {name: None if getattr(self, name) is None else getattr(self, name).to(device) for name in self._TENSORS}
        return BlockMask(self.seq_lengths, **moved, BLOCK_SIZE=self.BLOCK_SIZE, mask_mod=self.mask_mod)


def create_block_mask(
    mask_mod: Any, B: int | None, H: int | None, Q_LEN: int, KV_LEN: int, device: int | str | torch.device | None = None,
    BLOCK_SIZE: int | tuple[int, int] = _DEFAULT_SPARSE_BLOCK_SIZE, _compile: bool = False, separate_full_blocks: bool = True,
) -> BlockMask:  # fmt: skip
    """Return the BlockMask of ``mask_mod(b, h, q_idx, kv_idx)`` over (B, H, Q_LEN, KV_LEN); B or H is None if the mask does not depend on
    it.
    """
    if _takes_scores(mask_mod):
        raise AssertionError(f"create-block_mask requires a mask_mod function! Got {mask_mod}")
    rows, columns = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else BLOCK_SIZE
    mask = create_mask(mask_mod, B, H, Q_LEN, KV_LEN, device)
    mask = torch.nn.functional.pad(mask, (0, -KV_LEN % columns, 0, -Q_LEN % rows))
    batch, heads, height, width = mask.shape
    counts = mask.view(batch, heads, height // rows, rows, width // columns, columns).sum(dim=(3, 5))
    full = counts == rows * columns
    if not separate_full_blocks:
        return BlockMask.from_kv_blocks(
            *_ordered(counts > 0), BLOCK_SIZE=(rows, columns), mask_mod=mask_mod, seq_lengths=(Q_LEN, KV_LEN)
        )
    return BlockMask.from_kv_blocks(
        *_ordered((counts > 0) & ~full), *_ordered(full), BLOCK_SIZE=(rows, columns), mask_mod=mask_mod, seq_lengths=(Q_LEN, KV_LEN)
    )


def _check(query: Tensor, key: Tensor, value: Tensor, block_mask: BlockMask | None, enable_gqa: bool) -> None:
    if query.dim() != 4 or key.dim() != 4 or value.dim() != 4:
        raise NotImplementedError("NYI: query, key, and value must be 4D tensors")
    heads, kv_heads = query.size(-3), key.size(-3)
    if not enable_gqa and heads != kv_heads:
        raise ValueError(
            f"Expect query and key/value to have the same number of heads but got Hq={heads} and Hkv={kv_heads}. Try setting "
            "enable_gqa=True for GQA."
        )
    if enable_gqa and heads % kv_heads != 0:
        raise ValueError(
            f"Expect number of query heads to be a multiple of kv heads for GQA but got Hq={heads} and Hkv={kv_heads}."
        )
    if query.size(0) != key.size(0) and block_mask is None:
        raise ValueError(
            "Expect query and key/value to have the same batch size, or non-none block_mask, but got block_mask=None, "
            f"Bq={query.size(0)}, and Bkv={key.size(0)}."
        )
    if block_mask is None:
        return
    if block_mask.mask_mod is _sliced_mask_mod_error:
        raise RuntimeError("Cannot use mask_mod from a sliced BlockMask")
    if tuple(block_mask.shape[-2:]) != (query.size(-2), key.size(-2)):
        size = "smaller" if query.size(-2) > block_mask.shape[-2] or key.size(-2) > block_mask.shape[-1] else "larger"
        raise ValueError(
            f"block_mask was created for block_mask.shape={block_mask.shape} but got q_len={query.size(-2)} and "
            f"kv_len={key.size(-2)}. As the block mask was created for a {size} length than you're using it for, "
            "create a new block mask."
        )


def flex_attention(
    query: Tensor, key: Tensor, value: Tensor, score_mod: Any = None, block_mask: BlockMask | None = None, scale: float | None = None,
    enable_gqa: bool = False, return_lse: bool = False, kernel_options: Any = None, *, return_aux: AuxRequest | None = None,
) -> Any:  # fmt: skip
    """Return ``softmax(score_mod(q kᵀ scale)) v`` for (B, H, L, E) tensors, within ``block_mask``; 0 in rows that are fully masked."""
    _check(query, key, value, block_mask, enable_gqa)
    if return_lse and return_aux is not None:
        raise ValueError(
            "Cannot specify both return_lse and return_aux. return_lse is deprecated, please use "
            "return_aux=AuxRequest(lse=True) instead."
        )
    groups = query.size(1) // key.size(1)
    if groups > 1:
        key, value = (torch.repeat_interleave(t, groups, dim=1) for t in (key, value))
    work = torch.float64 if query.dtype == torch.float64 else torch.float32
    factor = 1.0 / math.sqrt(query.size(-1)) if scale is None else scale
    scores = (query.to(work) @ key.to(work).transpose(-2, -1)) * factor
    batch, heads, rows, columns = scores.shape
    places = _indices(batch, heads, rows, columns, query.device)
    if score_mod is not None:
        scores = score_mod(scores, *places)
    if block_mask is not None:
        scores = torch.where(block_mask.mask_mod(*places), scores, -torch.inf)
    empty = (scores == -torch.inf).all(dim=-1)
    # Rows without any key: use the softmax of zeros, so that no NaN reaches the gradient.
    safe = torch.where(empty.unsqueeze(-1), 0.0, scores)
    weights = torch.where(empty.unsqueeze(-1), 0.0, torch.softmax(safe, dim=-1))
    out = weights.to(query.dtype) @ value.to(query.dtype)
    if not return_lse and return_aux is None:
        return out
    lse = torch.where(empty, -torch.inf, safe.logsumexp(dim=-1))
    if return_aux is None:
        return out, lse
    return out, AuxOutput(lse if return_aux.lse else None, scores.max(dim=-1)[0] if return_aux.max_scores else None)


__all__ = [
    "AuxOutput", "AuxRequest", "BlockMask", "and_masks", "create_block_mask", "create_mask", "flex_attention", "noop_mask", "or_masks",
]  # fmt: skip

__getattr__ = _missing(__name__)
