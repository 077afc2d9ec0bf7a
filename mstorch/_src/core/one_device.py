"""Operations whose tensors must be on one device: torch's errors for indices, masks, targets and scalars on another device.

Kernels check their own operands (``_src/tape/operands.py``), but not tensors that the host reads before a kernel is chosen, nor 0-d CPU
tensors, which most operations accept. If MindSpore computes on a device, the public functions of operations declared with ``OneDevice``
check all their tensors; if it computes on the CPU, they do not.
"""
from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from ..backend.raw import ON_CPU
from .modes import modes
from .storage import DeviceMemory, Storage
from .tensor_base import TensorBase

Function = Callable[..., Any]
_OF_TORCH = {"input": "self"}
_HOME = __name__.partition(".")[0]
_WAYS_IN = tuple(
    f"{_HOME}.{room}" for room in
    "_src.core.overriding _src.core.built_in _src.core.one_device _src.namespace.out_history _src.aten. _library. ops".split()
)
_signed: dict[str, Function] = {}  # operations by name, whose signatures give the names of the arguments


def mask_elsewhere(first: Any, name: str, other: Any) -> str:
    """Return torch's message for a mask on another device."""
    return f"expected self and mask to be on the same device, but got mask on {other.device} and self on {first.device}"


def axes_elsewhere(first: Any, name: str, other: Any) -> str:
    """Return torch's message for the axes of a grid on different devices."""
    return "meshgrid expects all tensors to have the same device"


def table_elsewhere(indices: TensorBase, name: str, weight: TensorBase) -> str:
    """Return torch's message for an embedding whose weight and indices are on different devices."""
    return _of_method(weight, "index", indices, "_index_select")


def found_two(first: TensorBase, name: str, other: TensorBase) -> str:
    """Return the message of torch's kernels based on TensorIterator for operands on two devices."""
    place, far = (first, other) if first._ms_storage.__class__ is DeviceMemory else (other, first)
    return f"Expected all tensors to be on the same device, but found at least two devices, {place.device} and {far.device}!"


def _of_method(first: TensorBase, name: str, other: TensorBase, method: str) -> str:
    kind = (first if first._ms_storage.__class__ is DeviceMemory else other).device.type.upper()
    return _devices_differ(name, other, first) + f" (when checking argument in method wrapper_{kind}_{method})"


def _devices_differ(name: str, other: TensorBase, first: TensorBase) -> str:
    text = f"Expected all tensors to be on the same device, but got {name} is on {other.device}"
    return f"{text}, different from other tensors on {first.device}"


class OneDevice(NamedTuple):
    """Rule by which torch refuses tensors on different devices for an operation.

    ``kernel``: the kernel that the error names, if its name differs from the operation's; ``words``: the text of an error without a kernel.
    ``numbers``: the arguments that may be 0-d CPU tensors nevertheless; ``anywhere``: those that may be CPU tensors of any shape.
    """

    kernel: str = ""
    words: Callable[[Any, str, Any], str] | None = None
    numbers: tuple[str, ...] = ()
    anywhere: tuple[str, ...] = ()


def on_one_device(function: Function, name: str) -> Function:
    """Return the public form of an operation, which raises if CPU tensors are mixed with a device's where torch does."""
    plain = name.rpartition(".")[2].rstrip("_")
    rule = getattr(function, "record", None) and function.record.one_device  # type: ignore[attr-defined]
    if ON_CPU or rule is None:
        return function
    written = inspect.unwrap(function)
    if inspect.Parameter.VAR_POSITIONAL not in {parameter.kind for parameter in inspect.signature(written).parameters.values()}:
        _signed.setdefault(plain, written)

    @functools.wraps(function)
    def checked(*args: Any, **named: Any) -> Any:
        seen = None
        for value in (*args, *named.values()) if named else args:
            if isinstance(value, TensorBase):
                kind = value._ms_storage.__class__
            elif (value.__class__ is tuple or value.__class__ is list) and value and isinstance(value[0], TensorBase):
                kind = _kind_of_parts(value)
            else:
                continue
            if kind is DeviceMemory or kind is Storage:
                if seen is None:
                    seen = kind
                elif seen is not kind:
                    _refuse(function, plain, rule, args, named)
                    break
            elif kind is None:
                _refuse(function, plain, rule, args, named)
                break
        return function(*args, **named)

    return checked


def _kind_of_parts(parts: Any) -> type | None:
    """Return the storage class shared by all tensors in a sequence; None if some are on the CPU and some on a device."""
    kinds = {part._ms_storage.__class__ for part in parts if isinstance(part, TensorBase)}
    return None if {DeviceMemory, Storage} <= kinds else next(iter(kinds))


def _named_tensors(
    function: Function, name: str, rule: OneDevice, args: tuple[Any, ...], named: dict[str, Any]
) -> Iterator[tuple[str, Any]]:
    """Yield the tensors of a call that must be on one device, with the names of their arguments."""
    words = list(inspect.signature(_signed.get(name, function)).parameters)
    given = [(words[place] if place < len(words) else "", value) for place, value in enumerate(args)]
    for word, value in (*given, *((key, value) for key, value in named.items() if key != "out")):
        if word in rule.anywhere:
            continue
        number = word in rule.numbers
        for item in value if isinstance(value, (tuple, list)) else (value,):
            kind = item._ms_storage.__class__ if isinstance(item, TensorBase) else None
            if kind is DeviceMemory or (kind is Storage and (item._ms_shape or not number)):
                yield _OF_TORCH.get(word, word), item


def _is_called_from_inside(frame: Any) -> bool:
    """Return True if mstorch's own code makes the call, not the user. ``nn.modules`` count as the user, because they pass on the user's
    tensors."""
    while frame is not None:
        room = frame.f_globals.get("__name__", "")
        if not room.startswith(_WAYS_IN):
            return room.startswith(f"{_HOME}.") and not room.startswith(f"{_HOME}.nn.modules")
        frame = frame.f_back
    return False


def _refuse(function: Function, name: str, rule: OneDevice, args: tuple[Any, ...], named: dict[str, Any]) -> None:
    if modes.native is not None or _is_called_from_inside(sys._getframe(2)):
        return  # within a MindSpore block all values are on one device
    first: Any = None
    for word, tensor in _named_tensors(function, name, rule, args, named):
        if first is None:
            first = tensor
        elif tensor._ms_storage.__class__ is not first._ms_storage.__class__:
            words = rule.words or functools.partial(_of_method, method=rule.kernel or name)
            raise RuntimeError(words(first, word, tensor))


def check_one_device(result: TensorBase, target: TensorBase, name: str = "") -> None:
    """Raise torch's error if a result is to be stored (``out=``, in place) in a tensor on another device."""
    here, there = result._ms_storage.__class__, target._ms_storage.__class__
    if here is not there and modes.native is None and {here, there} == {DeviceMemory, Storage}:
        if name:
            raise RuntimeError(_devices_differ(name, target, result))
        raise RuntimeError(found_two(result, "", target))


def check_index(indexed: TensorBase, index: Any) -> None:
    """Raise torch's error if a CPU tensor is indexed by a tensor on a device."""
    there = isinstance(index, TensorBase) and index._ms_storage.__class__ is DeviceMemory
    if there and indexed._ms_storage.__class__ is Storage and modes.native is None:
        raise RuntimeError(f"indices should be either on cpu or on the same device as the indexed tensor ({indexed.device})")
