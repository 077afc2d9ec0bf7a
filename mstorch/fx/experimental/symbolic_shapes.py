"""torch.fx.experimental.symbolic_shapes: queries about symbolic sizes. Sizes are ints in mstorch, so that every query has an answer."""
from __future__ import annotations

from typing import Any

from ..._src.hook import missing as _missing


class GuardOnDataDependentSymNode(RuntimeError):
    """In torch, raised for a guard on a value-dependent size; mstorch never raises it."""


class ConstraintViolationError(RuntimeError):
    """Raised for an input of an export whose size is not as ``dynamic_shapes`` declares it."""


def guard_or_false(a: Any) -> bool:
    """Return ``bool(a)``: sizes are concrete, so no guard is needed."""
    return bool(a)


guard_or_true = statically_known_true = guard_size_oblivious = guard_or_false


def free_symbols(val: Any) -> set[Any]:
    """Return an empty set: values have no symbolic sizes."""
    return set()


free_unbacked_symbols = free_symbols


def has_free_symbols(val: Any) -> bool:
    """Return False: values have no symbolic sizes."""
    return False


def is_concrete_int(a: object) -> bool:
    """Return whether a size is an int."""
    return isinstance(a, int)


def is_nested_int(s: Any) -> bool:
    """Return whether a size is the length of a ragged dimension."""
    return getattr(type(s), "is_symbolic_number", False) and s.node.is_nested_int()


SHAPEENV_EVENT_KEY = "shapeenv_event"
CURRENT_NODE_KEY = "current_node"

__all__ = [
    "CURRENT_NODE_KEY", "SHAPEENV_EVENT_KEY",
    "GuardOnDataDependentSymNode", "free_symbols", "free_unbacked_symbols", "guard_or_false", "guard_or_true", "guard_size_oblivious",
    "is_concrete_int", "statically_known_true",
]  # fmt: skip

__getattr__ = _missing(__name__)
