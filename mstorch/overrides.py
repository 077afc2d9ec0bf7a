"""torch.overrides: functions that classes with ``__torch_function__`` may take over."""
from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ._tensor import Tensor


def _overrides(value: Any) -> bool:
    return hasattr(type(value), "__torch_function__")


def has_torch_function(relevant_args: Iterable[Any]) -> bool:
    """Whether the class of one of the arguments defines ``__torch_function__``."""
    return any(map(_overrides, relevant_args))


def has_torch_function_unary(tensor: Any) -> bool:
    """``has_torch_function`` of one argument."""
    return _overrides(tensor)


def has_torch_function_variadic(*args: Any) -> bool:
    """``has_torch_function`` of the arguments."""
    return any(map(_overrides, args))


def handle_torch_function(
    public_api: Callable[..., Any], relevant_args: Iterable[Any], *args: Any, **kwargs: Any
) -> Any:
    """What the first ``__torch_function__`` gives that does not return NotImplemented; subclasses are asked first."""
    chosen: list[Any] = []
    for arg in relevant_args:
        kind = type(arg)
        if _overrides(arg) and all(kind is not type(other) for other in chosen):
            place = next((i for i, other in enumerate(chosen) if issubclass(kind, type(other))), len(chosen))
            chosen.insert(place, arg)
    types = tuple(type(arg) for arg in chosen)
    for arg in chosen:
        result = arg.__torch_function__(public_api, types, args, kwargs)
        if result is not NotImplemented:
            return result
    name = f"{public_api.__module__}.{public_api.__name__}"
    raise TypeError(
        f"no implementation found for '{name}' on types that implement __torch_function__: {[type(a) for a in chosen]}"
    )


def is_tensor_like(inp: Any) -> bool:
    """Whether the value is a tensor or its class defines ``__torch_function__``."""
    return isinstance(inp, Tensor) or _overrides(inp)


__all__ = [
    "handle_torch_function", "has_torch_function", "has_torch_function_unary", "has_torch_function_variadic",
    "is_tensor_like",
]  # fmt: skip
