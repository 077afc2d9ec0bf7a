"""mmcv's operators on clouds of points (PointNet++): neighbours, samples, groups, interpolation."""
from __future__ import annotations

import numpy as np

import mstorch as torch

from ..drawing import array
from .versions import prepares_for_npu

Tensor = torch.Tensor


def _squares(centres: Tensor, points: Tensor) -> Tensor:
    """Return the squared distances (…, centres, points)."""
    return ((centres.unsqueeze(-2) - points.unsqueeze(-3)) ** 2).sum(-1)


def first_places(inside: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Return the first ``count`` places that are True, the first one again where there are fewer, and whether there is any."""
    length = inside.shape[-1]
    numbers = torch.arange(length, device=inside.device)
    order = torch.where(inside, numbers, length)
    if length < count:
        order = torch.nn.functional.pad(order, (0, count - length), value=length)
    order = order.topk(count, -1, largest=False, sorted=True).values
    first = order[..., :1]
    return torch.where(order < length, order, first), first < length


def ball_query_forward(
    new_xyz: Tensor, xyz: Tensor, idx: Tensor, b: int, n: int, m: int, min_radius: float, max_radius: float, nsample: int
) -> None:
    """Write for each centre the first points at a distance from one radius to another, or at the centre itself."""
    squares = _squares(new_xyz, xyz)
    inside = (squares == 0) | (squares >= min_radius**2) & (squares < max_radius**2)
    places, some = first_places(inside, nsample)
    idx.copy_(torch.where(some, places, 0))


def _ranges(counts: Tensor) -> list[tuple[int, int]]:
    ends = np.cumsum(array(counts)).tolist()
    return list(zip([0, *ends[:-1]], ends))


def stack_ball_query_forward(
    new_xyz: Tensor, new_xyz_batch_cnt: Tensor, xyz: Tensor, xyz_batch_cnt: Tensor, idx: Tensor, max_radius: float, nsample: int
) -> None:
    """Write the same for clouds that lie after each other; places count from the beginning of their cloud, and a centre without points
    gets -1 first."""
    for (start, stop), (first, last) in zip(_ranges(new_xyz_batch_cnt), _ranges(xyz_batch_cnt)):
        places, some = first_places(_squares(new_xyz[start:stop], xyz[first:last]) < max_radius**2, nsample)
        none = torch.zeros_like(places)
        none[:, 0] = -1
        idx[start:stop] = torch.where(some, places, none).to(idx.dtype)


def knn_forward(xyz: Tensor, new_xyz: Tensor, idx: Tensor, dist2: Tensor, b: int, n: int, m: int, nsample: int) -> None:
    """Write the nearest points of each centre and their squared distances."""
    squares, places = _squares(new_xyz, xyz).topk(nsample, -1, largest=False, sorted=True)
    idx.copy_(places)
    dist2.copy_(squares)


def _farthest(step_of: Tensor, closest: Tensor, output: Tensor, count: int, points: bool) -> None:
    rows, last = torch.arange(output.shape[0], device=output.device), torch.zeros_like(output[:, 0]).long()
    chosen, nearest = [last], closest
    for _ in range(1, count):
        if points:
            squares = ((step_of - step_of[rows, last].unsqueeze(1)) ** 2).sum(-1)
        else:
            squares = step_of[rows, last]
        nearest = torch.minimum(nearest, squares)
        last = nearest.argmax(-1)
        chosen.append(last)
    output.copy_(torch.stack(chosen, 1)[:, : output.shape[1]])
    closest.copy_(nearest)


def furthest_point_sampling_forward(points_tensor: Tensor, temp_tensor: Tensor, idx_tensor: Tensor, b: int, n: int, m: int) -> None:
    """Write points each of which is the farthest from those before it, from the first one on."""
    _farthest(points_tensor, temp_tensor, idx_tensor, m, True)


def furthest_point_sampling_with_dist_forward(
    points_tensor: Tensor, temp_tensor: Tensor, idx_tensor: Tensor, b: int, n: int, m: int
) -> None:
    """Write the same for distances (batch, points, points)."""
    _farthest(points_tensor, temp_tensor, idx_tensor, m, False)


def _spread(grad: Tensor, places: Tensor, target: Tensor) -> None:
    """Add gradients (batch, channels, …) to the places (batch, …) that they were read from."""
    index = places.flatten(1).long().unsqueeze(1).expand(-1, target.shape[1], -1)
    target.scatter_add_(2, index, grad.flatten(2))


def _taken(features: Tensor, places: Tensor) -> Tensor:
    index = places.flatten(1).long().unsqueeze(1).expand(-1, features.shape[1], -1)
    return features.gather(2, index).view(*features.shape[:2], *places.shape[1:])


def gather_points_forward(points_tensor: Tensor, idx_tensor: Tensor, out_tensor: Tensor, b: int, c: int, n: int, npoints: int) -> None:
    """Write the features (batch, channels, points) of chosen points."""
    out_tensor.copy_(_taken(points_tensor, idx_tensor))


def gather_points_backward(
    grad_out_tensor: Tensor, idx_tensor: Tensor, grad_points_tensor: Tensor, b: int, c: int, n: int, npoints: int
) -> None:
    """Add their gradients to the points."""
    _spread(grad_out_tensor, idx_tensor, grad_points_tensor)


def group_points_forward(
    points_tensor: Tensor, idx_tensor: Tensor, out_tensor: Tensor, b: int, c: int, n: int, npoints: int, nsample: int
) -> None:
    """Write the features of groups of points: (batch, channels, groups, points)."""
    out_tensor.copy_(_taken(points_tensor, idx_tensor))


def group_points_backward(
    grad_out_tensor: Tensor, idx_tensor: Tensor, grad_points_tensor: Tensor, b: int, c: int, n: int, npoints: int, nsample: int
) -> None:
    """Add their gradients to the points."""
    _spread(grad_out_tensor, idx_tensor, grad_points_tensor)


def _from_the_start(places: Tensor, features_cnt: Tensor, idx_cnt: Tensor) -> tuple[Tensor, Tensor]:
    """Return places of clouds that lie after each other, which count from the beginning of their own, counted from the first; and which
    of them are in their cloud."""
    clouds = list(zip(_ranges(idx_cnt), _ranges(features_cnt)))
    rows = np.repeat(np.array([(first, last - first) for _, (first, last) in clouds]), [stop - start for (start, stop), _ in clouds], 0)
    starts, sizes = torch.from_numpy(np.ascontiguousarray(rows.T)).to(places.device).unsqueeze(-1)
    inside = (places >= 0) & (places < sizes)
    return torch.where(inside, places.long() + starts, 0), inside


def stack_group_points_forward(
    features_tensor: Tensor, features_batch_cnt_tensor: Tensor, idx_tensor: Tensor, idx_batch_cnt_tensor: Tensor, out_tensor: Tensor,
    b: int, c: int, m: int, nsample: int,
) -> None:  # fmt: skip
    """Write the features of groups for clouds that lie after each other: (groups, channels, points). A place outside has zeros."""
    places, inside = _from_the_start(idx_tensor, features_batch_cnt_tensor, idx_batch_cnt_tensor)
    out_tensor.copy_(torch.where(inside.unsqueeze(-1), features_tensor[places], 0).transpose(1, 2))


def stack_group_points_backward(
    grad_out_tensor: Tensor, idx_tensor: Tensor, idx_batch_cnt_tensor: Tensor, features_batch_cnt_tensor: Tensor,
    grad_features_tensor: Tensor, b: int, c: int, m: int, n: int, nsample: int,
) -> None:  # fmt: skip
    """Add their gradients to the points."""
    places, inside = _from_the_start(idx_tensor, features_batch_cnt_tensor, idx_batch_cnt_tensor)
    slopes = torch.where(inside.unsqueeze(-1), grad_out_tensor.transpose(1, 2), 0)
    grad_features_tensor.index_add_(0, places.flatten(), slopes.flatten(0, 1))


def three_nn_forward(
    unknown_tensor: Tensor, known_tensor: Tensor, dist2_tensor: Tensor, idx_tensor: Tensor, b: int, n: int, m: int
) -> None:
    """Write the squared distances and places of the three known points nearest to each unknown one."""
    squares, places = _squares(unknown_tensor, known_tensor).topk(3, -1, largest=False, sorted=True)
    dist2_tensor.copy_(squares)
    idx_tensor.copy_(places)


def three_interpolate_forward(
    points_tensor: Tensor, idx_tensor: Tensor, weight_tensor: Tensor, out_tensor: Tensor, b: int, c: int, m: int, n: int
) -> None:
    """Write the weighted sums of three points' features each."""
    out_tensor.copy_((_taken(points_tensor, idx_tensor) * weight_tensor.unsqueeze(1)).sum(-1))


def three_interpolate_backward(
    grad_out_tensor: Tensor, idx_tensor: Tensor, weight_tensor: Tensor, grad_points_tensor: Tensor, b: int, c: int, n: int, m: int
) -> None:
    """Add their gradients to the points."""
    _spread(grad_out_tensor.unsqueeze(-1) * weight_tensor.unsqueeze(1), idx_tensor, grad_points_tensor)


def within_boxes(boxes: Tensor, points: Tensor) -> Tensor:
    """Return which points (…, points, 3) are within which boxes (…, boxes, 7) of bottom centre, sizes and angle: (…, points, boxes)."""
    apart = points.unsqueeze(-2) - boxes.unsqueeze(-3)[..., :3]
    size, angle = boxes.unsqueeze(-3)[..., 3:6], boxes.unsqueeze(-3)[..., 6]
    x = apart[..., 0] * angle.cos() + apart[..., 1] * angle.sin()
    y = apart[..., 1] * angle.cos() - apart[..., 0] * angle.sin()
    half = size / 2
    within = (x.abs() < half[..., 0]) & (y.abs() < half[..., 1])
    return within & ((apart[..., 2] - half[..., 2]).abs() <= half[..., 2])


def points_in_boxes_part_forward(boxes_tensor: Tensor, pts_tensor: Tensor, box_idx_of_points_tensor: Tensor) -> None:
    """Write the first box that contains each point, -1 for none."""
    boxes = boxes_tensor
    if boxes.device.type == "npu" and prepares_for_npu("points_in_boxes", "points_in_boxes_part"):  # z is the middle there
        boxes = torch.cat((boxes[..., :2], boxes[..., 2:3] - boxes[..., 5:6] / 2, boxes[..., 3:]), -1)
    inside = within_boxes(boxes, pts_tensor)
    first = inside.to(torch.int32).argmax(-1)
    box_idx_of_points_tensor.copy_(torch.where(inside.any(-1), first, -1))


def points_in_boxes_all_forward(boxes_tensor: Tensor, pts_tensor: Tensor, box_idx_of_points_tensor: Tensor) -> None:
    """Write 1 where a point is within a box, else 0: (batch, points, boxes)."""
    box_idx_of_points_tensor.copy_(within_boxes(boxes_tensor, pts_tensor))


def points_in_boxes_cpu_forward(boxes_tensor: Tensor, pts_tensor: Tensor, pts_indices_tensor: Tensor) -> None:
    """Write 1 where a point is within a box, else 0: (boxes, points)."""
    pts_indices_tensor.copy_(within_boxes(boxes_tensor, pts_tensor).transpose(0, 1))


def chamfer_distance_forward(xyz1: Tensor, xyz2: Tensor, dist1: Tensor, dist2: Tensor, idx1: Tensor, idx2: Tensor) -> None:
    """Write for each point of two clouds (batch, points, 2) the squared distance and place of the other cloud's nearest."""
    squares = _squares(xyz1, xyz2)
    for axis, distance, place in ((2, dist1, idx1), (1, dist2, idx2)):
        nearest = squares.min(axis)
        distance.copy_(nearest.values)
        place.copy_(nearest.indices)


def chamfer_distance_backward(
    xyz1: Tensor, xyz2: Tensor, idx1: Tensor, idx2: Tensor, grad_dist1: Tensor, grad_dist2: Tensor, grad_xyz1: Tensor, grad_xyz2: Tensor
) -> None:
    """Add the gradients of both clouds."""
    for own, other, place, grad, of_own, of_other in (
        (xyz1, xyz2, idx1, grad_dist1, grad_xyz1, grad_xyz2), (xyz2, xyz1, idx2, grad_dist2, grad_xyz2, grad_xyz1),
    ):  # fmt: skip
        index = place.long().unsqueeze(-1).expand(-1, -1, own.shape[-1])
        slope = 2 * grad.unsqueeze(-1) * (own - other.gather(1, index))
        of_own.add_(slope)
        of_other.scatter_add_(1, index, -slope)


__all__ = [
    "ball_query_forward", "chamfer_distance_backward", "chamfer_distance_forward", "first_places", "furthest_point_sampling_forward",
    "furthest_point_sampling_with_dist_forward", "gather_points_backward", "gather_points_forward", "group_points_backward",
    "group_points_forward", "knn_forward", "points_in_boxes_all_forward", "points_in_boxes_cpu_forward", "points_in_boxes_part_forward",
    "stack_ball_query_forward", "stack_group_points_backward", "stack_group_points_forward", "three_interpolate_backward",
    "three_interpolate_forward", "three_nn_forward", "within_boxes",
]  # fmt: skip
