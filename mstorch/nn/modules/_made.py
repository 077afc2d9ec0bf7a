"""Helpers of layers: creating parameters and expanding an int to all dimensions."""
from __future__ import annotations

from typing import Any

from ..._src.core.above import above
from ..._src.core.device import device
from ..._src.core.dtype import dtype
from ..parameter import Parameter


def parameter(*size: int, device: device | str | int | None = None, dtype: dtype | None = None) -> Parameter:
    """Return a parameter with uninitialized values."""
    return Parameter(above.torch.empty(size, device=device, dtype=dtype))


def parameter_of(value: float, *size: int, device: device | str | int | None = None, dtype: dtype | None = None) -> Parameter:
    """Return a parameter of ones or zeros."""
    return Parameter((above.torch.ones if value else above.torch.zeros)(size, device=device, dtype=dtype))


_FACTORY_NAMES = ("device", "dtype", "memory_format")


def factory_kwargs(kwargs: dict[str, Any] | None) -> dict[str, Any]:
    """Return the arguments for ``empty`` in ``kwargs`` and ``kwargs["factory_kwargs"]``. Raise TypeError for others and for duplicates."""
    if kwargs is None:
        return {}
    unknown = kwargs.keys() - {*_FACTORY_NAMES, "factory_kwargs"}
    if unknown:
        raise TypeError(f"unexpected kwargs {unknown}")
    found = dict(kwargs.get("factory_kwargs", {}))
    for name in _FACTORY_NAMES:
        if name in kwargs:
            if name in found:
                raise TypeError(f"{name} specified twice, in **kwargs and in factory_kwargs")
            found[name] = kwargs[name]
    return found
