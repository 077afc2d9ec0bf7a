"""Lay the parameters of one ``fully_shard`` out in flat tensors, for communication between devices.

A kernel of a device takes longer to launch than to copy a small parameter, so that a unit is packed by one kernel, sent by one collective,
and unpacked by one kernel, whatever the number of its parameters. (In host memory each shard is received directly where it belongs.)
"""
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import mstorch as torch

from ..._src.core.tensor_base import window
from ..tensor._moves import bounds


class Unit:
    """The places of parameters, given by their full shapes, in a rank's flat tensor: each shard padded to the longest rank's.

    ``length``: the number of elements of that tensor.
    """

    def __init__(self, shapes: Sequence[tuple[int, ...]], ranks: int, rank: int) -> None:
        self.shapes, self.ranks = [tuple(shape) for shape in shapes], ranks
        limits = [[bounds(shape[0], ranks, member) for member in range(ranks)] for shape in self.shapes]
        rests = [math.prod(shape[1:]) for shape in self.shapes]
        # For each parameter, the elements of each rank's shard, and those that every rank sends.
        self._counts = [[(last - first) * rest for first, last in rows] for rows, rest in zip(limits, rests)]
        self._each = [max(counts) for counts in self._counts]
        self.length = sum(self._each)
        self._local_shapes = [(rows[rank][1] - rows[rank][0], *shape[1:]) for rows, shape in zip(limits, self.shapes)]
        self._even = all(len(set(counts)) == 1 for counts in self._counts)

    def packed(self, parts: Sequence[Any]) -> Any:
        """Return this rank's shards in one flat tensor."""
        rows = [_padded(part.reshape(-1), each) for part, each in zip(parts, self._each)]
        return rows[0] if len(rows) == 1 else torch.cat(rows)

    def unpacked(self, gathered: Any) -> list[Any]:
        """Return the full parameters, as detached parts of one storage, of the flat tensors of all ranks, one after the other."""
        if not self._even or len(self.shapes) > 1:
            # Each rank's pieces, with the padding of each, in the order of parameters.
            sizes = [size for member in range(self.ranks) for counts, each in zip(self._counts, self._each)
                     for size in (counts[member], each - counts[member])]  # fmt: skip
            pieces, step = gathered.split(sizes), 2 * len(self.shapes)
            order = [2 * place + member * step for place in range(len(self.shapes)) for member in range(self.ranks)]
            gathered = torch.cat([pieces[place] for place in order if sizes[place]])
        return _parts(gathered, self.shapes)

    def spread(self, gradients: Sequence[Any]) -> Any:
        """Return full gradients in one flat tensor: for each rank the rows that it keeps."""
        rows = []
        for gradient, each in zip(gradients, self._each):
            flat = _padded(gradient.reshape(-1), each * self.ranks)  # only the last ranks' shards are shorter
            rows.append(flat.view(self.ranks, each))
        return rows[0].reshape(-1) if len(rows) == 1 else torch.cat(rows, 1).view(-1)

    def shards(self, reduced: Any) -> list[Any]:
        """Return this rank's shards of the gradients, as detached parts of its reduced flat tensor."""
        return _parts(reduced, self._local_shapes, self._each)


def _padded(flat: Any, count: int) -> Any:
    return flat if flat.numel() == count else torch.nn.functional.pad(flat, (0, count - flat.numel()))


def _parts(flat: Any, shapes: Sequence[tuple[int, ...]], steps: Sequence[int] | None = None) -> list[Any]:
    """Return detached tensors of these shapes over the memory of a flat tensor; ``steps`` from one to the next, by default their sizes."""
    start, parts = flat._ms_offset, []
    for place, shape in enumerate(shapes):
        parts.append(window(flat._ms_storage, flat._ms_dtype, shape, None, start))
        start += math.prod(shape) if steps is None else steps[place]
    return parts
