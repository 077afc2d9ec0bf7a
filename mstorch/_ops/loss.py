"""Losses between numbers."""
from __future__ import annotations

import warnings
from typing import Any

from .._core.tensor_base import value_of
from .conv import shape_of
from .elementwise import abs as abs_of
from .elementwise import mul, square, sub
from .reduction import chosen, reduced


def size_text(tensor: Any) -> str:
    """A tensor's size as torch writes it in messages."""
    return f"torch.Size({list(shape_of(tensor))})"


def warn_of_broadcast(input: Any, target: Any, stacklevel: int = 3) -> None:
    """torch's warning where input and target are of different sizes."""
    if shape_of(input) != shape_of(target):
        warnings.warn(
            f"Using a target size ({size_text(target)}) that is different to the input size ({size_text(input)}). This will "
            "likely lead to incorrect results due to broadcasting. Please ensure they have the same size.",
            stacklevel=stacklevel,
        )


def mse_loss(
    input: Any, target: Any, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean",
    weight: Any = None,
) -> Any:  # fmt: skip
    """``(input - target) ** 2``."""
    warn_of_broadcast(input, target)
    reduction = chosen(reduction, size_average, reduce)
    return weighted(square(sub(input, target)), input, weight, reduction)


def weighted(loss: Any, input: Any, weight: Any, reduction: str) -> Any:
    """The loss of each element times its weight, reduced; the mean is the weighted mean."""
    if weight is None:
        return reduced(loss, reduction)
    if shape_of(weight) != shape_of(input):
        raise ValueError("Weights and input must have the same size.")
    loss = mul(loss, weight)
    if reduction == "mean":
        from .elementwise import div
        from .reduce import sum as sum_of

        return div(sum_of(loss), sum_of(weight))
    return reduced(loss, reduction)


def l1_loss(
    input: Any, target: Any, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean",
    weight: Any = None,
) -> Any:  # fmt: skip
    """``|input - target|``."""
    warn_of_broadcast(input, target)
    reduction = chosen(reduction, size_average, reduce)
    return weighted(abs_of(sub(input, target)), input, weight, reduction)


def is_empty(tensor: Any) -> bool:
    """Whether the tensor has no elements."""
    return value_of(tensor).size == 0


FUNCTIONS = ()
METHODS = ()
