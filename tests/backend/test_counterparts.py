"""The functions that `check` compares with device rows that have no host row agree with MindSpore's kernels of the CPU."""
from __future__ import annotations

import numpy as np
import pytest

import mstorch  # noqa: F401 - before its parts
from mstorch._commands.check.counterparts import COUNTERPARTS
from mstorch._commands.check.rows import difference
from mstorch._src.backend.raw import NAME_OF_NP, from_numpy
from mstorch._src.backend.samples import samples
from mstorch._src.backend.table import HOST, kernel


def _raws(value):
    if isinstance(value, np.ndarray):
        return from_numpy(value.copy())
    return type(value)(map(_raws, value)) if isinstance(value, (tuple, list)) else value


@pytest.mark.parametrize("op", COUNTERPARTS)
def test_as_mindspores_kernel(op: str) -> None:
    args = samples()[op]
    assert op not in HOST
    name = NAME_OF_NP[args[0].dtype]
    assert difference(kernel(op)[name](*map(_raws, args)), COUNTERPARTS[op](*args)) == ""
