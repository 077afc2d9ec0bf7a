"""A map-style datapipe in random order: ``shuffle``."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any, TypeVar

from ...sampler import _draw_seed
from ..datapipe import PASS, IterDataPipe, MapDataPipe, Shuffling

__all__ = ["ShufflerIterDataPipe"]

_T_co = TypeVar("_T_co", covariant=True)


class ShufflerIterDataPipe(Shuffling, IterDataPipe[_T_co]):
    """Iterates over a map-style datapipe in a new random order each time; ``indices`` are its keys, if not 0, 1, …

    Each iteration draws its seed from the default generator, unless ``set_seed`` set one.

    (functional name: ``shuffle``)
    """

    datapipe: MapDataPipe[_T_co]
    _enabled: bool
    _seed: int | None

    def __init__(self, datapipe: MapDataPipe[_T_co], *, indices: list[Any] | None = None) -> None:
        super().__init__()
        self.datapipe = datapipe
        self.indices: list[Any] = list(range(len(datapipe))) if indices is None else indices
        self._enabled = True
        self._seed = None
        self._rng = random.Random()
        self._shuffled_indices: list[Any] = self.indices

    def set_shuffle(self, shuffle: bool = True) -> ShufflerIterDataPipe[Any]:
        """Enable or disable shuffling; return the datapipe."""
        self._enabled = shuffle
        return self

    def set_seed(self, seed: int) -> ShufflerIterDataPipe[Any]:
        """Set the seed of the next iteration; return the datapipe."""
        self._seed = seed
        return self

    def __iter__(self) -> Iterator[_T_co]:
        if not self._enabled:
            for index in self.indices:
                yield self.datapipe[index]
            return
        while self._shuffled_indices:
            yield self.datapipe[self._shuffled_indices.pop()]

    def reset(self) -> None:
        """Draw the order of the next iteration."""
        if self._enabled and self._seed is None:
            self._seed = _draw_seed()
        self._rng.seed(self._seed)
        self._seed = None
        self._shuffled_indices = self._rng.sample(self.indices, len(self.indices))

    def __len__(self) -> int:
        return len(self.datapipe)

    _kept = ("datapipe", "indices", "_enabled", "_seed", "_rng_state", "_shuffled_indices", *PASS)


MapDataPipe.register_datapipe_as_function("shuffle", ShufflerIterDataPipe)
