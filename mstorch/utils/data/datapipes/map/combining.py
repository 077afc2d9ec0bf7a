"""Map-style datapipes that join several: ``concat``, ``zip``."""

from __future__ import annotations

from collections.abc import Sized
from typing import Any, TypeVar

from .._decorator import functional_datapipe
from ..datapipe import MapDataPipe

__all__ = ["ConcaterMapDataPipe", "ZipperMapDataPipe"]

_T_co = TypeVar("_T_co", covariant=True)


def _check_pipes(datapipes: tuple[Any, ...]) -> None:
    if not datapipes:
        raise ValueError("Expected at least one DataPipe, but got nothing")
    if not all(isinstance(pipe, MapDataPipe) for pipe in datapipes):
        raise TypeError("Expected all inputs to be `MapDataPipe`")
    if not all(isinstance(pipe, Sized) for pipe in datapipes):
        raise TypeError("Expected all inputs to be `Sized`")


@functional_datapipe("concat")
class ConcaterMapDataPipe(MapDataPipe[Any]):
    """Concatenates datapipes: indices continue from one to the next.

    Raises ValueError for none and TypeError for anything but datapipes with lengths.

    (functional name: ``concat``)
    """

    datapipes: tuple[Any, ...]

    def __init__(self, *datapipes: MapDataPipe[Any]) -> None:
        _check_pipes(datapipes)
        self.datapipes = datapipes

    def __getitem__(self, index: int) -> Any:
        before = 0
        for pipe in self.datapipes:
            if index - before < len(pipe):
                return pipe[index - before]
            before += len(pipe)
        raise IndexError(f"Index {index} is out of range.")

    def __len__(self) -> int:
        return sum(len(pipe) for pipe in self.datapipes)


@functional_datapipe("zip")
class ZipperMapDataPipe(MapDataPipe[tuple[_T_co, ...]]):
    """Tuples of the samples at the same index, up to the shortest datapipe's length.

    Raises ValueError for none and TypeError for anything but datapipes with lengths.

    (functional name: ``zip``)
    """

    datapipes: tuple[Any, ...]

    def __init__(self, *datapipes: MapDataPipe[_T_co]) -> None:
        _check_pipes(datapipes)
        self.datapipes = datapipes

    def __getitem__(self, index: int) -> tuple[_T_co, ...]:
        samples = []
        for pipe in self.datapipes:
            try:
                samples.append(pipe[index])
            except IndexError as error:
                raise IndexError(f"Index {index} is out of range for one of the input MapDataPipes {pipe}.") from error
        return tuple(samples)

    def __len__(self) -> int:
        return min(len(pipe) for pipe in self.datapipes)
