"""Jobs of pytorchcv."""

from __future__ import annotations

import torch
from pytorchcv.model_provider import get_model


def job_networks():
    answers = []
    for name in ("resnet10", "shufflenetv2_wd2", "mobilenetv3_small_w7d20", "squeezenet_v1_1", "seresnet10"):
        torch.manual_seed(0)
        net = get_model(name, pretrained=False, num_classes=4).double()
        out = net(torch.randn(2, 3, 224, 224, dtype=torch.float64))
        out.square().sum().backward()
        answers += [out, next(net.parameters()).grad]
    return answers
