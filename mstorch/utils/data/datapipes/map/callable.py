"""A map-style datapipe that applies a function: ``map``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from .._decorator import functional_datapipe
from ..datapipe import MapDataPipe
from ..utils.common import _check_unpickable_fn

__all__ = ["MapperMapDataPipe", "default_fn"]

_T_co = TypeVar("_T_co", covariant=True)


def default_fn(data: Any) -> Any:
    """Return the sample unchanged; unlike a lambda, it can be pickled."""
    return data


@functional_datapipe("map")
class MapperMapDataPipe(MapDataPipe[_T_co]):
    """Applies ``fn`` to each sample.

    (functional name: ``map``)
    """

    datapipe: MapDataPipe[Any]
    fn: Callable[..., Any]

    def __init__(self, datapipe: MapDataPipe[Any], fn: Callable[..., Any] = default_fn) -> None:
        super().__init__()
        self.datapipe = datapipe
        _check_unpickable_fn(fn)
        self.fn = fn

    def __len__(self) -> int:
        return len(self.datapipe)

    def __getitem__(self, index: Any) -> _T_co:
        return self.fn(self.datapipe[index])
