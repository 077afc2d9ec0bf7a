"""Sequences one after the other, or each at the beginning of places of its own: what masks know of their queries and keys."""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import mstorch as torch


class SeqLengths:
    """Sequences one after the other: ``seqstart_py`` and ``seqstart`` (int32) are their bounds, ``max_seqlen`` and ``min_seqlen`` the
    longest's and shortest's length."""

    def __init__(self, spans: Sequence[tuple[int, int]], device: Any = None) -> None:
        lengths = [stop - start for start, stop in spans]
        self.max_seqlen, self.min_seqlen = max(lengths, default=-1), min(lengths, default=-1)
        self.seqstart_py = self._bounds(spans)
        self.seqstart = torch.tensor(self.seqstart_py, dtype=torch.int32, device=device)

    def _bounds(self, spans: Sequence[tuple[int, int]]) -> list[int]:
        return [0, *(stop for _, stop in spans)]

    def to(self, device: Any) -> Any:
        """Move the tensors to a device, and return the object: the mask that it belongs to keeps it."""
        self.seqstart = self.seqstart.to(device)
        return self

    def intervals(self) -> Iterator[tuple[int, int]]:
        """Yield where each sequence starts and ends."""
        yield from zip(self.seqstart_py, self.seqstart_py[1:])


class PaddedLengths(SeqLengths):
    """Sequences each at the beginning of ``padding`` places: also ``seqlen_py`` and ``seqlen`` (int32), their lengths."""

    def __init__(self, spans: Sequence[tuple[int, int]], padding: int, device: Any = None) -> None:
        self.padding = padding
        super().__init__(spans, device)
        self.seqlen_py = [stop - start for start, stop in spans]
        self.seqlen = torch.tensor(self.seqlen_py, dtype=torch.int32, device=device)

    def _bounds(self, spans: Sequence[tuple[int, int]]) -> list[int]:
        return [place * self.padding for place in range(len(spans) + 1)]

    def to(self, device: Any) -> Any:
        """Move the tensors to a device, and return the object."""
        self.seqlen = self.seqlen.to(device)
        return super().to(device)

    def intervals(self) -> Iterator[tuple[int, int]]:
        """Yield where each sequence starts and ends."""
        yield from ((start, start + length) for start, length in zip(self.seqstart_py, self.seqlen_py))

    def spans(self) -> list[tuple[int, int]]:
        """Return where each sequence starts and ends by the tensor of lengths, which a program may have written to."""
        self.seqlen_py = self.seqlen.tolist()
        return list(self.intervals())


__all__ = ["PaddedLengths", "SeqLengths"]
