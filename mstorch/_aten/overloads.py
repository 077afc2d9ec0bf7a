"""The overloads of torch's operators: their parameters and tags, as text files list them, which tools/aten_overloads.py writes."""
from __future__ import annotations

import functools
import pathlib

from .._library.schema import Schema, parse

_EVERY = pathlib.Path(__file__).parent.parent / "_library" / "schemas.txt"
_PAGE = pathlib.Path(__file__).with_name("overloads.txt")


@functools.cache
def _lines(page: pathlib.Path = _PAGE) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for line in page.read_text().splitlines():
        found.setdefault(line.partition("(")[0].partition(".")[0], []).append(line)
    return found


@functools.cache
def overloads(name: str) -> tuple[Schema, ...]:
    """Return the overloads of an operator, in torch's order; none for a name that is no operator, or made of others."""
    return tuple(parse("aten", line) for line in _lines().get(name, ()))


def overload(name: str, which: str) -> Schema | None:
    """Return one overload; ``default`` is the nameless one."""
    wanted = "" if which == "default" else which
    return next((schema for schema in overloads(name) if schema.overload == wanted), None)


@functools.cache
def all_overloads(name: str) -> dict[str, tuple[Schema, tuple[int, ...]]]:
    """Return every overload that torch has of an operator, compositions and forms with ``out`` too, with the numbers of its tags."""
    found = {}
    for line in _lines(_EVERY).get(name, ()):
        text, _, tags = line.rpartition("|")
        schema = parse("aten", text)
        found[schema.overload or "default"] = schema, tuple(map(int, filter(None, tags.split(","))))
    return found
