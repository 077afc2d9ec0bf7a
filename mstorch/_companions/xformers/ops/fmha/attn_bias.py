"""xformers.ops.fmha.attn_bias: masks and biases of attention.

``materialize`` returns any of them as a tensor that is added to the scores; attention itself does not need it for whole blocks.
"""
from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Sequence
from typing import Any

import mstorch as torch

from .... import absent
from ....flash_attn.attending import Setting, attend, fused
from .lengths import PaddedLengths, SeqLengths

Tensor = torch.Tensor
Span = tuple[int, int]


def _added(seen: Tensor, shape: Sequence[int], dtype: torch.dtype) -> Tensor:
    """Return a tensor of zeros where a query attends to a key, and of minus infinity elsewhere."""
    return torch.zeros(seen.shape, dtype=dtype, device=seen.device).masked_fill(~seen, -math.inf).expand(*shape)


def _distance(shape: Sequence[int], device: Any, from_the_end: bool) -> Tensor:
    """Return how far behind its query each key is, (queries, keys); the first or the last of both are at the same place."""
    queries, keys = shape[-2:]
    shift = keys - queries if from_the_end else 0
    return torch.arange(queries, device=device)[:, None] + shift - torch.arange(keys, device=device)


class AttentionBias:
    """Base of masks and biases."""

    def materialize(self, shape: Sequence[int], dtype: torch.dtype = torch.float32, device: Any = "cpu") -> Tensor:
        """Return the bias as a tensor of a shape (…, queries, keys)."""
        raise NotImplementedError(f"{type(self).__name__} has no tensor")

    def to(self, device: Any) -> AttentionBias:
        """Return the bias for a device; it has no tensors."""
        return self


class LowerTriangularMask(AttentionBias):
    """A query attends to keys up to its own place; the first of both are at the same place."""

    def __init__(self, *tensor_args: Any, **tensor_kwargs: Any) -> None:
        """Take what older versions did, a tensor's arguments, which are of no matter."""

    def materialize(self, shape: Sequence[int], dtype: torch.dtype = torch.float32, device: Any = "cpu") -> Tensor:
        """Return the mask as a tensor."""
        return _added(_distance(shape, device, False) >= 0, shape, dtype)

    def add_bias(self, bias: Tensor) -> LowerTriangularMaskWithTensorBias:
        """Return the mask with a bias."""
        return LowerTriangularMaskWithTensorBias(bias)


class LowerTriangularMaskWithTensorBias(LowerTriangularMask):
    """The mask with a tensor that is added to the scores."""

    def __init__(self, bias: Tensor) -> None:
        super().__init__()
        self._subtensor = bias

    def materialize(self, shape: Sequence[int], dtype: torch.dtype = torch.float32, device: Any = "cpu") -> Tensor:
        """Return mask and bias as a tensor."""
        return super().materialize(shape, dtype, device) + self._subtensor.to(dtype)


class LowerTriangularFromBottomRightMask(AttentionBias):
    """A query attends to keys up to its own place; the last of both are at the same place."""

    def materialize(self, shape: Sequence[int], dtype: torch.dtype = torch.float32, device: Any = "cpu") -> Tensor:
        """Return the mask as a tensor."""
        return _added(_distance(shape, device, True) >= 0, shape, dtype)

    def make_local_attention(self, window_size: int) -> LowerTriangularFromBottomRightLocalAttentionMask:
        """Return the mask for the ``window_size`` nearest keys."""
        return LowerTriangularFromBottomRightLocalAttentionMask(window_size)


class LowerTriangularFromBottomRightLocalAttentionMask(LowerTriangularFromBottomRightMask):
    """A query attends to the ``_window_size`` keys up to its own place."""

    def __init__(self, _window_size: int) -> None:
        if _window_size <= 0:
            raise ValueError("`window_size` must be strictly positive")
        self._window_size = _window_size

    def materialize(self, shape: Sequence[int], dtype: torch.dtype = torch.float32, device: Any = "cpu") -> Tensor:
        """Return the mask as a tensor."""
        behind = _distance(shape, device, True)
        return _added((behind >= 0) & (behind < self._window_size), shape, dtype)


class LocalAttentionFromBottomRightMask(AttentionBias):
    """A query attends to so many keys before and after its own place."""

    def __init__(self, window_left: int, window_right: int) -> None:
        if window_left < 0 or window_right < 0:
            raise ValueError("the window's sides must be at least 0")
        self.window_left, self.window_right = window_left, window_right

    def materialize(self, shape: Sequence[int], dtype: torch.dtype = torch.float32, device: Any = "cpu") -> Tensor:
        """Return the mask as a tensor."""
        behind = _distance(shape, device, True)
        return _added((behind <= self.window_left) & (behind >= -self.window_right), shape, dtype)


# Sequences one after the other


def _spans(lengths: Sequence[int]) -> list[Span]:
    spans, start = [], 0
    for length in lengths:
        spans.append((start, start + int(length)))
        start += int(length)
    return spans


class BlockDiagonal(AttentionBias):
    """Sequences one after the other in one batch entry, each with keys of its own; how queries see them is the subclass's."""

    causal: str = ""  # "" (all keys), "first" or "last": which of queries and keys are at the same place
    window = -1

    def __init__(self, queries: list[Span], keys: list[Span], sizes: Sequence[int] | None = None) -> None:
        if len(queries) != len(keys):
            raise ValueError(f"there are {len(queries)} sequences of queries and {len(keys)} of keys")
        self.q_spans, self.k_spans, self._batch_sizes = queries, keys, sizes

    @functools.cached_property
    def q_seqinfo(self) -> SeqLengths:
        """The queries' sequences: where they start, as a list and as a tensor, the shortest's and longest's length."""
        return SeqLengths(self.q_spans)

    @functools.cached_property
    def k_seqinfo(self) -> SeqLengths:
        """The keys' sequences."""
        return SeqLengths(self.k_spans)

    @classmethod
    def from_seqlens(cls, q_seqlen: Sequence[int], kv_seqlen: Sequence[int] | None = None, *, device: Any = None) -> Any:
        """Return the mask of sequences of these lengths."""
        return cls(_spans(q_seqlen), _spans(q_seqlen if kv_seqlen is None else kv_seqlen))

    @classmethod
    def from_tensor_list(cls, tensors: Sequence[Tensor]) -> tuple[Any, Tensor]:
        """Return the mask of tensors (batch, places, …), and all of them as one sequence."""
        sizes = [item.shape[0] for item in tensors]
        lengths = [item.shape[1] for item in tensors for _ in range(item.shape[0])]
        made = cls.from_seqlens(lengths)
        made._batch_sizes = sizes
        return made, torch.cat([item.reshape(1, -1, *item.shape[2:]) for item in tensors], 1)

    def split(self, tensor: Tensor) -> list[Tensor]:
        """Return the tensors that from_tensor_list joined, or one for each sequence."""
        parts = [tensor[:, start:stop] for start, stop in self.q_spans]
        if self._batch_sizes is None:
            return parts
        found, place = [], 0
        for size in self._batch_sizes:
            found.append(torch.cat(parts[place : place + size]))
            place += size
        return found

    split_queries = split

    def split_kv(self, tensor: Tensor) -> list[Tensor]:
        """Return the keys or values of each sequence."""
        return [tensor[:, start:stop] for start, stop in self.k_spans]

    def blocks(self, queries: int, keys: int) -> Iterator[tuple[Span, Span, str, int]]:
        """Yield each sequence's places of queries and of keys, how it is causal, and its window. Raise ValueError for other lengths."""
        ends = max((stop for _, stop in self.q_spans), default=0), max((stop for _, stop in self.k_spans), default=0)
        if ends[0] != queries or ends[1] > keys:
            raise ValueError(f"the bias is for {ends[0]} queries and {ends[1]} keys, and there are {queries} and {keys}")
        for own, other in zip(self.q_spans, self.k_spans):
            yield own, other, self.causal, self.window

    def follow(self, queries: int, keys: int) -> bool:
        """Return whether the sequences follow one another without gaps, up to the last of so many queries and keys."""
        blocks = list(self.blocks(queries, keys))
        for spans, count in (([block[0] for block in blocks], queries), ([block[1] for block in blocks], keys)):
            if [start for start, _ in spans] + [count] != [0] + [stop for _, stop in spans]:
                return False
        return True

    def attend_block(
        self, query: Tensor, key: Tensor, value: Tensor, causal: str, window: int, p: float, scale: float | None
    ) -> Tensor:  # fmt: skip
        """Return the attention of one sequence."""
        if causal == "first" and query.shape[1] != key.shape[1]:
            return fused(query, key, value, None, p, True, scale)
        return attend(query, key, value, Setting(p, scale, bool(causal), (window - 1 if window > 0 else -1, -1)))

    def materialize(self, shape: Sequence[int], dtype: torch.dtype = torch.float32, device: Any = "cpu") -> Tensor:
        """Return the mask as a tensor."""
        seen = torch.zeros(shape[-2], shape[-1], dtype=torch.bool, device=device)
        for (start, stop), (k_start, k_stop), causal, window in self.blocks(shape[-2], shape[-1]):
            behind = _distance((stop - start, k_stop - k_start), device, causal != "first")
            own = behind >= 0 if causal else torch.ones_like(behind, dtype=torch.bool)
            seen[start:stop, k_start:k_stop] = own & (behind < window) if window > 0 else own
        return _added(seen, shape, dtype)


class BlockDiagonalMask(BlockDiagonal):
    """Each sequence's queries attend to all of its keys."""

    def make_causal(self) -> BlockDiagonalCausalMask:
        """Return the causal mask, whose first queries and keys are at the same place."""
        return BlockDiagonalCausalMask(self.q_spans, self.k_spans, self._batch_sizes)

    def make_causal_from_bottomright(self) -> BlockDiagonalCausalFromBottomRightMask:
        """Return the causal mask, whose last queries and keys are at the same place."""
        return BlockDiagonalCausalFromBottomRightMask(self.q_spans, self.k_spans, self._batch_sizes)

    def make_local_attention(self, window_size: int) -> BlockDiagonalCausalLocalAttentionMask:
        """Return the causal mask of the ``window_size`` nearest keys."""
        return BlockDiagonalCausalLocalAttentionMask(self.q_spans, self.k_spans, self._batch_sizes, _window_size=window_size)


class BlockDiagonalCausalMask(BlockDiagonalMask):
    """Causal for each sequence; the first of its queries and keys are at the same place."""

    causal = "first"


class BlockDiagonalCausalFromBottomRightMask(BlockDiagonalMask):
    """Causal for each sequence; the last of its queries and keys are at the same place."""

    causal = "last"


class BlockDiagonalCausalLocalAttentionMask(BlockDiagonalCausalMask):
    """Causal for each sequence, with the nearest keys only."""

    def __init__(self, queries: list[Span], keys: list[Span], sizes: Sequence[int] | None = None, _window_size: int = 0) -> None:
        super().__init__(queries, keys, sizes)
        if _window_size <= 0:
            raise ValueError("`window_size` must be strictly positive")
        if any(stop - start != k_stop - k_start for (start, stop), (k_start, k_stop) in zip(queries, keys)):
            raise NotImplementedError(
                "mstorch: BlockDiagonalCausalLocalAttentionMask of other lengths of keys than of queries; write a tensor as attn_bias"
            )
        self.window = _window_size


class BlockDiagonalPaddedKeysMask(BlockDiagonal):
    """Keys are padded to one length; of each, the first are the sequence's. Lengths that are written to ``k_seqinfo.seqlen`` count."""

    padding = 0

    @functools.cached_property
    def k_seqinfo(self) -> PaddedLengths:
        """The keys' sequences: also how many keys each has, as a list and as a tensor, and the places for each."""
        return PaddedLengths(self.k_spans, self.padding)

    def blocks(self, queries: int, keys: int) -> Iterator[tuple[Span, Span, str, int]]:
        """Yield each sequence's places of queries and of keys, how it is causal, and its window. Raise ValueError for other lengths."""
        if "k_seqinfo" in self.__dict__:  # only who has seen its tensor can have written to it
            self.k_spans = self.k_seqinfo.spans()
        return super().blocks(queries, keys)

    @classmethod
    def from_seqlens(
        cls, q_seqlen: Sequence[int], kv_padding: int, kv_seqlen: Sequence[int], causal_diagonal: Any = None, *, device: Any = None
    ) -> Any:
        """Return the mask of queries of these lengths, and of keys in places of ``kv_padding`` each."""
        if causal_diagonal is not None:
            raise NotImplementedError("mstorch: causal_diagonal, which xformers ignores; leave it out")
        if any(int(length) > kv_padding for length in kv_seqlen):
            raise ValueError(f"lengths of keys {list(kv_seqlen)} exceed the padding {kv_padding}")
        made = cls(_spans(q_seqlen), [(i * kv_padding, i * kv_padding + int(length)) for i, length in enumerate(kv_seqlen)])
        made.padding = kv_padding
        return made


class BlockDiagonalCausalWithOffsetPaddedKeysMask(BlockDiagonalPaddedKeysMask):
    """Keys are padded to one length; causal, the last of queries and keys are at the same place."""

    causal = "last"


_INSTEAD = "write a tensor as attn_bias, or one of the masks that are here"


def __getattr__(name: str) -> object:
    if "Mask" in name or "Bias" in name:
        return absent(f"xformers.ops.fmha.attn_bias.{name}", _INSTEAD)
    raise AttributeError(f"module 'xformers.ops.fmha.attn_bias' has no attribute '{name}'")


__all__ = [
    "AttentionBias", "BlockDiagonal", "BlockDiagonalCausalFromBottomRightMask", "BlockDiagonalCausalLocalAttentionMask",
    "BlockDiagonalCausalMask", "BlockDiagonalCausalWithOffsetPaddedKeysMask", "BlockDiagonalMask", "BlockDiagonalPaddedKeysMask",
    "LocalAttentionFromBottomRightMask", "LowerTriangularFromBottomRightLocalAttentionMask", "LowerTriangularFromBottomRightMask",
    "LowerTriangularMask", "LowerTriangularMaskWithTensorBias",
]  # fmt: skip
