"""Jobs of torchvision's detection models, which call its compiled operators: three steps of training, and an evaluation.

They compute in double precision: which boxes are kept depends on comparisons, which rounding decides in single precision.
"""
from __future__ import annotations

import torch
import torchvision

detection = torchvision.models.detection
_NO_WEIGHTS = {"weights": None, "weights_backbone": None}
_SMALL = {"min_size": 64, "max_size": 80}


def _images() -> list:
    draw = torch.Generator().manual_seed(3)
    return [torch.rand(3, 64, 72, generator=draw, dtype=torch.float64), torch.rand(3, 70, 64, generator=draw, dtype=torch.float64)]


def _targets(masks: bool = False, keypoints: bool = False) -> list:
    draw = torch.Generator().manual_seed(4)
    targets = []
    for height, width in ((64, 72), (70, 64)):
        low = torch.rand(3, 2, generator=draw, dtype=torch.float64) * 25
        high = low + 15 + torch.rand(3, 2, generator=draw, dtype=torch.float64) * 20
        target = {"boxes": torch.cat([low, high], 1), "labels": torch.tensor([1, 2, 1] if not keypoints else [1, 1, 1])}
        if masks:
            rows, columns = torch.arange(height).view(1, -1, 1), torch.arange(width).view(1, 1, -1)
            inside = (rows > low[:, 1, None, None]) & (rows < high[:, 1, None, None]) & (columns > low[:, 0, None, None])
            target["masks"] = (inside & (columns < high[:, 0, None, None])).to(torch.uint8)
        if keypoints:
            places = low[:, None] + torch.rand(3, 5, 2, generator=draw, dtype=torch.float64) * (high - low)[:, None]
            target["keypoints"] = torch.cat([places, torch.ones(3, 5, 1, dtype=torch.float64)], 2).float()  # torchvision takes no others
        targets.append(target)
    return targets


def _trained(model: torch.nn.Module, rate: float = 0.002, **kinds: bool) -> dict:
    """Train for three steps; return the losses, norms of gradients, and what the model finds then."""
    model.double()
    optimizer = torch.optim.SGD(model.parameters(), lr=rate, momentum=0.9)
    steps = []
    for _ in range(3):
        losses = model(_images(), _targets(**kinds))
        optimizer.zero_grad()
        total = sum(losses.values())
        total.backward()
        squares = [parameter.grad.double().square().sum() for parameter in model.parameters() if parameter.grad is not None]
        optimizer.step()
        steps.append({**{name: float(loss) for name, loss in losses.items()}, "norm": float(torch.stack(squares).sum().sqrt())})
    model.eval()
    with torch.no_grad():
        results = model(_images())
    found = [{name: value[:20] for name, value in result.items() if name != "masks"} for result in results]
    masks = [[float(mask.double().sum()) for mask in result["masks"][:20]] for result in results if "masks" in result]
    return {"steps": steps, "found": found, "masks": masks}


def job_faster_rcnn() -> object:
    return _trained(detection.fasterrcnn_mobilenet_v3_large_fpn(**_NO_WEIGHTS, num_classes=3, **_SMALL))


def job_faster_rcnn_resnet() -> object:
    return _trained(detection.fasterrcnn_resnet50_fpn(**_NO_WEIGHTS, num_classes=3, **_SMALL))


def job_mask_rcnn() -> object:
    return _trained(detection.maskrcnn_resnet50_fpn(**_NO_WEIGHTS, num_classes=3, **_SMALL), masks=True)


def job_keypoint_rcnn() -> object:
    model = detection.keypointrcnn_resnet50_fpn(**_NO_WEIGHTS, num_classes=2, num_keypoints=5, **_SMALL)
    return _trained(model, keypoints=True)


def job_retinanet() -> object:
    return _trained(detection.retinanet_resnet50_fpn(**_NO_WEIGHTS, num_classes=3, score_thresh=0.005, **_SMALL))


def job_fcos() -> object:
    return _trained(detection.fcos_resnet50_fpn(**_NO_WEIGHTS, num_classes=3, score_thresh=0.001, **_SMALL))


def job_ssd() -> object:
    return _trained(detection.ssd300_vgg16(**_NO_WEIGHTS, num_classes=3, score_thresh=0.005), rate=0.0002)
