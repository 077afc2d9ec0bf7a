"""The overloads of torch's operators: their parameters, as a text file lists them, which tools/aten_overloads.py writes."""
from __future__ import annotations

import functools
import pathlib

from .._library.schema import Schema, parse

_PAGE = pathlib.Path(__file__).with_name("overloads.txt")


@functools.cache
def _lines() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for line in _PAGE.read_text().splitlines():
        found.setdefault(line.partition("(")[0].partition(".")[0], []).append(line)
    return found


@functools.cache
def overloads(name: str) -> tuple[Schema, ...]:
    """The overloads of an operator, in torch's order; none for a name that is no operator, or made of others."""
    return tuple(parse("aten", line) for line in _lines().get(name, ()))


def overload(name: str, which: str) -> Schema | None:
    """One overload; ``default`` is the nameless one."""
    wanted = "" if which == "default" else which
    return next((schema for schema in overloads(name) if schema.overload == wanted), None)
