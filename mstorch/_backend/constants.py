"""Numbers that kernels of a device take beside tensors: brought there once, not at each use."""
from __future__ import annotations

from collections import OrderedDict

import numpy as np

from .raw import ON_CPU, Raw, from_numpy

_SMALL = 64  # bytes
_MOST = 4096
_KEPT: OrderedDict[tuple[str, tuple[int, ...], bytes], Raw] = OrderedDict()


def constant_of(array: np.ndarray) -> Raw:
    """An array as a tensor that kernels read and nobody writes to; on a device small ones are kept for the next time."""
    if ON_CPU or array.nbytes > _SMALL:
        return from_numpy(np.ascontiguousarray(array).reshape(array.shape))
    key = (array.dtype.name, array.shape, array.tobytes())
    found = _KEPT.get(key)
    if found is None:
        found = _KEPT[key] = from_numpy(np.array(array, order="C"))
        found._of_storage = True  # a tensor made of it gets memory of its own
        if len(_KEPT) > _MOST:
            _KEPT.popitem(last=False)
    else:
        _KEPT.move_to_end(key)
    return found
