"""Jacobians of functions with real outputs, by differences and by backward, as NumPy arrays.

A complex input counts for its real and its imaginary part; a gradient is (derivative by the real part) + i (by the imaginary).
"""
from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._core.formats import strided
from .._core.tensor_base import TensorBase, array_of
from .._ops.creation import zeros_like
from .._ops.from_data import made
from .._tape.node import on_host
from .grad_mode import no_grad


def grad(*args: Any, **kwargs: Any) -> Any:
    """``torch.autograd.grad``, which takes sparse tensors once all of the package is there."""
    return sys.modules[__package__].grad(*args, **kwargs)


def as_tuple(value: Any) -> tuple[Any, ...]:
    """A function's result as a tuple."""
    if isinstance(value, tuple):
        return value
    return tuple(value) if isinstance(value, list) else (value,)


def differentiable(value: Any) -> list[Any]:
    """The outputs that gradients can start from."""
    return [item for item in as_tuple(value) if isinstance(item, TensorBase) and item.requires_grad]


def elements_of(tensor: Any) -> Any:
    """The memory of a tensor's elements: of its values where the layout is sparse."""
    if tensor.layout is strided:
        return array_of(tensor)
    plain = tensor.detach()
    return array_of(plain._values() if plain.is_sparse else plain.values())


def of_elements(tensor: Any, like: Any) -> np.ndarray:
    """A gradient for ``like``, where ``like`` has elements; zeros for None."""
    if tensor is None:
        return np.zeros(elements_of(like).shape, elements_of(like).dtype)
    whole = np.array((tensor if tensor.layout is strided else tensor.to_dense()).detach().numpy())
    if like.layout is strided:
        return whole
    where = like.detach()
    if not where.is_sparse:
        where = where.to_sparse_coo()
    return whole[tuple(np.asarray(row) for row in where._indices().numpy())]


class Differences:
    """Central differences of a function's outputs along directions of one input."""

    def __init__(self, function: Callable[..., Any], inputs: Sequence[Any], position: int, eps: float) -> None:
        self.function, self.inputs, self.position, self.eps = function, inputs, position, eps

    def along(self, direction: Any) -> list[np.ndarray]:
        """The derivative of each output, by a direction: an array of the input's elements."""
        ends = [self._at(direction * step) for step in (self.eps, -self.eps)]
        for high, low in zip(*ends):
            for what in ("shape", "dtype"):
                if getattr(high, what) != getattr(low, what):
                    raise AssertionError(
                        f"Expected `func` to return outputs with the same {what} when inputs are perturbed by {self.eps}, but got: "
                        f"{what}s {getattr(high, what)} and {getattr(low, what)}."
                    )
        return [(high - low) / (2 * self.eps) for high, low in zip(*ends)]

    def _at(self, change: Any) -> list[np.ndarray]:
        # The input's own memory moves, so that a function may reach it by other ways than its argument.
        tensor = self.inputs[self.position]
        if tensor.layout is strided and not on_host(tensor):
            with no_grad():
                moved = made(np.asarray(array_of(tensor) + change))
            given = [moved.requires_grad_() if place == self.position else item for place, item in enumerate(self.inputs)]
            return _values(self.function(*given))
        memory = elements_of(tensor)
        before = memory.copy()
        try:
            memory += np.asarray(change, memory.dtype) if np.iscomplexobj(memory) else np.asarray(np.real(change), memory.dtype)
            return _values(self.function(*self.inputs))
        finally:
            memory[...] = before

    def jacobians(self) -> list[np.ndarray]:
        """The Jacobian (elements of the input by elements of the output) of each output."""
        memory = elements_of(self.inputs[self.position])
        rows: list[list[np.ndarray]] = []
        for index in np.ndindex(*memory.shape):
            direction = np.zeros(memory.shape, memory.dtype)
            direction[index] = 1
            row = self.along(direction)
            if np.iscomplexobj(memory):
                row = [real + 1j * imaginary for real, imaginary in zip(row, self.along(direction * 1j))]
            rows.append([part.reshape(-1) for part in row])
        return [np.stack(columns) for columns in zip(*rows)]


def _values(result: Any) -> list[np.ndarray]:
    tensors = [item for item in as_tuple(result) if isinstance(item, TensorBase) and item._dtype.category >= 2]
    return [np.array(item.detach().numpy()) for item in tensors]


def by_backward(output: Any, inputs: Sequence[Any]) -> list[np.ndarray]:
    """The Jacobian of an output with respect to each input, by one backward for each element of the output."""
    columns: list[list[np.ndarray]] = [[] for _ in inputs]
    for index in np.ndindex(*output.shape):
        seed = zeros_like(output.detach())
        seed[index] = 1
        for column, found, tensor in zip(columns, grad(output, inputs, seed, retain_graph=True, allow_unused=True), inputs):
            column.append(of_elements(found, tensor).reshape(-1))
    return [
        np.stack(column, axis=1) if column else np.zeros((elements_of(tensor).size, 0), elements_of(tensor).dtype)
        for column, tensor in zip(columns, inputs)
    ]
