"""Rules of functions of one operand whose gradient needs one value that is kept."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..apply import Applied, rule
from ..operands import Operand


def chained(op: str, keep: int | str, slope: Callable[[Any, Any], Any], label: str | None = None) -> None:
    """Register ``slope(gradient, value)`` as the gradient of an elementwise operation; the value is the operand (0) or the "result"."""

    @rule(op, keep=(keep,), label=label, symmetric=True)
    def backward(node: Applied, g: Operand) -> Operand:
        return slope(g, node.kept(g))
