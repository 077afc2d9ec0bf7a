"""The Cell and Parameter of MindSpore that a Module is made of."""
from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterator
from typing import Any

from mindspore import Parameter, context, nn

from .._leaving import Block, values_again
from . import device_memory, tape
from .geometry import contiguous_strides
from .namesake import namesake
from .raw import Raw

Cell = nn.Cell
_context = context._context()


_make = Cell.__base__.__init__  # type: ignore[misc]


def _init(self: Any, *args: Any, **kwargs: Any) -> None:
    _make(self, *args, **kwargs)


_init.__name__, _init.__qualname__, _init.__module__ = "__init__", "Cell_.__init__", Cell.__base__.__module__
# Programs walk along ``__mro__`` and ask each class what its ``__init__`` takes; inspect has no answer for a function of pybind11's.
Cell.__base__.__init__ = _init  # type: ignore[misc]


def init_cell(cell: Any) -> None:
    """Make an object a Cell, as Cell's constructor does, but without the attributes that it sets on the instance.

    Those would meet the user's: a subclass may have properties of any name, which cannot be set.
    """
    kind = type(cell)
    _make(cell, f"{kind.__module__}.{kind.__qualname__}")
    Cell.total_instance_count += 1


class _Capturing(threading.local, Block):
    """A block within which a thread's outermost calls of Modules run as one graph each."""

    on = False

    def __enter__(self) -> None:
        self.at_end(values_again(self, "on"))
        self.on = True


capturing_modules = _Capturing()


def graph_mode() -> bool:
    """Return True if Modules run as graphs when called: under ``GRAPH_MODE``, or in a compiled step that itself runs without a graph."""
    return capturing_modules.on or _context._mode == context.GRAPH_MODE


def is_raw(value: Any) -> bool:
    """Return whether the value is a tensor of MindSpore's own."""
    return isinstance(value, Raw)


def detached(raw: Raw) -> Raw:
    """Return the same values without a history."""
    return tape.detached(raw)


def is_cell(value: Any) -> bool:
    """Return whether the value is a network of MindSpore's own, or a Module."""
    return isinstance(value, Cell)


def as_parameter(raw: Raw, name: str, requires_grad: bool) -> Parameter:
    """Return a mindspore.Parameter of the same values, called ``name``; ``raw`` itself if it is one.

    A name that MindSpore's side gave it stays (``update_parameters_name``, a Cell around the module).
    """
    if isinstance(raw, Parameter):
        if raw.name != name and not raw.__dict__.get("_mstorch_named") and not raw.name.endswith("." + name):
            Parameter.name.fset(raw, name)
        if raw.requires_grad != requires_grad:
            raw.requires_grad = requires_grad
        return raw
    parameter = Parameter(tape.detached(raw), name=name, requires_grad=requires_grad)
    if requires_grad:
        tape.mark_leaf(parameter)
    return parameter


def _set_requires_grad(parameter: Any, value: bool) -> None:
    """Set ``requires_grad`` of a parameter, and of our tensors that stand for it."""
    for tensor in tensors_of(parameter):
        tensor.requires_grad_(value)
    Parameter.requires_grad.fset(parameter, value)


def _set_name(parameter: Any, name: str | None) -> None:
    """Set the name that MindSpore's side gives; it stays."""
    Parameter.name.fset(parameter, name)
    parameter.__dict__["_mstorch_named"] = True


def _set_data(parameter: Any, data: Any, slice_shape: bool = False) -> Any:
    """Return other values, perhaps of another shape."""
    if _overwritten(parameter, data):
        return parameter
    result = Parameter.set_data(parameter, data, slice_shape)
    _follow(parameter)
    return result


def _overwritten(parameter: Any, data: Any) -> bool:
    """Write values of a parameter's shape and dtype into its memory; False for others.

    Graphs of MindSpore's, its optimizers among them, know a parameter by its memory: after ``Parameter.set_data``, which gives it
    another, they go on with the old one and train it no longer, without a word (2.7.2 and 2.10 on the CPU).
    """
    if not isinstance(data, Raw) or parameter.has_init or data.has_init or not parameter.size:
        return False
    if data.dtype != parameter.dtype or data.shape != parameter.shape:
        return False
    shape = tuple(parameter.shape)
    return device_memory.put(parameter, shape, contiguous_strides(shape), 0, data) is parameter


def _set_dtype(parameter: Any, dtype: Any) -> None:
    """Another dtype."""
    Parameter.set_dtype(parameter, dtype)
    _follow(parameter)


def _follow(parameter: Any) -> None:
    for tensor in tensors_of(parameter):
        if tensor._shape != tuple(parameter.shape) or tensor._dtype.ms != parameter.dtype:
            _become[0](tensor, parameter)


_become: list[Callable[[Any, Any], None]] = []


def when_changed(become: Callable[[Any, Any], None]) -> None:
    """Register ``become(tensor, parameter)``, which is called when a tensor's parameter gets another shape or dtype."""
    _become[:] = [become]


def _shared_members(kind: Any) -> dict[str, Any]:
    own: Callable[..., Any] = kind.assign_value

    def assign_value(parameter: Any, value: Any) -> Any:
        if _overwritten(parameter, value):
            return parameter
        result = own(parameter, value)
        _follow(parameter)
        return result

    return {
        "requires_grad": property(Parameter.requires_grad.fget, _set_requires_grad), "name": property(Parameter.name.fget, _set_name),
        "set_data": _set_data, "assign_value": assign_value, "set_dtype": _set_dtype,
    }  # fmt: skip


def share(parameter: Parameter, tensor: Any) -> None:
    """Let a tensor stand for a mindspore.Parameter: setting ``requires_grad`` of either sets it for both."""
    parameter.__class__ = namesake(type(parameter), "shared", _shared_members)
    known = parameter.__dict__.setdefault("_mstorch_tensors", [])
    known[:] = [reference for reference in known if reference() is not None]
    known.append(weakref.ref(tensor))


def tensors_of(parameter: Any) -> list[Any]:
    """Return the tensors of ours that stand for a parameter of MindSpore's."""
    found = [] if parameter is None else [reference() for reference in parameter.__dict__.get("_mstorch_tensors", ())]
    return [tensor for tensor in found if tensor is not None and tensor._storage.parameter is parameter]


def call_cell(cell: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """MindSpore's own way to call a network, around ``construct``."""
    return Cell.__call__(cell, *args, **kwargs)


def is_parameter(raw: Any) -> bool:
    """Return whether the raw tensor is a mindspore.Parameter."""
    return isinstance(raw, Parameter)


def own_parameters(cell: Any) -> Iterator[tuple[str, Parameter]]:
    """A Cell's own parameters by attribute name."""
    for name, parameter in cell._params.items():
        if parameter is not None:
            yield name, parameter


def keeps_statistics(cell: Any) -> bool:
    """Return whether a call of the Cell changes running statistics, which it writes into its parameters' memory."""
    return any(
        part.training and any("moving_" in name for name, _ in own_parameters(part)) for _, part in cell.cells_and_names()
    )


def own_cells(cell: Any) -> Iterator[tuple[str, Any]]:
    """A Cell's children by attribute name."""
    yield from cell._cells.items()


def set_value(parameter: Parameter, raw: Raw) -> None:
    """Give a parameter other values, perhaps of another dtype; it stays the same object."""
    if _overwritten(parameter, raw):
        return
    if parameter.dtype != raw.dtype:
        parameter.set_dtype(raw.dtype)
    parameter.set_data(raw)
