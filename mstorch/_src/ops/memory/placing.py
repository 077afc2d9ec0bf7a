"""Copies between host and accelerator that autograd tracks, and factories whose results go to an accelerator."""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, overload

from ...backend import runtime
from ...core import device as devices
from ...core import generator as generators
from ...core.modes import modes
from ...core.tensor_base import (
    TensorBase,
    require_grad,
)
from ...tape.moving import moved
from .._dispatch import type_word
from .device_factories import made_on_device


@overload
def placed(function: Callable[..., Any], /) -> Callable[..., Any]: ...
@overload
def placed(*, like: bool = False, drawn: bool = False) -> Callable[[Callable[..., Any]], Callable[..., Any]]: ...
def placed(function: Callable[..., Any] | None = None, /, *, like: bool = False, drawn: bool = False) -> Callable[..., Any]:
    """Decorate a factory to move its result to the accelerator that ``device=`` names; without an accelerator the factory is unchanged.

    ``like``: the factory is a ``…_like`` function, whose result is by default on the first argument's device. ``drawn``: the factory draws
    random numbers, which an accelerator draws itself; for the stand-in device, and with ``MSTORCH_DEVICE_RANDOM=host``, the host draws them
    from the device's stream."""
    if function is None:
        return lambda defined: _on_accelerators(defined, like, drawn)
    return _on_accelerators(function, False, False)


def _on_accelerators(function: Callable[..., Any], like: bool, drawn: bool) -> Callable[..., Any]:
    there = runtime.device_type() != "cpu" and (not drawn or runtime.FAKE_DEVICE or runtime.HOST_NUMBERS)
    made = _placing(function, like, drawn) if there else function
    return _fitting_out(made) if {"out", "layout"} <= set(function.__code__.co_varnames) else made


def _fitting_out(function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a factory to raise torch's error first if ``dtype``, ``layout`` or ``device`` differs from that of ``out``."""

    @functools.wraps(function)
    def factory(*args: Any, **kwargs: Any) -> Any:
        out = kwargs.get("out")
        if out is not None and isinstance(out, TensorBase):
            expect_options(out, kwargs.get("dtype"), kwargs.get("layout"), kwargs.get("device"))
        return function(*args, **kwargs)

    return factory


def expect_options(out: Any, dtype: Any, layout: Any, device: Any) -> None:
    """Raise torch's error for the first option of a factory that is given and that ``out`` does not have."""
    if dtype is not None and dtype is not out.dtype and hasattr(dtype, "itemsize"):
        raise RuntimeError(f"dtype {type_word(dtype)} does not match dtype of out parameter ({type_word(out.dtype)})")
    if layout is not None and layout is not out.layout:
        raise RuntimeError(f"layout {_layout_word(layout)} does not match layout of out parameter ({_layout_word(out.layout)})")
    if device is not None and (kind := devices.resolve(device).type) != out.device.type:
        raise RuntimeError(f"device type {kind} does not match device type of out parameter ({out.device.type})")


def _layout_word(layout: Any) -> str:
    """Return a layout's name in torch's C++."""
    word = "".join(part.capitalize() for part in str(layout).removeprefix("torch.").split("_"))
    return word.removesuffix("Coo")


def _of_stream(kwargs: dict[str, Any], place: devices.device, like: bool) -> dict[str, Any]:
    """Return keyword arguments to draw on the host from the accelerator's random stream: ``generator``, and ``device`` "cpu" if ``like``,
    else None."""
    generator = kwargs.get("generator")
    if isinstance(generator, generators.Generator):
        generators.check_place(generator, place)
    drawn_of = generators.device_generator() if generator is None else generator
    return {**kwargs, "generator": drawn_of, "device": "cpu" if like else None}


def _placing(function: Callable[..., Any], like: bool, drawn: bool) -> Callable[..., Any]:
    code = function.__code__
    positional = code.co_varnames[: code.co_argcount]
    place = positional.index("device") if "device" in positional and not code.co_flags & 4 else None

    def _with_device(args: tuple[Any, ...], kwargs: dict[str, Any], device: str) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return the arguments with another device."""
        if place is not None and len(args) > place:
            return (*args[:place], device, *args[place + 1 :]), kwargs
        return args, {**kwargs, "device": device}

    @functools.wraps(function)
    def factory(*args: Any, **kwargs: Any) -> TensorBase:
        if modes.native is not None:
            return function(*args, **kwargs)
        wanted = kwargs.get("device")
        if place is not None and len(args) > place:
            wanted = args[place]
        target = kwargs.get("out")
        model = args[0] if args else kwargs.get("input")
        if wanted is None and like and isinstance(model, TensorBase):
            wanted = model.device
        if wanted is None and target is not None:
            wanted = target.device
        if wanted is None and function.__name__ in ("tensor", "as_tensor") and args and isinstance(args[0], TensorBase):
            wanted = args[0].device
        found = devices.resolve(wanted)
        if found.type in ("cpu", "meta"):
            return function(*args, **kwargs)
        if function.__name__ == "as_tensor" and args and isinstance(args[0], TensorBase):
            return args[0].to(found, kwargs.get("dtype"))
        if function.__name__ == "asarray" and args and isinstance(args[0], TensorBase):
            there = args[0].to(found)
            if kwargs.get("copy") is False and there is not args[0]:
                raise ValueError(f"can't alias tensor from device '{args[0].device}' to '{found}'.")
            return function(there, **{name: value for name, value in kwargs.items() if name != "device"})
        asked = bool(kwargs.pop("requires_grad", False))

        def hosted() -> tuple[tuple[Any, ...], dict[str, Any]]:
            return (args, _of_stream(kwargs, found, like)) if drawn else _with_device(args, kwargs, "cpu")

        if target is not None:
            given, others = hosted()
            return function(*given, **others, requires_grad=asked) if asked else function(*given, **others)
        made = made_on_device(function, *_with_device(args, kwargs, "meta"))
        if made is None:
            given, named_ones = hosted()
            made = function(*given, **named_ones)
            made = made.to(found) if made._ms_sparse else moved(made, False)
        if asked and made._ms_dtype.is_integral:
            raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
        if asked:
            require_grad(made, True)
        return made

    return factory
