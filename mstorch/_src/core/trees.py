"""torch.utils._pytree: nested tuples, lists and dictionaries as a flat list of leaves and a TreeSpec."""
from __future__ import annotations

from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Sequence
from typing import Any


class TreeSpec:
    """TreeSpec: container type, context and children of a tree.

    The type of a leaf is None.
    """

    __slots__ = ("type", "context", "children_specs", "num_leaves")

    def __init__(self, type: Any, context: Any, children_specs: Sequence[TreeSpec]) -> None:
        self.type = type
        self.context = context
        self.children_specs = list(children_specs)
        self.num_leaves: int = 1 if type is None else sum(child.num_leaves for child in self.children_specs)

    def is_leaf(self) -> bool:
        """Return whether the tree is a single leaf."""
        return self.type is None

    def unflatten(self, leaves: Sequence[Any]) -> Any:
        """Return a tree with this structure."""
        return tree_unflatten(leaves, self)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, TreeSpec) and self.type is other.type and self.context == other.context
            and self.children_specs == other.children_specs
        )  # fmt: skip

    def __hash__(self) -> int:
        return hash((self.type, self.num_leaves))

    def __repr__(self) -> str:
        if self.is_leaf():
            return "*"
        inner = (",\n" + "  ").join(repr(child).replace("\n", "\n  ") for child in self.children_specs)
        return f"TreeSpec({self.type.__name__}, {self.context}, [{inner}])"


LEAF = TreeSpec(None, None, [])
REGISTERED: dict[Any, Any] = {}
"""Flatten functions of further container types: ``torch.utils._pytree.SUPPORTED_NODES``, empty until that is loaded."""


def _items(tree: Any) -> tuple[Any, Any, Sequence[Any]] | None:
    """Return the type, context and items of a container; None for a leaf."""
    kind = type(tree)
    if kind is tuple or kind is list:
        return kind, None, tree
    if kind is dict or kind is OrderedDict:
        return kind, list(tree), list(tree.values())
    if kind is defaultdict:
        return kind, [tree.default_factory, list(tree)], list(tree.values())
    if kind is deque:
        return kind, tree.maxlen, list(tree)
    if isinstance(tree, tuple) and (hasattr(tree, "_fields") or hasattr(tree, "n_fields")):
        return kind, kind, tree
    entry = REGISTERED.get(kind)
    if entry is None:
        return None
    items, context = entry.flatten_fn(tree)
    return kind, context, list(items)


def tree_flatten(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> tuple[list[Any], TreeSpec]:
    """Return the leaves in order, and the TreeSpec; ``is_leaf`` may declare containers leaves."""
    found = None if is_leaf is not None and is_leaf(tree) else _items(tree)
    if found is None:
        return [tree], LEAF
    kind, context, items = found
    leaves: list[Any] = []
    branches = []
    for item in items:
        inner, branch = tree_flatten(item, is_leaf)
        leaves.extend(inner)
        branches.append(branch)
    return leaves, TreeSpec(kind, context, branches)


def tree_unflatten(leaves: Sequence[Any], treespec: TreeSpec) -> Any:
    """Return a tree with the given TreeSpec; raise ValueError if the number of leaves differs."""
    leaves = list(leaves)
    if len(leaves) != treespec.num_leaves:
        raise ValueError(
            f"tree_unflatten(leaves, treespec): `leaves` has length {len(leaves)} but the spec refers to a pytree that holds "
            f"{treespec.num_leaves} items ({treespec})."
        )
    return _built(iter(leaves), treespec)


def _built(leaves: Any, spec: TreeSpec) -> Any:
    if spec.type is None:
        return next(leaves)
    items = [_built(leaves, child) for child in spec.children_specs]
    if spec.type in (dict, OrderedDict):
        return spec.type(zip(spec.context, items))
    if spec.type is defaultdict:
        return defaultdict(spec.context[0], zip(spec.context[1], items))
    if spec.type is deque:
        return deque(items, maxlen=spec.context)
    if spec.type in (tuple, list) or spec.type is spec.context:
        return spec.type(*items) if hasattr(spec.type, "_fields") else spec.type(items)
    return REGISTERED[spec.type].unflatten_fn(items, spec.context)


def tree_leaves(tree: Any) -> list[Any]:
    """Return the leaves in order."""
    return tree_flatten(tree)[0]


def tree_map(func: Callable[..., Any], tree: Any, *rests: Any) -> Any:
    """Apply ``func`` to each leaf, together with those of further trees of the same structure; return the tree of results."""
    leaves, spec = tree_flatten(tree)
    others = [tree_leaves(rest) for rest in rests]
    return tree_unflatten([func(*group) for group in zip(leaves, *others)], spec)


def shown(spec: TreeSpec) -> str:
    """Return the TreeSpec as torch's messages show it: ``(*, *)``."""

    class _Star:
        def __repr__(self) -> str:
            return "*"

    return repr(tree_unflatten([_Star()] * spec.num_leaves, spec))


def broadcast_to(tree: Any, spec: TreeSpec, is_leaf: Callable[[Any], bool] | None = None) -> list[Any] | None:
    """Repeat each leaf of a tree that is a prefix of a TreeSpec for all leaves below it; return None if it is not a prefix."""
    own, own_spec = tree_flatten(tree, is_leaf)
    return _spread(iter(own), own_spec, spec)


def _spread(values: Any, own: TreeSpec, spec: TreeSpec) -> list[Any] | None:
    if own.is_leaf():
        return [next(values)] * spec.num_leaves
    same = own.type is spec.type and own.context == spec.context and len(own.children_specs) == len(spec.children_specs)
    if not same:
        return None
    spread: list[Any] = []
    for mine, theirs in zip(own.children_specs, spec.children_specs):
        part = _spread(values, mine, theirs)
        if part is None:
            return None
        spread.extend(part)
    return spread
