"""Jobs of brevitas."""
from __future__ import annotations

import brevitas.nn
import torch


def job_layers():
    net = torch.nn.Sequential(
        brevitas.nn.QuantConv2d(3, 4, 3, weight_bit_width=4), brevitas.nn.QuantReLU(bit_width=4), torch.nn.Flatten(),
        brevitas.nn.QuantLinear(4 * 36, 2, bias=True, weight_bit_width=8),
    )  # fmt: skip
    out = net(torch.randn(2, 3, 8, 8))
    out.sum().backward()
    return out, [parameter.grad for parameter in net.parameters()]
