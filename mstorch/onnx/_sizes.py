"""Dynamic sizes: expresses numbers in a run as functions of the inputs' sizes, inferred from runs with other sizes."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._src.backend.varying import solved
from ._errors import OnnxExporterError


def merged(trees: Sequence[Any], sizes: Sequence[Sequence[int]]) -> Any:
    """Merge one argument of the same call in all runs: numbers that differ become Sizes."""
    first = trees[0]
    if isinstance(first, (list, tuple)):
        if any(len(tree) != len(first) for tree in trees):
            raise OnnxExporterError("mstorch: torch.onnx.export takes models whose lists of sizes are as long for all sizes that vary")
        return [merged(parts, sizes) for parts in zip(*trees)]
    if isinstance(first, int) and not isinstance(first, bool):
        size = solved(trees, sizes)
        if size is None:
            raise OnnxExporterError(
                f"mstorch: torch.onnx.export cannot tell how a number depends on sizes that vary: it is {list(trees)} for sizes "
                f"{[tuple(one) for one in sizes]}"
            )
        return size
    if isinstance(first, float) and any(tree != first for tree in trees):
        raise OnnxExporterError(f"mstorch: torch.onnx.export cannot express a floating point number that depends on sizes: {list(trees)}")
    return first
