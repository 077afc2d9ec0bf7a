"""The tensors that a method's text names as ``CONSTANTS.c0``."""
from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

_NAMED = re.compile(r"\bCONSTANTS\.c(\d+)")


class ConstMap:
    """Constants by name, also as attributes."""

    def __init__(self, const_mapping: Mapping[str, Any]) -> None:
        self.const_mapping = const_mapping

    def __getattr__(self, attr: str) -> Any:
        if attr == "const_mapping":  # copies and pickles ask before it is set
            raise AttributeError(attr)
        return self.const_mapping[attr]


def constants_in(code: str, constant: Callable[[int], Any]) -> ConstMap:
    """Return the constants that a text names, each by its number in the archive."""
    return ConstMap({f"c{number}": constant(int(number)) for number in dict.fromkeys(_NAMED.findall(code))})
