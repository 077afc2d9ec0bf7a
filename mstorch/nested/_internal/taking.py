"""Dispatch of public functions called with nested tensors, by what the function does.

Elementwise operations run on the elements of all components at once. Others have a form per layout, in ``FORMS`` of that layout's class;
compositions run as public calls.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ..._src.aten.kinds import CONVERSIONS, is_elementwise
from ..._src.aten.parts import NotInParts, in_parts
from ..._src.core.nested_parts import is_nested
from ..._src.core.overriding import MAPPERS, Property, public_name, spoken
from ..._src.core.second_names import operation_of
from ..._tensor import Tensor
from .base import Nested, Unanswered

Function = Callable[..., Any]
# Operations with an element of the result for each element that torch does not tag as pointwise.
_ALSO_POINTWISE = CONVERSIONS | frozenset("""
    bernoulli dropout alpha_dropout dropout_ empty_like exponential_ fill_ full_like glu_ hardswish_ isclose isreal log_normal_
    logsigmoid normal_ ones_like rand_like randint_like randn_like softsign tanhshrink uniform_ zero_ zeros_like real imag
    resolve_conj resolve_neg ndtr native_dropout fill
""".split())


def is_pointwise(name: str) -> bool:
    """Return whether an operation of that name is elementwise."""
    return name in _ALSO_POINTWISE or is_elementwise(name)


class Forms(dict[str, Function]):
    """The forms of operations for the tensors of a layout, by name."""

    def enter(self, *names: str) -> Callable[[Function], Function]:
        """Register a function as the nested form of operations; it receives the public function that was called, and the arguments."""

        def entered(function: Function) -> Function:
            self.update(dict.fromkeys(names, function))
            return function

        return entered


def nested_among(values: Sequence[Any], depth: int = 0) -> Iterator[Any]:
    """Yield the nested tensors among values, and among the items of lists and tuples."""
    for value in values:
        if is_nested(value):
            yield value
        elif value.__class__ in (list, tuple) and depth < 8:
            yield from nested_among(value, depth + 1)


def operation_name(public: Function) -> str:
    """Return the operation's name for a public function, method or operator."""
    name = public_name(public)
    return operation_of(name)


def take(public: Function, function: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Dispatch a public call; return NotImplemented if none of the operands is a nested tensor."""
    lead = next(nested_among((*args, *kwargs.values())), None)
    if lead is None:
        return NotImplemented
    owner = getattr(public, "__self__", None)
    if isinstance(owner, Property):
        form = lead.FORMS.get(f"{owner.__name__} of a tensor")
        return function(*args, **kwargs) if form is None else form(public, *args, **kwargs)
    name = operation_name(public)
    form = lead.FORMS.get(name)
    if form is not None:
        return form(public, *args, **kwargs)
    own = next((vars(kind)[name] for kind in type(lead).__mro__ if issubclass(kind, Nested) and name in vars(kind)), None)
    if own is not None:
        return _method(own, args, kwargs)
    if is_pointwise(name):
        return lead.pointwise(public, name, args, kwargs)
    if name in _PLAIN:
        return function(*args, **kwargs)
    try:
        return in_parts(function)(*args, **kwargs)
    except (NotInParts, Unanswered):
        raise _absent(public, lead) from None


# Queries of metadata that are the same for a nested tensor as for its values.
_PLAIN = frozenset("""
    is_tensor is_floating_point is_complex is_signed is_conj is_neg is_inference element_size dtype has_names is_distributed is_shared
    _is_view __dir__ __setstate__ typename is_storage __reversed__
""".split())


def _method(own: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor:
    kwargs = {("self" if key == "input" else key): value for key, value in kwargs.items()}
    return own(kwargs.pop("self"), *args, **kwargs) if "self" in kwargs else own(*args, **kwargs)


def _absent(public: Function, lead: Tensor) -> NotImplementedError:
    return NotImplementedError(
        f"Could not run '{spoken(public)}' with a nested tensor of layout {lead.layout!r}: there is no such operation for it, in torch or "
        "here. to_padded_tensor() makes a tensor of one shape of it, unbind() its parts"
    )


MAPPERS.insert(0, take)
