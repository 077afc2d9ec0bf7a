"""Boxes and regions of torch_npu.contrib compared with their formulas, element by element: ``python -m mstorch -m
tests.devices.contrib_regions``."""
from __future__ import annotations

import math
import warnings
from typing import Any

import mstorch as torch
from mstorch._companions import torch_npu as torch_npu

extra = torch_npu.contrib


def _far(found: Any, wanted: Any, scale: float = 1e-4) -> bool:
    return found.shape != wanted.shape or not torch.allclose(found.detach().cpu(), wanted.detach().cpu(), rtol=scale, atol=scale)


def _overlap(a: list[float], b: list[float]) -> tuple[float, float]:
    """Return the intersection and the union of the areas of two boxes, given by their corners."""
    wide, high = (max(min(a[i + 2], b[i + 2]) - max(a[i], b[i]), 0.0) for i in (0, 1))
    return wide * high, (a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - wide * high


def _corners(box: list[float]) -> list[float]:
    x, y, w, h = box
    return [x - w / 2, y - h / 2, x + w / 2, y + h / 2]


def _other_overlap(kind: str, a: list[float], b: list[float]) -> float:
    """Return giou, diou or ciou of two boxes (x, y, w, h)."""
    first, second = _corners(a), _corners(b)
    common, both = _overlap(first, second)
    wide, high = (max(first[i + 2], second[i + 2]) - min(first[i], second[i]) for i in (0, 1))
    found = common / both
    if kind == "giou":
        return found - (wide * high - both) / (wide * high)
    apart = ((a[0] - b[0]) ** 2 + (a[1] - b[1]) ** 2) / (wide**2 + high**2)
    shapes = 4 / math.pi**2 * (math.atan(b[2] / b[3]) - math.atan(a[2] / a[3])) ** 2
    return found - apart - (shapes * shapes / (1 - found + shapes) if kind == "ciou" else 0.0)


def boxes() -> list[str]:
    """Check overlaps, and the encoding and decoding of boxes."""
    torch.manual_seed(0)
    found: list[str] = []
    low = torch.rand(5, 2) * 20
    corners = torch.cat([low, low + torch.rand(5, 2) * 20 + 1], 1)
    first, second = corners[:3], corners[1:]
    pairs = [[_overlap(a, b) for b in second.tolist()] for a in first.tolist()]
    for mode, added in (("iou", 0.001), ("ptiou", 0.0)):
        wanted = torch.tensor([[(common + added) / (both + 0.001) for common, both in row] for row in pairs])
        if _far(extra.npu_iou(first.npu(), second.npu(), mode), wanted) or extra.npu_iou(first.npu(), second.npu(), mode).requires_grad:
            found.append(mode)
    middle = torch.cat([torch.rand(6, 2) * 10, torch.rand(6, 2) * 8 + 1], 1)
    for kind, function in (("giou", extra.npu_giou), ("diou", extra.npu_diou), ("ciou", extra.npu_ciou)):
        given = [one.clone().npu().requires_grad_() for one in (middle[:3], middle[3:])]
        result = function(*given) if kind == "giou" else function(given[0].t(), given[1].t())
        wanted = torch.tensor([_other_overlap(kind, a, b) for a, b in zip(middle[:3].tolist(), middle[3:].tolist())])
        result.sum().backward()
        gradient, step = given[0].grad, 1e-4
        moved = [middle[:3].double().clone() for _ in range(2)]
        moved[0][1, 2] -= step
        moved[1][1, 2] += step
        less, more = (_other_overlap(kind, one[1].tolist(), middle[4].tolist()) for one in moved)
        if _far(result, wanted.reshape(result.shape)) or abs(gradient[1, 2].item() - (more - less) / (2 * step)) > 2e-3 or 1 not in result.shape:
            found.append(f"{kind}: {result} {wanted} {gradient[1, 2].item()} {(more - less) / (2 * step)}")
    told = extra.npu_bbox_coder_encode_xyxy2xywh(first.npu(), corners[2:].npu(), stds=[0.1, 0.1, 0.2, 0.2])
    a, b = first[0].tolist(), corners[2].tolist()
    wide, there = a[2] - a[0] + 1, (b[0] + b[2] - a[0] - a[2]) / 2
    if abs(told[0, 0].item() - there / wide / 0.1) > 1e-3 or abs(told[0, 2].item() - math.log((b[2] - b[0] + 1) / wide) / 0.2) > 1e-3:
        found.append(f"encoded: {told}")
    back = extra.npu_bbox_coder_decode_xywh2xyxy(first.npu(), told, stds=[0.1, 0.1, 0.2, 0.2])
    example = extra.npu_bbox_coder_decode_xywh2xyxy(  # from torch_npu's documentation
        torch.tensor([[1.0, 2.0, 3.0, 4.0], [3.0, 4.0, 5.0, 6.0]]).npu(), torch.tensor([[5.0, 6.0, 7.0, 8.0], [7.0, 8.0, 9.0, 6.0]]).npu(),
        max_shape=(10, 10), wh_ratio_clip=0.1,
    )  # fmt: skip
    if _far(back, corners[2:], 1e-3) or example.tolist() != [[2.5, 6.5, 9.0, 9.0], [9.0] * 4]:
        found.append(f"decoded: {back} {example}")
    flags = extra.npu_single_level_responsible_flags((3, 4), torch.tensor([[0.0, 0.0, 10.0, 4.0], [20.0, 10.0, 30.0, 20.0]]).npu(), (8, 8), 2)
    if flags.dtype is not torch.uint8 or flags.tolist() != [int(number // 2 in (0, 7)) for number in range(24)]:
        found.append(f"flags: {flags.tolist()}")
    return found


def _pixel(image: list[list[float]], y: float, x: float, edge: bool) -> float:
    """Return the value of an image between its pixels; beyond the outermost ones that of the ``edge``, or zeros."""
    height, width = len(image), len(image[0])
    if edge:
        if not (-1 <= y <= height and -1 <= x <= width):
            return 0.0
        y, x = min(max(y, 0.0), height - 1), min(max(x, 0.0), width - 1)
    top, left, total = math.floor(y), math.floor(x), 0.0
    for row in (top, top + 1):
        for column in (left, left + 1):
            if 0 <= row < height and 0 <= column < width:
                total += image[row][column] * (1 - abs(y - row)) * (1 - abs(x - column))
    return total


def _region(image: list[list[float]], box: list[float], raster: int, ratio: int, aligned: bool) -> list[list[float]]:
    shift = 0.5 if aligned else 0.0
    low = [box[1] - shift, box[0] - shift]
    sizes = [box[3] - box[1], box[2] - box[0]]
    sizes = sizes if aligned else [max(size, 1.0) for size in sizes]
    ratios = [ratio or math.ceil(size / raster) for size in sizes]
    rows, columns = ([low[i] + sizes[i] * (step + 0.5) / (raster * ratios[i]) for step in range(raster * ratios[i])] for i in (0, 1))
    return [
        [
            sum(
                _pixel(image, y, x, True) for y in rows[i * ratios[0] : (i + 1) * ratios[0]] for x in columns[j * ratios[1] : (j + 1) * ratios[1]]
            ) / (ratios[0] * ratios[1])
            for j in range(raster)
        ]
        for i in range(raster)
    ]  # fmt: skip


def regions() -> list[str]:
    """Check regions, and convolutions with offsets: values by the plain formula, gradients by differences."""
    torch.manual_seed(0)
    found: list[str] = []
    images = torch.randn(2, 2, 7, 6)
    rois = torch.tensor([[0.0, 2.0, 2.0, 10.0, 12.0], [1.0, 0.0, 3.0, 5.0, 11.0], [1.0, -6.0, -6.0, 20.0, 20.0]])
    for ratio in (2, 0):
        for aligned in (True, False):
            given = images.clone().npu().requires_grad_()
            result = extra.ROIAlign((3, 3), 0.5, ratio, aligned)(given, rois.npu())
            wanted = torch.tensor([
                [_region(channel, [value * 0.5 for value in roi[1:]], 3, ratio, aligned) for channel in images[int(roi[0])].tolist()] for roi in rois.tolist()
            ])  # fmt: skip
            result.sum().backward()
            step = torch.zeros_like(images)
            step[1, 0, 3, 2] = 1.0
            more = torch.tensor(_region((images + step)[1, 0].tolist(), [-3.0, -3.0, 10.0, 10.0], 3, ratio, aligned)).sum() + torch.tensor(
                _region((images + step)[1, 0].tolist(), [0.0, 1.5, 2.5, 5.5], 3, ratio, aligned)).sum()  # fmt: skip
            if _far(result, wanted) or _far(given.grad[1, 0, 3, 2], more - wanted[1:, 0].sum(), 1e-3):
                found.append(f"regions {ratio} {aligned}")
    moved = extra.ModulatedDeformConv(4, 6, 3, 2, 1, groups=2, deformable_groups=2, pack=False).npu()
    x, weight = torch.randn(2, 4, 5, 6), moved.weight.detach().cpu()
    offset, mask = torch.randn(2, 36, 3, 3), torch.rand(2, 18, 3, 3)
    given = [one.clone().npu().requires_grad_() for one in (x, offset, mask)]
    result = moved(tuple(given))
    wanted = torch.zeros(2, 6, 3, 3)
    planes = x.tolist()
    for n in range(2):
        for out in range(6):
            for i in range(3):
                for j in range(3):
                    for channel in range(2):
                        real = out // 3 * 2 + channel
                        for tap in range(9):
                            at = (real // 2 * 9 + tap) * 2
                            y = i * 2 - 1 + tap // 3 + offset[n, at, i, j].item()
                            across = j * 2 - 1 + tap % 3 + offset[n, at + 1, i, j].item()
                            wanted[n, out, i, j] += weight[out, channel, tap // 3, tap % 3] * _pixel(planes[n][real], y, across, False) * mask[n, real // 2 * 9 + tap, i, j]
    result.sum().backward()
    step = 1e-2
    for place, one in ((0, (1, 2, 2, 3)), (1, (0, 9, 1, 1)), (2, (1, 4, 2, 0))):
        changed = [[other.clone().npu() for other in (x, offset, mask)] for _ in range(2)]
        changed[0][place][one] -= step
        changed[1][place][one] += step
        less, more = (moved(tuple(all_of)).double().sum().item() for all_of in changed)
        if abs((more - less) / (2 * step) - given[place].grad[one].item()) > 2e-2:
            found.append(f"gradient {place}: {(more - less) / (2 * step)} {given[place].grad[one].item()}")
    plain = extra.DCNv2(4, 6, 3, padding=1).npu()
    if _far(result, wanted) or _far(plain(x.npu()), 0.5 * torch.nn.functional.conv2d(x, plain.weight.detach().cpu(), padding=1)):
        found.append("moved taps")
    return found


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    print([*boxes(), *regions()])
