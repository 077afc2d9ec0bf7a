"""TreeSpec: the structure of a pytree."""
from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from .kinds import STANDARD_DICT_TYPES, SUPPORTED_NODES, ConstantNode, node_type


class TreeSpec:
    """A container's type and context, and the TreeSpecs of its children; a leaf has no type.

    ``num_nodes`` counts containers and leaves, ``num_leaves`` leaves, ``num_children`` direct children.
    """

    __slots__ = ("type", "_context", "_children", "num_nodes", "num_leaves", "num_children")

    def __init__(self, type: Any, context: Any, children_specs: Sequence[TreeSpec]) -> None:
        self.type = type
        self._context = context
        self._children = list(children_specs)
        self.num_children = len(self._children)
        self.num_nodes: int = 1 + sum(child.num_nodes for child in self._children)
        self.num_leaves: int = 1 if type is None else sum(child.num_leaves for child in self._children)

    @property
    def context(self) -> Any:
        """The data besides the children from which the container is rebuilt."""
        return self._context

    @property
    def children_specs(self) -> list[TreeSpec]:
        """The TreeSpecs of the children."""
        return self._children

    def children(self) -> list[TreeSpec]:
        """Return the TreeSpecs of the children in a new list."""
        return list(self._children)

    def child(self, index: int) -> TreeSpec:
        """Return the TreeSpec of one child."""
        return self._children[index]

    def is_leaf(self) -> bool:
        """Return whether this is a leaf."""
        return self.type is None

    def unflatten(self, leaves: Iterable[Any]) -> Any:
        """Return the tree of this structure with the given leaves. Raise ValueError unless there are ``num_leaves``."""
        leaves = leaves if isinstance(leaves, (list, tuple)) else list(leaves)
        if len(leaves) != self.num_leaves:
            raise ValueError(
                f"treespec.unflatten(leaves): `leaves` has length {len(leaves)} but the spec refers to a pytree that holds "
                f"{self.num_leaves} items ({self})."
            )
        return self._build(iter(leaves))

    def _build(self, leaves: Iterator[Any]) -> Any:
        if self.type is None:
            return next(leaves)
        return SUPPORTED_NODES[self.type].unflatten_fn([child._build(leaves) for child in self._children], self._context)

    def flatten_up_to(self, tree: Any) -> list[Any]:
        """Return the subtrees of ``tree`` at this structure's leaves. Raise ValueError if this is not a prefix of its structure."""
        found: list[Any] = []
        self._collect(tree, found)
        return found

    def _collect(self, tree: Any, found: list[Any]) -> None:
        if self.type is None:
            found.append(tree)
            return
        kind = node_type(tree)
        both_dicts = self.type in STANDARD_DICT_TYPES and kind in STANDARD_DICT_TYPES
        if kind is not self.type and not both_dicts:
            raise ValueError(f"Node type mismatch; expected {self.type!r}, but got {kind!r}.")
        items, context = SUPPORTED_NODES[kind].flatten_fn(tree)
        items = list(items)
        if len(items) != self.num_children:
            raise ValueError(f"Node arity mismatch; expected {self.num_children}, but got {len(items)}.")
        if both_dicts:
            expected = self._context[1] if self.type is defaultdict else self._context
            if set(expected) != set(tree):
                missing, extra = set(expected) - set(tree), set(tree) - set(expected)
                parts = [f"missing key(s): {missing}"] * bool(missing) + [f"extra key(s): {extra}"] * bool(extra)
                raise ValueError(f"Node keys mismatch; {'; '.join(parts)}.")
            items = [tree[key] for key in expected]
        elif kind is not deque and context != self._context:  # two deques may differ in their maximum length
            raise ValueError(f"Node context mismatch for node type {self.type!r}; expected {self._context!r}, but got {context!r}.")
        for child, item in zip(self._children, items):
            child._collect(item, found)

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, TreeSpec):
            return NotImplemented
        return self.type is other.type and self._context == other._context and self._children == other._children

    def __hash__(self) -> int:
        kind = self.type
        context = self._context
        if kind is not None and (kind in STANDARD_DICT_TYPES or isinstance(context, list)):
            context = repr(context)
        elif isinstance(context, ConstantNode):
            context = context.value
        return hash((kind, context, tuple(self._children)))

    def __repr__(self, indent: int = 0) -> str:
        if self.type is None:
            return "*"
        inner = f",\n{' ' * (indent + 2)}".join(child.__repr__(indent + 2) for child in self._children)
        return f"TreeSpec({self.type.__name__}, {self._context}, [{inner}])"


LEAF = TreeSpec(None, None, [])


class _LeafKind(type):
    """Metaclass that makes every TreeSpec of a leaf an instance of LeafSpec."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, TreeSpec) and instance.type is None


class LeafSpec(TreeSpec, metaclass=_LeafKind):
    """TreeSpec of a leaf."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(None, None, [])
