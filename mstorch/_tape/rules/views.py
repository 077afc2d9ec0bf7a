"""Gradient rules of copies of views."""
from __future__ import annotations

from typing import Any

import numpy as np

from ..apply import rule


@rule("clone")
def clone(node: Any, g: np.ndarray) -> Any:
    return g
