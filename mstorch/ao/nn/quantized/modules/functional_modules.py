"""torch.ao.nn.quantized.modules.functional_modules: operations as modules, whose results can be observed or quantized."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import mstorch as torch

from ..... import nn
from ....._tensor import Tensor
from .....nn import functional as F
from .....nn.modules.module import Module

__all__ = ["FXFloatFunctional", "FloatFunctional", "QFunctional"]
_NOT_CALLED = "{} is not intended to use the 'forward'. Please use the underlying operation"


class FXFloatFunctional(nn.Module):
    """Operations on float tensors as methods: ``add``, ``mul``, ``cat`` and others."""

    def forward(self, x: Any) -> Any:
        """Raise RuntimeError: call the methods instead."""
        raise RuntimeError(_NOT_CALLED.format("FloatFunctional"))

    def add(self, x: Tensor, y: Tensor) -> Tensor:
        """Return ``x + y``."""
        return torch.add(x, y)

    def add_scalar(self, x: Tensor, y: float) -> Tensor:
        """Return ``x + y`` for a number ``y``; the result is not observed."""
        return torch.add(x, y)

    def mul(self, x: Tensor, y: Tensor) -> Tensor:
        """Return ``x * y``."""
        return torch.mul(x, y)

    def mul_scalar(self, x: Tensor, y: float) -> Tensor:
        """Return ``x * y`` for a number ``y``; the result is not observed."""
        return torch.mul(x, y)

    def cat(self, x: Sequence[Any], dim: int = 0) -> Tensor:
        """Concatenate the tensors along ``dim``."""
        return torch.cat(list(x), dim=dim)

    def add_relu(self, x: Tensor, y: Tensor) -> Tensor:
        """Return ``relu(x + y)``."""
        return F.relu(torch.add(x, y))

    def matmul(self, x: Tensor, y: Tensor) -> Tensor:
        """Return ``x @ y``."""
        return torch.matmul(x, y)


class FloatFunctional(nn.Module):
    """Operations on float tensors as methods, each followed by a module that may observe the result."""

    activation_post_process: Any

    def __init__(self) -> None:
        super().__init__()
        self.activation_post_process = nn.Identity()

    def forward(self, x: int) -> Any:
        """Raise RuntimeError: call the methods instead."""
        raise RuntimeError(_NOT_CALLED.format("FloatFunctional"))

    def add(self, x: Tensor, y: Tensor) -> Any:
        """Return ``x + y``, observed."""
        return self.activation_post_process(torch.add(x, y))

    def add_scalar(self, x: Tensor, y: float) -> Tensor:
        """Return ``x + y`` for a number ``y``; the result is not observed."""
        return torch.add(x, y)

    def mul(self, x: Tensor, y: Tensor) -> Tensor:
        """Return ``x * y``, observed."""
        return self.activation_post_process(torch.mul(x, y))

    def mul_scalar(self, x: Tensor, y: float) -> Tensor:
        """Return ``x * y`` for a number ``y``; the result is not observed."""
        return torch.mul(x, y)

    def cat(self, x: Sequence[Any], dim: int = 0) -> Tensor:
        """Concatenate the tensors along ``dim``; the result is observed."""
        return self.activation_post_process(torch.cat(list(x), dim=dim))

    def add_relu(self, x: Tensor, y: Tensor) -> Tensor:
        """Return ``relu(x + y)``, observed."""
        return self.activation_post_process(F.relu(torch.add(x, y)))

    def matmul(self, x: Tensor, y: Tensor) -> Tensor:
        """Return ``x @ y``, observed."""
        return self.activation_post_process(torch.matmul(x, y))


class QFunctional(nn.Module):
    """Operations on quantized tensors as methods; all results have the scale and zero point of this module."""

    activation_post_process: Any

    def __init__(self) -> None:
        super().__init__()
        self.scale = 1.0
        self.zero_point = 0
        self.activation_post_process = nn.Identity()

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        destination[prefix + "scale"] = torch.tensor(self.scale)
        destination[prefix + "zero_point"] = torch.tensor(self.zero_point)

    def _load_from_state_dict(
        self, state_dict: dict[Any, Any], prefix: str, local_metadata: dict[Any, Any], strict: bool, *rest: Any
    ) -> None:
        self.scale = float(state_dict.pop(prefix + "scale"))
        self.zero_point = int(state_dict.pop(prefix + "zero_point"))
        super()._load_from_state_dict(state_dict, prefix, local_metadata, False, *rest)

    def _get_name(self) -> str:
        return "QFunctional"

    def extra_repr(self) -> str:
        """Return the scale and zero point, for the module's repr."""
        return f"scale={self.scale}, zero_point={self.zero_point}"

    def forward(self, x: Any) -> Any:
        """Raise RuntimeError: call the methods instead."""
        raise RuntimeError(_NOT_CALLED.format("Functional"))

    def _done(self, name: str, *operands: Any) -> Tensor:
        return self.activation_post_process(getattr(torch.ops.quantized, name)(*operands, self.scale, self.zero_point))

    def add(self, x: Tensor, y: Tensor) -> Any:
        """Return ``x + y``, quantized with the module's scale and zero point."""
        return self._done("add", x, y)

    def add_scalar(self, x: Tensor, y: float) -> Tensor:
        """Return ``x + y`` for a number ``y``; the zero point changes instead of the integers."""
        return torch.ops.quantized.add_scalar(x, y)

    def mul(self, x: Tensor, y: Tensor) -> Tensor:
        """Return ``x * y``, quantized with the module's scale and zero point."""
        return self._done("mul", x, y)

    def mul_scalar(self, x: Tensor, y: float) -> Tensor:
        """Return ``x * y`` for a number ``y``; the scale changes instead of the integers."""
        return torch.ops.quantized.mul_scalar(x, y)

    def cat(self, x: Sequence[Any], dim: int = 0) -> Tensor:
        """Concatenate the tensors along ``dim``, requantized with the module's scale and zero point."""
        found = torch.ops.quantized.cat(x, scale=self.scale, zero_point=self.zero_point, dim=dim)
        return self.activation_post_process(found)

    def add_relu(self, x: Tensor, y: Tensor) -> Tensor:
        """Return ``relu(x + y)``, quantized with the module's scale and zero point."""
        return self._done("add_relu", x, y)

    def matmul(self, x: Tensor, y: Tensor) -> Tensor:
        """Return ``x @ y``, quantized with the module's scale and zero point."""
        return torch.ops.quantized.matmul(x, y, self.scale, self.zero_point)

    @classmethod
    def from_float(cls, mod: Module, use_precomputed_fake_quant: bool = False) -> Module:
        """Construct the module from a module with an observer."""
        if type(mod) is not FloatFunctional:
            raise AssertionError("QFunctional.from_float expects an instance of FloatFunctional")
        scale, point = mod.activation_post_process.calculate_qparams()
        made = cls()
        made.scale, made.zero_point = float(scale), int(point)
        return made
