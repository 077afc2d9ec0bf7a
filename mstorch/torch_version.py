"""torch.torch_version: a version string that compares numerically."""
from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from typing import Any

from packaging.version import InvalidVersion, Version

from .version import __version__ as internal_version

__all__ = ["TorchVersion"]


def _as_version(value: Any) -> Version:
    if isinstance(value, Version):
        return value
    if isinstance(value, str):
        return Version(value)
    if isinstance(value, Iterable):
        return Version(".".join(map(str, value)))
    raise InvalidVersion(value)


def _comparison(name: str) -> Callable[[Any, Any], Any]:
    compare, as_text = getattr(operator, name), getattr(str, name)

    def method(self: Any, other: Any) -> Any:
        try:
            return compare(Version(self), _as_version(other))
        except InvalidVersion:
            return as_text(self, other)  # such as "parrot"

    method.__name__ = name
    return method


class TorchVersion(str):
    """Version string that compares numerically with strings, tuples and ``packaging.version.Version``.

    Invalid versions are compared as text; ``!=`` always compares text, as in torch.
    """

    __slots__ = ()
    __hash__ = str.__hash__
    __eq__ = _comparison("__eq__")
    __ge__ = _comparison("__ge__")
    __gt__ = _comparison("__gt__")
    __le__ = _comparison("__le__")
    __lt__ = _comparison("__lt__")


__version__ = TorchVersion(internal_version)
