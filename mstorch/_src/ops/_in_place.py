"""In-place forms: a function's result is stored in its first operand."""
from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable
from typing import Any

from ..backend.table import Kernel, kernel
from ..core.auto import DEFAULT
from ..core.modes import grad_set_to, modes
from ..core.one_device import check_one_device
from ..core.strides import may_share_places, overlaps
from ..core.tangents import LEVELS, is_dual
from ..core.tensor_base import TensorBase, array_of, is_tracked, touch
from ..core.writable import check_history, check_writable, is_plain_target, refuse_partial_overlap, refuse_shared_places
from ..tape.apply import Applied
from ..tape.bare import bare_twin
from ..tape.in_place import computed_for, detach_snapshot
from ..tape.places import onto_meta
from ..tape.ways import in_arrays
from ..tape.writes import assign, snapshot
from ._dispatch import cast_tensor, check_result_cast
from ._named import name_written
from ._operation import IN_PLACE, record_of
from ._scalars import BESIDE, scalar_array
from ._shared_places import write_alone

_NUMBERS_FIRST = {"clamp", "div", "pow"}  # functions for which torch checks numbers before the target's memory, but shapes afterwards


def _check_target(tensor: TensorBase, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Raise torch's error if the tensor overlaps itself in memory. If torch checks the arguments before that, raise their errors first, by
    a run on meta tensors."""
    if tensor._ms_stride is None or not overlaps(tensor._ms_shape, tensor._ms_stride):
        return
    check_history(tensor)
    name = getattr(function, "__name__", "")
    if name in _NUMBERS_FIRST:
        first = not any(isinstance(value, TensorBase) for value in (*args, *kwargs.values()))
    else:
        first = record_of(function).arguments_first
    if first:
        with grad_set_to(False), contextlib.suppress(NotImplementedError):  # torch raises errors about dtypes later
            function(onto_meta(tensor), *map(onto_meta, args), **{key: onto_meta(value) for key, value in kwargs.items()})
    refuse_shared_places(tensor)


def in_place(tensor: TensorBase, function: Callable[..., Any], *args: Any, **kwargs: Any) -> TensorBase:
    """Store the result of ``function(tensor, …)`` in the tensor, and return the tensor."""
    _check_target(tensor, function, args, kwargs)
    check_writable(tensor)
    _refuse_overlaps(tensor, function, args, kwargs)
    return stored(tensor, function, args, kwargs)


def _refuse_overlaps(tensor: TensorBase, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Raise torch's error if an operand partly overlaps the memory to be written."""
    for value in (*args, *kwargs.values()) if kwargs else args:
        if isinstance(value, TensorBase) and value._ms_storage is tensor._ms_storage:
            name = getattr(function, "__name__", "")
            if not _is_read_before(name, value, args):
                refuse_partial_overlap(tensor, value, not record_of(function).reads_while_it_writes)


def _is_read_before(name: str, value: TensorBase, args: tuple[Any, ...]) -> bool:
    """Return whether torch reads an operand before it writes the result: a fill value, a scatter mask, exponents."""
    if name in ("masked_fill", "index_fill"):
        return not value._ms_shape
    return (name == "masked_scatter" and value is args[0]) or (name == "ldexp" and not value._ms_dtype.is_integral)


def stored(tensor: TensorBase, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> TensorBase:
    """Store the result of ``function(tensor, …)`` in the tensor and return the tensor; autograd tracks the write."""
    before = snapshot(tensor)
    if not tensor._ms_storage.has_elements:
        args = tuple(map(onto_meta, args))  # for a target without memory, operands may be on any device
    others, auto = (*args, *kwargs.values()), tensor._ms_auto
    # ``assign`` refuses some writes to views of special origin, which must not have happened by then.
    name = getattr(function, "__name__", None) if auto is None or auto.origin == DEFAULT else None
    if before._ms_storage is tensor._ms_storage:
        result = computed_for(before, lambda: function(before, *args, **kwargs), others, name, kwargs)
    else:  # a copy, for hooks of saved tensors: what is written to it is not the tensor's
        result = function(before, *args, **kwargs)
    if result is before:
        return tensor
    check_result_cast(result._ms_dtype, tensor._ms_dtype)
    if result._ms_storage.__class__ is not tensor._ms_storage.__class__:
        check_one_device(result, tensor)
    if result._ms_shape != tensor._ms_shape:
        raise RuntimeError(f"output with shape {list(tensor._ms_shape)} doesn't match the broadcast shape {list(result._ms_shape)}")
    if result._ms_dtype is not tensor._ms_dtype:
        result = cast_tensor(result, tensor._ms_dtype)
    if tensor._ms_stride is not None and record_of(function).writes_some and may_share_places(tensor._ms_shape, tensor._ms_stride):
        result = write_alone(tensor, result, lambda other: function(other, *args, **kwargs))
    is_snapshot = before._ms_storage is tensor._ms_storage
    if is_snapshot and (result._ms_node is not None or (LEVELS and is_dual(result))) and sys.getrefcount(before) > 2:
        detach_snapshot(before)  # backward needs the old value
    if result._ms_node is None:
        assign(tensor, result)
    else:
        _assign_recorded(tensor, result)
    label = record_of(function).written
    if label and tensor._ms_node is not None:
        name_written(tensor, label if label[-1].isdigit() else f"{label}{int(isinstance(args[0], TensorBase))}")
    return tensor


def _assign_recorded(tensor: TensorBase, result: TensorBase) -> None:
    """Assign a result that has a node, and let the node save what torch's saves: the written tensor, with its version, for the result."""
    node: Any = result._ms_node
    is_watching = node.marks is not None and node.watched
    if is_watching:
        # It may be written to, because torch saves a copy of the old value.
        node.watched = [item for item in node.watched if item.own or item._ms_counter is not tensor._ms_counter]
    saved = node.saved if isinstance(node, Applied) and node.saved else ()
    outputs = [item for item in saved if item is not None and getattr(item, "output", False) and item.unpack is None]
    for item in outputs:
        item.tensor = None  # so that nothing else refers to the result's memory
    assign(tensor, result)
    for item in node.watched if is_watching else ():
        if item.own:
            item._ms_counter, item.version = tensor._ms_counter, tensor._ms_counter.version
    for item in outputs:
        item.tensor, item.version = bare_twin(tensor), tensor._ms_counter.version


_WIDE = 1 << 18  # number of elements from which on a kernel may know a faster way
_ARITHMETIC = {name: kernel(name) for name in ("add", "sub", "mul", "div")}


def _done_in_memory(target: TensorBase, kernel: Kernel, other: Any) -> bool:
    """Compute ``target = kernel(target, other)`` in the target's own memory if that is all that the operation has to do; return whether it
    was done. Counters, running averages and accumulated losses are such targets."""
    kind = target._ms_dtype
    numbers = BESIDE.get(kind)
    if numbers is None or (kernel.op == "div" and kind.is_integral) or not is_plain_target(target):
        return False
    if other.__class__ in numbers:
        operand = scalar_array(other, kind)
    elif not isinstance(other, TensorBase) or other._ms_dtype is not kind or other._ms_shape != target._ms_shape:
        return False
    elif other._ms_storage is target._ms_storage or (modes.grad and is_tracked(other)) or not in_arrays(other):
        return False
    else:
        operand = array_of(other)
    array, function = array_of(target), kernel.host[kind.name]
    into = getattr(function, "into", None)
    if into is None or array.size >= _WIDE:
        array[...] = function(array, operand)
    else:
        into(array, operand, array)
    touch(target)
    return True


def in_place_form(
    function: Callable[..., Any], name: str, uniform: bool = False, recorded: bool = True
) -> Callable[..., Any]:
    """Return the method ``name`` (``add_``) that stores the result of ``function`` (``add``) in the tensor.

    ``uniform``: a single value is written, so the tensor may be expanded. ``recorded``: whether autograd tracks the write.
    """
    run = getattr(function, "outside_autocast", function)
    older = getattr(run, "in_place", None)
    arithmetic = _ARITHMETIC.get(function.__name__)

    def method(input: TensorBase, *args: Any, **kwargs: Any) -> TensorBase:
        if arithmetic is not None and len(args) == 1 and not kwargs and _done_in_memory(input, arithmetic, args[0]):
            return input
        if older is not None and len(args) > 1:
            (input, *args), kwargs = older(name, (input, *args), kwargs)
        if not uniform and input._ms_stride is not None:
            _check_target(input, run, args, kwargs)
        check_writable(input, uniform)
        _refuse_overlaps(input, run, args, kwargs)
        return stored(input, run, args, kwargs)

    def unrecorded(input: TensorBase, *args: Any, **kwargs: Any) -> TensorBase:
        with grad_set_to(False):
            return method(input, *args, **kwargs)

    made = method if recorded else unrecorded
    made.__name__, made.__qualname__ = name, f"Tensor.{name}"
    made.__module__ = function.__module__
    made.__doc__ = f"In-place version of ``{function.__name__}``."
    record = record_of(function)
    made.record = record._replace(draws=IN_PLACE) if record.draws else record  # type: ignore[attr-defined]
    return made
