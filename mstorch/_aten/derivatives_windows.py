"""Gradients of pooling, padding and resampling in terms of ATen operators."""
from __future__ import annotations

from typing import Any

from .._tensor import Tensor
from .calling import Derived
from .composites import aten
from .derivatives import derivative
from .derivatives_layers import option


@derivative("avg_pool3d.default", label="AvgPool3DBackward0")
def _avg_pool3d(node: Derived, grad: Any) -> Any:
    options = [option(node, place, default) for place, default in enumerate((None, None, [], [0, 0, 0], False, True, None)) if place]
    return aten("avg_pool3d_backward", grad, node.arg(0), *options)


@derivative("max_pool3d_with_indices.default", label="MaxPool3DWithIndicesBackward0")
def _max_pool3d(node: Derived, grad: Any, _: Any = None) -> Any:
    options = [option(node, place, default) for place, default in enumerate((None, None, [], [0, 0, 0], [1, 1, 1], False)) if place]
    return aten("max_pool3d_with_indices_backward", grad, node.arg(0), *options, node.result(1))


@derivative("_adaptive_avg_pool3d.default", label="AdaptiveAvgPool3DBackward0")
def _adaptive_avg_pool3d(node: Derived, grad: Any) -> Any:
    return aten("_adaptive_avg_pool3d_backward", grad, node.arg(0))


def _adaptive_max_pool(rank: int) -> None:
    @derivative(f"adaptive_max_pool{rank}d.default", label=f"AdaptiveMaxPool{rank}DBackward0")
    def backward(node: Derived, grad: Tensor, _: Any = None) -> Any:
        return aten(f"adaptive_max_pool{rank}d_backward", grad, node.arg(0), node.result(1))


def _fractional_max_pool(rank: int) -> None:
    @derivative(f"fractional_max_pool{rank}d.default", label=f"FractionalMaxPool{rank}DBackward0")
    def backward(node: Derived, grad: Tensor, _: Any = None) -> Any:
        return aten(f"fractional_max_pool{rank}d_backward", grad, node.arg(0), *node.plan[1:3], node.result(1)), None


def _padding(name: str, word: str) -> None:
    @derivative(f"{name}.default", label=f"{word}Backward0")
    def backward(node: Derived, grad: Tensor) -> Any:
        return aten(f"{name}_backward", grad, node.arg(0), node.plan[1])


def _resampling(name: str, word: str) -> None:
    @derivative(f"{name}.default", label=f"{word}Backward0")
    def backward(node: Derived, grad: Tensor) -> Any:
        return aten(f"{name}_backward", grad, node.plan[1], list(node.shapes[0]), *node.plan[2:])


for _rank in (2, 3):
    _adaptive_max_pool(_rank)
    _fractional_max_pool(_rank)
for _rank in (1, 2, 3):
    _padding(f"reflection_pad{_rank}d", f"ReflectionPad{_rank}D")
    _padding(f"replication_pad{_rank}d", f"ReplicationPad{_rank}D")
    _resampling(f"upsample_nearest{_rank}d", f"UpsampleNearest{_rank}D")
    _resampling(f"_upsample_nearest_exact{_rank}d", f"UpsampleNearestExact{_rank}D")
for _name, _word in (("linear1d", "Linear1D"), ("bilinear2d", "Bilinear2D"), ("trilinear3d", "Trilinear3D"), ("bicubic2d", "Bicubic2D")):
    _resampling(f"upsample_{_name}", f"Upsample{_word}")
