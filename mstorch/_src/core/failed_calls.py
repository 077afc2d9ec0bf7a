"""A public call that failed is made again with other arguments, or raises torch's error."""
from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from .no_memory import limit_reached, of_endless_list
from .other_words import in_own_words
from .refusals import explained, from_below, in_numbers, of_eight_bits, of_mindspore, with_dtypes


def other_arguments(
    spoken: Callable[[], str], function: Callable[..., Any], args: tuple[Any, ...], named: dict[str, Any], error: Exception, data: bool
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the arguments with which a call that ended in ``error`` is made again: under the function's own names, with dtypes for
    Python's types, with numbers for tensors. Raise torch's error if there are none. ``data``: the arguments are data, not operands."""
    told = limit_reached(error, *args, *named.values())
    if told is not None:
        raise told from None
    if isinstance(error, RecursionError):
        if data:  # nested lists that contain themselves
            raise of_endless_list(args[0]) from None
        raise
    if _among_nested((*args, *named.values())):
        raise  # nested tensors raise their own errors, and have no shape to explain
    known_as = spoken()
    other = of_eight_bits(known_as, error)
    if other is not None:
        raise other from None
    words = in_own_words(known_as, function, args, named, error)
    if words is not None:
        return args, words
    numbers = with_dtypes(args, named, error)
    if numbers is None:
        numbers = in_numbers(known_as, args, named, isinstance(error, (RuntimeError, IndexError)))
    if numbers is not None:
        return numbers
    refused = explained(known_as, function, args, named, error)
    foreign = of_mindspore(args, named, refused or error) or (None if refused else from_below(known_as, args, named, error))
    if refused is None and foreign is None:
        raise
    raise foreign or refused from (error if refused is None else None)  # one of the two is not None


def _among_nested(values: Iterable[Any], depth: int = 0) -> bool:
    return any(
        depth < 4 and _among_nested(item, depth + 1) if item.__class__ in (list, tuple) else getattr(type(item), "_ms_nested", False)
        for item in values
    )  # fmt: skip
