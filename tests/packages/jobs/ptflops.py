"""Jobs of ptflops."""

from __future__ import annotations

import torch
from ptflops import get_model_complexity_info


def job_counts():
    net = torch.nn.Sequential(
        torch.nn.Conv2d(3, 4, 3), torch.nn.ReLU(), torch.nn.AdaptiveAvgPool2d(2), torch.nn.Flatten(), torch.nn.Linear(16, 5)
    )
    answers = []
    for backend in ("pytorch", "aten"):
        answers.append(get_model_complexity_info(net, (3, 16, 16), as_strings=False, print_per_layer_stat=False, backend=backend))
    layer = torch.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    return [*answers, get_model_complexity_info(layer, (3, 8), as_strings=False, print_per_layer_stat=False, backend="pytorch")]
