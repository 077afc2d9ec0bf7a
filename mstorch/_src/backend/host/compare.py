"""Comparisons and logical operations on the host."""
import numpy as np

from ..table import define_host
from ._ufunc import COMPLEX, REAL, one, two

_ALL = (*REAL, *COMPLEX, "uint16", "uint32", "uint64")
_BFLOAT16 = {"bfloat16": "float32"}

for _name, _function in {"eq": np.equal, "ne": np.not_equal}.items():
    define_host(_name, two(_function), _ALL, _BFLOAT16)
for _name, _function in {"lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal}.items():
    define_host(_name, two(_function), (*REAL, "uint16", "uint32", "uint64"), _BFLOAT16)
for _name, _function in {"logical_and": np.logical_and, "logical_or": np.logical_or, "logical_xor": np.logical_xor}.items():
    define_host(_name, two(_function), _ALL, _BFLOAT16)
define_host("logical_not", one(np.logical_not), _ALL, _BFLOAT16)
define_host("isnan", one(np.isnan), ("float16", "float32", "float64", *COMPLEX), _BFLOAT16)
define_host("isinf", one(np.isinf), ("float16", "float32", "float64", *COMPLEX), _BFLOAT16)
define_host("isfinite", one(np.isfinite), ("float16", "float32", "float64", *COMPLEX), _BFLOAT16)
