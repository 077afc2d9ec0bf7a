"""The rows of Ascend, one file a family: which primitives of the device serve each operation. Importing the room fills the table."""
from ..table import ROWS, VIA_HALF
from . import activation, elementwise, fused, gradients, index, layers, linalg, math, reduce, resample, special, storage  # noqa: F401
from .refused import REFUSED

_VIA = {**VIA_HALF, "uint8": "int32", "int8": "int32", "int16": "int32"}


def _narrow(op: str, refused: frozenset[str]) -> None:
    """Remove dtypes from a row; halves and small integers go through the wider ones that are left."""
    row = ROWS[op]
    row.dtypes["Ascend"] -= refused
    wider = {name: wide for name, wide in _VIA.items() if name in refused and wide in row.dtypes["Ascend"]}
    row.via["Ascend"] = {**wider, **row.via["Ascend"]}


for _op, _names in REFUSED.items():
    _narrow(_op, frozenset(_names.split()))
