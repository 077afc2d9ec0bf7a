"""Tensor subclasses: construction, and default handling of operations on them."""
from __future__ import annotations

import copy
import copyreg
import sys
import threading
from collections.abc import Callable
from typing import Any, TypeVar

from ...core.above import above
from ...core.device import device as Device
from ...core.dtype import dtype, get_default_dtype
from ...core.formats import layout, memory_format
from ...core.overriding import PLAIN, WITHOUT_SUBCLASSES, disabled, disabled_dispatch, dispatches, level_set_to
from ...core.storage import Absent
from ...core.tensor_base import TensorBase, in_class, on_subclass, require_grad, window
from ..shape import views
from .policies import follow_policy

S = TypeVar("S", bound=TensorBase)

# Functions whose results keep their class: ``__get__`` of properties, registered by the class.
UNWRAPPED: set[Callable[..., Any]] = set()


def as_subclass(self: TensorBase, cls: type[S]) -> S:
    """Return a tensor over the same data, as an instance of a Tensor subclass."""
    if not (isinstance(cls, type) and issubclass(cls, TensorBase)):
        raise TypeError("as_subclass(): argument 'cls' must be a subclass of Tensor")
    if is_mapped(self):
        return self.as_subclass(cls)  # type: ignore[attr-defined]  # the method of its own class
    return in_class(views.alias(self), cls)


def is_mapped(tensor: TensorBase) -> bool:
    """Return whether a tensor is one of vmap's, which has no memory of its own."""
    return getattr(type(tensor), "_ms_mapped", False)


def make_subclass(
    cls: type, data: TensorBase, require_grad: bool = False, *, dispatch_sizes_strides_policy: str | None = None,
    dispatch_device: bool = False, dispatch_layout: bool = False,
) -> Any:  # fmt: skip
    """Return a leaf of a Tensor subclass over the elements of ``data``."""
    if dispatch_device or dispatch_layout:
        raise NotImplementedError("mstorch: Tensor._make_subclass lets no class answer for its device or layout")
    if not isinstance(data, TensorBase):
        raise TypeError(f"_make_subclass(): argument 'data' (position 2) must be Tensor, not {type(data).__name__}")
    return follow_policy(_leaf(cls, data, require_grad), dispatch_sizes_strides_policy)


def _leaf(cls: type, data: TensorBase, wanted: bool) -> TensorBase:
    if is_mapped(data):
        if wanted:
            raise NotImplementedError("mstorch: vmap makes no leaf of a Tensor subclass that requires grad")
        return as_subclass(data.detach(), cls)
    made = in_class(views.detach(data), cls)
    if wanted:
        if data._ms_dtype.is_integral:
            raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
        require_grad(made, True)
    return made


def make_wrapper_subclass(
    cls: type, size: tuple[int, ...], strides: tuple[int, ...] | None = None, storage_offset: int | None = None,
    memory_format: memory_format | None = None, dtype: dtype | None = None, layout: layout | None = None,
    device: int | str | Device | None = None, pin_memory: bool = False, requires_grad: bool = False,
    dispatch_sizes_strides_policy: str | None = None, dispatch_device: bool = False, dispatch_layout: bool = False,
) -> Any:  # fmt: skip
    """Return a leaf of a Tensor subclass that has a shape, dtype and device but no memory, so that reading its elements raises.

    The class has a ``__torch_dispatch__`` that computes with the subclass's inner tensors.
    """
    if not (isinstance(cls, type) and issubclass(cls, TensorBase)):
        raise TypeError("cls must be a type (got a class that is not a subclass of Tensor)")
    if cls.__torch_dispatch__ is disabled_dispatch:  # type: ignore[attr-defined]
        raise TypeError(f"{cls.__name__} must define __torch_dispatch__")
    if memory_format is not None or dispatch_device or dispatch_layout:
        raise NotImplementedError("mstorch: Tensor._make_wrapper_subclass takes no memory_format, dispatch_device or dispatch_layout")
    shape = tuple(int(length) for length in size)
    steps = None if strides is None else tuple(int(step) for step in strides)
    memory = Absent(Device("cpu" if device is None else device))
    made = in_class(window(memory, dtype or get_default_dtype(), shape, steps, storage_offset or 0), cls)
    if requires_grad:
        require_grad(made, True)
    return follow_policy(made, dispatch_sizes_strides_policy)


def _asked_below(cls: type) -> None:
    """Disable ``__torch_function__`` of a class with a ``__torch_dispatch__``, as torch does, unless the class or a base below Tensor
    defines it."""
    names = [kind.__name__ for kind in cls.__mro__]
    above = cls.__mro__[: names.index("Tensor")] if "Tensor" in names else ()
    if above and dispatches(cls) and not any("__torch_function__" in vars(kind) for kind in above):
        cls.__torch_function__ = disabled  # type: ignore[attr-defined]


on_subclass.append(_asked_below)


def slots_of(tensor: TensorBase) -> dict[str, Any]:
    """Return the values of a subclass's own slots on a tensor."""
    names = copyreg._slotnames(type(tensor))  # type: ignore[attr-defined]
    return {name: getattr(tensor, name) for name in names if name not in TensorBase.__slots__ and hasattr(tensor, name)}


def keeps_elsewhere(tensor: TensorBase) -> bool:
    """Return whether a tensor is of a subclass and has no memory: its elements are in inner tensors."""
    return not tensor._ms_storage.has_elements and type(tensor) not in PLAIN


def cloned(tensor: TensorBase) -> Any:
    """Return the copy that the class's own ``clone`` makes. Raise RuntimeError if the copy is of another class."""
    made = tensor.clone()
    if type(made) is not type(tensor):
        raise RuntimeError(
            "The default implementation of __deepcopy__() for wrapper subclasses only works for subclass types that properly implement "
            "__torch_dispatch__() and for which clone() returns another instance of the same subclass. You should either properly "
            "implement clone() for your subclass or override __deepcopy__() if it is intended behavior for clone() to return an "
            "instance of a different type."
        )
    return made


def with_attributes(made: TensorBase, tensor: TensorBase, memo: dict[int, Any], left_out: frozenset[Any]) -> Any:
    """Return ``made``, a copy of ``tensor``, in the class of ``tensor`` and with deep copies of its attributes, except those in
    ``left_out``."""
    made = in_class(made, type(tensor)) if type(made) is not type(tensor) else made
    for name, value in slots_of(tensor).items():
        setattr(made, name, copy.deepcopy(value, memo))
    for name, value in tensor.__dict__.items():
        if name not in left_out:
            made.__dict__[name] = copy.deepcopy(value, memo)
    return made


def default_handler(
    cls: type, func: Callable[..., Any], types: tuple[type, ...], args: tuple[TensorBase | int, ...] = (),
    kwargs: dict[Any, Any] | None = None,
) -> Any:
    """Handle a call with subclass instances: run it on plain tensors, and convert the results to the subclass."""
    if not all(issubclass(cls, kind) for kind in types):
        return NotImplemented
    if _running.functions[-1:] == [func]:
        # A function of another library calls __torch_function__ again, because it is not aware of how mstorch disables that.
        own = _counterpart(func)
        if own is None:
            raise TypeError(f"{getattr(func, '__name__', func)} is no function of mstorch and does not take its tensors")
        return own(*args, **(kwargs or {}))
    _running.functions.append(func)
    try:
        with level_set_to(WITHOUT_SUBCLASSES):
            result = func(*args, **(kwargs or {}))
            return result if func in UNWRAPPED else convert(result, cls)
    finally:
        _running.functions.pop()


def _counterpart(func: Callable[..., Any]) -> Callable[..., Any] | None:
    """Return the function of mstorch with the same name as a function of the installed torch; None if there is none."""
    naming = getattr(sys.modules.get("torch"), "overrides", None)
    name = None if naming is None else naming.resolve_name(func)
    found = None if name is None else above.torch
    for part in (name or "").split(".")[1:]:
        found = getattr(found, part, None)
    return None if found is func else found


class _Running(threading.local):
    """The functions that ``default_handler`` is running in this thread, the innermost last."""

    def __init__(self) -> None:
        self.functions: list[Callable[..., Any]] = []


_running = _Running()


def convert(result: TensorBase | float, cls: type) -> Any:
    """Return a result with its tensors as instances of the subclass ``cls``, also in tuples and lists."""
    if isinstance(result, TensorBase):
        return result if isinstance(result, cls) else as_subclass(result, cls)
    if isinstance(result, (tuple, list)):
        items = [convert(item, cls) for item in result]
        return type(result)(*items) if hasattr(result, "_fields") and not hasattr(result, "n_fields") else type(result)(items)
    return result
