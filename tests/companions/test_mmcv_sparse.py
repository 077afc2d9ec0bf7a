"""mmcv's sparse convolutions beside dense ones, its pools of points in boxes and its features along boxes, beside loops."""
from __future__ import annotations

import functools
import importlib
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


def _sites(shape: tuple[int, ...], batch: int, count: int, seed: int = 0) -> torch.Tensor:
    """Return so many different sites of a batch of grids, in no order: (sites, 1 + dimensions)."""
    chosen = draw(seed).choice(batch * math.prod(shape), count, replace=False)
    return torch.tensor(np.stack(np.unravel_index(chosen, (batch, *shape)), 1), dtype=torch.int32)


def _dense(sites: torch.Tensor, features: torch.Tensor, shape: tuple[int, ...], batch: int) -> torch.Tensor:
    grid = features.new_zeros(batch, *shape, features.shape[1])
    grid[tuple(sites.long().t())] = features
    return grid.movedim(-1, 1)


def _at(grid: torch.Tensor, sites: torch.Tensor) -> torch.Tensor:
    return grid.movedim(1, -1)[tuple(sites.long().t())]


CASES = [
    ((7, 6), 3, 1, 1, 1), ((7, 6), 2, 2, 0, 1), ((5, 6, 4), 3, 1, 1, 1), ((5, 6, 4), 3, 2, 1, 1), ((5, 6, 4), (3, 1, 2), (2, 1, 1), (1, 0, 1), 1),
    ((6, 7, 5), 3, 1, 2, 2), ((3, 4, 3, 4), 2, 1, 0, 1),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("transpose", [False, True])
def test_sparse_convolution(case, transpose) -> None:
    shape, *numbers = case
    d = len(shape)
    kernel, stride, padding, dilation = ([item] * d if isinstance(item, int) else list(item) for item in numbers)
    if transpose:
        out = [(n - 1) * s - 2 * p + k for n, k, s, p in zip(shape, kernel, stride, padding)]
        dilation = [1] * d
    else:
        out = [(n + 2 * p - e * (k - 1) - 1) // s + 1 for n, k, s, p, e in zip(shape, kernel, stride, padding, dilation)]
    sites, features, filters = _sites(shape, 2, 19), _t(19, 3), _t(*kernel, 3, 5)
    pairs_of = getattr(ext, f"get_indice_pairs_{d}d_forward")
    places, pairs, counts = pairs_of(sites, 2, out, shape, kernel, stride, padding, dilation, [0] * d, 0, int(transpose))
    result = ext.indice_conv_forward(features, filters, pairs, counts, places.shape[0], 0, 0)
    grid = _dense(sites, features, shape, 2).requires_grad_()
    dense_filters = filters.clone().requires_grad_()
    want = _summed(grid, dense_filters, out, stride, padding, dilation, transpose)
    reached = _summed(_dense(sites, torch.ones_like(features), shape, 2).sum(1, keepdim=True), torch.ones(*kernel, 1, 1).double(), out, stride,
                      padding, dilation, transpose)  # fmt: skip
    assert torch.equal(reached[:, 0].nonzero().int(), places)
    torch.testing.assert_close(result, _at(want, places).detach(), rtol=1e-10, atol=1e-10)
    slopes = _t(*result.shape, seed=1)
    of_features, of_filters = ext.indice_conv_backward(features, filters, slopes, pairs, counts, 0, 0)
    of_grid, of_dense = torch.autograd.grad((_at(want, places) * slopes).sum(), (grid, dense_filters))
    torch.testing.assert_close(of_features, _at(of_grid, sites), rtol=1e-10, atol=1e-10)
    torch.testing.assert_close(of_filters, of_dense, rtol=1e-10, atol=1e-10)
    bias = _t(5)
    torch.testing.assert_close(ext.fused_indice_conv_forward(features, filters, bias, pairs, counts, places.shape[0], 0, 0), result + bias)
    # The inverse convolution takes outputs back to the inputs' sites, by the same pairs
    back = ext.indice_conv_forward(slopes, filters.transpose(-1, -2).contiguous(), pairs, counts, 19, 1, 0)
    torch.testing.assert_close(back, of_features, rtol=1e-10, atol=1e-10)
    largest = ext.indice_maxpool_forward(features, pairs, counts, places.shape[0])
    expected = torch.zeros_like(largest)
    for tap, count in enumerate(counts.tolist()):
        for one, other in pairs[tap, :, :count].t().tolist():
            expected[other] = torch.maximum(expected[other], features[one])
    assert torch.equal(largest, expected)
    slopes = _t(*largest.shape, seed=2)
    slope = ext.indice_maxpool_backward(features, largest, slopes, pairs, counts)
    assert math.isclose(float(slope.sum()), float(slopes[largest > 0].sum()), rel_tol=1e-9)


def _summed(grid, filters, out, stride, padding, dilation, transpose):
    """Return a convolution of (batch, channels, *shape) by filters (*kernel, in, out), a tap after the other."""
    result = grid.new_zeros(grid.shape[0], *out, filters.shape[-1])
    rows = grid.movedim(1, -1)
    for tap in itertools.product(*map(range, filters.shape[:-2])):
        own, other = [], []
        for place in itertools.product(*map(range, grid.shape[2:])):
            if transpose:
                target = [i * s - p + t * e for i, s, p, t, e in zip(place, stride, padding, tap, dilation)]
            else:
                moved = [i + p - t * e for i, p, t, e in zip(place, padding, tap, dilation)]
                target = [m // s if m % s == 0 else -1 for m, s in zip(moved, stride)]
            if all(0 <= t < n for t, n in zip(target, out)):
                own.append(place)
                other.append(target)
        if own:
            own, other = (tuple(torch.tensor(item).t()) for item in (own, other))
            result = result.index_put((slice(None), *other), rows[(slice(None), *own)] @ filters[tap], accumulate=True)
    return result.movedim(-1, 1)


def test_submanifold_convolution() -> None:
    shape, sites, features, filters = (6, 5, 7), _sites((6, 5, 7), 2, 60), _t(60, 3), _t(3, 3, 3, 3, 4)
    places, pairs, counts = ext.get_indice_pairs_3d_forward(sites, 2, shape, shape, [3] * 3, [2] * 3, [0] * 3, [1] * 3, [0] * 3, 1, 0)
    assert places is sites and int(counts[13]) == 60
    got = ext.indice_conv_forward(features, filters, pairs, counts, 60, 0, 1)
    want = F.conv3d(_dense(sites, features, shape, 2), filters.permute(4, 3, 0, 1, 2), padding=1)
    torch.testing.assert_close(got, _at(want, sites), rtol=1e-10, atol=1e-10)
    again = ext.get_indice_pairs_3d_backward(sites, torch.empty(0), 2, shape, shape, [3] * 3, [1] * 3, [1] * 3, [1] * 3, [0] * 3, 1, 0)
    assert torch.equal(again[1], pairs)
    none = ext.get_indice_pairs_3d_forward(sites[:0], 2, [4] * 3, shape, [3] * 3, [2] * 3, [0] * 3, [1] * 3, [0] * 3, 0, 0)
    assert none[0].shape == (0, 4) and not none[2].any()


@pytest.mark.parametrize("method", [0, 1])
def test_points_of_a_raster(method) -> None:
    boxes = torch.tensor([[0.0, 0, 0, 2, 3, 2, 0.4], [1, -1, -1, 2, 2, 4, -2.0], [90, 0, 0, 1, 1, 1, 0]]).double()
    points, features, raster, size = _t(300, 3), _t(300, 4, seed=1), (2, 3, 2), 9
    pooled, argmax = torch.zeros(3, *raster, 4).double(), torch.zeros(3, *raster, 4, dtype=torch.int32)
    listed, slope = torch.zeros(3, *raster, size, dtype=torch.int32), torch.zeros_like(features)
    ext.roiaware_pool3d_forward(boxes, points, features, argmax, listed, pooled, pool_method=method)
    want = torch.zeros_like(pooled)
    members: dict[tuple[int, ...], list[int]] = {}
    for b, (cx, cy, cz, dx, dy, dz, angle) in enumerate(boxes.tolist()):
        for n, (px, py, pz) in enumerate(points.tolist()):
            x = (px - cx) * math.cos(angle) + (py - cy) * math.sin(angle)
            y = (py - cy) * math.cos(angle) - (px - cx) * math.sin(angle)
            if abs(x) < dx / 2 and abs(y) < dy / 2 and 0 <= pz - cz <= dz:
                cell = [min(int(at / (length / parts)), parts - 1) for at, length, parts in zip((x + dx / 2, y + dy / 2, pz - cz), (dx, dy, dz), raster)]
                members.setdefault((b, *cell), []).append(n)
    assert any(len(item) > size - 1 for item in members.values()) and len(members) > 15
    for key, own in members.items():
        assert listed[key].tolist() == [min(len(own), size - 1), *own[: size - 1], *[0] * (size - 1 - len(own))]
        rows = features[own[: size - 1]]
        want[key] = rows.amax(0) if method == 0 else rows.mean(0)
    assert int(listed[..., 0].sum()) == sum(min(len(own), size - 1) for own in members.values())
    torch.testing.assert_close(pooled, want)
    grad = _t(*pooled.shape, seed=2)
    ext.roiaware_pool3d_backward(listed, argmax, grad, slope, pool_method=method)
    torch.testing.assert_close((slope * features).sum(), (grad * want).sum())


def test_first_points_in_boxes() -> None:
    boxes = torch.tensor([[[0.0, 0, 0, 1, 1, 2, 0.3], [0, 0, -2, 9, 9, 9, 0], [90, 0, 0, 1, 1, 1, 0]]] * 2).double()
    cloud, features, inside = _t(2, 90, 3), _t(2, 90, 2), torch.zeros(2, 90, 3, dtype=torch.int32)
    got, empty = torch.zeros(2, 3, 12, 5).double(), torch.zeros(2, 3, dtype=torch.int32)
    ext.roipoint_pool3d_forward(cloud, boxes, features, got, empty)
    ext.points_in_boxes_all_forward(boxes, cloud, inside)
    assert empty.tolist() == [[0, 0, 1]] * 2 and not got[:, 2].any()
    for b, m in itertools.product(range(2), range(2)):
        own = inside[b, :, m].nonzero()[:12, 0].tolist()
        own = [own[k % len(own)] for k in range(12)]
        assert torch.equal(got[b, m], torch.cat((cloud[b], features[b]), 1)[own])


def _between(image: torch.Tensor, y: float, x: float) -> torch.Tensor:
    """Return an image's (channels, rows, columns) values at a position, 0 from one pixel outside on."""
    high, broad = image.shape[1:]
    if not (-1 <= y <= high and -1 <= x <= broad):
        return image.new_zeros(image.shape[0])
    y, x = min(max(y, 0), high - 1), min(max(x, 0), broad - 1)
    top, left = int(y), int(x)
    down, right = min(top + 1, high - 1), min(left + 1, broad - 1)
    return ((1 - y + top) * ((1 - x + left) * image[:, top, left] + (x - left) * image[:, top, right])
            + (y - top) * ((1 - x + left) * image[:, down, left] + (x - left) * image[:, down, right]))  # fmt: skip


@pytest.mark.parametrize("points", [1, 5])
def test_features_of_rotated_boxes(points) -> None:
    features, boxes = _t(2, 3, 4, 5), torch.tensor(draw(1).uniform(0, 5, (2, 4, 5, 5)))
    got, slope, grad = torch.zeros_like(features), torch.zeros_like(features), _t(2, 3, 4, 5, seed=2)
    ext.rotated_feature_align_forward(features, boxes, got, spatial_scale=0.8, points=points)
    want = features.clone()
    for n, h, w in itertools.product(range(2), range(4), range(5)):
        y, x, a, b = (boxes[n, h, w, :4] * 0.8).tolist()
        cos, sin = math.cos(boxes[n, h, w, 4]), math.sin(boxes[n, h, w, 4])
        for u, v in [(0, 0), (1, 1), (-1, 1), (-1, -1), (1, -1)][:points]:
            want[n, :, h, w] += _between(features[n], y + u * sin * a / 2 + v * cos * b / 2, x + u * cos * a / 2 - v * sin * b / 2)
    torch.testing.assert_close(got, want)
    ext.rotated_feature_align_backward(grad, boxes, slope, spatial_scale=0.8, points=points)
    torch.testing.assert_close((slope * features).sum(), (grad * want).sum())


def test_features_along_borders() -> None:
    features, boxes = _t(2, 8, 5, 6), torch.tensor(draw(1).uniform(-1, 6, (2, 7, 4)))
    got, at = torch.zeros(2, 2, 7, 4).double(), torch.zeros(2, 2, 7, 4, dtype=torch.int32)
    ext.border_align_forward(features, boxes, got, at, pool_size=3)
    for n, m in itertools.product(range(2), range(7)):
        x1, y1, x2, y2 = boxes[n, m].tolist()
        for side, (start, end) in enumerate((((x1, y1), (x2, y1)), ((x1, y1), (x1, y2)), ((x2, y2), (x1, y2)), ((x2, y2), (x2, y1)))):
            steps = [[a + (b - a) * k / 3 for a, b in zip(start, end)] for k in range(4)]
            values = torch.stack([_between(features[n, 2 * side : 2 * side + 2], y, x) for x, y in steps])
            torch.testing.assert_close(got[n, :, m, side], values.amax(0))
            assert at[n, :, m, side].tolist() == values.argmax(0).tolist()
    slope, grad = torch.zeros_like(features), _t(2, 2, 7, 4, seed=3)
    ext.border_align_backward(grad, boxes, at, slope, pool_size=3)
    torch.testing.assert_close((slope * features).sum(), (grad * got).sum())


def test_turned_filters_and_scored_neighbours() -> None:
    filters, order = _t(2, 3, 1, 3, 3), np.stack([draw(k).permutation(9) for k in range(4)], 1)
    indices, turned, slope = torch.tensor(order + 1, dtype=torch.int32).view(1, 3, 3, 4), torch.zeros(8, 3, 3, 3).double(), torch.zeros_like(filters)
    ext.active_rotated_filter_forward(filters, indices, turned)
    want = torch.zeros(2, 4, 3, 9).double()
    for entry, rotation in itertools.product(range(9), range(4)):
        want[:, rotation, :, order[entry, rotation]] = filters.flatten(2)[:, :, entry]
    assert torch.equal(turned, want.view(8, 3, 3, 3))
    ext.active_rotated_filter_backward(turned, indices, slope)
    torch.testing.assert_close(slope, 4 * filters)
    points, centres, scores = (item.requires_grad_() for item in (_t(2, 6, 3, 4), _t(2, 6, 3, 4, seed=1), _t(2, 5, 4, 3)))
    near, got = torch.tensor(draw(0).integers(0, 7, (2, 5, 4))), torch.zeros(2, 4, 5, 4).double()
    near[:, :, 0] = 2
    sums = torch.zeros(2, 4, 5, 4).double()
    for b, n, k in itertools.product(range(2), range(5), range(4)):
        if near[b, n, k] < 6:
            sums[b, :, n, k] = (scores[b, n, k] @ (points[b, near[b, n, k]] - centres[b, 2])).clone()
    sizes = {"B": 2, "N0": 6, "N1": 5, "M": 3, "K": 4, "O": 4, "aggregate": 0}
    ext.assign_score_withk_forward(points.detach(), centres.detach(), scores.detach(), near, got, **sizes)
    torch.testing.assert_close(got, sums.detach())
    grad, targets = _t(2, 4, 5, 4, seed=4), [torch.zeros_like(item) for item in (points, centres, scores)]
    ext.assign_score_withk_backward(grad, points.detach(), centres.detach(), scores.detach(), near, *targets, **sizes)
    for target, slopes in zip(targets, torch.autograd.grad((sums * grad).sum(), (points, centres, scores))):
        torch.testing.assert_close(target, slopes)


@pytest.mark.parametrize("groups", [1, 2])
def test_deformable_convolution_of_torch_npu(groups) -> None:
    npu = importlib.import_module("mstorch._companions.torch_npu")
    images, filters, bias, moved, mask = _t(2, 4, 6, 5), _t(6, 4 // groups, 3, 2), _t(6), _t(2, 2 * 2 * 6, 3, 5), _t(2, 2 * 6, 3, 5)
    leaves = [item.requires_grad_() for item in (images, filters, bias, moved, mask)]
    assert companions.torchvision.nms is not None
    want = torch.ops.torchvision.deform_conv2d(images, filters, moved, mask, bias, 2, 1, 1, 1, 1, 2, groups, 2, True)
    apart = moved.view(2, 12, 2, 3, 5)
    told = torch.cat((apart[:, :, 1], apart[:, :, 0], mask), 1)
    numbers = ([3, 2], [1, 1, 2, 1], [1, 1, 1, 1], [1, 1, 1, 2], groups, 2)
    got, sampled = npu.npu_deformable_conv2d(images, filters, told, bias, *numbers)
    same = functools.partial(torch.testing.assert_close, rtol=1e-9, atol=1e-9)
    same(got, want)
    assert sampled.shape == (2, 4, 9, 10)
    slopes = _t(*want.shape)
    for one, other in zip(torch.autograd.grad(got, leaves, slopes), torch.autograd.grad(want, leaves, slopes)):
        same(one, other)
    with pytest.raises(RuntimeError, match="as wide above as below"):
        npu.npu_deformable_conv2d(images, filters, told, bias, [3, 2], [1, 1, 2, 1], [1, 0, 1, 1])
    torch.testing.assert_close(npu.npu_conv2d(images, _t(6, 4, 3, 2), bias, (1, 1), (1, 0), (1, 1), 1), F.conv2d(images, _t(6, 4, 3, 2), bias, padding=(1, 0)))
