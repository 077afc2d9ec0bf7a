"""mmcv's compiled functions against loops and formulas in double precision, with gradients."""
from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import mstorch as torch
from mstorch import companions
from mstorch._companions.mmcv import polygons

ext, F = companions.mmcv, torch.nn.functional
draw = np.random.default_rng


def _t(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.tensor(draw([seed, *shape]).normal(size=shape))


def _close(got, want, tolerance=1e-9):
    want = want.double() if isinstance(want, torch.Tensor) else torch.tensor(np.array(want, np.float64))
    torch.testing.assert_close(got.double(), want, rtol=tolerance, atol=tolerance)


def _numeric(function, inputs, grad):
    """Return gradients by central differences of the sum of grad * function(*inputs)."""
    slopes = []
    for item in inputs:
        slope, flat = torch.zeros_like(item), item.view(-1)
        for i in range(item.numel()):
            old, ends = float(flat[i]), []
            for step in (1e-6, -1e-6):
                flat[i] = old + step
                ends.append(float((function() * grad).sum()))
            flat[i] = old
            slope.view(-1)[i] = (ends[0] - ends[1]) / 2e-6
        slopes.append(slope)
    return slopes


# Boxes


def _boxes(count: int, seed: int = 0) -> torch.Tensor:
    low = draw(seed).random((count, 2)) * 20
    return torch.tensor(np.concatenate([low, low + draw(seed + 1).random((count, 2)) * 12 + 0.5], 1))


def _iou(a, b, offset=0.0, over=False):
    w, h = (max(min(a[i + 2], b[i + 2]) - max(a[i], b[i]) + offset, 0) for i in (0, 1))
    areas = [(c[2] - c[0] + offset) * (c[3] - c[1] + offset) for c in (a, b)]
    return w * h / (areas[0] if over else areas[0] + areas[1] - w * h)


@pytest.mark.parametrize("offset", [0, 1])
def test_suppression(offset: int) -> None:
    boxes, scores = _boxes(60), torch.tensor(draw(5).random(60))
    left, want = torch.argsort(scores, descending=True).tolist(), []
    while left:
        want.append(left.pop(0))
        left = [i for i in left if _iou(boxes[want[-1]].tolist(), boxes[i].tolist(), offset) <= 0.3]
    assert ext.nms(boxes, scores, iou_threshold=0.3, offset=offset).tolist() == want
    groups = ext.nms_match(torch.cat([boxes, scores[:, None]], 1), 0.3)
    assert sorted(itertools.chain(*groups)) == list(range(60)) and (offset or [group[0] for group in groups] == want)


@pytest.mark.parametrize("method", [0, 1, 2])
def test_soft_suppression(method: int) -> None:
    boxes, scores = _boxes(30), torch.tensor(draw(5).random(30))
    left, want = [[*box, score, i] for i, (box, score) in enumerate(zip(boxes.tolist(), scores.tolist()))], []
    while left:
        best = max(left, key=lambda row: row[4])
        left.remove(best)
        want.append(best)
        for row in left:
            overlap = _iou(best, row)
            row[4] *= math.exp(-(overlap**2) / 0.5) if method == 2 else 1 if overlap < 0.3 else 1 - overlap if method == 1 else 0
        left = [row for row in left if row[4] >= 0.05]
    dets = torch.zeros(30, 5, dtype=torch.float64)
    kept = ext.softnms(boxes, scores, dets, iou_threshold=0.3, sigma=0.5, min_score=0.05, method=method, offset=0)
    assert kept.tolist() == [row[5] for row in want]
    _close(dets[: len(kept)], [row[:5] for row in want])


@pytest.mark.parametrize("offset", [0, 1])
@pytest.mark.parametrize("mode", [0, 1])
def test_overlaps(offset: int, mode: int) -> None:
    a, b = _boxes(5), _boxes(7, 3)
    want = [[_iou(one, other, offset, bool(mode)) for other in b.tolist()] for one in a.tolist()]
    got = torch.zeros(5, 7, dtype=torch.float64)
    ext.bbox_overlaps(a, b, got, mode=mode, aligned=False, offset=offset)
    _close(got, want)
    aligned = torch.zeros(5, dtype=torch.float64)
    ext.bbox_overlaps(a, b[:5], aligned, mode=mode, aligned=True, offset=offset)
    _close(aligned, [want[i][i] for i in range(5)])


def _clipped(subject, clip):
    """Return the area of two convex polygons' intersection: one is cut by each side of the other."""
    turn = sum(clip[i][0] * clip[i - 3][1] - clip[i - 3][0] * clip[i][1] for i in range(4))
    clip = clip if turn > 0 else clip[::-1]
    for i in range(4):
        a, b, points, subject = clip[i], clip[(i + 1) % 4], subject, []
        side = [(b[0] - a[0]) * (p[1] - a[1]) - (b[1] - a[1]) * (p[0] - a[0]) for p in points]
        for j in range(len(points)):
            p, q, s, r = points[j - 1], points[j], side[j - 1], side[j]
            if s * r < 0:
                subject.append([p[k] + (q[k] - p[k]) * s / (s - r) for k in (0, 1)])
            if r >= 0:
                subject.append(q)
    return abs(sum(subject[i - 1][0] * subject[i][1] - subject[i][0] * subject[i - 1][1] for i in range(len(subject)))) / 2


def _rotated(count: int, seed: int = 0) -> torch.Tensor:
    r = draw(seed)
    return torch.tensor(np.concatenate([r.random((count, 2)) * 12, r.random((count, 2)) * 8 + 0.3, r.random((count, 1)) * 7 - 3.5], 1))


@pytest.mark.parametrize("mode", [0, 1])
def test_overlaps_of_rotated_boxes(mode: int) -> None:
    a, b = _rotated(12), torch.cat([_rotated(9, 1), _rotated(12)[:3], _rotated(12)[:1] + torch.tensor([0, 0, 0, 0, math.pi])])
    corners = [polygons.corners(item).tolist() for item in (a, b)]
    inner = np.array([[_clipped(one, other) for other in corners[1]] for one in corners[0]])
    areas = [np.array((item[:, 2] * item[:, 3]).tolist()) for item in (a, b)]
    want = inner / (areas[0][:, None] if mode else areas[0][:, None] + areas[1] - inner)
    got = torch.zeros(12, 13, dtype=torch.float64)
    ext.box_iou_rotated(a, b, got.view(-1), mode_flag=mode, aligned=False)
    _close(got, want, 1e-7)
    assert float(got[0, 9]) == pytest.approx(1) and float(got[0, 12]) == pytest.approx(1)
    aligned = torch.zeros(12, dtype=torch.float64)
    ext.box_iou_rotated(a, b[:12], aligned, mode_flag=mode, aligned=True)
    _close(aligned, np.diag(want), 1e-7)
    quads = torch.zeros(12, 13, dtype=torch.float64)
    reversed_b = polygons.corners(b).flip(1)
    ext.box_iou_quadri(polygons.corners(a).flatten(1), reversed_b.flatten(1), quads.view(-1), mode_flag=mode, aligned=False)
    _close(quads, want, 1e-7)


def test_suppression_of_rotated_boxes() -> None:
    boxes, scores = _rotated(40), torch.tensor(draw(5).random(40))
    labels = torch.arange(40) % 2
    ious = torch.zeros(40, 40, dtype=torch.float64)
    ext.box_iou_rotated(boxes, boxes, ious.view(-1), mode_flag=0, aligned=False)
    none = torch.empty(0)
    for several in (False, True):
        left, want = torch.argsort(scores, descending=True).tolist(), []
        while left:
            want.append(left.pop(0))
            left = [i for i in left if ious[want[-1], i] <= 0.2]
        assert ext.nms_rotated(boxes, scores, none, none, labels, 0.2, several).tolist() == want
    space = torch.cat([boxes[:, :2], boxes[:, :1], boxes[:, 2:4], boxes[:, :1], boxes[:, 4:]], 1).float()
    keep, number = torch.zeros(40, dtype=torch.int64), torch.zeros((), dtype=torch.int64)
    order = torch.argsort(scores, descending=True)
    ext.iou3d_nms3d_forward(space[order], keep, number, nms_overlap_thresh=0.2)
    assert order[keep[: int(number)]].tolist() == ext.nms_rotated(boxes, scores, none, none, labels, 0.2, False).tolist()
    areas = torch.zeros(40, 40)
    ext.iou3d_boxes_overlap_bev_forward(space, space, areas)
    own = (boxes[:, 2] * boxes[:, 3]).float()
    _close(areas / (own[:, None] + own - areas), ious, 1e-4)


def test_points_in_polygons_and_boxes() -> None:
    points = torch.tensor([[1.0, 1.0], [3.0, 0.5], [0.1, 2.5]])
    quad = torch.tensor([[0.0, 0.0, 2.0, 0.0, 2.0, 2.0, 0.0, 2.0], [2.0, 0.0, 4.0, 0.0, 4.0, 4.0, 0.0, 4.0]])
    got = torch.zeros(3, 2)
    ext.points_in_polygons_forward(points, quad, got)
    assert got.tolist() == [[1, 0], [0, 1], [0, 0]]
    # On sides and corners the order of the sides decides, by mmcv's own example
    quads = torch.tensor([[200.0, 200, 400, 400, 500, 200, 400, 100], [400, 400, 500, 500, 600, 300, 500, 200], [300, 300, 600, 700, 700, 700, 700, 100]])
    got = torch.zeros(5, 3)
    ext.points_in_polygons_forward(torch.tensor([[300.0, 300], [400, 400], [100, 100], [300, 250], [100, 0]]), quads, got)
    assert got.tolist() == [[0, 0, 0], [0, 0, 1], [0, 0, 0], [1, 0, 0], [0, 0, 0]]
    boxes = torch.tensor([[[0.0, 0, 0, 4, 2, 2, 0], [0, 0, 0, 4, 2, 2, math.pi / 2], [0, 0, 1, 9, 9, 9, 0.3]]])
    cloud = torch.tensor([[[1.5, 0, 1], [0, 1.5, 1], [1.5, 0, 3], [0, 0, 0.5], [9, 9, 9]]])
    whole = torch.zeros(1, 5, 3, dtype=torch.int32)
    ext.points_in_boxes_all_forward(boxes, cloud, whole)
    assert whole[0].tolist() == [[1, 0, 1], [0, 1, 1], [0, 0, 1], [1, 1, 0], [0, 0, 0]]
    first, alone = torch.zeros(1, 5, dtype=torch.int32), torch.zeros(3, 5, dtype=torch.int32)
    ext.points_in_boxes_part_forward(boxes, cloud, first)
    ext.points_in_boxes_cpu_forward(boxes[0], cloud[0], alone)
    assert first[0].tolist() == [0, 1, 2, 0, -1] and torch.equal(alone.T, whole[0])


# Regions


def _bilinear(image, y, x):
    """Return an image's values (channels, height, width) between pixels, as roi_align reads them."""
    high, wide = image.shape[1:]
    if y < -1 or y > high or x < -1 or x > wide:
        return image[:, 0, 0] * 0
    y, x = min(max(y, 0), high - 1), min(max(x, 0), wide - 1)
    t, s = int(y), int(x)
    b, r = min(t + 1, high - 1), min(s + 1, wide - 1)
    return (image[:, t, s] * (t + 1 - y) * (s + 1 - x) + image[:, t, r] * (t + 1 - y) * (x - s) + image[:, b, s] * (y - t) * (s + 1 - x)
            + image[:, b, r] * (y - t) * (x - s))  # fmt: skip


ROIS = [[0, 1.2, 1, 7, 6], [1, -2, 0, 5.5, 9], [1, 3, 3, 3.9, 3.4]]


@pytest.mark.parametrize("samples", [0, 2])
@pytest.mark.parametrize("aligned", [False, True])
def test_largest_samples_of_regions(samples: int, aligned: bool) -> None:
    images, rois = _t(2, 3, 8, 9), torch.tensor(ROIS, dtype=torch.float64)
    want = torch.zeros(3, 3, 3, 2, dtype=torch.float64)
    for n, (image, *sides) in enumerate(ROIS):
        x1, y1, x2, y2 = (side * 0.8 - 0.5 * aligned for side in sides)
        h, w = ((y2 - y1), (x2 - x1)) if aligned else (max(y2 - y1, 1), max(x2 - x1, 1))
        down, across = (samples, samples) if samples else (math.ceil(h / 3), math.ceil(w / 2))
        for i, j in itertools.product(range(3), range(2)):
            values = [_bilinear(images[int(image)], y1 + (i + (a + 0.5) / down) * h / 3, x1 + (j + (b + 0.5) / across) * w / 2)
                      for a, b in itertools.product(range(down), range(across))]  # fmt: skip
            want[n, :, i, j] = torch.stack(values).max(0).values
    got, y, x = (torch.zeros(3, 3, 3, 2, dtype=torch.float64) for _ in range(3))
    options = {"aligned_height": 3, "aligned_width": 2, "spatial_scale": 0.8, "sampling_ratio": samples, "pool_mode": 0, "aligned": aligned}
    ext.roi_align_forward(images, rois, got, y, x, **options)
    _close(got, want)
    grad, slope = _t(3, 3, 3, 2, seed=1), torch.zeros_like(images)
    ext.roi_align_backward(grad, rois, y, x, slope, **options)
    _close((slope * images).sum(), (grad * want).sum())  # the largest of sums is a sum of one choice


@pytest.mark.parametrize("samples", [0, 2])
@pytest.mark.parametrize("aligned", [False, True])
@pytest.mark.parametrize("clockwise", [False, True])
def test_rotated_regions(samples: int, aligned: bool, clockwise: bool) -> None:
    images = _t(2, 3, 8, 9)
    rois = [[0, 4, 4, 5, 3, 0.4], [1, 2.5, 6, 7, 2.5, -1.9], [1, 5, 3, 0.6, 0.5, 3]]
    want = torch.zeros(3, 3, 3, 2, dtype=torch.float64)
    for n, (image, cx, cy, w, h, angle) in enumerate(rois):
        cx, cy, w, h = cx * 0.8 - 0.5 * aligned, cy * 0.8 - 0.5 * aligned, w * 0.8, h * 0.8
        w, h = (w, h) if aligned else (max(w, 1), max(h, 1))
        c, s = math.cos(angle), math.sin(angle) * (-1 if clockwise else 1)
        down, across = (samples, samples) if samples else (math.ceil(h / 3), math.ceil(w / 2))
        for i, j in itertools.product(range(3), range(2)):
            for a, b in itertools.product(range(down), range(across)):
                y, x = (i + (a + 0.5) / down) * h / 3 - h / 2, (j + (b + 0.5) / across) * w / 2 - w / 2
                want[n, :, i, j] += _bilinear(images[image], y * c - x * s + cy, y * s + x * c + cx) / (down * across)
    tensor, got = torch.tensor(rois, dtype=torch.float64), torch.zeros_like(want)
    options = {"pooled_height": 3, "pooled_width": 2, "spatial_scale": 0.8, "sampling_ratio": samples, "aligned": aligned, "clockwise": clockwise}
    ext.roi_align_rotated_forward(images, tensor, got, **options)
    _close(got, want)
    grad, slope = _t(3, 3, 3, 2, seed=1), torch.zeros_like(images)
    ext.roi_align_rotated_backward(grad, tensor, slope, **options)
    _close((slope * images).sum(), (grad * want).sum())  # the operator is linear


def test_pooled_regions() -> None:
    images, rois = _t(2, 3, 8, 9), torch.tensor(ROIS, dtype=torch.float64)
    want = torch.zeros(3, 3, 3, 2, dtype=torch.float64)
    for n, (image, x1, y1, x2, y2) in enumerate(ROIS):
        h, w = (y2 + 1 - y1) * 0.8 / 3, (x2 + 1 - x1) * 0.8 / 2
        for i, j in itertools.product(range(3), range(2)):
            rows = [min(max(side, 0), 8) for side in (math.floor(i * h + y1 * 0.8), math.ceil((i + 1) * h + y1 * 0.8))]
            columns = [min(max(side, 0), 9) for side in (math.floor(j * w + x1 * 0.8), math.ceil((j + 1) * w + x1 * 0.8))]
            part = images[int(image), :, rows[0] : rows[1], columns[0] : columns[1]].flatten(1)
            want[n, :, i, j] = part.max(1).values if part.shape[1] else 0
    got, place, slope = torch.zeros_like(want), torch.zeros(3, 3, 3, 2, dtype=torch.int32), torch.zeros_like(images)
    options = {"pooled_height": 3, "pooled_width": 2, "spatial_scale": 0.8}
    ext.roi_pool_forward(images, rois, got, place, **options)
    _close(got, want)
    ext.roi_pool_backward(torch.ones_like(got), rois, place, slope, **options)
    _close((slope * images).sum(), want.sum())


@pytest.mark.parametrize("moved", [False, True])
@pytest.mark.parametrize("samples", [0, 2])
def test_moved_regions(moved: bool, samples: int) -> None:
    images, rois = _t(2, 2, 6, 7), torch.tensor([[0, 1.2, 1, 6.3, 6], [1, 0.3, 0.4, 5.5, 5.1]], dtype=torch.float64)
    offset = _t(2, 2, 3, 2) if moved else torch.zeros(0, dtype=torch.float64)
    got = torch.zeros(2, 2, 3, 2, dtype=torch.float64)
    options = {"pooled_height": 3, "pooled_width": 2, "spatial_scale": 0.8, "sampling_ratio": samples, "gamma": 0.2}

    def again():
        ext.deform_roi_pool_forward(images, rois, offset, got, **options)
        return got

    want = torch.zeros_like(got)
    for n, (image, *sides) in enumerate(rois.tolist()):
        x1, y1, x2, y2 = (side * 0.8 - 0.5 for side in sides)
        h, w = y2 - y1, x2 - x1
        down, across = (samples, samples) if samples else (math.ceil(h / 3), math.ceil(w / 2))
        for i, j in itertools.product(range(3), range(2)):
            x, y = (offset[n, 0, i, j] * 0.2 * w, offset[n, 1, i, j] * 0.2 * h) if moved else (0, 0)
            for a, b in itertools.product(range(down), range(across)):
                place = y1 + float(y) + (i + (a + 0.5) / down) * h / 3, x1 + float(x) + (j + (b + 0.5) / across) * w / 2
                want[n, :, i, j] += _bilinear(images[int(image)], *place) / (down * across)
    _close(again(), want)
    grad, slope, of_offset = _t(2, 2, 3, 2, seed=1), torch.zeros_like(images), torch.zeros_like(offset)
    ext.deform_roi_pool_backward(grad, images, rois, offset, slope, of_offset, **options)
    for one, other in zip((slope, of_offset), _numeric(again, [images, offset], grad)):
        _close(one, other, 1e-6)


# Convolutions and attention


def test_deformable_convolutions() -> None:
    x, weight, mask, bias = _t(2, 4, 5, 6), _t(6, 2, 3, 3), torch.rand(2, 9, 5, 6, dtype=torch.float64), _t(6)
    none = torch.zeros(2, 18, 5, 6, dtype=torch.float64)
    got, empty = torch.zeros(2, 6, 5, 6, dtype=torch.float64), torch.zeros(0, dtype=torch.float64)
    names = {"kW": 3, "kH": 3, "dW": 1, "dH": 1, "padW": 1, "padH": 1, "dilationW": 1, "dilationH": 1, "group": 2, "deformable_group": 1, "im2col_step": 2}
    ext.deform_conv_forward(x, weight, none, got, empty, empty, **names)
    _close(got, F.conv2d(x, weight, padding=1, groups=2))
    offset = _t(2, 18, 5, 6) * 0.7
    full = {"kernel_h": 3, "kernel_w": 3, "stride_h": 1, "stride_w": 1, "pad_h": 1, "pad_w": 1, "dilation_h": 1, "dilation_w": 1, "group": 2, "deformable_group": 1, "with_bias": True}

    def again():
        ext.modulated_deform_conv_forward(x, weight, bias, empty, offset, mask, got, empty, **full)
        return got

    first = again().clone()
    ext.deform_conv_forward(x, weight, offset, got, empty, empty, **names)
    plain = got.clone()
    ext.modulated_deform_conv_forward(x, weight, bias, empty, offset, torch.ones_like(mask), got, empty, **full)
    _close(got, plain + bias.view(-1, 1, 1))
    grad = _t(2, 6, 5, 6, seed=1)
    inputs = [x, weight, bias, offset, mask]
    slopes = [torch.zeros_like(item) for item in inputs]
    ext.modulated_deform_conv_backward(x, weight, bias, empty, offset, mask, empty, *slopes, grad, **full)
    for item, slope in zip(inputs, slopes):
        step = _t(*item.shape, seed=9) * 1e-6
        item += step
        moved = float((again() * grad).sum())
        item -= 2 * step
        assert float((slope * step).sum()) == pytest.approx((moved - float((again() * grad).sum())) / 2, rel=1e-4, abs=1e-11)
        item += step
    assert torch.equal(again(), first) or torch.allclose(got, first)
    own = [torch.zeros_like(item) for item in (x, offset, weight)]
    ext.deform_conv_backward_input(x, offset, grad, own[0], own[1], weight, empty, **names)
    ext.deform_conv_backward_parameters(x, offset, grad, own[2], empty, empty, **names, scale=1)
    _close((own[0] * x).sum(), (grad * plain).sum())
    _close((own[2] * weight).sum(), (grad * plain).sum())


def test_chosen_places() -> None:
    image, weight = _t(1, 3, 5, 6), _t(4, 3, 3, 3)
    rows, columns = torch.tensor([0, 2, 4]), torch.tensor([5, 0, 3])
    patches, result = torch.zeros(27, 3, dtype=torch.float64), torch.zeros(1, 4, 5, 6, dtype=torch.float64)
    ext.masked_im2col_forward(image, rows, columns, patches, kernel_h=3, kernel_w=3, pad_h=1, pad_w=1)
    ext.masked_col2im_forward(weight.flatten(1) @ patches, rows, columns, result, height=5, width=6, channels=4)
    whole = F.conv2d(image, weight, padding=1)
    _close(result[0][:, rows, columns], whole[0][:, rows, columns])
    assert int((result != 0).any(1).sum()) == 3


def test_reassembly() -> None:
    features, masks = _t(2, 4, 3, 4), _t(2, 18, 6, 8)
    got, spare = torch.zeros(2, 4, 6, 8, dtype=torch.float64), torch.zeros_like(features)
    names = {"kernel_size": 3, "group_size": 2, "scale_factor": 2}

    def again():
        ext.carafe_forward(features, masks, spare, got, masks, got, **names)
        return got

    want = torch.zeros_like(got)
    for c, y, x, i, j in itertools.product(range(4), range(6), range(8), range(3), range(3)):
        row, column = y // 2 + i - 1, x // 2 + j - 1
        if 0 <= row < 3 and 0 <= column < 4:
            want[:, c, y, x] += features[:, c, row, column] * masks[:, c // 2 * 9 + i * 3 + j, y, x]
    _close(again(), want)
    grad, slopes = _t(2, 4, 6, 8, seed=1), [torch.zeros_like(features), torch.zeros_like(masks)]
    ext.carafe_naive_backward(grad, features, masks, *slopes, **names)
    _close((slopes[0] * features).sum(), (grad * want).sum())
    _close((slopes[1] * masks).sum(), (grad * want).sum())


@pytest.mark.parametrize("way", [0, 1])
def test_masks_of_places(way: int) -> None:
    masks, got = _t(2, 15, 4, 3), torch.zeros(2, 12, 4, 3, dtype=torch.float64)
    names = {"psa_type": way, "num_": 2, "h_feature": 4, "w_feature": 3, "h_mask": 5, "w_mask": 3, "half_h_mask": 2, "half_w_mask": 1}
    ext.psamask_forward(masks, got, **names)
    want, counted = torch.zeros_like(got), torch.zeros_like(masks)
    for y, x, i, j in itertools.product(range(4), range(3), range(5), range(3)):
        row, column = y + i - 2, x + j - 1
        if 0 <= row < 4 and 0 <= column < 3:
            target = (row * 3 + column, y, x) if way == 0 else (y * 3 + x, row, column)
            want[(slice(None), *target)] = masks[:, i * 3 + j, y, x]
            counted[:, i * 3 + j, y, x] = 1
    _close(got, want)
    slope = torch.zeros_like(masks)
    ext.psamask_backward(torch.ones_like(got), slope, **names)
    _close(slope, counted)


def test_correlation() -> None:
    one, two = _t(1, 2, 6, 7), _t(1, 2, 6, 7, seed=1)
    names = {"kH": 3, "kW": 2, "patchH": 3, "patchW": 5, "padH": 1, "padW": 2, "dilationH": 1, "dilationW": 2, "dilation_patchH": 2, "dilation_patchW": 1, "dH": 2, "dW": 1}
    high, wide = (6 + 2 - 2 - 1) // 2 + 1, 7 + 4 - 2 - 1 + 1
    want = torch.zeros(1, 3, 5, high, wide, dtype=torch.float64)
    padded = [F.pad(item, (9, 9, 9, 9)) for item in (one, two)]
    for p, q, y, x, i, j in itertools.product(range(3), range(5), range(high), range(wide), range(3), range(2)):
        row, column = 9 + y * 2 - 1 + i, 9 + x - 2 + j * 2
        want[0, p, q, y, x] += (padded[0][0, :, row, column] * padded[1][0, :, row + (p - 1) * 2, column + q - 2]).sum()
    got = torch.zeros_like(want)
    ext.correlation_forward(one, two, got, **names)
    _close(got, want)
    grad, slopes = _t(*want.shape), [torch.zeros_like(one), torch.zeros_like(two)]
    ext.correlation_backward(grad, one, two, *slopes, **names)
    for item, slope in zip((one, two), slopes):
        _close((slope * item).sum(), (grad * want).sum())


def test_attention_at_positions() -> None:
    shapes = torch.tensor([[3, 4], [2, 2]])
    value, places, weights = _t(2, 16, 2, 3), torch.tensor(draw(1).random((2, 5, 2, 2, 3, 2)) * 1.4 - 0.2), _t(2, 5, 2, 2, 3)
    starts = torch.tensor([0, 12])

    def again():
        return ext.ms_deform_attn_forward(value, shapes, starts, places, weights, im2col_step=64)

    want = torch.zeros(2, 5, 6, dtype=torch.float64)
    for b, q, h, m, p in itertools.product(range(2), range(5), range(2), range(2), range(3)):
        high, wide = shapes[m].tolist()
        image = F.pad(value[b, int(starts[m]) : int(starts[m]) + high * wide, h].T.reshape(3, high, wide), (1, 1, 1, 1))
        x, y = (float(places[b, q, h, m, p, k]) * size - 0.5 + 1 for k, size in ((0, wide), (1, high)))
        if 0 <= x <= wide + 1 and 0 <= y <= high + 1:
            want[b, q, h * 3 : h * 3 + 3] += _bilinear(image, y, x) * weights[b, q, h, m, p]
    _close(again(), want)
    grad = _t(2, 5, 6, seed=2)
    inputs = [value, places, weights]
    slopes = [torch.zeros_like(item) for item in inputs]
    ext.ms_deform_attn_backward(value, shapes, starts, places, weights, grad, *slopes, im2col_step=64)
    for one, other in zip(slopes, _numeric(again, inputs, grad)):
        _close(one, other, 1e-6)


@pytest.mark.parametrize("weighted", [False, True])
def test_focal_losses(weighted: bool) -> None:
    logits, target = _t(6, 4), torch.tensor([0, 3, 1, 2, 3, 0])
    weight = torch.rand(4, dtype=torch.float64) if weighted else torch.zeros(0, dtype=torch.float64)
    own = weight[target] if weighted else torch.ones(6, dtype=torch.float64)
    leaf = logits.clone().requires_grad_()
    p, one = torch.sigmoid(leaf), F.one_hot(target, 4).double()
    want = -(one * 0.3 * (1 - p) ** 2.5 * p.log() + (1 - one) * 0.7 * p**2.5 * (1 - p).log()) * own[:, None]
    got, slope = torch.zeros_like(logits), torch.zeros_like(logits)
    ext.sigmoid_focal_loss_forward(logits, target, weight, got, gamma=2.5, alpha=0.3)
    ext.sigmoid_focal_loss_backward(logits, target, weight, slope, gamma=2.5, alpha=0.3)
    _close(got, want)
    _close(slope, torch.autograd.grad(want.sum(), leaf)[0])
    chance = leaf.softmax(1)
    mine = chance[torch.arange(6), target]
    want = -0.3 * (1 - mine) ** 2.5 * mine.log() * own
    got, spare, slope = torch.zeros(6, dtype=torch.float64), torch.zeros(6, dtype=torch.float64), torch.zeros_like(logits)
    ext.softmax_focal_loss_forward(chance.detach(), target, weight, got, gamma=2.5, alpha=0.3)
    ext.softmax_focal_loss_backward(chance.detach(), target, weight, spare, slope, gamma=2.5, alpha=0.3)
    _close(got, want)
    _close(slope, torch.autograd.grad(want.sum(), leaf)[0])


def test_what_is_left_out_says_so() -> None:
    with pytest.raises(NotImplementedError, match="prroi_pool_forward is not here"):
        ext.prroi_pool_forward(torch.ones(1))
    assert ext.get_compiling_cuda_version() == "not available"
    with pytest.raises(AttributeError):
        _ = ext.unknown
