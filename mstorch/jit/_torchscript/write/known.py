"""Names under which a program reaches torch's functions: operators, functions of ``nn.functional``, and numbers of modules."""

from __future__ import annotations

import functools
import math
from typing import Any

from ...._src.aten.overloads import all_overloads
from ...._src.core.above import above
from ..scalars import OF_ALL, PLAIN
from ..types import Type
from .library import FUNCTIONS

LIBRARY = "__torch__.torch.nn.functional"
_PREFIXES = {"linalg": "linalg_", "fft": "fft_", "special": "special_"}
_OF_MATH = {"pow": "pow", "fabs": "fabs", "remainder": "mathremainder"}
_OTHERWISE = {"fractional_max_pool2d", "fractional_max_pool3d"}
"""Functions with other arguments than the operators of their names, which have no text here."""


def has_operator(name: str) -> bool:
    """Return whether ATen has an operator of a name, or TorchScript one of its own."""
    if name in PLAIN or name in OF_ALL:
        return True
    try:
        return bool(all_overloads(name))
    except RuntimeError:
        return False


@functools.cache
def takes_tensors(name: str) -> bool:
    """Return whether an operator takes a list of tensors alone, which Python's function of its name takes one by one."""
    try:
        schemas = all_overloads(name).values()
    except RuntimeError:
        return False
    return any([one.type for one in schema.arguments if not one.kwarg_only] == ["Tensor[]"] for schema, _ in schemas)


@functools.cache
def takes_sizes(name: str, place: int) -> bool:
    """Return whether an operator takes sizes one by one: its last positional parameter is a list of ints of any length, at this place."""
    try:
        schemas = all_overloads(name).values()
    except RuntimeError:
        return False
    for schema, _ in schemas:
        free = [one.type for one in schema.arguments if not one.kwarg_only]
        if len(free) == place + 1 and free[-1] in ("int[]", "SymInt[]"):
            return True
    return False


@functools.cache
def _tables() -> tuple[dict[int, str], list[Any]]:
    torch = above.torch
    table: dict[int, str] = {}
    held = []

    def add(value: Any, text: str) -> None:
        if callable(value) and not isinstance(value, type):
            table.setdefault(id(value), text)
            held.append(value)

    for name in FUNCTIONS:
        add(getattr(torch.nn.functional, name, getattr(torch, name, None)), f"{LIBRARY}.{name}")
    for name in sorted(dir(torch)):
        if has_operator(name):
            add(getattr(torch, name), f"torch.{name}")
    for name in sorted(dir(torch.nn.functional)):
        if not name.startswith("__") and has_operator(name) and name not in _OTHERWISE:
            add(getattr(torch.nn.functional, name), f"torch.{name}")
    for space, prefix in _PREFIXES.items():
        for name in dir(getattr(torch, space)):
            if has_operator(prefix + name):
                add(getattr(getattr(torch, space), name), f"torch.{prefix}{name}")
    for name in dir(math):
        add(getattr(math, name), f"torch.{_OF_MATH.get(name, name)}")
    return table, held


def is_packet(function: Any) -> bool:
    """Return whether a function is an operator of ``torch.ops``, torch's own or a program's."""
    return any(kind.__name__ == "OpOverloadPacket" for kind in type(function).__mro__)


def packet_result(packet: Any) -> Type | None:
    """Return the type of what a program's operator with one overload returns; None if it is unknown."""
    overloads = packet.overloads()
    returns = getattr(packet, overloads[0])._schema.returns if len(overloads) == 1 else ()
    kinds = tuple(Type(str(one.type)) for one in returns if str(one.type) in ("Tensor", "int", "float", "bool"))
    if not kinds or len(kinds) != len(returns):
        return None
    return kinds[0] if len(kinds) == 1 else Type("Tuple", kinds)


def operator_text(function: Any) -> str | None:
    """Return the text by which a program calls a function of torch or of ``math``; None for others."""
    text = _tables()[0].get(id(function))
    if text is None and is_packet(function):
        space, _, name = str(function).rpartition(".")
        space = space.removeprefix("torch.ops.").removeprefix("ops.")
        return f"torch.{name}" if space == "aten" else f"ops.{space}.{name}"
    return text
