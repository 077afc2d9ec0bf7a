"""Declarations at an operation's definition: alternative call forms, and casts under autocast."""
from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple, overload

from ..core.one_device import OneDevice
from ._autocast import Casts, casting
from ._forms import Forms, accepting, with_numpy_names

Function = Callable[..., Any]

BY_SIZE, BY_TENSOR, BY_VALUES, IN_PLACE = "size", "tensor", "values", "in place"


class Record(NamedTuple):
    """Facts about an operation, given where the operation is declared."""

    autocast: Casts = Casts()
    """The dtypes to which autocast casts the arguments."""
    draws: str = ""
    """If the operation draws random numbers, what determines their shape: BY_SIZE, BY_TENSOR, BY_VALUES (the parameters) or IN_PLACE."""
    keeps_zero: bool = False
    """True if the operation is elementwise and maps 0 to 0, so that the result for a sparse tensor has the same indices."""
    reads_while_it_writes: bool = False
    """True if the in-place form raises if the tensor is also an operand."""
    arguments_first: bool = False
    """True if the in-place form checks the arguments before it checks whether the tensor overlaps itself."""
    writes_some: bool = False
    """True if the in-place form writes some elements and leaves the others as they are."""
    written: str = ""
    """torch's name for the node that the in-place form makes, if it differs from the function's. If the name has no digit at its end, 0 is
    appended for a number as the second operand, and 1 for a tensor."""
    one_device: OneDevice | None = None
    """Rule by which the operation refuses tensors on different devices; None if its kernel checks that."""


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
