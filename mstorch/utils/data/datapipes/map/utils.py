"""A map-style datapipe over a sequence or mapping."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from ....._src.core.warned import warn
from ..datapipe import MapDataPipe

_T = TypeVar("_T")

__all__ = ["SequenceWrapperMapDataPipe"]


class SequenceWrapperMapDataPipe(MapDataPipe[_T]):
    """The items of a sequence or mapping, deep-copied unless ``deepcopy`` is False.

    If the sequence cannot be copied, its own items are used, with a warning."""

    sequence: Sequence[_T] | Mapping[Any, _T]

    def __init__(self, sequence: Sequence[_T] | Mapping[Any, _T], deepcopy: bool = True) -> None:
        self.sequence = sequence
        if not deepcopy:
            return
        try:
            self.sequence = copy.deepcopy(sequence)
        except TypeError:
            warn(
                "The input sequence can not be deepcopied, "
                "please be aware of in-place modification would affect source data",
            )

    def __getitem__(self, index: int) -> _T:
        return self.sequence[index]

    def __len__(self) -> int:
        return len(self.sequence)
