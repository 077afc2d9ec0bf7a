"""Datapipes that reorder: ``shuffle``, and by a sampler."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sized
from typing import Any, TypeVar

from ...sampler import Sampler, SequentialSampler, _draw_seed
from .._decorator import functional_datapipe
from ..datapipe import PASS, IterDataPipe, Shuffling
from ..utils._lengths import length_of

__all__ = ["SamplerIterDataPipe", "ShufflerIterDataPipe"]

_T_co = TypeVar("_T_co", covariant=True)


class SamplerIterDataPipe(IterDataPipe[_T_co]):
    """Yields the indices of a sampler that is constructed with the datapipe as ``data_source``. Raises AssertionError for a datapipe
    without length.
    """

    datapipe: IterDataPipe[Any]
    sampler: Sampler[Any]

    def __init__(
        self,
        datapipe: IterDataPipe[Any],
        sampler: type[Sampler[Any]] = SequentialSampler,
        sampler_args: tuple[Any, ...] | None = None,
        sampler_kwargs: dict[Any, Any] | None = None,
    ) -> None:
        if not isinstance(datapipe, Sized):
            raise AssertionError("Sampler class requires input datapipe implemented `__len__`")
        super().__init__()
        self.datapipe = datapipe
        self.sampler_args = () if sampler_args is None else sampler_args
        self.sampler_kwargs = {} if sampler_kwargs is None else sampler_kwargs
        self.sampler_kwargs["data_source"] = datapipe
        self.sampler = sampler(*self.sampler_args, **self.sampler_kwargs)

    def __iter__(self) -> Iterator[_T_co]:
        return iter(self.sampler)

    def __len__(self) -> int:
        return length_of(self.sampler, self)


@functional_datapipe("shuffle")
class ShufflerIterDataPipe(Shuffling, IterDataPipe[_T_co]):
    """Yields the samples in random order, drawn from a buffer of ``buffer_size`` samples.

    Each iteration draws its seed from the default generator, unless ``set_seed`` set one. ``unbatch_level`` levels of batches are unbatched
    before.

    (functional name: ``shuffle``)
    """

    datapipe: IterDataPipe[_T_co]
    buffer_size: int
    _enabled: bool
    _seed: int | None

    def __init__(self, datapipe: IterDataPipe[_T_co], *, buffer_size: int = 10000, unbatch_level: int = 0) -> None:
        super().__init__()
        self._buffer: list[Any] = []
        if buffer_size <= 0:
            raise AssertionError("buffer_size should be larger than 0")
        self.datapipe = datapipe if unbatch_level == 0 else datapipe.unbatch(unbatch_level=unbatch_level)
        self.buffer_size = buffer_size
        self._enabled = True
        self._seed = None
        self._rng = random.Random()

    def set_shuffle(self, shuffle: bool = True) -> ShufflerIterDataPipe[Any]:
        """Enable or disable shuffling; return the datapipe."""
        self._enabled = shuffle
        return self

    def set_seed(self, seed: int) -> ShufflerIterDataPipe[Any]:
        """Set the seed of the next iteration; return the datapipe."""
        self._seed = seed
        return self

    def _draw(self) -> int:
        return self._rng.randint(0, len(self._buffer) - 1)

    def __iter__(self) -> Iterator[_T_co]:
        if not self._enabled:
            yield from self.datapipe
            return
        for sample in self.datapipe:
            if len(self._buffer) < self.buffer_size:
                self._buffer.append(sample)
                continue
            index = self._draw()
            chosen, self._buffer[index] = self._buffer[index], sample
            yield chosen
        while self._buffer:
            yield self._buffer.pop(self._draw())

    def __len__(self) -> int:
        return length_of(self.datapipe, self)

    def reset(self) -> None:
        """Clear the buffer and reseed the generator."""
        self._buffer = []
        if self._enabled:
            self._rng.seed(_draw_seed() if self._seed is None else self._seed)
            self._seed = None

    _kept = ("datapipe", "buffer_size", "_enabled", "_seed", "_buffer", "_rng_state", *PASS)
