"""mmcv's compiled functions on points and voxels, and its layers, against loops and formulas in double precision."""
from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import mstorch as torch
from mstorch import companions

ext, F = companions.mmcv, torch.nn.functional
draw = np.random.default_rng


def _t(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.tensor(draw([seed, *shape]).normal(size=shape))


def _close(got, want, tolerance=1e-9):
    want = want.double() if isinstance(want, torch.Tensor) else torch.tensor(np.array(want, np.float64))
    torch.testing.assert_close(got.double(), want, rtol=tolerance, atol=tolerance)


# Points and voxels


def test_neighbours() -> None:
    points, centres = torch.rand(2, 12, 3), torch.rand(2, 5, 3)
    centres[0, 0] = 9
    squares = ((centres[:, :, None] - points[:, None]) ** 2).sum(-1)
    got = torch.zeros(2, 5, 4, dtype=torch.int32)
    ext.ball_query_forward(centres, points, got, b=2, n=12, m=5, min_radius=0.2, max_radius=0.6, nsample=4)
    for b, c in itertools.product(range(2), range(5)):
        inside = [i for i in range(12) if 0.04 <= squares[b, c, i] < 0.36][:4]
        assert got[b, c].tolist() == (inside + inside[:1] * (4 - len(inside)) if inside else [0] * 4)
    flat = torch.zeros(10, 4, dtype=torch.int32)
    counts = [torch.tensor(sizes, dtype=torch.int32) for sizes in ([5, 5], [12, 12])]
    ext.stack_ball_query_forward(centres.flatten(0, 1), counts[0], points.flatten(0, 1), counts[1], flat, max_radius=0.6, nsample=4)
    assert flat[0].tolist() == [-1, 0, 0, 0]
    inside = [i for i in range(12) if squares[1, 4, i] < 0.36][:4]
    assert flat[9].tolist() == inside + inside[:1] * (4 - len(inside))
    places, distances = torch.zeros(2, 5, 3, dtype=torch.int32), torch.zeros(2, 5, 3)
    ext.knn_forward(points, centres, places, distances, b=2, n=12, m=5, nsample=3)
    assert torch.equal(places.long(), squares.argsort(-1)[..., :3])
    ext.three_nn_forward(centres, points, distances, places, b=2, n=5, m=12)
    torch.testing.assert_close(distances, squares.sort(-1).values[..., :3])
    assert torch.equal(places.long(), squares.argsort(-1)[..., :3])


def test_farthest_points() -> None:
    points = torch.rand(2, 20, 3)
    squares = ((points[:, :, None] - points[:, None]) ** 2).sum(-1)
    want = []
    for b in range(2):
        chosen = [0]
        while len(chosen) < 6:
            chosen.append(int(squares[b][chosen].min(0).values.argmax()))
        want.append(chosen)
    for function, given in ((ext.furthest_point_sampling_forward, points), (ext.furthest_point_sampling_with_dist_forward, squares)):
        got = torch.zeros(2, 6, dtype=torch.int32)
        function(given, torch.full((2, 20), 1e10), got, b=2, n=20, m=6)
        assert got.tolist() == want


def test_groups_of_points() -> None:
    features, groups, weights = _t(2, 3, 7), torch.tensor(draw(0).integers(0, 7, (2, 5, 3)), dtype=torch.int32), _t(2, 5, 3)
    want = torch.stack([features[b][:, groups[b].long()] for b in range(2)])
    got, grad, slope = torch.zeros(2, 3, 5, 3, dtype=torch.float64), _t(2, 3, 5, 3, seed=1), torch.zeros_like(features)
    ext.group_points_forward(features, groups, got, b=2, c=3, n=7, npoints=5, nsample=3)
    ext.group_points_backward(grad, groups, slope, b=2, c=3, n=7, npoints=5, nsample=3)
    _close(got, want)
    _close((slope * features).sum(), (grad * want).sum())
    mixed, slope = torch.zeros(2, 3, 5, dtype=torch.float64), torch.zeros_like(features)
    ext.three_interpolate_forward(features, groups, weights, mixed, b=2, c=3, m=7, n=5)
    ext.three_interpolate_backward(grad[..., 0].contiguous(), groups, weights, slope, b=2, c=3, n=5, m=7)
    _close(mixed, (want * weights[:, None]).sum(-1))
    _close((slope * features).sum(), (grad[..., 0] * mixed).sum())
    some, slope = torch.zeros(2, 3, 5, dtype=torch.float64), torch.zeros_like(features)
    ext.gather_points_forward(features, groups[..., 0].contiguous(), some, b=2, c=3, n=7, npoints=5)
    ext.gather_points_backward(grad[..., 0].contiguous(), groups[..., 0].contiguous(), slope, b=2, c=3, n=7, npoints=5)
    _close(some, want[..., 0])
    _close((slope * features).sum(), (grad[..., 0] * some).sum())
    counts = [torch.tensor(sizes, dtype=torch.int32) for sizes in ([7, 7], [5, 5])]
    flat = features.transpose(1, 2).flatten(0, 1)
    stacked, slope = torch.zeros(10, 3, 3, dtype=torch.float64), torch.zeros_like(flat)
    ext.stack_group_points_forward(flat, counts[0], groups.flatten(0, 1), counts[1], stacked, b=2, m=10, c=3, nsample=3)
    _close(stacked, want.transpose(1, 2).flatten(0, 1))
    stacked_grad = grad.transpose(1, 2).flatten(0, 1)
    ext.stack_group_points_backward(stacked_grad, groups.flatten(0, 1), counts[1], counts[0], slope, b=2, c=3, m=10, n=14, nsample=3)
    _close((slope * flat).sum(), (stacked_grad * stacked).sum())


def test_chamfer_distance() -> None:
    one, two = _t(2, 6, 2), _t(2, 5, 2, seed=1)
    leaves = [item.clone().requires_grad_() for item in (one, two)]
    squares = ((leaves[0][:, :, None] - leaves[1][:, None]) ** 2).sum(-1)
    want = squares.min(2).values, squares.min(1).values
    distances = [torch.zeros(2, 6, dtype=torch.float64), torch.zeros(2, 5, dtype=torch.float64)]
    places = [torch.zeros(2, 6, dtype=torch.int32), torch.zeros(2, 5, dtype=torch.int32)]
    ext.chamfer_distance_forward(one, two, *distances, *places)
    grads, slopes = [_t(2, 6), _t(2, 5)], [torch.zeros_like(one), torch.zeros_like(two)]
    ext.chamfer_distance_backward(one, two, *places, *grads, *slopes)
    for got, item in zip(distances, want):
        _close(got, item)
    for got, item in zip(slopes, torch.autograd.grad(want, leaves, grads)):
        _close(got, item)


@pytest.mark.parametrize("limits", [(3, 100), (2, 4), (100, 100)])
def test_voxels(limits: tuple[int, int]) -> None:
    points = torch.tensor(draw(0).random((60, 4)) * 5 - 0.5, dtype=torch.float32)
    size, bounds = torch.tensor([1.0, 2.0, 4.0]), torch.tensor([0.0, 0, 0, 4, 4, 4])
    cells = torch.zeros(60, 3, dtype=torch.int32)
    ext.dynamic_voxelize_forward(points, size, bounds, cells, NDim=3)
    want, order = [], {}
    for row in points.tolist():
        cell = [math.floor(row[axis] / size[axis].item()) for axis in (2, 1, 0)]
        cell = cell if all(0 <= c < n for c, n in zip(cell, (1, 2, 4))) else [-1] * 3
        want.append(cell)
        if cell[0] >= 0 and (tuple(cell) in order or len(order) < limits[1]):
            order.setdefault(tuple(cell), []).append(row)
    assert cells.tolist() == want
    voxels, coors, numbers = torch.zeros(limits[1], limits[0], 4), torch.zeros(limits[1], 3, dtype=torch.int32), torch.zeros(limits[1], dtype=torch.int32)
    count = torch.zeros((), dtype=torch.int64)
    ext.hard_voxelize_forward(points, size, bounds, voxels, coors, numbers, count, max_points=limits[0], max_voxels=limits[1], NDim=3, deterministic=True)
    assert int(count) == len(order) and [tuple(c) for c in coors[: len(order)].tolist()] == list(order)
    for i, rows in enumerate(order.values()):
        rows = rows[: limits[0]]
        assert int(numbers[i]) == len(rows)
        torch.testing.assert_close(voxels[i, : len(rows)], torch.tensor(rows))


@pytest.mark.parametrize("way", ["sum", "mean", "max"])
def test_points_of_a_voxel(way: str) -> None:
    feats, coors = _t(9, 3), torch.tensor([[1, 0], [0, 2], [1, 0], [-1, 3], [0, 2], [0, 2], [4, 4], [2, -1], [1, 0]], dtype=torch.int32)
    cells, own = [[0, 2], [1, 0], [4, 4]], [1, 0, 1, -1, 0, 0, 2, -1, 1]
    leaf = feats.clone().requires_grad_()
    groups = [leaf[[i for i, cell in enumerate(own) if cell == k]] for k in range(3)]
    want = torch.stack([group.max(0).values if way == "max" else getattr(group, way)(0) for group in groups])
    got, unique, places, counts = ext.dynamic_point_to_voxel_forward(feats, coors, way)
    _close(got, want)
    assert unique.tolist() == cells and places.tolist() == own and counts.tolist() == [3, 3, 1]
    grad, slope = _t(3, 3, seed=1), torch.zeros_like(feats)
    ext.dynamic_point_to_voxel_backward(slope, grad, feats, got, places, counts, way)
    _close(slope, torch.autograd.grad(want, leaf, grad)[0])
    with pytest.raises(RuntimeError, match="reduce type"):
        ext.dynamic_point_to_voxel_forward(feats, coors, "median")


# Layers


def test_normalization_over_processes() -> None:
    x, weight, bias = _t(4, 3, 5).float(), torch.rand(3), torch.rand(3)
    mean, var, std, norm, got = torch.zeros(3), torch.zeros(3), torch.zeros(3), torch.zeros(4, 3, 5), torch.zeros(4, 3, 5)
    running = [torch.zeros(3), torch.ones(3)]
    other = [item.clone() for item in running]
    leaves = [item.clone().requires_grad_() for item in (x, weight, bias)]
    want = F.batch_norm(leaves[0], *other, leaves[1], leaves[2], True, 0.1, 1e-5)
    ext.sync_bn_forward_mean(x, mean)
    ext.sync_bn_forward_var(x, mean, var)
    ext.sync_bn_forward_output(x, mean, var, weight, bias, *running, norm, std, got, eps=1e-5, momentum=0.1, group_size=1)
    grad, slopes = _t(4, 3, 5, seed=1).float(), [torch.zeros(4, 3, 5), torch.zeros(3), torch.zeros(3)]
    ext.sync_bn_backward_param(grad, norm, slopes[1], slopes[2])
    ext.sync_bn_backward_data(grad, weight, slopes[1], slopes[2], norm, std, slopes[0])
    pairs = [(got, want), *zip(running, other), *zip(slopes, torch.autograd.grad(want, leaves, grad))]
    for one, item in pairs:
        torch.testing.assert_close(one, item.detach(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("flip", [False, True])
def test_resampling(flip: bool) -> None:
    x, taps = _t(2, 3, 5, 4), _t(3, 2)
    got = ext.upfirdn2d(x, taps, 2, 3, 1, 2, 2, -1, 1, 2, flip, 1.5)
    spread = torch.zeros(2, 3, 15, 8, dtype=torch.float64)
    spread[:, :, ::3, ::2] = x
    spread = F.pad(spread, (2, 0, 1, 2))[..., :-1]
    kernel = taps if flip else taps.flip(0, 1)
    want = torch.zeros(2, 3, spread.shape[2] - 2, spread.shape[3] - 1, dtype=torch.float64)
    for i, j in itertools.product(range(3), range(2)):
        want += spread[:, :, i : i + want.shape[2], j : j + want.shape[3]] * kernel[i, j] * 1.5
    _close(got, want[:, :, ::2])


def test_leaky_rectifier_and_shift() -> None:
    x, bias, empty = _t(2, 3, 4), _t(3), torch.zeros(0, dtype=torch.float64)
    leaf = x.clone().requires_grad_()
    want = F.leaky_relu(leaf + bias[:, None], 0.2) * 1.4
    got = ext.fused_bias_leakyrelu(x, bias, empty, act=3, grad=0, alpha=0.2, scale=1.4)
    _close(got, want)
    slope = ext.fused_bias_leakyrelu(torch.ones_like(x), empty, got, act=3, grad=1, alpha=0.2, scale=1.4)
    _close(slope, torch.autograd.grad(want.sum(), leaf)[0])
    frames, shift = _t(2, 4, 6, 3), torch.tensor([[1, -2], [0, 3]], dtype=torch.int32)
    moved, back = torch.zeros_like(frames), torch.zeros_like(frames)
    ext.tin_shift_forward(frames, shift, moved)
    for n, t, c in itertools.product(range(2), range(4), range(6)):
        source = t - int(shift[n, c // 3])
        assert torch.equal(moved[n, t, c], frames[n, source, c] if 0 <= source < 4 else frames[n, 0, c] * 0)
    grad = _t(2, 4, 6, 3, seed=1)
    ext.tin_shift_backward(grad, shift, back)
    _close((back * frames).sum(), (grad * moved).sum())
