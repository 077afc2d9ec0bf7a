"""Positions of nonzero elements, computed where the elements live: a device tells the host only how many there are."""
from __future__ import annotations

from typing import Any

import numpy as np

from ..backend.table import kernel
from ..core.dtype import bool_
from ..core.strides import normalize
from ..core.tensor_base import TensorBase, array_of, in_order, tensor_of
from ..tape.ways import is_known, ways
from ._dispatch import call
from .shape import parts, views

_nonzero = kernel("nonzero")


def nonzero_rows(truth: TensorBase) -> TensorBase:
    """Return the positions of True elements, one row each; the columns are contiguous, as in torch."""
    found = call(_nonzero, (truth,))
    return in_order(found, normalize(found._ms_shape, (1, found._ms_shape[0])))


def _by_kernel(truth: TensorBase) -> tuple[Any, ...] | None:
    if is_known(truth):
        return None
    truth = truth.detach() if truth._ms_dtype is bool_ else truth.detach().ne(0)
    if len(truth._ms_shape) > 1:
        return parts.unbind(nonzero_rows(truth), 1)
    return (views.reshape(call(_nonzero, (views.reshape(truth, (-1,)),)), (-1,)),)


@ways(device=_by_kernel)
def true_positions(truth: TensorBase) -> tuple[Any, ...]:
    """Return the positions of nonzero elements, one int64 vector per dimension. A 0-d tensor counts as a vector."""
    return tuple(tensor_of(np.ascontiguousarray(index, np.int64)) for index in np.nonzero(np.atleast_1d(array_of(truth))))
