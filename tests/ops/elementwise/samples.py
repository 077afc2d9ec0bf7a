"""Values that the elementwise tests share."""

from __future__ import annotations

from typing import Any

import numpy as np

INTEGERS = ("uint8", "int8", "int16", "int32", "int64")
FLOATING = ("float16", "bfloat16", "float32", "float64")
COMPLEX = ("complex64", "complex128")
EDGES = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -2.5, 3.7, float("nan"), float("inf"), -float("inf"), 1e-3, -30.0, 88.0]
PAIRS = np.array(np.meshgrid(EDGES, EDGES)).reshape(2, -1).astype(np.float32)


def operand(torch: Any, dtype: str, shift: int = 0) -> Any:
    """Return twelve small values of a dtype as a 3 x 4 tensor; ``shift`` returns others."""
    if dtype == "bool":
        values: Any = [(i + shift) % 3 > 0 for i in range(12)]
    elif dtype.startswith("complex"):
        values = [complex((i * 3 + shift) % 5 - 2, (i + shift) % 4 - 1.5) for i in range(12)]
    elif dtype == "uint8":
        values = [(i * 37 + shift * 11) % 256 for i in range(12)]
    elif dtype.startswith("int"):
        values = [(i * 7 + shift * 3) % 23 - 11 for i in range(12)]
    else:
        values = [((i * 7 + shift * 3) % 23 - 11) / 4 for i in range(12)]
    return torch.tensor(values, dtype=getattr(torch, dtype)).reshape(3, 4)


def layouts(torch: Any, dtype: str = "float32", shift: int = 0) -> list[Any]:
    """Return the same values contiguous, transposed, sliced, broadcast, 0-d and empty."""
    base = operand(torch, dtype, shift)
    wide = torch.stack([base, base], -1) if hasattr(torch, "stack") else base
    return [base, base.t(), wide[..., 0], base[:, 1:3], base[0].expand(3, 4), base[1, 2], base[:0], base[:, ::2]]


def tolerance(dtype: str) -> dict[str, float]:
    """Return the allowed relative difference of results in a dtype: one unit in the last place, or torch's own error."""
    return {
        "float16": {"rtol": 2e-3, "atol": 1e-3},
        "bfloat16": {"rtol": 1e-2, "atol": 1e-2},
        "float64": {"rtol": 1e-12, "atol": 1e-14},
        "complex128": {"rtol": 1e-12, "atol": 1e-13},
    }.get(dtype, {"rtol": 3e-6, "atol": 1e-6})
