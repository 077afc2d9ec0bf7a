"""torch.ao.nn.quantized.modules.functional_modules: operations as modules, so that their results can be observed or quantized."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import mstorch as torch

from ..... import nn
from ....._tensor import Tensor
from .....nn import functional as F

__all__ = ["FXFloatFunctional", "FloatFunctional", "QFunctional"]
_NOT_CALLED = "{} is not intended to use the 'forward'. Please use the underlying operation"


class FXFloatFunctional(nn.Module):
    """Operations of floating tensors as methods: ``add``, ``mul``, ``cat`` and others."""

    def forward(self, x: Any) -> Any:
        """Raise RuntimeError: the methods are called instead."""
        raise RuntimeError(_NOT_CALLED.format("FloatFunctional"))

    def add(self, x: Tensor, y: Tensor) -> Tensor:
        """``x + y``."""
        return torch.add(x, y)

    def add_scalar(self, x: Tensor, y: float) -> Tensor:
        """``x + y`` for a number, which is not observed."""
        return torch.add(x, y)

    def mul(self, x: Any, y: Tensor) -> Tensor:
        """``x * y``."""
        return torch.mul(x, y)

    def mul_scalar(self, x: Tensor, y: float) -> Tensor:
        """``x * y`` for a number, which is not observed."""
        return torch.mul(x, y)

    def cat(self, x: Sequence[Any], dim: int = 0) -> Tensor:
        """Return the tensors one after the other."""
        return torch.cat(list(x), dim=dim)

    def add_relu(self, x: Tensor, y: Tensor) -> Tensor:
        """``relu(x + y)``."""
        return F.relu(torch.add(x, y))

    def matmul(self, x: Tensor, y: Tensor) -> Tensor:
        """``x @ y``."""
        return torch.matmul(x, y)


class FloatFunctional(nn.Module):
    """Operations of floating tensors as methods, each followed by one module, which may observe."""

    activation_post_process: Any

    def __init__(self) -> None:
        super().__init__()
        self.activation_post_process = nn.Identity()

    def forward(self, x: Any) -> Any:
        """Raise RuntimeError: the methods are called instead."""
        raise RuntimeError(_NOT_CALLED.format("FloatFunctional"))

    def add(self, x: Tensor, y: Tensor) -> Any:
        """``x + y``."""
        return self.activation_post_process(torch.add(x, y))

    def add_scalar(self, x: Tensor, y: float) -> Tensor:
        """``x + y`` for a number, which is not observed."""
        return torch.add(x, y)

    def mul(self, x: Any, y: Tensor) -> Tensor:
        """``x * y``."""
        return self.activation_post_process(torch.mul(x, y))

    def mul_scalar(self, x: Tensor, y: float) -> Tensor:
        """``x * y`` for a number, which is not observed."""
        return torch.mul(x, y)

    def cat(self, x: Sequence[Any], dim: int = 0) -> Tensor:
        """Return the tensors one after the other."""
        return self.activation_post_process(torch.cat(list(x), dim=dim))

    def add_relu(self, x: Tensor, y: Tensor) -> Tensor:
        """``relu(x + y)``."""
        return self.activation_post_process(F.relu(torch.add(x, y)))

    def matmul(self, x: Tensor, y: Tensor) -> Tensor:
        """``x @ y``."""
        return self.activation_post_process(torch.matmul(x, y))


class QFunctional(nn.Module):
    """Operations of quantized tensors as methods, whose results have one scale and zero point."""

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
        """Return the scale and the zero point."""
        return f"scale={self.scale}, zero_point={self.zero_point}"

    def forward(self, x: Any) -> Any:
        """Raise RuntimeError: the methods are called instead."""
        raise RuntimeError(_NOT_CALLED.format("Functional"))

    def _done(self, name: str, *operands: Any) -> Tensor:
        return self.activation_post_process(getattr(torch.ops.quantized, name)(*operands, self.scale, self.zero_point))

    def add(self, x: Tensor, y: Tensor) -> Any:
        """``x + y``."""
        return self._done("add", x, y)

    def add_scalar(self, x: Tensor, y: float) -> Tensor:
        """``x + y`` for a number; the integers stay."""
        return torch.ops.quantized.add_scalar(x, y)

    def mul(self, x: Any, y: Tensor) -> Tensor:
        """``x * y``."""
        return self._done("mul", x, y)

    def mul_scalar(self, x: Tensor, y: float) -> Tensor:
        """``x * y`` for a number; the integers stay."""
        return torch.ops.quantized.mul_scalar(x, y)

    def cat(self, x: Sequence[Any], dim: int = 0) -> Tensor:
        """Return the tensors one after the other."""
        found = torch.ops.quantized.cat(x, scale=self.scale, zero_point=self.zero_point, dim=dim)
        return self.activation_post_process(found)

    def add_relu(self, x: Tensor, y: Tensor) -> Tensor:
        """``relu(x + y)``."""
        return self._done("add_relu", x, y)

    def matmul(self, x: Tensor, y: Tensor) -> Tensor:
        """``x @ y``."""
        return torch.ops.quantized.matmul(x, y, self.scale, self.zero_point)

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """Return the quantized operations of observed ones."""
        if type(mod) is not FloatFunctional:
            raise AssertionError("QFunctional.from_float expects an instance of FloatFunctional")
        scale, point = mod.activation_post_process.calculate_qparams()
        made = cls()
        made.scale, made.zero_point = float(scale), int(point)
        return made
