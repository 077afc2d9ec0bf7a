# ruff: noqa: UP006, UP035, UP045
"""Scripts of detection, as those of ``script_samples``."""
from typing import Any, Dict, List, Optional, Tuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tests.jit.script_samples import R, sample


class Anchors(nn.Module):
    def __init__(self, sizes: Tuple[int, ...], ratios: Tuple[float, ...]) -> None:
        super().__init__()
        self.sizes = sizes
        self.ratios = ratios
        self.cells: List[Tensor] = [self.of_cell(size) for size in sizes]

    @torch.jit.ignore
    def of_cell(self, size: int) -> Tensor:
        rows = [[-size * r, -size / r, size * r, size / r] for r in self.ratios]
        return torch.tensor(rows) / 2

    def forward(self, maps: List[Tensor], image: Tuple[int, int]) -> List[Tensor]:
        boxes = []
        for cell, one in zip(self.cells, maps):
            height, width = one.shape[-2:]
            stride_y, stride_x = image[0] // height, image[1] // width
            ys = torch.arange(0, height, dtype=torch.int32) * stride_y
            xs = torch.arange(0, width, dtype=torch.int32) * stride_x
            grid_y, grid_x = torch.meshgrid(ys, xs, indexing="ij")
            shifts = torch.stack((grid_x.reshape(-1), grid_y.reshape(-1), grid_x.reshape(-1), grid_y.reshape(-1)), dim=1)
            boxes.append((shifts.view(-1, 1, 4) + cell.view(1, -1, 4)).reshape(-1, 4))
        return boxes


def areas(boxes: Tensor) -> Tensor:
    return (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])


def overlaps(a: Tensor, b: Tensor) -> Tensor:
    low, high = torch.max(a[:, None, :2], b[:, :2]), torch.min(a[:, None, 2:], b[:, 2:])
    sides = (high - low).clamp(min=0)
    inner = sides[:, :, 0] * sides[:, :, 1]
    return inner / (areas(a)[:, None] + areas(b) - inner)


def suppressed(boxes: Tensor, scores: Tensor, limit: float = 0.5) -> Tensor:
    order = scores.argsort(descending=True)
    keep: List[int] = []
    taken = torch.zeros(boxes.size(0), dtype=torch.bool)
    shared = overlaps(boxes, boxes)
    for place in range(order.numel()):
        own = int(order[place])
        if bool(taken[own]):
            continue
        keep.append(own)
        taken |= shared[own] > limit
    return torch.tensor(keep, dtype=torch.long)


class Detector(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), nn.BatchNorm2d(8), nn.ReLU(inplace=True))
        self.more = nn.Conv2d(8, 8, 3, 2, 1)
        self.anchors = Anchors((4, 8), (0.5, 1.0))
        self.scores, self.shifts = nn.Conv2d(8, 2, 1), nn.Conv2d(8, 8, 1)

    def forward(self, images: List[Tensor], targets: Optional[List[Dict[str, Tensor]]] = None) -> Tuple[Dict[str, Tensor], List[Dict[str, Tensor]]]:
        if self.training:
            if targets is None:
                raise ValueError("targets are needed in training")
            assert len(targets) == len(images)
        batch = torch.stack(images)
        first = self.body(batch)
        maps = [first, self.more(first)]
        boxes = torch.cat(self.anchors(maps, (batch.shape[-2], batch.shape[-1])))
        scores: List[Tensor] = []
        shifts: List[Tensor] = []
        for one in maps:
            n, _, h, w = one.shape
            scores.append(self.scores(one).view(n, 2, 1, h, w).permute(0, 3, 4, 1, 2).reshape(n, -1))
            shifts.append(self.shifts(one).view(n, 2, 4, h, w).permute(0, 3, 4, 1, 2).reshape(n, -1, 4))
        all_scores, all_shifts = torch.cat(scores, 1).sigmoid(), torch.cat(shifts, 1)
        losses: Dict[str, Tensor] = {}
        found: List[Dict[str, Tensor]] = []
        if self.training:
            assert targets is not None
            total = torch.zeros([])
            for one_target, one_scores in zip(targets, all_scores):
                best, _ = overlaps(boxes, one_target["boxes"]).max(dim=1)
                total = total + F.binary_cross_entropy(one_scores, (best > 0.3).to(one_scores.dtype))
            losses["score"] = total / len(images)
        else:
            for i in range(len(images)):
                moved = boxes + all_shifts[i]
                moved = torch.stack([moved[:, 0], moved[:, 1], moved[:, 0].maximum(moved[:, 2]) + 1, moved[:, 1].maximum(moved[:, 3]) + 1], 1)
                keep = suppressed(moved, all_scores[i])[:10]
                found.append({"boxes": moved[keep], "scores": all_scores[i][keep]})
        return losses, found


@sample
def detector() -> Any:
    return Detector().eval(), ([R(3, 16, 16), R(3, 16, 16)],)


@sample
def detector_in_training() -> Any:
    return Detector(), ([R(3, 16, 16), R(3, 16, 16)], [{"boxes": torch.tensor([[1.0, 2.0, 8.0, 9.0]])}, {"boxes": torch.tensor([[0.0, 0.0, 4.0, 4.0]])}])


@sample
def detection_functions() -> Any:
    return suppressed, (torch.tensor([[0.0, 0.0, 4.0, 4.0], [0.5, 0.0, 4.0, 4.0], [5.0, 5.0, 9.0, 9.0]]), torch.tensor([0.5, 0.9, 0.1]), 0.6)
