"""Nested ints: the length of a ragged dimension as a symbol, which is identified by the lengths of the components and multiplied by a
factor.
"""
from __future__ import annotations

from typing import Any

__all__ = ["NestedIntNode"]


class _Constant:
    """A plain int as operand of nested ints."""

    def __init__(self, value: int) -> None:
        self.value = value

    def is_constant(self) -> bool:
        """Return True: the value is a constant."""
        return True

    def constant_int(self) -> int:
        """Return the value."""
        return self.value


def _at_least(one: Any, other: Any) -> bool:
    """Return whether ``one >= other``, where a ragged length is taken to be at least 2. Raise ValueError if that does not decide."""
    nested, beside = isinstance(one, NestedIntNode), isinstance(other, NestedIntNode)
    if nested and beside and one.t_id == other.t_id:
        return bool(one.coeff >= other.coeff)
    if nested and not beside and other.constant_int() <= 2:
        return True
    if beside and not nested and one.constant_int() < 2:
        return False
    raise ValueError("ge: relation is indeterminate")


class NestedIntNode:
    """The node of a ``torch.SymInt`` for a ragged length: ``t_id`` identifies the components' lengths, ``coeff`` multiplies them."""

    def __init__(self, t_id: int, coeff: int) -> None:
        self.t_id = t_id
        self.coeff = coeff

    def nested_int_coeff(self) -> int:
        """Return the factor."""
        return self.coeff

    def nested_int(self) -> int:
        """Return the id of the lengths."""
        return self.t_id

    def maybe_as_int(self) -> int | None:
        """Return None: the length is not a single number."""
        return None

    def is_int(self) -> bool:
        """Return True: the node is an int."""
        return True

    def is_float(self) -> bool:
        """Return False: the node is not a float."""
        return False

    def is_bool(self) -> bool:
        """Return False: the node is not a bool."""
        return False

    def is_nested_int(self) -> bool:
        """Return True: the node is a nested int."""
        return True

    def is_symbolic(self) -> bool:
        """Return False: the node has no symbolic expression."""
        return False

    def is_constant(self) -> bool:
        """Return False: the value is not a constant."""
        return False

    def clone(self) -> NestedIntNode:
        """Return self, which is immutable."""
        return self

    def wrap_int(self, num: int) -> _Constant:
        """Return an int wrapped as an operand."""
        if type(num) is not int:
            raise AssertionError(f"Expected num to be int, but got {type(num).__name__}")
        return _Constant(num)

    def mul(self, other: Any) -> NestedIntNode:
        """Return the lengths times an int."""
        if not other.is_constant():
            raise ValueError(f"unsupported: {type(other)}")
        return NestedIntNode(self.t_id, self.coeff * other.constant_int())

    def eq(self, other: Any) -> bool:
        """Return whether both have the same lengths and factor."""
        return isinstance(other, NestedIntNode) and (self.t_id, self.coeff) == (other.t_id, other.coeff)

    def ne(self, other: Any) -> bool:
        """Return whether lengths or factor differ."""
        return not self.eq(other)

    def ge(self, other: Any) -> bool:
        """Return ``self >= other``."""
        return _at_least(self, other)

    def gt(self, other: Any) -> bool:
        """Return ``self > other``."""
        return not _at_least(other, self)

    def le(self, other: Any) -> bool:
        """Return ``self <= other``."""
        return _at_least(other, self)

    def lt(self, other: Any) -> bool:
        """Return ``self < other``."""
        return not _at_least(self, other)

    def __str__(self) -> str:
        return f"j{self.t_id}" if self.coeff == 1 else f"{self.coeff}*j{self.t_id}"

    __repr__ = str = _str = _graph_repr = __str__
