"""The check of a call's arguments against torch's signatures, before the function is called.

torch's compiled functions parse all arguments first: ``x.sum(0, keepdim=1)`` is refused, although a number would do. The types of a call
that was parsed are noted, so that each further call of the same types costs one look-up.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .call_forms import SOME_ARRAY, SOME_TENSOR, of_no_tensor, refusal_at_once
from .python_forms import refusal_below_python
from .refusals import heard, in_python, refusal_by_function_below
from .sparse_parts import is_sparse
from .tensor_base import TensorBase

LISTS = frozenset((tuple, list))


class Items(set[type]):
    """The types of the items of lists that a function takes."""

    __slots__ = ()

    def hold(self, values: tuple[Any, ...]) -> bool:
        """Return whether all items of the lists among the values are of these types."""
        for value in values:
            if type(value) in LISTS and not self.issuperset(map(type, value)):
                return False
        return True


class Parser:
    """The signatures of one public function, and the types of the calls that they take.

    ``pairs``: of calls by position with at most two arguments, by the type of the first the types of the second, or ``missing``; ``calls``:
    the types and keywords of all others, in a row. Lists are in neither, as what is in them counts too: ``lists`` has, by the types of a
    pair of which one is a list, the types of its items. ``listed``: of all other calls with lists, by rows as in ``calls``, the types of
    the lists' items.
    """

    __slots__ = ("_function", "_is_operator", "_missing", "calls", "listed", "lists", "pairs", "spoken")

    def __init__(self, function: Callable[..., Any], name: str, spoken: Callable[[], str], missing: type) -> None:
        self._function, self.spoken, self._missing = function, spoken, missing
        # An operator returns NotImplemented for what it does not take: ``__imul__`` too, although it is known as ``mul_``.
        self._is_operator = name.rpartition(".")[2].startswith("__")
        self.pairs: dict[type, set[type]] = {}
        self.calls: set[tuple[Any, ...]] = set()
        self.lists: dict[tuple[type, type], set[type]] = {}
        self.listed: dict[tuple[Any, ...], Items] = {}

    def parse(self, args: tuple[Any, ...], named: dict[str, Any]) -> None:
        """Raise torch's TypeError for arguments that no signature takes; note the types of others."""
        self.check(args, named)
        others = (*args[:1], *map(_of_the_same_types, args[1:])) if self._is_method() else tuple(map(_of_the_same_types, args))
        words = {key: _of_the_same_types(value) for key, value in named.items()}
        if any(new is not old for new, old in zip((*others, *words.values()), (*args, *named.values()))):
            if self._refusal(others, words) is not None:
                return  # a tensor of another shape, or another array, would not be taken for the number
        kinds, last_kinds = tuple(map(type, args)), tuple(map(type, named.values()))
        pair = self._pair(kinds)
        if not (LISTS.isdisjoint(kinds) and LISTS.isdisjoint(last_kinds)):
            if len(args) < 3 and not named:
                self._note_items(args, pair)
            else:
                self._note_lists((*args, *named.values()), (*pair, *kinds[2:], *named, *last_kinds))
        elif named or len(args) > 2:
            self.calls.add((*pair, *kinds[2:], *named, *last_kinds))
        else:
            self.pairs.setdefault(pair[0], set()).add(pair[1])

    def check(self, args: tuple[Any, ...], named: dict[str, Any]) -> None:
        """Raise torch's TypeError for arguments that no signature takes."""
        told = self._refusal(args, named)
        if told is not None:
            raise TypeError(told)

    def _pair(self, kinds: tuple[type, ...]) -> tuple[type, ...]:
        return (*kinds, self._missing, self._missing)[:2]

    def _note_items(self, args: tuple[Any, ...], pair: tuple[type, ...]) -> None:
        """Note what is in the only list of a call, if all of it is of one type."""
        (items, *others) = (value for value in args if type(value) in LISTS)
        if not others and len(set(map(type, items))) == 1:
            self.lists.setdefault(pair, set()).add(type(items[0]))  # type: ignore[arg-type]

    def _note_lists(self, values: tuple[Any, ...], row: tuple[Any, ...]) -> None:
        """Note what is in the lists of a call, if it is of one type, as of sizes, or of tensors."""
        kinds = {type(item) for value in values if type(value) in LISTS for item in value}
        if len(kinds) < 2:
            self.listed[row] = self.listed.get(row) or Items(kinds)

    def _is_method(self) -> bool:
        return heard(self.spoken())[0] == "Tensor"

    def _refusal(self, args: tuple[Any, ...], named: dict[str, Any]) -> str | None:
        """Return torch's message for arguments that no signature takes; None for others."""
        room, last = heard(self.spoken())
        if self._is_operator or any(map(is_sparse, (*args, *named.values()))):
            return None
        if in_python(room, last):
            below = refusal_below_python(room, last, self._function, args, named)
            return below or refusal_by_function_below(room, last, self._function, args, named)
        told = of_no_tensor(last, args) if room == "Tensor" else None
        return told or refusal_at_once(room, last, args[room == "Tensor" :], named)


def _of_the_same_types(value: Any) -> Any:
    """Return an object that stands for all of a value's types, if the value itself may be a number among them; else the value."""
    if type(value) in LISTS:
        items = [_of_the_same_types(item) for item in value]
        return value if all(new is old for new, old in zip(items, value)) else items
    if isinstance(value, TensorBase):
        return SOME_TENSOR if set(value._ms_shape) <= {1} else value
    return SOME_ARRAY if isinstance(value, np.ndarray) else value
