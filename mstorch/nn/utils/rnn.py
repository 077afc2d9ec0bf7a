"""Variable-length sequences in one tensor."""
from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..._src.backend.arrays import Array
from ..._src.core.above import above
from ..._src.core.overriding import is_taken
from ..._src.core.tensor_base import TensorBase, array_of
from ..._src.ops.memory.from_data import made
from ..._src.ops.reduce.sort import argsort
from ..._tensor import Tensor


class PackedSequence_(NamedTuple):
    """The fields of a PackedSequence."""

    data: Tensor
    batch_sizes: Tensor
    sorted_indices: Tensor | None
    unsorted_indices: Tensor | None


def bind(optional: Any, fn: Callable[[Any], Any]) -> Any:
    """Return ``fn(optional)``, or None for None."""
    return None if optional is None else fn(optional)


class PackedSequence(PackedSequence_):
    """Packed time steps of several sequences: ``batch_sizes[t]`` rows of ``data`` belong to step t.

    Sequences are sorted by decreasing length; ``sorted_indices`` gives their original positions.
    """

    def __new__(
        cls, data: Tensor, batch_sizes: Tensor | None = None, sorted_indices: Tensor | None = None,
        unsorted_indices: Tensor | None = None,
    ) -> PackedSequence:  # fmt: skip
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        if batch_sizes is None:
            data, batch_sizes = data
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def _changed(self, data: Tensor) -> PackedSequence:
        if data is self.data:
            return self
        return type(self)(data, self.batch_sizes, self.sorted_indices, self.unsorted_indices)

    def pin_memory(self) -> PackedSequence:
        """Return a copy with pinned data."""
        return self._changed(self.data.pin_memory())

    def to(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """Return a copy with converted or moved data."""
        return self._changed(self.data.to(*args, **kwargs))

    def cpu(self) -> PackedSequence:
        """Return a copy on the CPU."""
        return self._changed(self.data.cpu())

    def cuda(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """Return a copy on a GPU."""
        return self._changed(self.data.cuda(*args, **kwargs))

    def double(self) -> PackedSequence:
        """Return a copy with float64 data."""
        return self._changed(self.data.double())

    def float(self) -> PackedSequence:
        """Return a copy with float32 data."""
        return self._changed(self.data.float())

    def half(self) -> PackedSequence:
        """Return a copy with float16 data."""
        return self._changed(self.data.half())

    def short(self) -> PackedSequence:
        """Return the sequence with its data cast to int16."""
        return self._changed(self.data.short())

    def char(self) -> PackedSequence:
        """Return the sequence with its data cast to int8."""
        return self._changed(self.data.char())

    def byte(self) -> PackedSequence:
        """Return the sequence with its data cast to uint8."""
        return self._changed(self.data.byte())

    def long(self) -> PackedSequence:
        """Return a copy with int64 data."""
        return self._changed(self.data.long())

    def int(self) -> PackedSequence:
        """Return a copy with int32 data."""
        return self._changed(self.data.int())

    @property
    def is_cuda(self) -> bool:
        """True if the data is on a GPU."""
        return self.data.is_cuda

    def is_pinned(self) -> bool:
        """Return whether the data is in pinned memory."""
        return self.data.is_pinned()


def invert_permutation(permutation: Tensor | None) -> Tensor | None:
    """Return the inverse permutation, or None for None."""
    if permutation is None:
        return None
    places = above.torch.arange(permutation.numel(), device=permutation.device)
    return above.torch.empty_like(permutation).scatter_(0, permutation, places)


def _lengths(lengths: Any) -> Array:
    known = isinstance(lengths, TensorBase) and not is_taken(lengths)  # handlers have to see each read of a length
    return np.array(lengths.tolist() if known else [int(n) for n in lengths], np.int64)


def pack_padded_sequence(
    input: Tensor, lengths: Tensor | list[int], batch_first: bool = False, enforce_sorted: bool = True
) -> PackedSequence:
    """Pack padded sequences (T, B, *), or (B, T, *) if ``batch_first``, as a PackedSequence."""
    sizes = _lengths(lengths)
    if enforce_sorted:
        sorted_indices = None
    else:
        order = argsort(made(sizes), 0, True)  # for known lengths: torch's order of equal lengths
        sizes, sorted_indices = sizes[array_of(order)], order.to(input.device)
        input = input.index_select(0 if batch_first else 1, sorted_indices)
    if not input.numel():
        raise RuntimeError("Cannot pack empty tensors.")
    x = input.transpose(0, 1) if batch_first else input
    if sizes.size == 0 or len(sizes) != x.size(1):
        raise RuntimeError(
            f"Expected `len(lengths)` to be equal to batch_size, but got {len(sizes)} (batch_size={x.size(1)})"
        )
    if (sizes <= 0).any():
        raise RuntimeError("Length of all samples has to be greater than 0, but found an element in 'lengths' that is <= 0")
    if (np.diff(sizes) > 0).any():
        raise RuntimeError(
            "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You can pass "
            "`enforce_sorted=False` to pack_padded_sequence and/or pack_sequence to sidestep this requirement if you do not need "
            "ONNX exportability."
        )
    batch_sizes = [int((sizes > t).sum()) for t in range(int(sizes[0]))]
    data = above.torch.cat([x[t, :n] for t, n in enumerate(batch_sizes)])
    return PackedSequence(data, made(np.array(batch_sizes, np.int64)), sorted_indices, None)


def pad_packed_sequence(
    sequence: PackedSequence, batch_first: bool = False, padding_value: float = 0.0, total_length: int | None = None
) -> tuple[Tensor, Tensor]:
    """Return the padded sequences (T, B, *), or (B, T, *) if ``batch_first``, and their lengths."""
    sizes = [int(n) for n in sequence.batch_sizes.tolist()]
    longest = len(sizes)
    if total_length is not None:
        if total_length < longest:
            raise ValueError(
                "Expected total_length to be at least the length of the longest sequence in input, but got "
                f"total_length={total_length} and max sequence length being {longest}"
            )
        longest = total_length
    data, batch = sequence.data, sizes[0]
    rest = tuple(data.shape[1:])
    steps, start = [], 0
    for n in sizes:
        rows = data[start : start + n]
        start += n
        if n < batch:
            rows = above.torch.cat([rows, above.torch.full((batch - n, *rest), padding_value, dtype=data.dtype, device=data.device)])
        steps.append(rows)
    steps += [above.torch.full((batch, *rest), padding_value, dtype=data.dtype, device=data.device)] * (longest - len(sizes))
    padded = above.torch.stack(steps, 1 if batch_first else 0)
    lengths = made(np.array([sum(n > b for n in sizes) for b in range(batch)], np.int64))
    if sequence.unsorted_indices is not None:
        padded = padded.index_select(0 if batch_first else 1, sequence.unsorted_indices)
        lengths = lengths.index_select(0, sequence.unsorted_indices.cpu())
    return padded, lengths


def pad_sequence(
    sequences: Tensor | Sequence[Tensor], batch_first: bool = False, padding_value: float = 0.0, padding_side: str = "right"
) -> Tensor:
    """Pad sequences (L, *) of different lengths L and stack them as (T, B, *), or (B, T, *) if ``batch_first``."""
    if not isinstance(sequences, Iterable):
        raise RuntimeError(
            "pad_sequence: Expected iterable for input sequences, but got arg of type: " f"{type(sequences)}"
        )
    if padding_side not in ("right", "left"):
        raise RuntimeError("Padding side must be one of left or right")
    parts = list(sequences.unbind(0)) if isinstance(sequences, TensorBase) else list(sequences)
    if not parts:
        raise RuntimeError("received an empty list of sequences")
    longest = max(part.size(0) for part in parts)
    rest = tuple(parts[0].shape[1:])
    padded = []
    for part in parts:
        missing = longest - part.size(0)
        if missing:
            filler = above.torch.full((missing, *rest), padding_value, dtype=part.dtype, device=part.device)
            part = above.torch.cat([part, filler] if padding_side == "right" else [filler, part])
        padded.append(part)
    return above.torch.stack(padded, 0 if batch_first else 1)


def unpad_sequence(padded_sequences: Tensor, lengths: Tensor, batch_first: bool = False) -> list[Tensor]:
    """Return the sequences without their padding; the inverse of ``pad_sequence``."""
    if not batch_first:
        padded_sequences.transpose_(0, 1)  # torch transposes the caller's tensor in place
    places = above.torch.arange(padded_sequences.shape[1], device=lengths.device)
    return [sequence[places < length] for sequence, length in zip(padded_sequences, lengths, strict=True)]


def pack_sequence(sequences: Sequence[Tensor], enforce_sorted: bool = True) -> PackedSequence:
    """Pack sequences (L, *) of different lengths as a PackedSequence."""
    lengths = [sequence.size(0) for sequence in sequences]
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """Return the list of sequences in a PackedSequence."""
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)


__all__ = [
    "PackedSequence", "invert_permutation", "pack_padded_sequence", "pack_sequence", "pad_packed_sequence", "pad_sequence",
    "unpack_sequence", "unpad_sequence",
]  # fmt: skip
