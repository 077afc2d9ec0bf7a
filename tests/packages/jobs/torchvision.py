"""Jobs of torchvision's Python part."""
from __future__ import annotations

import torch
import torchvision
from torchvision import ops, transforms
from torchvision.models.feature_extraction import create_feature_extractor, get_graph_node_names
from torchvision.transforms import v2


def _model(make, size=64, **options):
    torch.manual_seed(0)
    model = make(weights=None, num_classes=5, **options)
    x = torch.randn(2, 3, size, size)
    model.eval()
    out = model(x)
    model.train()
    torch.manual_seed(1)
    train = model(x)
    train.square().mean().backward()
    return out, train, sum(float(p.grad.abs().sum()) for p in model.parameters())


def job_resnet18():
    return _model(torchvision.models.resnet18)


def job_mobilenet():
    return _model(torchvision.models.mobilenet_v3_small)


def job_vit():
    model = torchvision.models.VisionTransformer(32, 8, 2, 2, 32, 64, num_classes=5)
    x = torch.randn(2, 3, 32, 32)
    out = model(x)
    out.sum().backward()
    return out, model.conv_proj.weight.grad


def job_segmentation():
    model = torchvision.models.segmentation.lraspp_mobilenet_v3_large(weights=None, weights_backbone=None, num_classes=3).eval()
    return model(torch.randn(1, 3, 64, 64))["out"]


def job_feature_extraction():
    model = torchvision.models.resnet18(weights=None).eval()
    train, evaluation = get_graph_node_names(model)
    made = create_feature_extractor(model, return_nodes={"layer1.0.relu": "a", "layer3.1.add": "b", "flatten": "c"})
    return len(train), evaluation[:12], made(torch.randn(1, 3, 64, 64))


def job_transforms():
    torch.manual_seed(3)
    image = torch.rand(3, 40, 50)
    chain = transforms.Compose([
        transforms.RandomResizedCrop(24), transforms.RandomHorizontalFlip(), transforms.ColorJitter(0.3, 0.3, 0.3, 0.1), transforms.RandomRotation(20),
        transforms.GaussianBlur(3), transforms.RandomErasing(1.0), transforms.Normalize([0.5] * 3, [0.2] * 3),
    ])  # fmt: skip
    return chain(image), transforms.functional.resize(image, [20, 30]), transforms.functional.affine(image, 15, [2, 3], 1.2, [5.0])


def job_transforms_v2():
    torch.manual_seed(3)
    image = torch.randint(0, 256, (3, 40, 50), dtype=torch.uint8)
    chain = v2.Compose([
        v2.RandomResizedCrop(24, antialias=True), v2.RandomHorizontalFlip(), v2.ToDtype(torch.float32, scale=True), v2.RandomPerspective(0.3, 1.0),
        v2.Normalize([0.5] * 3, [0.2] * 3),
    ])  # fmt: skip
    boxes = torchvision.tv_tensors.BoundingBoxes([[5, 5, 20, 25]], format="XYXY", canvas_size=(40, 50))
    flipped = v2.functional.horizontal_flip(boxes)
    mixed = v2.MixUp(num_classes=4)(torch.rand(4, 3, 8, 8), torch.tensor([0, 1, 2, 3]))
    return chain(image), flipped.as_subclass(torch.Tensor), type(flipped).__name__, mixed


def job_ops():
    boxes = torch.tensor([[0.0, 0, 10, 10], [1, 1, 11, 11], [20, 20, 30, 30]])
    x = torch.randn(2, 4, 6, 6, requires_grad=True)
    loss = ops.sigmoid_focal_loss(x, torch.ones_like(x), reduction="mean")
    loss.backward()
    return [
        ops.box_iou(boxes, boxes), ops.generalized_box_iou(boxes, boxes), ops.box_area(boxes), ops.box_convert(boxes, "xyxy", "cxcywh"), loss, x.grad,
        ops.clip_boxes_to_image(boxes, (15, 15)), ops.remove_small_boxes(boxes, 5), ops.StochasticDepth(0.5, "row")(x), ops.FrozenBatchNorm2d(4)(x),
        ops.complete_box_iou_loss(boxes, boxes + 1),
    ]  # fmt: skip
