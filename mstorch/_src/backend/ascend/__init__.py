"""Ascend's kernels, one file per family: the device primitives that implement each operation. Importing the package fills the kernel table.
"""
import json
from pathlib import Path

from ..table import ROWS, VIA_HALF
from . import (  # noqa: F401
    activation,
    elementwise,
    fused,
    gradients,
    in_place,
    index,
    layers,
    linalg,
    loss,
    math,
    reduce,
    resample,
    scatter,
    special,
    storage,
)

_VIA = {**VIA_HALF, "uint8": "int32", "int8": "int32", "int16": "int32"}


def _narrow(op: str, refused: frozenset[str]) -> None:
    """Remove dtypes from an operation's Ascend kernel; half precision and small integers are then computed in a wider dtype that remains.
    """
    row = ROWS[op]
    row.dtypes["Ascend"] -= refused
    wider = {name: wide for name, wide in _VIA.items() if name in refused and wide in row.dtypes["Ascend"]}
    row.via["Ascend"] = {**wider, **row.via["Ascend"]}


# The dtypes that MindSpore's checks of arguments refuse, by kernel, written by tools.kernel_dtypes
for _op, _names in json.loads(Path(__file__).with_name("refused.json").read_text()).items():
    _narrow(_op, frozenset(_names.split()))
