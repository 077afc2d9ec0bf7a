"""Sparse forms of public functions and methods by name. Each is declared at its function, and stands under torch's aliases too."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from ..core.declared import declared
from ..core.second_names import aliases_of

_Form = TypeVar("_Form", bound=Callable[..., Any])
Forms = dict[str, Callable[..., Any]]

FORMS: Forms = {}
"""The forms of functions, and of methods of the same name."""
FUNCTION_FORMS: Forms = {}
"""The forms of functions that are not methods, and of methods that are not functions."""
METHOD_FORMS: Forms = {}
"""The forms of methods that write to the tensor."""
COMMON: Forms = {}
"""Methods that strided tensors have too; they raise torch's errors for them."""


def form(name: str, forms: Forms = FORMS) -> Callable[[_Form], _Form]:
    """Return a decorator that declares a function as the sparse form of the function or method ``name``."""
    return declared(forms, name, *aliases_of(name))
