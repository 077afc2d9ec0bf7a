"""torchvision's detectors whose programs real torch writes to files: on small backbones, whole ones, in training, traced, and their parts.

torch scripts the detectors, traces those that return tuples, and exports only parts of them: its export cannot tell how many boxes pass a
threshold. Everything here runs with real torch as ``torch``.
"""
from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from tests.export.networks import Call, Made

_FEW = {"num_classes": 4, "box_score_thresh": 0.0, "box_detections_per_img": 10}
_FEW_OF_ONE_STAGE = {"num_classes": 4, "score_thresh": 0.0, "detections_per_img": 10}
_SIZES = {"min_size": 64, "max_size": 96}
SMALL = ("FasterRCNN", "RetinaNet", "FCOS", "SSD", "MaskRCNN", "KeypointRCNN")
WHOLE: dict[str, dict[str, Any]] = {
    "fasterrcnn_mobilenet_v3_large_320_fpn": _FEW, "fasterrcnn_mobilenet_v3_large_fpn": {**_FEW, **_SIZES}, "fasterrcnn_resnet50_fpn": {**_FEW, **_SIZES},
    "fasterrcnn_resnet50_fpn_v2": {**_FEW, **_SIZES}, "maskrcnn_resnet50_fpn": {**_FEW, **_SIZES}, "maskrcnn_resnet50_fpn_v2": {**_FEW, **_SIZES},
    "keypointrcnn_resnet50_fpn": {**_FEW, **_SIZES, "num_classes": 2, "num_keypoints": 5},
    "retinanet_resnet50_fpn": {**_FEW_OF_ONE_STAGE, **_SIZES}, "retinanet_resnet50_fpn_v2": {**_FEW_OF_ONE_STAGE, **_SIZES},
    "fcos_resnet50_fpn": {**_FEW_OF_ONE_STAGE, **_SIZES}, "ssd300_vgg16": _FEW_OF_ONE_STAGE, "ssdlite320_mobilenet_v3_large": _FEW_OF_ONE_STAGE,
}  # fmt: skip


def _images() -> list[Any]:
    import torch

    return [torch.rand(3, 60, 80), torch.rand(3, 64, 64)]


def _call() -> Call:
    return (_images(),), {}


def _call_in_double() -> Call:
    return ([image.double() for image in _images()],), {}


def _backbone() -> Any:
    from torch import nn

    backbone: Any = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), nn.BatchNorm2d(8), nn.ReLU(), nn.Conv2d(8, 32, 3, 4, 1), nn.ReLU())
    backbone.out_channels = 32
    return backbone


def _levels(first: Any) -> Any:
    """Return a backbone of two levels."""
    import torch

    class Levels(torch.nn.Module):
        def __init__(self, first: Any) -> None:
            super().__init__()
            self.first, self.second = first, torch.nn.Conv2d(32, 24, 3, 2, 1)
            self.out_channels = [32, 24]

        def forward(self, x: torch.Tensor) -> dict[str, torch.Tensor]:
            x = self.first(x)
            return {"0": x, "1": self.second(x)}

    # The type of the result as an object: TorchScript reads the annotation, which is a text in this file.
    Levels.forward.__annotations__.update(x=torch.Tensor, **{"return": dict[str, torch.Tensor]})
    return Levels(first)


def _on_small_backbone(kind: str) -> Any:
    from torchvision.models.detection.anchor_utils import AnchorGenerator, DefaultBoxGenerator
    from torchvision.models.detection.faster_rcnn import FastRCNNPredictor
    from torchvision.models.detection.keypoint_rcnn import KeypointRCNNHeads
    from torchvision.models.detection.mask_rcnn import MaskRCNNHeads, MaskRCNNPredictor
    from torchvision.ops import MultiScaleRoIAlign

    place = {"FasterRCNN": "faster_rcnn", "MaskRCNN": "mask_rcnn", "KeypointRCNN": "keypoint_rcnn"}.get(kind, kind.lower())
    build = getattr(importlib.import_module(f"torchvision.models.detection.{place}"), kind)
    backbone, anchors = _backbone(), AnchorGenerator(((16, 32),), ((0.5, 1.0),))
    if kind == "SSD":
        boxes = DefaultBoxGenerator([[2], [2]])
        return build(_levels(backbone), anchor_generator=boxes, size=(64, 64), **_FEW_OF_ONE_STAGE)
    if kind == "FCOS":
        anchors = AnchorGenerator(((8,),), ((1.0,),))
    if not kind.endswith("RCNN"):
        return build(backbone, anchor_generator=anchors, **_FEW_OF_ONE_STAGE, **_SIZES)
    options: dict[str, Any] = {"rpn_anchor_generator": anchors, "box_roi_pool": MultiScaleRoIAlign(["0"], 7, 2), **_FEW, **_SIZES}
    if kind == "MaskRCNN":
        options |= {"mask_roi_pool": MultiScaleRoIAlign(["0"], 14, 2), "mask_head": MaskRCNNHeads(32, (16,), 1), "mask_predictor": MaskRCNNPredictor(16, 16, 4), "num_classes": None}
        options["box_predictor"] = FastRCNNPredictor(1024, 4)
    if kind == "KeypointRCNN":
        options |= {"num_classes": 2, "num_keypoints": 5, "keypoint_roi_pool": MultiScaleRoIAlign(["0"], 14, 2), "keypoint_head": KeypointRCNNHeads(32, (16, 512))}
    return build(backbone, **options)


def _small(kind: str) -> Callable[[], Made]:
    return lambda: (_on_small_backbone(kind), _call)


def _whole(name: str) -> Callable[[], Made]:
    def make() -> Made:
        network = getattr(importlib.import_module("torchvision.models.detection"), name)(weights=None, weights_backbone=None, **WHOLE[name])
        return network.double(), _call_in_double  # (in single precision rounding chooses the boxes of a network that is not trained)

    return make


def _targets(kind: str) -> list[dict[str, Any]]:
    import torch

    listed = []
    for height, width in ((60, 80), (64, 64)):
        corners = torch.rand(3, 2) * torch.tensor([width * 0.5, height * 0.5])
        boxes = torch.cat([corners, corners + 8 + torch.rand(3, 2) * 16], 1)
        target = {"boxes": boxes, "labels": torch.ones(3, dtype=torch.int64)}
        if kind == "MaskRCNN":
            target["masks"] = (torch.rand(3, height, width) > 0.5).to(torch.uint8)
        if kind == "KeypointRCNN":
            target["keypoints"] = torch.cat([boxes[:, None, :2] + torch.rand(3, 5, 2) * 6, torch.ones(3, 5, 1)], 2)
        listed.append(target)
    return listed


def _training(kind: str) -> Callable[[], Made]:
    """Return a function that creates a detector which stays in training: its program gives losses."""

    def make() -> Made:
        network = _on_small_backbone(kind)
        network.stays_in_training = True
        return network, lambda: ((_images(), _targets(kind)), {})

    return make


def _in_tuples(kind: str) -> Callable[[], Made]:
    """Return a function that creates a detector whose result is a tuple of tensors, as traces have it."""

    def make() -> Made:
        import torch

        class Tuples(torch.nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.detector = _on_small_backbone(kind)

            def forward(self, first: Any, second: Any) -> Any:
                return tuple(value for one in self.detector([first, second]) for value in one.values())

        return Tuples(), lambda: (tuple(_images()), {})

    return make


def _heads(kind: str) -> Callable[[], Made]:
    """Return a function that creates a detector of one stage up to the numbers from which boxes are chosen."""

    def make() -> Made:
        import torch

        class Heads(torch.nn.Module):
            def __init__(self) -> None:
                super().__init__()
                detector = _on_small_backbone(kind)
                self.backbone, self.head = detector.backbone, detector.head

            def forward(self, x: Any) -> Any:
                features = self.backbone(x)
                return self.head(list(features.values()) if isinstance(features, dict) else [features])

        return Heads(), lambda: ((torch.rand(2, 3, 64, 64),), {})

    return make


def _regions() -> Made:
    import torch
    from torchvision.models.detection.faster_rcnn import FastRCNNPredictor, TwoMLPHead
    from torchvision.ops import MultiScaleRoIAlign

    class Regions(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.backbone, self.pool = _levels(_backbone()), MultiScaleRoIAlign(["0"], 7, 2)
            self.head, self.last = TwoMLPHead(32 * 49, 16), FastRCNNPredictor(16, 4)

        def forward(self, x: Any, boxes: Any, others: Any) -> Any:
            return self.last(self.head(self.pool(self.backbone(x), [boxes, others], [(64, 64), (64, 64)])))

    def boxes() -> Any:
        corners = torch.rand(5, 2) * 30
        return torch.cat([corners, corners + 4 + torch.rand(5, 2) * 20], 1)

    return Regions(), lambda: ((torch.rand(2, 3, 64, 64), boxes(), boxes()), {})


def _pools() -> Made:
    import torch
    from torchvision import ops

    class Pools(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.shift, self.deformed = torch.nn.Conv2d(3, 8, 3), torch.nn.Conv2d(8, 18, 3, padding=1), ops.DeformConv2d(8, 8, 3, padding=1)
            self.layers = torch.nn.ModuleList([ops.RoIAlign(2, 0.5, 2), ops.RoIPool(2, 0.5), ops.PSRoIAlign(2, 0.5, 2), ops.PSRoIPool(2, 0.5)])

        def forward(self, x: Any, regions: Any) -> Any:
            x = self.first(x)
            x = self.deformed(x, self.shift(x)).tanh()
            return [layer(x, regions) for layer in self.layers]

    def regions() -> Any:
        corners = torch.rand(4, 2) * 20
        return torch.cat([torch.tensor([[0.0], [1.0], [1.0], [0.0]]), corners, corners + 4 + torch.rand(4, 2) * 10], 1)

    return Pools(), lambda: ((torch.rand(2, 3, 32, 32), regions()), {})


def _suppressed() -> Made:
    import torch
    from torchvision import ops

    class Suppressed(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.shift = torch.nn.Linear(4, 4)

        def forward(self, boxes: Any, scores: Any, kinds: Any) -> Any:
            boxes = boxes + self.shift(boxes).sigmoid()
            keep = ops.batched_nms(boxes, scores, kinds, 0.3)
            return keep, boxes[keep], scores[keep].cumsum(0), ops.box_iou(boxes, boxes)

    def call() -> Call:
        corners = torch.rand(20, 2) * 20
        return (torch.cat([corners, corners + 8 + torch.rand(20, 2) * 8], 1), torch.rand(20), torch.randint(3, (20,))), {}

    return Suppressed(), call


DETECTORS: dict[str, Callable[[], Made]] = {
    **{kind: _small(kind) for kind in SMALL},
    **{f"{kind} in training": _training(kind) for kind in SMALL},
    **{f"{kind} in tuples": _in_tuples(kind) for kind in SMALL},
    **{f"heads of {kind}": _heads(kind) for kind in ("RetinaNet", "FCOS", "SSD")},
    "heads of regions": _regions, "pools of regions": _pools, "suppressed boxes": _suppressed,
}  # fmt: skip
WHOLE_DETECTORS = {name: _whole(name) for name in WHOLE}
