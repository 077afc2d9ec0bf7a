"""mmcv's features at positions between pixels: of refined rotated boxes (R3Det), along boxes' borders (BorderDet); filters that turn
(oriented response networks), and sums of neighbours by scores (PAConv).
"""
from __future__ import annotations

import mstorch as torch

from .derived import add_gradients
from .regions import Points, between_pixels

Tensor = torch.Tensor


def _of_boxes(best_bboxes: Tensor, scale: float, points: int) -> Points:
    """Return the positions (images, rows, columns, points) of rotated boxes' centres and, of five points, corners. Their first number is
    the row."""
    y, x = best_bboxes[..., 0] * scale, best_bboxes[..., 1] * scale
    rows, columns = [y], [x]
    if points > 1:
        half_width, half_height, angle = best_bboxes[..., 2] * scale / 2, best_bboxes[..., 3] * scale / 2, best_bboxes[..., 4]
        cos, sin = angle.cos(), angle.sin()
        for along, down in ((1, 1), (-1, 1), (-1, -1), (1, -1)):
            columns.append(x + along * cos * half_width - down * sin * half_height)
            rows.append(y + along * sin * half_width + down * cos * half_height)
    place = torch.stack(rows, -1)
    image = torch.arange(place.shape[0], device=place.device).view(-1, 1, 1, 1).expand(place.shape)
    return Points(image, place, torch.stack(columns, -1))


def _aligned(features: Tensor, best_bboxes: Tensor, scale: float, points: int) -> Tensor:
    between = between_pixels(features, _of_boxes(best_bboxes, scale, points))
    return features + between.sum(3).permute(0, 3, 1, 2)


def rotated_feature_align_forward(features: Tensor, best_bboxes: Tensor, output: Tensor, spatial_scale: float, points: int) -> None:
    """Write the features plus those at the points of each place's box."""
    output.copy_(_aligned(features, best_bboxes, spatial_scale, points))


def rotated_feature_align_backward(top_grad: Tensor, best_bboxes: Tensor, bottom_grad: Tensor, spatial_scale: float, points: int) -> None:
    """Add the features' gradients."""
    zeros = torch.zeros_like(bottom_grad)  # the sums are linear: their gradient is the same at any features
    add_gradients(lambda item: _aligned(item, best_bboxes, spatial_scale, points), (zeros,), top_grad, (bottom_grad,))


def _borders(input: Tensor, boxes: Tensor, size: int) -> Tensor:
    """Return the values (images, channels, boxes, 4 sides, size + 1) along boxes' tops, left sides, bottoms and right sides."""
    count, channels, high, broad = input.shape
    low, far, extent = boxes[..., :2], boxes[..., 2:], (boxes[..., 2:] - boxes[..., :2]) / size
    step = torch.arange(size + 1, device=input.device).to(boxes.dtype)
    values = []
    for side in range(4):
        start, way = (low, 1) if side < 2 else (far, -1)
        axis = side % 2  # tops and bottoms go along x, the others along y
        moves = [(way * extent[..., part, None] * step if part == axis else torch.zeros_like(extent[..., :1] * step)) for part in (0, 1)]
        x, y = (start[..., part, None] + moves[part] for part in (0, 1))
        image = torch.arange(count, device=input.device).view(-1, 1, 1).expand(x.shape)
        own = input.view(count, 4, channels // 4, high, broad)[:, side]
        values.append(between_pixels(own, Points(image, y, x)).permute(0, 3, 1, 2))
    return torch.stack(values, 3)


def border_align_forward(input: Tensor, boxes: Tensor, output: Tensor, argmax_idx: Tensor, pool_size: int) -> None:
    """Write the largest value along each side of boxes (images, boxes, x1 y1 x2 y2), of channels of its own, and at which step it is."""
    largest = _borders(input, boxes, pool_size).max(-1)
    output.copy_(largest.values)
    argmax_idx.copy_(largest.indices)


def border_align_backward(grad_output: Tensor, boxes: Tensor, argmax_idx: Tensor, grad_input: Tensor, pool_size: int) -> None:
    """Add the gradients of the largest values."""

    def chosen(item: Tensor) -> Tensor:
        return _borders(item, boxes, pool_size).gather(-1, argmax_idx.long().unsqueeze(-1)).squeeze(-1)

    add_gradients(chosen, (torch.zeros_like(grad_input),), grad_output, (grad_input,))


def _targets(indices: Tensor) -> Tensor:
    """Return where each entry of a filter goes (rotations, entries), counted from 0."""
    return indices.reshape(-1, indices.shape[-1]).t().long() - 1


def active_rotated_filter_forward(input: Tensor, indices: Tensor, output: Tensor) -> None:
    """Write filters (out, in, orientations, rows, columns) turned by each rotation, whose ``indices`` (orientations, rows, columns,
    rotations) say where an entry goes: (out * rotations, in * orientations, rows, columns)."""
    places = _targets(indices)
    flat = input.reshape(*input.shape[:2], -1)
    turned = torch.empty_like(flat).unsqueeze(1).repeat(1, places.shape[0], 1, 1)
    index = places[None, :, None].expand(turned.shape)
    output.copy_(turned.scatter(3, index, flat.unsqueeze(1).expand(turned.shape)).reshape(output.shape))


def active_rotated_filter_backward(grad_out: Tensor, indices: Tensor, grad_in: Tensor) -> None:
    """Write the filters' gradients."""
    places = _targets(indices)
    slopes = grad_out.reshape(grad_in.shape[0], places.shape[0], grad_in.shape[1], -1)
    grad_in.copy_(slopes.gather(3, places[None, :, None].expand(slopes.shape)).sum(1).reshape(grad_in.shape))


def _scored(points: Tensor, centers: Tensor, scores: Tensor, knn_idx: Tensor) -> Tensor:
    batch = torch.arange(points.shape[0], device=points.device)[:, None, None]
    counts = (knn_idx >= 0) & (knn_idx < points.shape[1])
    near, centre = points[batch, torch.where(counts, knn_idx, 0)], centers[batch, knn_idx[:, :, :1]]
    sums = ((near - centre) * scores.unsqueeze(-1)).sum(3)
    return torch.where(counts.unsqueeze(-1), sums, 0).permute(0, 3, 1, 2)


def assign_score_withk_forward(
    points: Tensor, centers: Tensor, scores: Tensor, knn_idx: Tensor, output: Tensor, B: int, N0: int, N1: int, M: int, K: int, O: int,  # noqa: E741
    aggregate: int,
) -> None:  # fmt: skip
    """Add (B, O, N1, K) sums over M of scores (B, N1, K, M) times neighbours' features less the first neighbour's (B, N0, M, O)."""
    output.add_(_scored(points, centers, scores, knn_idx))


def assign_score_withk_backward(
    grad_out: Tensor, points: Tensor, centers: Tensor, scores: Tensor, knn_idx: Tensor, grad_points: Tensor, grad_centers: Tensor,
    grad_scores: Tensor, B: int, N0: int, N1: int, M: int, K: int, O: int, aggregate: int,  # noqa: E741
) -> None:  # fmt: skip
    """Add the gradients of features, of centres' features and of scores."""
    inputs, targets = (points, centers, scores), (grad_points, grad_centers, grad_scores)
    add_gradients(lambda near, centre, score: _scored(near, centre, score, knn_idx), inputs, grad_out, targets)


__all__ = [
    "active_rotated_filter_backward", "active_rotated_filter_forward", "assign_score_withk_backward", "assign_score_withk_forward",
    "border_align_backward", "border_align_forward", "rotated_feature_align_backward", "rotated_feature_align_forward",
]  # fmt: skip
