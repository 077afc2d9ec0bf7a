"""MindSpore's Cell and Parameter, on which Module is built."""
from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from mindspore import Parameter, context, nn
from mindspore.rewrite.common.namespace import _subtree_black_list as _called_whole

from ..leaving import END, Block, Undo, item_again, undoing, values_again
from . import device_memory, tape
from .geometry import contiguous_strides
from .namesake import namesake
from .raw import Raw

Cell = nn.Cell
_context = context._context()
_mode_of = object.__getattribute__


_make = Cell.__base__.__init__


def _init(self: Any, *args: Any, **kwargs: Any) -> None:
    _make(self, *args, **kwargs)


_init.__name__, _init.__qualname__, _init.__module__ = "__init__", "Cell_.__init__", Cell.__base__.__module__
# Programs inspect the ``__init__`` of each class in ``__mro__``; inspect fails for functions of pybind11.
Cell.__base__.__init__ = _init


def init_cell(cell: Any) -> None:
    """Initialize an object as a Cell, as Cell's constructor does, but without the attributes that it sets on the instance.

    They would collide with the user's: a subclass may define read-only properties of the same names.
    """
    kind = type(cell)
    _make(cell, f"{kind.__module__}.{kind.__qualname__}")
    Cell.total_instance_count += 1


def keep_whole(kind: type) -> None:
    """Tell MindSpore's rewriter, which inserts the casts of ``amp_level="O1"``, to call the Cells of a class as they are.

    It would read the source of ``construct`` and of each child and write it anew, which drops the children of what it cannot read.
    """
    _called_whole.append(kind)


class _Capturing(threading.local, Block):
    """Context manager in which each outermost Module call of a thread runs as one graph."""

    on = False

    def __enter__(self) -> None:
        self.at_end(values_again(self, "on"))
        self.on = True


capturing_modules = _Capturing()


def graph_mode() -> bool:
    """Return True if Modules run as graphs: under ``GRAPH_MODE``, or in a compiled step that itself runs eagerly."""
    # Not ``_context._mode``: MindSpore's context looks up each attribute in Python.
    return capturing_modules.on or _mode_of(_context, "_mode") == context.GRAPH_MODE


def is_raw(value: Any) -> bool:
    """Return whether the value is a mindspore.Tensor."""
    return isinstance(value, Raw)


def is_cell(value: Any) -> bool:
    """Return whether the value is a mindspore Cell, including Modules."""
    return isinstance(value, Cell)


def as_parameter(raw: Raw, name: str, requires_grad: bool) -> Parameter:
    """Return a mindspore.Parameter with the values of ``raw`` and the given name; ``raw`` itself if it is a Parameter.

    A Parameter keeps a name that MindSpore gave it (by ``update_parameters_name``, or for a Cell around the module)."""
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
    """Set ``requires_grad`` of a parameter and of the tensors that share it."""
    for tensor in tensors_of(parameter):
        tensor.requires_grad_(value)
    Parameter.requires_grad.fset(parameter, value)


def _set_name(parameter: Any, name: str | None) -> None:
    """Set the name, and mark it as given by MindSpore so that later naming keeps it."""
    Parameter.name.fset(parameter, name)
    parameter.__dict__["_mstorch_named"] = True


def _set_data(parameter: Any, data: Raw, slice_shape: bool = False) -> Any:
    """Replace the values, possibly changing the shape; return the parameter."""
    if _overwritten(parameter, data):
        return parameter
    result = Parameter.set_data(parameter, data, slice_shape)
    _follow(parameter)
    return result


def _overwritten(parameter: Any, data: Raw) -> bool:
    """Write values into a parameter's memory; return False if their shape or dtype differs.

    MindSpore's graphs, including those of optimizers, refer to a parameter by its memory: after ``Parameter.set_data``, which replaces it,
    they continue with the old memory and silently stop training the parameter (2.7.2 and 2.10 on the CPU).
    """
    if not isinstance(data, Raw) or parameter.has_init or data.has_init or not parameter.size:
        return False
    if data.dtype != parameter.dtype or data.shape != parameter.shape:
        return False
    shape = tuple(parameter.shape)
    return device_memory.put(parameter, shape, contiguous_strides(shape), 0, data) is parameter


def _set_dtype(parameter: Any, dtype: Any) -> None:
    """Change the dtype of a parameter, and update the tensors that share it."""
    Parameter.set_dtype(parameter, dtype)
    _follow(parameter)


def _follow(parameter: Any) -> None:
    for tensor in tensors_of(parameter):
        if tensor._ms_shape != tuple(parameter.shape) or tensor._ms_dtype.ms != parameter.dtype:
            _become[0](tensor, parameter)


_become: list[Callable[[Any, Any], None]] = []


def when_changed(become: Callable[[Any, Any], None]) -> None:
    """Register ``become(tensor, parameter)``, called when a tensor's parameter changes its shape or dtype."""
    _become[:] = [become]


def _shared_members(kind: Any) -> dict[str, Any]:
    own: Callable[..., Any] = kind.assign_value

    def assign_value(parameter: Any, value: Raw) -> Any:
        if _overwritten(parameter, value):
            return parameter
        result = own(parameter, value)
        _follow(parameter)
        return result

    return {
        "requires_grad": property(Parameter.requires_grad.fget, _set_requires_grad), "name": property(Parameter.name.fget, _set_name),
        "set_data": _set_data, "assign_value": assign_value, "set_dtype": _set_dtype,
    }  # fmt: skip


def share(parameter: Parameter, tensor: object) -> None:
    """Register a tensor for a mindspore.Parameter: setting ``requires_grad`` of either sets both."""
    parameter.__class__ = namesake(type(parameter), "shared", _shared_members)
    known = parameter.__dict__.setdefault("_mstorch_tensors", [])
    known[:] = [reference for reference in known if reference() is not None]
    known.append(weakref.ref(tensor))


def tensors_of(parameter: Any) -> list[Any]:
    """Return the mstorch tensors that share a mindspore.Parameter."""
    found = [] if parameter is None else [reference() for reference in parameter.__dict__.get("_mstorch_tensors", ())]
    return [tensor for tensor in found if tensor is not None and tensor._ms_storage.parameter is parameter]


def call_cell(cell: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a Cell by MindSpore's own ``__call__``, around ``construct``."""
    return Cell.__call__(cell, *args, **kwargs)


@undoing
def with_plain_tensors(undo: Undo, cells: Sequence[Any]) -> None:
    """Context manager in which these Cells and their descendants have tensors for parameters: a graph's file has the values of tensors, and
    none of parameters, of which no two may have one name."""
    for cell in cells:
        for _, part in cell.cells_and_names():
            if vars(part).get("_params"):  # not a Module, whose parameters are inputs of the capture
                members, held = vars(part), vars(part)["_params"]
                undo[END:] = (item_again(members, "_params"),)
                members["_params"] = type(held)((name, value) for name, value in held.items() if value is None)
                for name, parameter in held.items():
                    if parameter is not None:
                        undo[END:] = (item_again(members, name),)
                        members[name] = tape.detached(parameter)


def is_parameter(raw: Any) -> bool:
    """Return whether the raw tensor is a mindspore.Parameter."""
    return isinstance(raw, Parameter)


def own_parameters(cell: Any) -> Iterator[tuple[str, Parameter]]:
    """Yield a Cell's own parameters by attribute name."""
    for name, parameter in cell._params.items():
        if parameter is not None:
            yield name, parameter


def keeps_statistics(cell: Any) -> bool:
    """Return whether a Cell in training mode has running statistics (parameters named ``moving_…``), which a call updates in place."""
    return any(
        part.training and any("moving_" in name for name, _ in own_parameters(part)) for _, part in cell.cells_and_names()
    )


def own_cells(cell: Any) -> Iterator[tuple[str, Any]]:
    """Yield a Cell's children by attribute name."""
    yield from cell._cells.items()


def set_value(parameter: Parameter, raw: Raw) -> None:
    """Replace a parameter's values, possibly changing the dtype; the object stays the same."""
    if _overwritten(parameter, raw):
        return
    if parameter.dtype != raw.dtype:
        parameter.set_dtype(raw.dtype)
    parameter.set_data(raw)
