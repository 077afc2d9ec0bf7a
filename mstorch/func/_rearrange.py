"""rearrange: named dimensions are reordered, split and merged by a pattern (https://einops.rocks/api/rearrange)."""
from __future__ import annotations

import functools
import keyword
import math
from collections.abc import Mapping

from .._src.core.tensor_base import TensorBase
from .._src.core.warned import warn
from .._tensor import Tensor
from ._batched import public

_DOTS = "…"
Group = tuple[str, ...]


class DimensionBindError(Exception):
    """Raised when sizes do not fit a pattern."""


class _Side:
    """One side of a pattern: a group of names for each dimension; 1 is an empty group."""

    def __init__(self, text: str) -> None:
        self.groups: list[Group] = []
        self.names: list[str] = []
        self.dots_in_group = False
        if "." in text:
            if "..." not in text:
                raise ValueError("Expression may contain dots only inside ellipsis (...)")
            if text.count("...") != 1 or text.count(".") != 3:
                raise ValueError(
                    "Expression may contain dots only inside ellipsis (...); only one ellipsis for tensor "
                )
        group: list[str] | None = None
        for word in _words(text.replace("...", _DOTS)):
            if word == "(":
                if group is not None:
                    raise ValueError("Axis composition is one-level (brackets inside brackets not allowed)")
                group = []
            elif word == ")":
                if group is None:
                    raise ValueError("Brackets are not balanced")
                self.groups.append(tuple(group))
                group = None
            else:
                self._add(word, group)
        if group is not None:
            raise ValueError(f"Imbalanced parentheses in expression: '{text}'")

    def _add(self, word: str, group: list[str] | None) -> None:
        if word in self.names:
            raise ValueError(f"Indexing expression contains duplicate dimension '{word}'")
        if word == _DOTS:
            self.dots_in_group = group is not None
        elif word.isdecimal():
            if int(word) != 1:
                if int(word) < 1:
                    raise ValueError(f"Anonymous axis should have positive length, not {int(word)}")
                raise ValueError("rearrange only supports unnamed axes of size 1")
            if group is None:
                self.groups.append(())
            return
        else:
            _check_name(word)
        self.names.append(word)
        if group is None:
            self.groups.append((word,))
        else:
            group.append(word)


def _words(text: str) -> list[str]:
    words = []
    current = ""
    for letter in text + " ":
        if letter in "() ":
            if current:
                words.append(current)
                current = ""
            if letter != " ":
                words.append(letter)
        elif letter.isalnum() or letter in ("_", _DOTS):
            current += letter
        else:
            raise ValueError(f"Unknown character '{letter}'")
    return words


def _check_name(name: str) -> None:
    reason = ""
    if not name.isidentifier():
        reason = "not a valid python identifier"
    elif name[0] == "_" or name[-1] == "_":
        reason = "axis name should should not start or end with underscore"
    if reason:
        raise ValueError(f"Invalid axis identifier: {name}\n{reason}")
    if keyword.iskeyword(name):
        warn(f"It is discouraged to use axes names that are keywords: {name}", RuntimeWarning)
    if name == "axis":
        warn(
            "It is discouraged to use 'axis' as an axis name and will raise an error in future", FutureWarning
        )


@functools.lru_cache(256)
def _parsed(pattern: str) -> tuple[_Side, _Side]:
    parts = pattern.split("->")
    if len(parts) != 2:
        raise ValueError("Pattern must contain a single '->' separator")
    left, right = map(_Side, parts)
    if _DOTS in right.names and _DOTS not in left.names:
        raise ValueError(f"Ellipsis found in right side, but not left side of a pattern {pattern}")
    if left.dots_in_group:
        raise ValueError(f"Ellipsis is parenthesis in the left side is not allowed: {pattern}")
    difference = set(left.names) ^ set(right.names)
    if difference:
        raise ValueError(f"Identifiers only on one side of rearrange expression (should be on both): {difference}")
    return left, right


def _group_lengths(group: Group, size: int, lengths: Mapping[str, int], numbers: Mapping[str, int]) -> dict[str, int]:
    """Return the lengths of a group's names. Their product is ``size``, from which one unknown length is inferred."""
    open_names = [name for name in group if name not in lengths]
    known = math.prod(lengths[name] for name in group if name in lengths)
    if len(open_names) > 1:
        first, second = (f"d{numbers[name]}" for name in open_names[:2])
        raise DimensionBindError(f"cannot infer the sizes of two dimensions at once {first} and {second}")
    found = {name: lengths[name] for name in group if name in lengths}
    if open_names:
        if size % known:
            shown = tuple(lengths.get(name, "?") for name in group)
            raise DimensionBindError(f"inferred dimension does not evenly fit into larger dimension: {size} vs {shown}")
        found[open_names[0]] = size // known
    elif known != size:
        names = ", ".join(f"d{numbers[name]}" for name in group) + ("," if len(group) == 1 else "")
        raise DimensionBindError(f"Dimension sizes to do not match ({size} != {known}) when matching dimension pack ({names})")
    return found


def rearrange(tensor: Tensor, pattern: str, **axes_lengths: int) -> Tensor:
    """Return the tensor (or the stack of several) with its dimensions reordered, split and merged by a pattern.

    ``"b h w c -> b c h w"`` reorders, ``"b (h h2) c -> (b h2) h c"`` with ``h2=2`` splits and merges; ``...`` stands for any dimensions and
    1 for one of length 1. The result is a view where ``reshape`` would return one. Raise ValueError for an invalid pattern.
    """
    if not isinstance(tensor, TensorBase):
        tensor = public("stack")(tensor)
    left, right = _parsed(pattern)
    _check_lengths(left, axes_lengths)
    shape = tuple(tensor.shape)
    extra = [f"{_DOTS}{i}" for i in range(len(shape) - _named_dims(left, len(shape)))]
    groups: list[Group] = []
    for group in left.groups:
        groups.extend([(name,) for name in extra] if group == (_DOTS,) else [group])
    numbers = {name: i for i, name in enumerate(name for group in groups for name in group)}
    sizes: dict[str, int] = {}
    for group, size in zip(groups, shape):
        sizes.update(_group_lengths(group, size, axes_lengths, numbers) if group else {})
    unnamed = [position for position, group in enumerate(groups) if not group]
    if unnamed:
        tensor = tensor.sum(unnamed)
    wanted = _wanted(right, extra)
    order = [numbers[name] for group in wanted for name in group]
    split = tensor.reshape([sizes[name] for name in numbers]).permute(order)
    return split.reshape([math.prod(sizes[name] for name in group) for group in wanted])


def _wanted(right: _Side, extra: list[str]) -> list[list[str]]:
    """Return the names in each dimension of the result; ``extra`` are those of the dimensions for which ``...`` stands."""
    wanted: list[list[str]] = []
    for group in right.groups:
        if group == (_DOTS,) and not right.dots_in_group:
            wanted.extend([name] for name in extra)
        else:
            wanted.append([part for name in group for part in (extra if name == _DOTS else [name])])
    return wanted


def _check_lengths(left: _Side, lengths: Mapping[str, int]) -> None:
    for length in lengths.values():
        if type(length) is not int:
            raise TypeError(f"rearrange axis lengths must be integers, got: {type(length)}")
    unknown = lengths.keys() - set(left.names)
    if unknown:
        raise ValueError(f"Identifiers not found in rearrange expression: {unknown}")


def _named_dims(left: _Side, rank: int) -> int:
    """Return how many dimensions of the tensor a pattern names, without those for which ``...`` stands. Raise ValueError unless it fits."""
    has_dots = _DOTS in left.names
    named = len(left.groups) - has_dots
    if has_dots and named > rank:
        raise ValueError(
            f"Number of dimensions in pattern ({named}) must be less than or equal to the number of dimensions in the tensor ({rank})"
        )
    if not has_dots and named != rank:
        raise ValueError(f"Number of dimensions in pattern ({named}) must be equal to the number of dimensions in the tensor ({rank})")
    return named
