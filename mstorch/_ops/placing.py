"""Tensors between the host and an accelerator, recorded; and factories that put what they make on one."""
from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, overload

import numpy as np

from .._backend import runtime
from .._backend.raw import ON_CPU, from_numpy
from .._core import device as devices
from .._core import generator as generators
from .._core.above import copied
from .._core.modes import modes
from .._core.storage import NATIVE
from .._core.tensor_base import (
    TensorBase,
    array_of,
    is_meta,
    is_tracked,
    laid_out,
    meta_tensor,
    on_device,
    require_grad,
    strides_of,
)
from .._tape.node import Node, bare, edge_of, named
from .device_factories import made_on_device


def _to_host(value: Any) -> Any:
    return value if value.__class__ is np.ndarray else value.asnumpy().copy()


def _to_accelerator(value: Any) -> Any:
    return from_numpy(np.array(value, order="C")) if value.__class__ is np.ndarray else value


class _Moved(Node):
    """The node of a copy to another device: the gradient takes the way back."""

    __slots__ = ("back",)
    back: Callable[[Any], Any]

    def run(self, gradients: Sequence[Any], recorded: bool) -> Sequence[Any]:
        """The gradient where the source is."""
        gradient = gradients[0]
        if isinstance(gradient, TensorBase):
            return (moved(gradient, self.back is _to_host),)
        return (self.back(gradient),)


def moved(tensor: Any, home: bool) -> Any:
    """A copy of a tensor on the host (``home``) or on the accelerator, with the same strides, recorded."""
    strides = None if tensor._stride is None else strides_of(tensor)
    if home:
        made = laid_out(copied(tensor, _to_host(bare(tensor))), strides if _dense(tensor) else None)
    else:
        array = array_of(tensor)
        made = on_device(_to_accelerator(array), strides if _dense(tensor) else None)
        if (tensor._dtype.category <= 1 or array.size == 1) and made._stride is None:
            made._storage.shadow = np.array(array, order="C")
    if modes.grad and is_tracked(tensor):
        node: Any = named(_Moved, "ToCopyBackward0")((edge_of(tensor),))
        node.back = _to_accelerator if home else _to_host
        made._node = node
    return made


def _dense(tensor: Any) -> bool:
    count = int(np.prod(tensor._shape))
    return count > 0 and 1 + sum((n - 1) * s for n, s in zip(tensor._shape, strides_of(tensor))) == count and 0 not in strides_of(tensor)


def is_elsewhere(tensor: Any, place: Any) -> bool:
    """Whether a tensor with memory is not on a device (the CPU or the accelerator)."""
    return (tensor._storage.__class__ in NATIVE) != (place.type != "cpu")


@overload
def placed(function: Callable[..., Any], /) -> Callable[..., Any]: ...
@overload
def placed(*, like: bool = False, drawn: bool = False) -> Callable[[Callable[..., Any]], Callable[..., Any]]: ...
def placed(function: Any = None, /, *, like: bool = False, drawn: bool = False) -> Any:
    """Declare a factory that puts what it makes on the accelerator that ``device=`` names; no change where there is none.

    ``like``: it makes something like its first argument, and puts it where that is. ``drawn``: random numbers, which accelerators draw by
    themselves, so that only a stand-in for one is given what the host draws from the device's stream.
    """
    if function is None:
        return lambda defined: _on_accelerators(defined, like, drawn)
    return _on_accelerators(function, False, False)


def _on_accelerators(function: Callable[..., Any], like: bool, drawn: bool) -> Callable[..., Any]:
    there = runtime.FAKE_DEVICE if drawn else runtime.device_type() != "cpu"
    return _placing(function, like, drawn) if there else function


def _of_stream(kwargs: dict[str, Any], place: Any, like: bool) -> dict[str, Any]:
    """The keywords of a draw for a device, of whose stream the host draws."""
    generator = kwargs.get("generator")
    if isinstance(generator, generators.Generator):
        generators.check_place(generator, place)
    drawn_of = generators.device_generator() if generator is None else generator
    return {**kwargs, "generator": drawn_of, "device": "cpu" if like else None}


def _placing(function: Callable[..., Any], like: bool, drawn: bool) -> Callable[..., Any]:
    code = function.__code__
    positional = code.co_varnames[: code.co_argcount]
    place = positional.index("device") if "device" in positional and not code.co_flags & 4 else None

    def _at(args: tuple[Any, ...], kwargs: dict[str, Any], device: str) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments with another device."""
        if place is not None and len(args) > place:
            return (*args[:place], device, *args[place + 1 :]), kwargs
        return args, {**kwargs, "device": device}

    @functools.wraps(function)
    def factory(*args: Any, **kwargs: Any) -> Any:
        if modes.native is not None:
            return function(*args, **kwargs)
        wanted = kwargs.get("device")
        if place is not None and len(args) > place:
            wanted = args[place]
        if wanted is None and like and isinstance(args[0], TensorBase):
            wanted = args[0].device  # type: ignore[attr-defined]
        if wanted is None and kwargs.get("out") is not None:
            wanted = kwargs["out"].device
        if wanted is None and function.__name__ in ("tensor", "as_tensor") and args and isinstance(args[0], TensorBase):
            wanted = args[0].device  # type: ignore[attr-defined]
        found = devices.resolve(wanted)
        if found.type in ("cpu", "meta"):
            return function(*args, **kwargs)
        if function.__name__ == "as_tensor" and args and isinstance(args[0], TensorBase):
            return args[0].to(found, kwargs.get("dtype"))  # type: ignore[attr-defined]
        if function.__name__ == "asarray" and args and isinstance(args[0], TensorBase):
            there = args[0].to(found)  # type: ignore[attr-defined]
            if kwargs.get("copy") is False and there is not args[0]:
                raise ValueError(f"can't alias tensor from device '{args[0].device}' to '{found}'.")  # type: ignore[attr-defined]
            return function(there, **{name: value for name, value in kwargs.items() if name != "device"})
        asked = bool(kwargs.pop("requires_grad", False))

        def hosted() -> tuple[tuple[Any, ...], dict[str, Any]]:
            return (args, _of_stream(kwargs, found, like)) if drawn else _at(args, kwargs, "cpu")

        if kwargs.get("out") is not None:
            given, others = hosted()
            return function(*given, **others, requires_grad=asked) if asked else function(*given, **others)
        made = made_on_device(function, *_at(args, kwargs, "meta"))
        if made is None:
            given, named_ones = hosted()
            made = function(*given, **named_ones)
            made = made.to(found) if made._sparse else moved(made, False)
        if asked and made._dtype.category < 2:
            raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
        if asked:
            require_grad(made, True)
        return made

    return factory


def beside(constant: Any, like: Any) -> Any:
    """A constant that a function made on the host, where the tensor is that it goes with."""
    if modes.native is None and is_meta(like):
        return constant if is_meta(constant) else meta_tensor(constant._shape, constant._dtype)
    if ON_CPU or modes.native is not None or like._storage.__class__ not in NATIVE or constant._storage.__class__ in NATIVE:
        return constant
    return moved(constant, False)
