"""The check of a call's arguments against torch's signatures, before the function is called.

torch's compiled functions parse all arguments first: ``x.sum(0, keepdim=1)`` is refused, although a number would do. The types of a call
that was parsed are noted, so that each further call of the same types costs one look-up.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .call_forms import SOME_TENSOR, of_no_tensor, refusal_at_once
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
        kinds = tuple(map(type, args))
        last_kinds = tuple(map(type, named.values()))
        if not (LISTS.isdisjoint(kinds) and LISTS.isdisjoint(last_kinds)):
            self._check(args, named)
            if len(args) < 3 and not named:
                self._note_items(args, kinds)
            else:
                self._note_lists((*args, *named.values()), (*self._pair(kinds), *kinds[2:], *named, *last_kinds))
            return
        self._check(args, named)
        if any(map(_may_be_a_number, args[1:])) or any(map(_may_be_a_number, named.values())):
            room, last = heard(self.spoken())
            others = tuple(SOME_TENSOR if _may_be_a_number(value) else value for value in args[room == "Tensor" :])
            words = {key: SOME_TENSOR if _may_be_a_number(value) else value for key, value in named.items()}
            if refusal_at_once(room, last, others, words) is not None:
                return  # a tensor of another shape would not be taken for the number
        pair = self._pair(kinds)
        if named or len(args) > 2:
            self.calls.add((*pair, *kinds[2:], *named, *last_kinds))
        else:
            self.pairs.setdefault(pair[0], set()).add(pair[1])

    def _pair(self, kinds: tuple[type, ...]) -> tuple[type, ...]:
        return (*kinds, self._missing, self._missing)[:2]

    def _note_items(self, args: tuple[Any, ...], kinds: tuple[type, ...]) -> None:
        """Note what is in the only list of a call, if all of it is of one type."""
        (items, *others) = (value for value, kind in zip(args, kinds) if kind in LISTS)
        if not others and len(set(map(type, items))) == 1 and not any(map(_may_be_a_number, (*items, *args[1:]))):
            self.lists.setdefault((kinds[0], kinds[1] if len(kinds) == 2 else self._missing), set()).add(type(items[0]))

    def _note_lists(self, values: tuple[Any, ...], row: tuple[Any, ...]) -> None:
        """Note what is in the lists of a call, if it is of one type, as of sizes, or of tensors."""
        items = [item for value in values if type(value) in LISTS for item in value]
        kinds = set(map(type, items))
        if len(kinds) < 2 and not any(map(_may_be_a_number, (*items, *values[1:]))):
            self.listed[row] = self.listed.get(row) or Items(kinds)

    def _check(self, args: tuple[Any, ...], named: dict[str, Any]) -> None:
        room, last = heard(self.spoken())
        if self._is_operator or any(map(is_sparse, (*args, *named.values()))):
            return
        if in_python(room, last):
            told = refusal_by_function_below(room, last, self._function, args, named)
            if told is not None:
                raise TypeError(told)
            return
        told = of_no_tensor(last, args) if room == "Tensor" else None
        told = told or refusal_at_once(room, last, args[room == "Tensor" :], named)
        if told is not None:
            raise TypeError(told)


def _may_be_a_number(value: Any) -> bool:
    return isinstance(value, TensorBase) and not value._ms_shape
