"""Declarations at an operation's definition: alternative call forms, and casts under autocast."""
from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple, overload

from .._core.one_device import OneDevice
from ._autocast import Casts, casting
from ._forms import Forms, accepting, with_numpy_names

Function = Callable[..., Any]

BY_SIZE, BY_TENSOR, BY_VALUES, IN_PLACE = "size", "tensor", "values", "in place"


class Record(NamedTuple):
    """Facts about an operation, given where the operation is declared."""

    autocast: Casts = Casts()
    """Casts of its arguments in an autocast region."""
    draws: str = ""
    """Source of the shape of its random numbers: a size, a tensor of the result's shape, parameters; or that it fills its operand."""
    keeps_zero: bool = False
    """It makes zero of zero, element by element, so that a sparse tensor keeps its places."""
    reads_while_it_writes: bool = False
    """Its in-place form refuses the tensor itself as an operand."""
    arguments_first: bool = False
    """Its in-place form checks the arguments before the memory that is written."""
    one_device: OneDevice | None = None
    """Rule by which it refuses tensors on different devices, if its kernel does not."""


def record_of(function: Function) -> Record:
    """Return the Record of an operation's function, also for a form derived from it; an empty one by default."""
    return getattr(function, "record", Record())


@overload
def operation(function: Function, /) -> Function: ...
@overload
def operation(*, forms: Forms | None = None, numpy_names: bool = False, **facts: Any) -> Callable[[Function], Function]: ...
def operation(
    function: Callable[..., Any] | None = None, /, *, forms: Forms | None = None, numpy_names: bool = False, **facts: Any
) -> Callable[..., Any]:
    """Declare an operation.

    ``forms`` are alternative call forms (aliases, argument orders of older versions). With ``numpy_names`` it accepts NumPy's keywords
    (``axis`` for ``dim``). ``facts`` are the fields of its ``Record``. A ``dtype`` may be given as a Python type.
    """
    record = Record(**facts)
    if function is None:
        return lambda defined: _declared(defined, forms, numpy_names, record)
    return _declared(function, None, False, record)


def _declared(function: Function, forms: Forms | None, numpy_names: bool, record: Record) -> Function:
    function.record = record  # type: ignore[attr-defined]
    made = with_numpy_names(function) if numpy_names else function
    if forms is not None or "dtype" in inspect.signature(made).parameters:
        made = accepting(made, forms or Forms())
    return casting(made, record.autocast)
