"""What may not be read while it is written."""
from __future__ import annotations

from typing import Any

import numpy as np

from .._core.strides import flat_index
from .._core.tensor_base import TensorBase, strides_of
from .._core.writable import SHARED, check_writable
from ._dispatch import shape_of


def refuse_overlap(out: Any, *inputs: Any) -> None:
    """Raise torch's error if ``out`` holds an element twice, or shares one with an input: for what is read while it writes."""
    if out is None or not isinstance(out, TensorBase):
        return
    check_writable(out)
    for input in inputs:
        if input._storage is out._storage and np.intersect1d(_places(input), _places(out)).size:
            raise RuntimeError(SHARED)


def _places(tensor: Any) -> np.ndarray:
    return flat_index(shape_of(tensor), strides_of(tensor), tensor._offset)
