"""Matrix products."""
from __future__ import annotations

from mindspore import ops

from ..table import FLOATS, VIA_HALF, define

define("mm", cpu=ops.MatMul(), dtypes=FLOATS, via=VIA_HALF)
