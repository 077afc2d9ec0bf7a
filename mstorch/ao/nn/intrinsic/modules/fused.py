"""torch.ao.nn.intrinsic.modules.fused: fused layers."""
from __future__ import annotations

from typing import Any

from ..... import nn
from .....nn.modules.module import Module
from .....nn.utils.parametrize import type_before_parametrizations


class _FusedModule(nn.Sequential):
    """Base of Sequentials whose layers are quantized as one; ``_kinds`` are the classes of the layers."""

    _kinds: tuple[type, ...] = ()

    def __init__(self, *args: Any) -> None:
        found = [type_before_parametrizations(layer) for layer in args]
        if self._kinds and tuple(found) != self._kinds:
            names = [kind.__name__ for kind in found]
            listed = " and ".join(names) if len(names) < 3 else f"{', '.join(names[:-1])}, and {names[-1]}"
            raise AssertionError(f"Incorrect types for input modules: {listed}")
        super().__init__(*args)


class ConvReLU1d(_FusedModule):
    """Fused Conv1d and ReLU."""

    _kinds = (nn.Conv1d, nn.ReLU)

    def __init__(self, conv: Module, relu: Module) -> None:
        super().__init__(conv, relu)


class ConvReLU2d(_FusedModule):
    """Fused Conv2d and ReLU."""

    _kinds = (nn.Conv2d, nn.ReLU)

    def __init__(self, conv: Module, relu: Module) -> None:
        super().__init__(conv, relu)


class ConvReLU3d(_FusedModule):
    """Fused Conv3d and ReLU."""

    _kinds = (nn.Conv3d, nn.ReLU)

    def __init__(self, conv: Module, relu: Module) -> None:
        super().__init__(conv, relu)


class LinearReLU(_FusedModule):
    """Fused Linear and ReLU."""

    _kinds = (nn.Linear, nn.ReLU)

    def __init__(self, linear: Module, relu: Module) -> None:
        super().__init__(linear, relu)


class ConvBn1d(_FusedModule):
    """Fused Conv1d and BatchNorm1d."""

    _kinds = (nn.Conv1d, nn.BatchNorm1d)

    def __init__(self, conv: Module, bn: Module) -> None:
        super().__init__(conv, bn)


class ConvBn2d(_FusedModule):
    """Fused Conv2d and BatchNorm2d."""

    _kinds = (nn.Conv2d, nn.BatchNorm2d)

    def __init__(self, conv: Module, bn: Module) -> None:
        super().__init__(conv, bn)


class ConvBn3d(_FusedModule):
    """Fused Conv3d and BatchNorm3d."""

    _kinds = (nn.Conv3d, nn.BatchNorm3d)

    def __init__(self, conv: Any, bn: Any) -> None:
        super().__init__(conv, bn)


class ConvBnReLU1d(_FusedModule):
    """Fused Conv1d, BatchNorm1d and ReLU."""

    _kinds = (nn.Conv1d, nn.BatchNorm1d, nn.ReLU)

    def __init__(self, conv: Module, bn: Module, relu: Module) -> None:
        super().__init__(conv, bn, relu)


class ConvBnReLU2d(_FusedModule):
    """Fused Conv2d, BatchNorm2d and ReLU."""

    _kinds = (nn.Conv2d, nn.BatchNorm2d, nn.ReLU)

    def __init__(self, conv: Module, bn: Module, relu: Module) -> None:
        super().__init__(conv, bn, relu)


class ConvBnReLU3d(_FusedModule):
    """Fused Conv3d, BatchNorm3d and ReLU."""

    _kinds = (nn.Conv3d, nn.BatchNorm3d, nn.ReLU)

    def __init__(self, conv: Module, bn: Module, relu: Module) -> None:
        super().__init__(conv, bn, relu)


class BNReLU2d(_FusedModule):
    """Fused BatchNorm2d and ReLU."""

    _kinds = (nn.BatchNorm2d, nn.ReLU)

    def __init__(self, batch_norm: Any, relu: Any) -> None:
        super().__init__(batch_norm, relu)


class BNReLU3d(_FusedModule):
    """Fused BatchNorm3d and ReLU."""

    _kinds = (nn.BatchNorm3d, nn.ReLU)

    def __init__(self, batch_norm: Any, relu: Any) -> None:
        super().__init__(batch_norm, relu)


class LinearBn1d(_FusedModule):
    """Fused Linear and BatchNorm1d."""

    _kinds = (nn.Linear, nn.BatchNorm1d)

    def __init__(self, linear: Module, bn: Module) -> None:
        super().__init__(linear, bn)


class LinearLeakyReLU(_FusedModule):
    """Fused Linear and LeakyReLU."""

    _kinds = (nn.Linear, nn.LeakyReLU)

    def __init__(self, linear: Any, leaky_relu: Any) -> None:
        super().__init__(linear, leaky_relu)


class LinearTanh(_FusedModule):
    """Fused Linear and Tanh."""

    _kinds = (nn.Linear, nn.Tanh)

    def __init__(self, linear: Any, tanh: Any) -> None:
        super().__init__(linear, tanh)


class ConvAdd2d(_FusedModule):
    """Fused convolution and addition of another tensor."""

    def __init__(self, conv: Any, add: Any) -> None:
        super().__init__(conv)
        self.add = add

    def forward(self, x1: Any, x2: Any) -> Any:
        """Return ``add(conv(x1), x2)``."""
        return self.add(self[0](x1), x2)


class ConvAddReLU2d(_FusedModule):
    """Fused convolution, addition of another tensor and ReLU."""

    def __init__(self, conv: Any, add: Any, relu: Any) -> None:
        super().__init__(conv)
        self.add = add
        self.relu = relu

    def forward(self, x1: Any, x2: Any) -> Any:
        """Return ``relu(add(conv(x1), x2))``."""
        return self.relu(self.add(self[0](x1), x2))


__all__ = [
    "BNReLU2d", "BNReLU3d", "ConvAdd2d", "ConvAddReLU2d", "ConvBn1d", "ConvBn2d", "ConvBn3d", "ConvBnReLU1d", "ConvBnReLU2d",
    "ConvBnReLU3d", "ConvReLU1d", "ConvReLU2d", "ConvReLU3d", "LinearBn1d", "LinearLeakyReLU", "LinearReLU", "LinearTanh",
]  # fmt: skip
