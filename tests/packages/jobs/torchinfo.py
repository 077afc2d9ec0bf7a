"""Jobs of torchinfo."""

from __future__ import annotations

import torch
from torchinfo import summary


def job_summary():
    net = torch.nn.Sequential(torch.nn.Conv2d(1, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.Flatten(), torch.nn.Linear(4 * 36, 5))
    told = summary(net, (2, 1, 8, 8), col_names=("input_size", "output_size", "num_params", "mult_adds", "trainable"), verbose=0)
    layers = summary(torch.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), input_data=torch.randn(2, 3, 8), verbose=0, depth=3)
    cells = summary(torch.nn.LSTM(4, 6, 2), (5, 2, 4), verbose=0)
    return [str(told), str(layers), str(cells)]
