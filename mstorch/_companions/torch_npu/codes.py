"""The numbers by which torch_npu's operators name dtypes, and the dtypes that its namespace names by a number alone."""
from __future__ import annotations

from typing import Any

import mstorch as torch

from ..._src.core.dtype_numbers import by_number, number_of

NAMED = {
    "int4": 285, "hifloat8": 290, "float8_e5m2": 291, "float8_e4m3fn": 292, "float8_e8m0fnu": 293, "float4_e2m1fn_x2": 296,
    "float4_e1m2fn_x2": 297,
}  # fmt: skip
"""Numbers that torch_npu names: those of CANN's dtypes plus 256."""
_WITHOUT = ("hifloat8", "float4_e1m2fn_x2")  # no torch dtype, and no arithmetic here


def dtype_of(function: str, code: Any, default: Any = None) -> Any:
    """Return the dtype that a number or a dtype names, or the default for None. Raise NotImplementedError for one that is not here."""
    if code is None:
        return default
    if isinstance(code, torch.dtype):
        return code
    name = next((name for name, number in NAMED.items() if number == code), None)
    if name == "int4":
        return name
    kind = by_number(code) if name is None else None if name in _WITHOUT else getattr(torch, name, None)
    if kind is None:
        raise NotImplementedError(f"mstorch: {function}() with dtype {f'torch_npu.{name}' if name else code}: MindSpore has none")
    return kind


def refuse_codes(function: str, **codes: Any) -> None:
    """Raise NotImplementedError for operands that are said to hold another dtype than their own, which these operators do not read."""
    for name, code in codes.items():
        if code is not None and dtype_of(function, code) not in (torch.int8, torch.float16, torch.bfloat16, torch.float32):
            raise NotImplementedError(f"mstorch: {function}() with {name}={code}")


__all__ = ["NAMED", "dtype_of", "number_of", "refuse_codes"]
