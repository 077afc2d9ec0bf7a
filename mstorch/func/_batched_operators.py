"""Operators of torch.library under vmap: by the rule that the user registered, or slice by slice."""
from __future__ import annotations

from typing import Any

from .._library import registry
from .._src.core.overriding import state
from .._src.core.tensor_base import TensorBase
from .._src.core.warned import warn
from ._batched import Map, Op, innermost, outside
from ._batched_alike import are_alike
from ._batched_function import by_rule
from ._batched_loop import fallback, looped


def call_in_vmap(operator: registry.Operator, positional: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """Call an operator with batched arguments; return NotImplemented if there are none."""
    map = innermost((*positional, *named.values())) if state.maps else None
    if map is None:
        return NotImplemented
    with outside(map.depth):
        if are_alike(map, (*positional, *named.values())) and not any(argument.is_write for argument in operator.schema.arguments):
            return looped(Op(operator, map, operator.title), positional, named)
        if operator.vmap is not None:
            return by_rule(operator.vmap, "the vmap function", map, _without_defaults(operator, positional), named)
        _refuse(operator, map, (*positional, *named.values()))
        if fallback["warned"]:
            warn(
                f"There is a performance drop because we have not yet implemented the batching rule for {operator.title}. Please file "
                "us an issue on GitHub so that we can prioritize its implementation."
            )
        return looped(Op(operator, map, operator.title), positional, named)


def _without_defaults(operator: registry.Operator, positional: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the arguments without those at the end that have their default, which the rule's own signature has too."""
    count = len(positional)
    for argument, value in reversed(list(zip(operator.schema.arguments, positional))):
        if not argument.has_default or isinstance(value, TensorBase) or value != argument.default:
            break
        count -= 1
    return positional[:count]


def _refuse(operator: registry.Operator, map: Map, values: tuple[Any, ...]) -> None:
    """Raise torch's error for a call that cannot be computed slice by slice."""
    words = f"Batching rule not implemented for {operator.title}"
    if any(argument.is_write for argument in operator.schema.arguments):
        raise RuntimeError(f"{words}; the fallback path doesn't work on out= or view ops.")
    if any(isinstance(value, (list, tuple)) and innermost(value) is not None for value in values):
        raise RuntimeError(f"{words}. We could not generate a fallback.")
    if not map.size:
        raise RuntimeError(f"{words}. The fallback path does not support vmap over dims of size 0.")


registry.TRANSFORMS.append(call_in_vmap)
