"""Jobs of fvcore."""
from __future__ import annotations

import torch
from fvcore.common.param_scheduler import CosineParamScheduler, LinearParamScheduler
from fvcore.nn import giou_loss, parameter_count, sigmoid_focal_loss, smooth_l1_loss
from fvcore.nn.precise_bn import update_bn_stats
from fvcore.nn.weight_init import c2_msra_fill, c2_xavier_fill


def job_layers():
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(64, 4))
    c2_msra_fill(net[0])
    c2_xavier_fill(net[4])
    update_bn_stats(net, [torch.randn(2, 3, 6, 6) for _ in range(3)], 3)
    x, boxes = torch.randn(2, 3, 6, 6), torch.rand(2, 4).cumsum(1)
    out = net(x)
    loss = sigmoid_focal_loss(out, torch.ones(2, 4), reduction="sum") + smooth_l1_loss(out, boxes, 0.5, "sum") + giou_loss(out.abs().cumsum(1), boxes, "sum")
    loss.backward()
    rates = [kind(1.0, 0.1)(where) for kind in (CosineParamScheduler, LinearParamScheduler) for where in (0.0, 0.3, 0.9)]
    return loss, [p.grad for p in net.parameters()], net[1].running_mean, net[1].running_var, dict(parameter_count(net)), rates
