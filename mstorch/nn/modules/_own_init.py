"""Give an inherited constructor the name of the inheriting class."""
from __future__ import annotations

from types import FunctionType
from typing import TypeVar

_Class = TypeVar("_Class", bound=type)


def own_init(cls: _Class) -> _Class:
    """Set ``__init__`` of the class to a copy of the inherited method that has the class's own name, so that errors show this name."""
    inherited = cls.__init__
    assert isinstance(inherited, FunctionType)
    made = FunctionType(inherited.__code__, inherited.__globals__, "__init__", inherited.__defaults__, inherited.__closure__)
    made.__kwdefaults__, made.__annotations__, made.__doc__ = inherited.__kwdefaults__, inherited.__annotations__, inherited.__doc__
    made.__module__, made.__qualname__ = cls.__module__, f"{cls.__qualname__}.__init__"
    cls.__init__ = made
    return cls
