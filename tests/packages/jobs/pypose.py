"""Jobs of pypose."""

from __future__ import annotations

import pypose as pp
import torch


class Inverse(torch.nn.Module):
    """A pose that undoes others."""

    def __init__(self, *shape):
        super().__init__()
        self.pose = pp.Parameter(pp.randn_se3(*shape))

    def forward(self, others):
        return (self.pose.Exp() @ others).Log().tensor()


def job_poses():
    torch.manual_seed(0)
    x = pp.randn_SE3(3, requires_grad=True)
    y = (x @ pp.randn_SE3(3)).Log()
    y.tensor().square().sum().backward()
    rotations = pp.randn_so3(4).Exp()
    points = torch.randn(4, 3)
    return [
        y,
        x.grad,
        rotations @ points,
        rotations.matrix(),
        pp.cumprod(rotations, dim=0),
        type(x).__name__,
        type(x.Inv()).__name__,
        type(x.ltype).__name__,
    ]


def job_optimisation():
    torch.manual_seed(0)
    poses = pp.randn_SE3(2, 2)
    net = Inverse(2, 2)
    optimizer = pp.optim.LM(net)
    losses = [optimizer.step(poses) for _ in range(4)]
    descent = torch.optim.SGD(net.parameters(), 0.1)
    for _ in range(3):
        loss = net(poses).square().sum()
        descent.zero_grad()
        loss.backward()
        descent.step()
    return [losses[:2], [float(x) < 1e-3 for x in losses[2:]], type(net.pose).__name__]
