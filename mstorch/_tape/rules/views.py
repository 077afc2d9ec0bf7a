"""Gradients of copies."""
from __future__ import annotations

from typing import Any

from ..apply import rule


@rule("clone")
def clone(node: Any, g: Any) -> Any:
    return g
