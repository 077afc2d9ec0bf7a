"""Declarations beside an operation's signature: other forms of calls, and what autocast casts."""
from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, overload

from ._autocast import casting
from ._forms import Forms, accepting, with_numpy_names

Function = Callable[..., Any]


@overload
def operation(function: Function, /) -> Function: ...
@overload
def operation(*, forms: Forms | None = None, numpy_names: bool = False) -> Callable[[Function], Function]: ...
def operation(function: Any = None, /, *, forms: Forms | None = None, numpy_names: bool = False) -> Any:
    """Declare an operation: its other forms of calls, and its cast in autocast.

    ``forms``: other ways to write a call of it (second names, orders of older versions). ``numpy_names``: it takes NumPy's keywords, too
    (``axis`` for ``dim``). A ``dtype`` may be one of Python's types. In an autocast region it casts as torch's lists say (``_autocast``).
    """
    if function is None:
        return lambda defined: _declared(defined, forms, numpy_names)
    return _declared(function, None, False)


def _declared(function: Function, forms: Forms | None, numpy_names: bool) -> Function:
    made = with_numpy_names(function) if numpy_names else function
    if forms is not None or "dtype" in inspect.signature(made).parameters:
        made = accepting(made, forms or Forms())
    return casting(made)
