"""torch._utils: helpers that packages import."""
from __future__ import annotations

import sys
import traceback
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from ._src.core.above import above
from ._src.core.device import device as _device
from ._src.core.dtype import dtype as _dtype
from ._src.core.warned import warn
from ._src.hook import missing as _missing
from ._src.ops.shape.join import cat
from ._src.serialization import rebuild as _rebuild
from ._src.serialization.adapter import user_state as _user_state
from ._tensor import Tensor
from ._tensor_str import printoptions
from .accelerator import current_accelerator, current_device_index
from .overrides import resolve_name

globals().update(_rebuild.FUNCTIONS)


def render_call(fn: Callable[..., Any], args: Iterable[Any], kwargs: dict[str, Any]) -> str:
    """Return a call as text, in which tensors are shown by their size: ``torch.sum(tensor([...], size=(100,)), dim=0)``."""
    with printoptions(threshold=0, edgeitems=0):
        shown = [repr(arg) for arg in args] + [f"{name}={value!r}" for name, value in kwargs.items()]
    return f"{resolve_name(fn) or fn}({', '.join(shown)})"


def _element_size(dtype: _dtype) -> int:
    """Return the number of bytes per element."""
    if not isinstance(dtype, _dtype):
        raise RuntimeError(f"expected torch.dtype, but got {type(dtype)}")
    return dtype.itemsize


def _get_device_index(device: Any, optional: bool = False, allow_cpu: bool = False) -> int:
    """Return the index of an accelerator device, or -1 for the CPU if allowed; raise ValueError for a device without an index."""
    if isinstance(device, str):
        device = _device(device)
    if isinstance(device, _device):
        if not allow_cpu and device.type == "cpu":
            raise ValueError(f"Expected a non cpu device, but got: {device}")
        found = -1 if device.type == "cpu" else device.index
    else:
        found = device if isinstance(device, int) else None
    if found is None:
        if not optional:
            raise ValueError(f"Expected a torch.device with a specified index or an integer, but got:{device}")
        return current_device_index()
    return found


def _get_available_device_type() -> str | None:
    """Return the type of this process's accelerator; None on a CPU."""
    found = current_accelerator()
    return None if found is None else found.type


def _flatten_dense_tensors(tensors: Sequence[Tensor]) -> Tensor:
    """Concatenate the elements of all tensors into a vector."""
    return cat([tensor.contiguous().view(-1) for tensor in tensors])


def _unflatten_dense_tensors(flat: Tensor, tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """Split a vector into the shapes of the tensors."""
    parts = flat.split([tensor.numel() for tensor in tensors])
    return tuple(part.view(tensor.shape) for part, tensor in zip(parts, tensors))


def _take_tensors(tensors: Iterable[Tensor], size_limit: int) -> Iterator[list[Tensor]]:
    """Yield groups of tensors of one type that together have at most ``size_limit`` bytes; a tensor that exceeds the limit is a group
    alone.
    """
    groups: dict[str, tuple[list[Tensor], int]] = defaultdict(lambda: ([], 0))
    for tensor in tensors:
        kind, size = tensor.type(), tensor.numel() * tensor.element_size()
        group, filled = groups[kind]
        if filled + size > size_limit and filled > 0:
            yield group
            group, filled = [], 0
        groups[kind] = ([*group, tensor], filled + size)
    for group, _ in groups.values():
        if group:
            yield group


class KeyErrorMessage(str):
    """A str whose repr is the string itself, so that KeyError prints the message with its line breaks."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


class ExceptionWrapper:
    """Exception passed to another thread or process, with its traceback as text."""

    def __init__(self, exc_info: Any = None, where: str = "in background") -> None:
        kind, value, trace = sys.exc_info() if exc_info is None else exc_info
        self.exc_type: Any = kind
        self.exc_msg = "".join(traceback.format_exception(kind, value, trace))
        self.where = where

    def reraise(self) -> None:
        """Raise an exception of the same type with the original traceback in its message; RuntimeError if the type cannot be constructed
        from a message.
        """
        message = f"Caught {self.exc_type.__name__} {self.where}.\nOriginal {self.exc_msg}"
        if self.exc_type is KeyError:
            raise KeyError(KeyErrorMessage(message))
        if getattr(self.exc_type, "message", None):
            raise self.exc_type(message=message)
        try:
            error = self.exc_type(message)
        except Exception:  # noqa: BLE001 - the constructor is the user's and may do anything
            raise RuntimeError(message) from None
        raise error


class classproperty:
    """Property of a class: the decorated function receives the class."""

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self.function = function

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self.function(type(instance) if owner is None else owner)


def _get_obj_state(obj: Any) -> Any:
    """Return the state of an object other than its elements: the attributes of a user's class."""
    return _user_state(obj) if isinstance(obj, Tensor) else obj.__getstate__() if hasattr(obj, "__getstate__") else vars(obj)


def _set_obj_state(obj: Any, state: Any) -> Any:
    """Restore a state of ``_get_obj_state``, ``(dict, slots)`` or the dict alone; return the object."""
    if isinstance(state, tuple) and len(state) != 2:
        raise RuntimeError(f"Invalid serialized state: {state}")
    for part in state if isinstance(state, tuple) else (state,):
        for name, value in (part or {}).items():
            setattr(obj, name, value)
    return obj


def _get_device_module(device_type: str) -> Any:
    """Return the module of a device type: ``torch.cpu`` for "cpu"; raise RuntimeError if there is none."""
    module = getattr(above.torch, device_type, None)
    if module is None:
        raise RuntimeError(f"Device '{device_type}' does not have a corresponding module registered as 'torch.{device_type}'.")
    return module


def is_compiling() -> bool:
    """Return what ``torch.compiler.is_compiling`` returns, with a warning."""
    warn("`torch._utils.is_compiling` is deprecated. Use `torch.compiler.is_compiling` instead.", UserWarning)
    return above.torch.compiler.is_compiling()


_absent = _missing(__name__)


def __getattr__(name: str) -> Any:
    """Return ``torch``, which torch's module imports: pickles name memory formats by it, as ``torch.channels_last`` of ``torch._utils``."""
    return above.torch if name == "torch" else _absent(name)
