"""mmcv's attention at positions between pixels of several maps (Deformable DETR, Zhu et al. 2021), by torch's grid_sample."""
from __future__ import annotations

import mstorch as torch

from ..drawing import array
from .derived import add_gradients

Tensor = torch.Tensor
_F = torch.nn.functional


def _attended(value: Tensor, shapes: list[list[int]], locations: Tensor, weights: Tensor) -> Tensor:
    """Return (batch, queries, heads * size) for values (batch, places of all maps, heads, size)."""
    batch, _, heads, size = value.shape
    queries, points = locations.shape[1], locations.shape[4]
    grids = (2 * locations - 1).transpose(1, 2).flatten(0, 1)  # (batch * heads, queries, maps, points, 2)
    factors = weights.transpose(1, 2).flatten(0, 1).unsqueeze(1)
    total = value.new_zeros(batch * heads, size, queries)
    for number, (part, (high, broad)) in enumerate(zip(value.split([high * broad for high, broad in shapes], 1), shapes)):
        images = part.permute(0, 2, 3, 1).reshape(batch * heads, size, high, broad)
        sampled = _F.grid_sample(images, grids[:, :, number], mode="bilinear", padding_mode="zeros", align_corners=False)
        total = total + (sampled.view(batch * heads, size, queries, points) * factors[:, :, :, number]).sum(-1)
    return total.view(batch, heads * size, queries).transpose(1, 2).contiguous()


def ms_deform_attn_forward(
    value: Tensor, value_spatial_shapes: Tensor, value_level_start_index: Tensor, sampling_locations: Tensor, attention_weights: Tensor,
    im2col_step: int,
) -> Tensor:  # fmt: skip
    """Return the weighted sums of values at positions (batch, queries, heads, maps, points, 2), whose numbers go from 0 to 1."""
    return _attended(value, array(value_spatial_shapes).tolist(), sampling_locations, attention_weights)


def ms_deform_attn_backward(
    value: Tensor, value_spatial_shapes: Tensor, value_level_start_index: Tensor, sampling_locations: Tensor, attention_weights: Tensor,
    grad_output: Tensor, grad_value: Tensor, grad_sampling_loc: Tensor, grad_attn_weight: Tensor, im2col_step: int,
) -> None:  # fmt: skip
    """Add the gradients of values, positions and weights."""
    shapes = array(value_spatial_shapes).tolist()
    add_gradients(
        lambda values, places, factors: _attended(values, shapes, places, factors), (value, sampling_locations, attention_weights),
        grad_output, (grad_value, grad_sampling_loc, grad_attn_weight),
    )  # fmt: skip


__all__ = ["ms_deform_attn_backward", "ms_deform_attn_forward"]
