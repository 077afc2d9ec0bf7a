"""mamba_ssm.modules.mlp: two linear layers with a gate."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mstorch as torch

Tensor = torch.Tensor


class GatedMLP(torch.nn.Module):
    """Return fc2(value * activation(gate)), where fc1 gives value and gate."""

    def __init__(
        self, in_features: int, hidden_features: int | None = None, out_features: int | None = None,
        activation: Callable[[Tensor], Tensor] = torch.nn.functional.silu, bias: bool = False, multiple_of: int = 128, device: Any = None,
        dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        hidden = int(8 * in_features / 3) if hidden_features is None else hidden_features
        hidden = (hidden + multiple_of - 1) // multiple_of * multiple_of
        self.fc1 = torch.nn.Linear(in_features, 2 * hidden, bias=bias, device=device, dtype=dtype)
        self.activation = activation
        self.fc2 = torch.nn.Linear(hidden, in_features if out_features is None else out_features, bias=bias, device=device, dtype=dtype)

    def forward(self, x: Tensor) -> Tensor:
        """Return the layer's outputs."""
        value, gate = self.fc1(x).chunk(2, -1)
        return self.fc2(value * self.activation(gate))


__all__ = ["GatedMLP"]
