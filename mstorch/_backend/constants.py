"""Constant operands of device kernels, which are transferred to the device once and not at each use."""
from __future__ import annotations

from collections import OrderedDict
from typing import Any

import numpy as np

from .arrays import Array
from .raw import NP_DTYPE, ON_CPU, Raw, from_numpy

_SMALL = 64  # bytes
_MOST = 4096
_KEPT: OrderedDict[tuple[np.dtype[Any], tuple[int, ...], bytes], Raw] = OrderedDict()


_NUMBERS: dict[tuple[float, str], Raw] = {}


def number_of(number: float, name: str) -> Raw:
    """Return a Python number as a 0-d tensor for kernels to read."""
    known = number.__class__ in (int, float) and number != 0  # 0.0 and -0.0 are equal as keys
    found = _NUMBERS.get((number, name)) if known else None
    if found is None:
        found = constant_of(np.asarray(number, NP_DTYPE[name]))
        if known and not ON_CPU:
            if len(_NUMBERS) >= _MOST:
                _NUMBERS.clear()
            _NUMBERS[number, name] = found
    return found


def constant_of(array: Array) -> Raw:
    """Return an array as a read-only tensor; small ones are cached on the device."""
    if ON_CPU or array.nbytes > _SMALL:
        return from_numpy(np.ascontiguousarray(array).reshape(array.shape))
    key = (array.dtype, array.shape, array.tobytes())
    found = _KEPT.get(key)
    if found is None:
        found = _KEPT[key] = from_numpy(np.array(array, order="C"))
        found._of_storage = True  # a tensor made of it gets its own memory
        if len(_KEPT) > _MOST:
            _KEPT.popitem(last=False)
    else:
        _KEPT.move_to_end(key)
    return found
