"""Automatic mixed precision: casting of an operation's arguments in an autocast region.

Operations that torch casts (its lists for the CPU, and for CUDA on accelerators) are declared with their ``Casts`` (``_operation.py``).
They read one flag first; if it is off, that is all, and other operations do not even do that. If it is on, the tensors' devices determine
which region applies, and tensors of other devices are not cast. The cast of an autograd leaf is cached until the outermost region ends, as
in torch, so that the gradients of all its uses are summed in the lower precision.
"""
from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from ..backend import runtime
from ..backend.raw import instances
from ..core.dtype import bfloat16, dtype, float16, float32, float64
from ..core.modes import modes
from ..core.overriding import without_keywords
from ..core.tensor_base import TensorBase, is_tracked
from ..tape.node import is_leaf

DEVICE = runtime.device_type()
PLACES = tuple(dict.fromkeys(("cpu", DEVICE)))
"""The device types that tensors of this process can have."""

class _State(threading.local):
    """Autocast settings of the thread. ``on``: whether operations may have to cast (autocast is enabled for the CPU or the device in use,
    and no cast operation is running)."""

    def __init__(self) -> None:
        self.on = False
        self.enabled: dict[str, bool] = {}
        self.dtypes: dict[str, dtype] = {}
        self.nesting = 0
        self.cache_enabled = True
        self.cache: dict[int, tuple[Any, Any]] = {}


state = _State()


def fast_dtype(device_type: str) -> dtype:
    """Return autocast's dtype of a device type."""
    return state.dtypes.get(device_type) or (bfloat16 if device_type in ("cpu", "hpu", "xla", "maia") else float16)


def set_enabled(device_type: str, enabled: bool) -> None:
    """Enable or disable autocast for a device type."""
    state.enabled[device_type] = enabled
    state.on = any(state.enabled.get(place) for place in PLACES)


def _place(tensor: Any) -> str:
    """Return the device type whose autocast regions cast a tensor; "meta" has none."""
    return str((tensor._kept if tensor._ms_sparse else tensor).device.type)


def _region(values: tuple[TensorBase | Sequence[TensorBase | int], ...]) -> str | None:
    """Return the device type of the autocast region for an operation's arguments; the accelerator's has precedence over the CPU's."""
    found = {_place(item) for item in instances(values, TensorBase)}
    return next((place for place in reversed(PLACES) if place in found and state.enabled.get(place)), None)


def _casts(tensor: TensorBase, kind: dtype, place: str) -> bool:
    own = tensor._ms_dtype
    return own.is_floating_point and own is not float64 and own is not kind and _place(tensor) == place


def _cast(value: TensorBase | float | tuple[int, int], kind: dtype, place: str) -> Any:
    if isinstance(value, TensorBase):
        if not _casts(value, kind, place):
            return value
        tensor: Any = value
        if (
            kind is float32 or tensor._ms_dtype is not float32 or not state.cache_enabled or not modes.grad
            or not is_tracked(tensor) or not is_leaf(tensor) or tensor._ms_sparse or tensor._is_view()
        ):  # fmt: skip
            return tensor.to(kind)
        kept = state.cache.get(id(tensor))
        if kept is None or kept[1]._ms_dtype is not kind:
            kept = state.cache[id(tensor)] = (tensor, tensor.to(kind))
        return kept[1]
    if isinstance(value, (list, tuple)) and any(isinstance(item, (TensorBase, list, tuple)) for item in value):
        return type(value)(_cast(item, kind, place) for item in value)
    return value


def _widest(values: Sequence[TensorBase | int | Sequence[TensorBase]], kind: dtype) -> dtype:
    """Return the dtype for an operation that promotes: float32 if a tensor is float32, else ``kind``. Raise RuntimeError for another
    floating-point dtype."""
    for value in values:
        if isinstance(value, (list, tuple)):
            kind = _widest(value, kind)
        elif isinstance(value, TensorBase) and value._ms_dtype.is_floating_point and value._ms_dtype is not float64:
            if value._ms_dtype is float32:
                return float32
            if value._ms_dtype is not kind and kind is not float32:
                raise RuntimeError("Unexpected floating ScalarType in at::autocast::prioritize")
    return kind


def _to_lower(args: tuple[Any, ...], place: str) -> dtype:
    return fast_dtype(place)


def _to_float32(args: tuple[Any, ...], place: str) -> dtype:
    return float32


def _to_widest(args: tuple[Any, ...], place: str) -> dtype:
    return _widest(args, fast_dtype(place))


def _to_none(args: tuple[Any, ...], place: str) -> dtype | None:
    return None


def outside(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> TensorBase:
    """Return the function's result with autocast suspended."""
    before = state.on
    state.on = False
    try:
        return function(*args, **kwargs)
    finally:
        state.on = before


def lowered(function: Callable[..., Any], *args: Any) -> Any:
    """Call the function with autocast suspended. Inside an autocast region its arguments are first cast to the region's lower-precision
    dtype."""
    place = _region(args)
    if place is not None:
        kind = fast_dtype(place)
        args = tuple(_cast(arg, kind, place) for arg in args)
    return outside(function, args, {})


Choice = Callable[[tuple[Any, ...], str], dtype | None]


def _cast_first(function: Callable[..., Any], choices: Mapping[str, Choice]) -> Callable[..., Any]:
    """Wrap a function so that its arguments are cast as the device type of its tensors requires."""
    quick = without_keywords(function, True)

    @functools.wraps(function)
    def casting(*args: Any, **kwargs: Any) -> Any:
        if not state.on:
            return function(*args, **kwargs) if kwargs else quick(*args)
        given = (*args, *kwargs.values())
        place = _region(given)
        choose = None if place is None else choices.get(place)
        if choose is None:
            return function(*args, **kwargs)
        kind = choose(given, place) if kwargs.get("out") is None else None  # type: ignore[arg-type]
        if kind is not None:
            args = tuple(_cast(arg, kind, place) for arg in args)  # type: ignore[arg-type]
            kwargs = {name: _cast(arg, kind, place) for name, arg in kwargs.items()}  # type: ignore[arg-type]
        return outside(function, args, kwargs)

    @functools.wraps(function)
    def uncast(*args: Any, **kwargs: Any) -> TensorBase:
        return outside(function, args, kwargs)

    casting.outside_autocast = uncast  # type: ignore[attr-defined]
    return casting


class Casts(NamedTuple):
    """The dtypes to which autocast casts an operation's arguments, on the CPU and on accelerators; None means no cast."""

    cpu: Choice | None = None
    devices: Choice | None = None


LOWER, LOWER_ON_DEVICES = Casts(_to_lower, _to_lower), Casts(devices=_to_lower)
FLOAT32, FLOAT32_ON_CPU, FLOAT32_ON_DEVICES = Casts(_to_float32, _to_float32), Casts(cpu=_to_float32), Casts(devices=_to_float32)
WIDEST, WIDEST_ON_CPU, WIDEST_ON_DEVICES = Casts(_to_widest, _to_widest), Casts(cpu=_to_widest), Casts(devices=_to_widest)
FLOAT32_OR_WIDEST = Casts(_to_float32, _to_widest)
# On the CPU they are not cast, although they are composed of products here.
AS_GIVEN_OR_LOWER = Casts(_to_none, _to_lower)


def casting(function: Callable[..., Any], casts: Casts, places: tuple[str, ...] = PLACES) -> Callable[..., Any]:
    """Wrap a function so that its arguments are cast in autocast regions of these device types."""
    choices = {place: casts.cpu if place == "cpu" else casts.devices for place in places}
    found = {place: choose for place, choose in choices.items() if choose is not None}
    return _cast_first(function, found) if found else function
