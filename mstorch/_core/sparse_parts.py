"""How the families below the sparse room make sparse tensors: the room enters its makers here when it is loaded."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

MAKERS: dict[str, Callable[..., Any]] = {}  # "coo": (indices (dimensions, nnz), values (nnz, *), size) to a tensor
