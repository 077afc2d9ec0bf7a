"""Reports of jobs' results, and their comparison."""
from __future__ import annotations

import hashlib
import math
from typing import Any


def told(value: Any) -> Any:
    """Return a result for JSON: for a tensor its shape, dtype, sum, sum of magnitudes and a few elements."""
    if hasattr(value, "detach") and hasattr(value, "dtype"):
        tensor = value.detach()
        flat = tensor.reshape(-1)
        numbers = flat.double() if tensor.dtype.is_floating_point else flat.long()
        head = [float(x) for x in numbers[:: max(1, numbers.numel() // 8)][:8]]
        return {"shape": list(tensor.shape), "dtype": str(tensor.dtype), "sum": float(numbers.sum()), "abs": float(numbers.abs().sum()), "head": head}
    if hasattr(value, "tolist"):
        return told(value.tolist())
    if isinstance(value, dict):
        return {str(key): told(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [told(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return str(value)


def bits(tensor: Any) -> str:
    """Return a tensor's values to the last bit, for random numbers."""
    return hashlib.sha256(tensor.detach().cpu().contiguous().numpy().tobytes()).hexdigest()[:16]


def differences(want: Any, got: Any, what: str = "result", tolerance: float = 1e-4) -> list[str]:
    """Return the differences of two reports: numbers that differ by more than the tolerance, and all other values that differ."""
    if isinstance(want, dict) and isinstance(got, dict):
        if want.keys() != got.keys():
            return [f"{what}: keys {sorted(want)} expected, {sorted(got)} given"]
        # A sum's error grows with the summands.
        scale = want["abs"] if "abs" in want and isinstance(want["abs"], float) else 0.0
        found = []
        for key in want:
            wide = tolerance * max(1.0, scale) if key == "sum" else tolerance
            found += differences(want[key], got[key], f"{what}.{key}", wide)
        return found
    if isinstance(want, list) and isinstance(got, list):
        if len(want) != len(got):
            return [f"{what}: {len(want)} items expected, {len(got)} given"]
        return [text for i, (w, g) in enumerate(zip(want, got)) for text in differences(w, g, f"{what}[{i}]", tolerance)]
    if isinstance(want, float) and isinstance(got, (int, float)) and not isinstance(got, bool):
        return [] if math.isclose(want, got, rel_tol=tolerance, abs_tol=tolerance) else [f"{what}: {want} expected, {got} given"]
    return [] if want == got and type(want) is type(got) else [f"{what}: {want!r} expected, {got!r} given"]
