"""Memory formats of convolution weights."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..._src.core.formats import memory_format
from ..._src.core.tensor_base import become
from ..modules.conv import Conv2d, Conv3d, ConvTranspose2d, ConvTranspose3d

if TYPE_CHECKING:
    from ..modules.module import Module

__all__ = ["convert_conv2d_weight_memory_format", "convert_conv3d_weight_memory_format"]


def _convert(module: Module, kinds: tuple[type, ...], memory_format: memory_format) -> Module:
    for layer in module.modules():
        if isinstance(layer, kinds):
            weight: Any = layer.weight
            requires_grad = weight.requires_grad
            # The same tensor object over a storage in the new order.
            become(weight, weight.detach().clone(memory_format=memory_format))
            weight.requires_grad_(requires_grad)
    return module


def convert_conv2d_weight_memory_format(module: Module, memory_format: memory_format) -> Module:
    """Convert the weights of all 2-d convolutions, including transposed ones, to a memory format; return the module."""
    return _convert(module, (Conv2d, ConvTranspose2d), memory_format)


def convert_conv3d_weight_memory_format(module: Any, memory_format: memory_format) -> Any:
    """Convert the weights of all 3-d convolutions, including transposed ones, to a memory format; return the module."""
    return _convert(module, (Conv3d, ConvTranspose3d), memory_format)
