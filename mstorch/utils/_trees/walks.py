"""Traversals: flatten, unflatten and map pytrees."""
from __future__ import annotations

import functools
import types
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from ..._src.backend.arrays import Number
from ..._tensor import Tensor
from .kinds import CONSTANT_NODES, SUPPORTED_NODES, node_type
from .spec import LEAF, TreeSpec

IsLeaf = Callable[[Any], bool] | None


def tree_is_leaf(tree: Any, is_leaf: IsLeaf = None) -> bool:
    """Return whether a tree is a leaf: its type is not registered, or ``is_leaf`` returns True for it."""
    return (is_leaf is not None and is_leaf(tree)) or node_type(tree) not in SUPPORTED_NODES


def tree_flatten(tree: Any, is_leaf: IsLeaf = None) -> tuple[list[Any], TreeSpec]:
    """Return the leaves in order, and the TreeSpec. ``is_leaf`` selects containers to treat as leaves."""
    leaves: list[Any] = []
    return leaves, _flatten(tree, leaves, is_leaf)


def _flatten(tree: Any, leaves: list[Any], is_leaf: IsLeaf) -> TreeSpec:
    if tree_is_leaf(tree, is_leaf):
        leaves.append(tree)
        return LEAF
    kind = node_type(tree)
    items, context = SUPPORTED_NODES[kind].flatten_fn(tree)
    return TreeSpec(kind, context, [_flatten(item, leaves, is_leaf) for item in items])


def tree_unflatten(leaves: Iterable[Any], treespec: TreeSpec) -> Any:
    """Return the tree of a TreeSpec with the given leaves. Raise ValueError unless their number fits."""
    if not isinstance(treespec, TreeSpec):
        raise TypeError(f"Expected `treespec` to be an instance of PyTreeSpec but got item of type {type(treespec)}.")
    return treespec.unflatten(leaves)


def tree_iter(tree: Any, is_leaf: IsLeaf = None) -> Iterator[Any]:
    """Iterate over the leaves."""
    if tree_is_leaf(tree, is_leaf):
        yield tree
        return
    for item in SUPPORTED_NODES[node_type(tree)].flatten_fn(tree)[0]:
        yield from tree_iter(item, is_leaf)


def tree_leaves(tree: Any, is_leaf: IsLeaf = None) -> list[Any]:
    """Return the leaves in order."""
    return list(tree_iter(tree, is_leaf))


def tree_structure(tree: Any, is_leaf: IsLeaf = None) -> TreeSpec:
    """Return the TreeSpec."""
    return tree_flatten(tree, is_leaf)[1]


def tree_map(func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: IsLeaf = None) -> Any:
    """Return the tree of ``func(leaf, ...)``, called with the corresponding subtrees of ``rests``."""
    leaves, spec = tree_flatten(tree, is_leaf)
    return spec.unflatten([func(*group) for group in zip(leaves, *map(spec.flatten_up_to, rests))])


def tree_map_(func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: IsLeaf = None) -> Any:
    """Call ``func`` with each leaf; return ``tree``."""
    leaves, spec = tree_flatten(tree, is_leaf)
    for group in zip(leaves, *map(spec.flatten_up_to, rests)):
        func(*group)
    return tree


def map_only(type_or_types_or_pred: Any, /) -> Callable[[Callable[..., Any]], Callable[[Any], Any]]:
    """Return a decorator that calls a function only with values of the given types, or that satisfy the predicate; others are returned
    unchanged.
    """
    if isinstance(type_or_types_or_pred, (type, tuple, types.UnionType)):

        def chosen(value: Any) -> bool:
            return isinstance(value, type_or_types_or_pred)
    elif callable(type_or_types_or_pred):
        chosen = type_or_types_or_pred
    else:
        raise TypeError("Argument must be a type, a tuple of types, or a callable.")

    def wrapper(func: Callable[..., Any]) -> Callable[[Any], Any]:
        @functools.wraps(func)
        def wrapped(value: Tensor | Number) -> Any:
            return func(value) if chosen(value) else value

        return wrapped

    return wrapper


def tree_map_only(type_or_types_or_pred: Any, /, func: Callable[..., Any], tree: Any, is_leaf: IsLeaf = None) -> Any:
    """Return ``tree_map`` over the leaves of these types; other leaves are unchanged."""
    return tree_map(map_only(type_or_types_or_pred)(func), tree, is_leaf=is_leaf)


def tree_map_only_(
    type_or_types_or_pred: Any, /, func: Callable[..., Any], tree: Any, is_leaf: IsLeaf = None
) -> list[float | tuple[Tensor]]:
    """Call ``func`` with the leaves of these types; return ``tree``."""
    return tree_map_(map_only(type_or_types_or_pred)(func), tree, is_leaf=is_leaf)


def tree_all(pred: Callable[[Any], bool], tree: Any, is_leaf: IsLeaf = None) -> bool:
    """Return whether the predicate holds for all leaves."""
    return all(map(pred, tree_iter(tree, is_leaf)))


def tree_any(pred: Callable[[Any], bool], tree: Any, is_leaf: IsLeaf = None) -> bool:
    """Return whether the predicate holds for some leaf."""
    return any(map(pred, tree_iter(tree, is_leaf)))


def tree_all_only(type_or_types: Any, /, pred: Callable[[Any], bool], tree: Any, is_leaf: IsLeaf = None) -> bool:
    """Return whether the predicate holds for all leaves of these types."""
    return all(pred(leaf) for leaf in tree_iter(tree, is_leaf) if isinstance(leaf, type_or_types))


def tree_any_only(type_or_types: type[Any], /, pred: Callable[[Any], bool], tree: Any, is_leaf: IsLeaf = None) -> bool:
    """Return whether the predicate holds for some leaf of these types."""
    return any(pred(leaf) for leaf in tree_iter(tree, is_leaf) if isinstance(leaf, type_or_types))


def arg_tree_leaves(*args: Any, **kwargs: Any) -> list[Any]:
    """Return the leaves of positional, then of keyword arguments."""
    return [leaf for tree in (*args, *kwargs.values()) for leaf in tree_iter(tree)]


# With paths


def _paths(path: tuple[Any, ...], tree: Any, is_leaf: IsLeaf) -> Iterator[tuple[tuple[Any, ...], Any]]:
    if tree_is_leaf(tree, is_leaf):
        yield path, tree
        return
    kind = node_type(tree)
    with_keys = SUPPORTED_NODES[kind].flatten_with_keys_fn
    if with_keys is None:
        raise ValueError(
            f"Did not find a flatten_with_keys_fn for type: {kind}. Please pass a flatten_with_keys_fn argument to "
            "register_pytree_node."
        )
    for key, item in with_keys(tree)[0]:
        yield from _paths((*path, key), item, is_leaf)


def tree_leaves_with_path(tree: Any, is_leaf: IsLeaf = None) -> list[tuple[tuple[Any, ...], Any]]:
    """Return a list of (path, leaf), in order."""
    return list(_paths((), tree, is_leaf))


def tree_flatten_with_path(tree: Any, is_leaf: IsLeaf = None) -> tuple[list[tuple[tuple[Any, ...], Any]], TreeSpec]:
    """Return a list of (path, leaf), and the TreeSpec."""
    return tree_leaves_with_path(tree, is_leaf), tree_structure(tree, is_leaf)


def tree_map_with_path(func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: IsLeaf = None) -> Any:
    """Return ``tree_map`` of a function that takes the path as its first argument."""
    pairs, spec = tree_flatten_with_path(tree, is_leaf)
    paths = [path for path, _ in pairs]
    leaves = [leaf for _, leaf in pairs]
    return spec.unflatten([func(*group) for group in zip(paths, leaves, *map(spec.flatten_up_to, rests))])


def broadcast_to_and_flatten(tree: Any, treespec: TreeSpec, is_leaf: IsLeaf = None) -> list[Any] | None:
    """Return a list with one value per leaf of ``treespec``. The structure of ``tree`` has to be a prefix of ``treespec``: each leaf of
    ``tree`` is repeated for all leaves below its position. Return None if it is not a prefix."""
    if tree_is_leaf(tree, is_leaf):
        return [tree] * treespec.num_leaves
    if treespec.is_leaf():
        return None
    kind = node_type(tree)
    if kind != treespec.type:
        return None
    items, context = SUPPORTED_NODES[kind].flatten_fn(tree)
    items = list(items)
    if len(items) != treespec.num_children or context != treespec.context:
        return None
    spread: list[Any] = []
    for item, child in zip(items, treespec.children_specs):
        part = broadcast_to_and_flatten(item, child, is_leaf)
        if part is None:
            return None
        spread.extend(part)
    return spread


def is_constant_holder(spec: TreeSpec) -> bool:
    """Return whether a TreeSpec is that of a value registered with ``register_constant``."""
    return spec.type in CONSTANT_NODES
