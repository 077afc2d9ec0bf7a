"""Gradients computed by an ATen operator (``gelu_backward`` for ``gelu``), derived from the schemas of the two operators.

A parameter of the backward operator is matched by its name: to the forward's parameter of the same name, or to a saved result."""
from __future__ import annotations

import functools
from typing import Any

from ..._tensor import Tensor
from ..core.schemas import Schema
from .binding import trimmed, value_for
from .calling import Call, Derived, NotInTerms, fallbacks, label_of
from .composites import operator
from .overloads import RESULTS, schemas_of
from .reads import Reads

_UNDEFINED = object()  # stands for an optional tensor that is None: torch passes it to handlers even if None is the default


def _default(forward: Schema, place: int) -> Any:
    argument = forward.arguments[place]
    return value_for(argument, argument.default, False)


def _defined(value: Any) -> Any:
    return None if value is _UNDEFINED else value


def _gradients(forward: Schema, backward: Schema, node: Derived, grad: Tensor, *_: Any) -> tuple[Any, ...]:
    """Return the gradients of an operator's tensor arguments, computed by one call of its backward operator; None for the last arguments if
    it returns fewer gradients. Raise NotInTerms if one of these last arguments needs a gradient."""
    places = {argument.name: place for place, argument in enumerate(forward.arguments)}

    def value(name: str) -> Any:
        """Return the value of a parameter of the backward operator: an argument or a result of the forward one, or False for a flag."""
        if name in places:
            return node.named(name) if name in node.options or places[name] < len(node.plan) else _default(forward, places[name])
        if name in RESULTS:
            return node.result(RESULTS[name])
        return node.arg(0) if name == "self_or_result" else list(node.shapes[0]) if name == "input_size" else False

    first, *others = backward.arguments
    given = {argument.name: value(argument.name) for argument in others}
    given.update({argument.name: _UNDEFINED for argument in others if argument.type == "Tensor?" and given[argument.name] is None})
    call = trimmed(backward, backward.name, {first.name: grad, **given})
    args, kwargs = [_defined(item) for item in call.args], {name: _defined(item) for name, item in call.kwargs.items()}
    found = operator(f"{backward.name}.{backward.overload}")(*args, **kwargs)
    found = found if isinstance(found, tuple) else (found,)
    if any(map(node.needs, range(len(found), len(node.shapes)))):
        raise NotInTerms(f"mstorch: {backward.name} computes no gradient of some argument")
    return *found, *[None] * (len(node.shapes) - len(found))


def _by_backward_operator(overload: str) -> tuple[str, Call] | None:
    name, _, which = overload.partition(".")
    forward, backward = schemas_of(f"{name.removesuffix('_forward')}_backward", which)
    if forward is None or backward is None or forward.name != name:
        return None
    formula = functools.partial(_gradients, forward, backward)
    names = {argument.name for argument in backward.arguments[1:]}
    own = {argument.name for argument in forward.arguments if argument.type.startswith("Tensor")}
    # Tensors for which the backward operator has no gradient make the operator be run again.
    again = len(own) > backward.returns.count("Tensor")
    formula.reads = Reads(  # type: ignore[attr-defined]
        again or "self_or_result" in names or not names.isdisjoint(own), again or not (names - own).isdisjoint(RESULTS)
    )
    return label_of(name), formula


fallbacks.append(_by_backward_operator)
