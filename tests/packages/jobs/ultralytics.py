"""Jobs of ultralytics."""
from __future__ import annotations

import torch
from ultralytics.cfg import get_cfg
from ultralytics.nn.tasks import ClassificationModel, DetectionModel
from ultralytics.utils.nms import non_max_suppression


def job_training():
    model = DetectionModel("yolov8n.yaml", nc=3, verbose=False).double()
    model.args = get_cfg()
    batch = {
        "img": torch.rand(2, 3, 64, 64, dtype=torch.float64), "batch_idx": torch.tensor([0.0, 0, 1]), "cls": torch.tensor([[0.0], [1], [2]]),
        "bboxes": torch.tensor([[0.5, 0.5, 0.4, 0.4], [0.3, 0.3, 0.2, 0.2], [0.6, 0.6, 0.3, 0.5]]),
    }  # fmt: skip
    optimizer = torch.optim.SGD(model.parameters(), 0.01, momentum=0.9, nesterov=True)
    losses = []
    for _ in range(3):
        loss, parts = model(batch)
        optimizer.zero_grad()
        loss.sum().backward()
        optimizer.step()
        losses += [loss, parts]
    return losses


def job_detection():
    predictions = torch.rand(2, 7, 100) * torch.tensor([64.0, 64, 20, 20, 1, 1, 1])[None, :, None]
    images = torch.rand(1, 3, 64, 64)
    return non_max_suppression(predictions, 0.25, 0.5), ClassificationModel("yolov8n-cls.yaml", verbose=False).eval()(images)[0]
