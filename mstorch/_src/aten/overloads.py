"""Overloads of ATen operators with parameters and tags, read from text files that tools/aten_overloads.py generates."""
from __future__ import annotations

import functools
import pathlib

from ..core.schemas import Schema, lines, parse

_PAGE = pathlib.Path(__file__).with_name("overloads.txt")


@functools.cache
def overloads(name: str) -> tuple[Schema, ...]:
    """Return the overloads of an operator in torch's order; empty for unknown names and composite operators."""
    return tuple(parse("aten", line) for line in lines(_PAGE).get(name, ()))


def overload(name: str, which: str) -> Schema | None:
    """Return one overload; ``default`` is the unnamed one."""
    wanted = "" if which == "default" else which
    return next((schema for schema in overloads(name) if schema.overload == wanted), None)


@functools.cache
def all_overloads(name: str) -> dict[str, tuple[Schema, tuple[int, ...]]]:
    """Return a dict from an operator's overload names to (schema, tag numbers), including composite and ``out`` overloads."""
    found = {}
    for line in lines().get(name, ()):
        text, _, tags = line.rpartition("|")
        schema = parse("aten", text)
        found[schema.overload or "default"] = schema, tuple(map(int, filter(None, tags.split(","))))
    return found


# Parameters of backward operators that receive a result of forward (with its number), and parameters that receive other values.
RESULTS = {"output": 0, "out": 0, "neg_log_likelihood": 0, "indices": 1, "total_weight": 1, "is_target": 1, "buffer": 1, "log_alpha": 1,
           "logsumexp": 1}  # fmt: skip
_OTHERS = ("self_is_result", "is_result", "self_or_result", "input_size")


@functools.cache
def schemas_of(name: str, which: str = "default") -> tuple[Schema | None, Schema | None]:
    """Return the schemas of an operator and of its backward operator, given the name of the backward operator (``gelu_backward``). Return
    None for both if ``name`` is not one, or if the source of one of its arguments is unknown."""
    base = name.removesuffix("_backward")
    if base == name:
        return None, None
    forward, backward = _schema(f"{base}_forward", which) or _schema(base, which), _schema(name, which)
    if forward is None or backward is None:
        return None, None
    known = {*(argument.name for argument in forward.arguments), *RESULTS, *_OTHERS}
    return (forward, backward) if all(argument.name in known for argument in backward.arguments[1:]) else (None, None)


def _schema(name: str, which: str) -> Schema | None:
    return all_overloads(name).get(which, (None,))[0]
