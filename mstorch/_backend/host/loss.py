"""Losses on the host."""
from __future__ import annotations

import numpy as np

from ..table import define_host
from .softmax import numpy_log_softmax


def numpy_cross_entropy(x: np.ndarray, target: np.ndarray) -> np.ndarray:
    """The mean negative log softmax (n, classes) at the targets (n)."""
    logs = numpy_log_softmax(x, 1)
    picked = logs[np.arange(len(target)), target]
    return np.asarray(-np.add.reduce(picked, dtype=np.float64) / len(target)).astype(x.dtype)


define_host("cross_entropy", numpy_cross_entropy, ("float32", "float64"))
