"""Elementwise arithmetic and comparison kernels."""
from __future__ import annotations

from mindspore import ops

from ..table import ALL, define

ops_add = ops.Add()
ops_mul = ops.Mul()
ops_sub = ops.Sub()

define("add", cpu=ops_add, dtypes=ALL)
define("mul", cpu=ops_mul, dtypes=ALL)
define("sub", cpu=ops_sub, dtypes=ALL)
