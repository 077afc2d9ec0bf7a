"""torch.nn.quantized: operations as modules, which networks have in the place of operators. Nothing is quantized here."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..._ops.activation import relu
from ..._ops.elementwise import add, mul
from ..._ops.join import cat
from ..._ops.matmul import matmul
from ..modules.linear import Identity
from ..modules.module import Module


class FloatFunctional(Module):
    """Operations whose results can be observed: ``add``, ``mul``, ``cat`` and others, each followed by one module."""

    def __init__(self) -> None:
        super().__init__()
        self.activation_post_process = Identity()

    def forward(self, x: Any) -> Any:
        """Raises RuntimeError: the methods are called instead."""
        raise RuntimeError("FloatFunctional is not intended to use the 'forward'. Please use the underlying operation")

    def add(self, x: Any, y: Any) -> Any:
        """``x + y``."""
        return self.activation_post_process(add(x, y))

    add_scalar = add

    def mul(self, x: Any, y: Any) -> Any:
        """``x * y``."""
        return self.activation_post_process(mul(x, y))

    mul_scalar = mul

    def cat(self, x: Sequence[Any], dim: int = 0) -> Any:
        """The tensors one after the other."""
        return self.activation_post_process(cat(x, dim=dim))

    def add_relu(self, x: Any, y: Any) -> Any:
        """``relu(x + y)``."""
        return self.activation_post_process(relu(add(x, y)))

    def matmul(self, x: Any, y: Any) -> Any:
        """``x @ y``."""
        return self.activation_post_process(matmul(x, y))


__all__ = ["FloatFunctional"]
