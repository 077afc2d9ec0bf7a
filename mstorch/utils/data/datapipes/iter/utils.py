"""A datapipe over any iterable."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator
from typing import TypeVar

from ....._src.core.warned import warn
from ..datapipe import IterDataPipe
from ..utils._lengths import length_of

_T = TypeVar("_T")

__all__ = ["IterableWrapperIterDataPipe"]


class IterableWrapperIterDataPipe(IterDataPipe[_T]):
    """Yields the items of an iterable, deep-copied for each iteration unless ``deepcopy`` is False.

    If the iterable cannot be copied, its own items are yielded, with a warning."""

    def __init__(self, iterable: Iterable[_T], deepcopy: bool = True) -> None:
        self.iterable = iterable
        self.deepcopy = deepcopy

    def __iter__(self) -> Iterator[_T]:
        source = self.iterable
        if self.deepcopy:
            try:
                source = copy.deepcopy(self.iterable)
            except TypeError:
                warn(
                    "The input iterable can not be deepcopied, "
                    "please be aware of in-place modification would affect source data.",
                )
        yield from source

    def __len__(self) -> int:
        return length_of(self.iterable, self)
