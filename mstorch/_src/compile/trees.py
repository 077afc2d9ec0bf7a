"""Split the arguments and results of a function into tensors and a hashable form, and reassemble them."""
from __future__ import annotations

import dataclasses
from collections import OrderedDict
from collections.abc import Iterator
from typing import Any

from ..backend.trace import GraphBreak
from ..core.mirrors import TENSORS
from ..core.tensor_base import TensorBase
from .kinds import is_plain, picture

_TENSOR = "tensor"


class Leaf:
    """A leaf of a tree that is not a tensor: plain values compare by type and value, others by identity."""

    __slots__ = ("key", "plain", "value")

    def __init__(self, value: Any) -> None:
        self.value = value
        self.plain = is_plain(value)
        self.key = picture(value)

    def __hash__(self) -> int:
        return hash(self.key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Leaf) and other.key == self.key


def flatten(value: Any, tensors: list[Any]) -> Any:
    """Return the hashable form of a tree, and append its tensors to the list."""
    if isinstance(value, TensorBase):
        tensors.append(value)
        return _TENSOR
    kind = type(value)
    if kind is tuple or kind is list or (
        isinstance(value, tuple) and (hasattr(value, "_fields") or hasattr(value, "n_fields")) and not getattr(value, "__dict__", None)
    ):
        return (kind, tuple([flatten(item, tensors) for item in value]))
    if kind is dict or (kind is OrderedDict and not vars(value)):
        return (kind, tuple(map(Leaf, value)), tuple([flatten(item, tensors) for item in value.values()]))
    if kind is slice:
        return (kind, tuple([flatten(item, tensors) for item in (value.start, value.stop, value.step)]))
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = tuple(field.name for field in dataclasses.fields(value))
        if getattr(value, "__dict__", {}).keys() - set(names) or not all(hasattr(value, name) for name in names):
            return Leaf(value)
        return (kind, names, tuple([flatten(getattr(value, name), tensors) for name in names]))
    return Leaf(value)


def flatten_call(args: tuple[Any, ...], kwargs: dict[str, Any], tensors: list[Any]) -> Any:
    """Return the form of ``(args, kwargs)`` as ``flatten`` does, without a call for each argument if all are tensors, as in most calls."""
    if kwargs or not TENSORS.issuperset(map(type, args)):
        return flatten((args, kwargs), tensors)
    tensors += args
    return tuple, ((tuple, (_TENSOR,) * len(args)), (dict, (), ()))


def leaves(form: Any) -> Iterator[Any]:
    """Yield the values in a form (as ``flatten`` makes it) that are neither tensors nor plain, and the classes of the form's containers."""
    if isinstance(form, Leaf):
        if not form.plain:
            yield form.value
    elif isinstance(form, type):
        yield form
    elif isinstance(form, tuple):
        for item in form:
            yield from leaves(item)


def unflatten(form: Any, tensors: Iterator[Any]) -> Any:
    """Rebuild the tree of a form with the given tensors."""
    if isinstance(form, Leaf):
        return form.value
    if form == _TENSOR:
        return next(tensors)
    kind = form[0]
    if dataclasses.is_dataclass(kind):
        made: Any = object.__new__(kind)  # type: ignore[arg-type]
        for name, item in zip(form[1], form[2]):
            object.__setattr__(made, name, unflatten(item, tensors))
        return made
    if kind is dict or kind is OrderedDict:
        return kind(zip([leaf.value for leaf in form[1]], [unflatten(item, tensors) for item in form[2]]))
    items = [unflatten(item, tensors) for item in form[1]]
    return kind(*items) if kind is slice or hasattr(kind, "_fields") else kind(items)


def check_result(form: Any) -> None:
    """Raise GraphBreak for a result that may hold tensors which ``flatten`` does not find."""
    if isinstance(form, Leaf):
        if not form.plain and not isinstance(form.value, (type, set, frozenset)) and not callable(form.value):
            raise GraphBreak(f"the function returns a {type(form.value).__name__}")
    elif isinstance(form, tuple):
        for item in form:
            if isinstance(item, (Leaf, tuple)):
                check_result(item)
