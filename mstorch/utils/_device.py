"""torch.utils._device: a function in which new tensors are made on a device."""
from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Generator
from typing import Any

from .._core.device import device as Device

Function = Callable[..., Any]


def device_decorator(device: Any, func: Function) -> Function:
    """The function with a default device; a generator has it whenever it runs."""
    if inspect.isclass(func):
        raise RuntimeError(
            "Cannot decorate classes; it is ambiguous whether or not only the constructor or all methods should have the context "
            "manager applied; additionally, decorating a class at definition-site will prevent use of the identifier as a "
            "conventional type.  To specify which methods to decorate, decorate each of them individually."
        )
    if inspect.isgeneratorfunction(func):
        return _around_generator(device, func)

    @functools.wraps(func)
    def decorated(*args: Any, **kwargs: Any) -> Any:
        with device:
            return func(*args, **kwargs)

    return decorated


def _around_generator(device: Any, func: Function) -> Function:
    @functools.wraps(func)
    def decorated(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
        generator = func(*args, **kwargs)
        sent: Any = None
        while True:
            try:
                with device:
                    value = generator.send(sent)
            except StopIteration as end:
                return end.value
            try:
                sent = yield value
            except GeneratorExit:
                with device:
                    generator.close()
                raise

    return decorated


def set_device(device: Any) -> Callable[[Function], Function]:
    """A decorator: tensors that the function makes are on this device."""
    return lambda func: device_decorator(Device(device), func)
