"""torch.fx._pytree: flattening of nested values by a known TreeSpec, as generated code does with its arguments."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..utils._pytree import TreeSpec, tree_flatten

FlattenFuncSpec = Callable[[Any, TreeSpec], list[Any]]
SUPPORTED_NODES: dict[type, FlattenFuncSpec] = {}


def register_pytree_flatten_spec(cls: type, flatten_fn_spec: FlattenFuncSpec, flatten_fn_exact_match_spec: Any = None) -> None:
    """Register a function that flattens instances of a class: it takes a value and its TreeSpec and returns the list of children.
    ``flatten_fn_exact_match_spec`` is ignored.
    """
    SUPPORTED_NODES[cls] = flatten_fn_spec


def tree_flatten_spec(pytree: Any, spec: TreeSpec) -> list[Any]:
    """Return the leaves of a nested value with a known TreeSpec. Raise ValueError if its structure differs."""
    own = SUPPORTED_NODES.get(type(pytree))
    if own is not None and not spec.is_leaf():
        return [leaf for child, form in zip(own(pytree, spec), spec.children()) for leaf in tree_flatten_spec(child, form)]
    leaves, form = tree_flatten(pytree)
    if form != spec:
        raise ValueError(f"the value is nested as {form}, where {spec} is expected")
    return leaves


__all__ = ["register_pytree_flatten_spec", "tree_flatten_spec"]
