"""Jobs of e3nn."""
from __future__ import annotations

import torch
from e3nn import nn, o3


def job_tensor_products():
    torch.manual_seed(0)
    a, b = o3.Irreps("4x0e+2x1o"), o3.Irreps("2x0e+1x1o")
    product = o3.FullyConnectedTensorProduct(a, b, "3x0e+2x1o+1x2e")
    linear = o3.Linear("3x0e+2x1o+1x2e", "2x0e+1x1o")
    x, y = a.randn(5, -1), b.randn(5, -1).requires_grad_()
    out = linear(product(x, y))
    out.square().sum().backward()
    turned = o3.rand_matrix()
    return out, y.grad, o3.spherical_harmonics([0, 1, 2], torch.randn(4, 3), True), o3.Irreps("1x1o").D_from_matrix(turned), turned


def job_network():
    torch.manual_seed(0)
    gate = nn.Gate("4x0e", [torch.tanh], "2x0e", [torch.sigmoid], "2x1o")
    net = torch.nn.ModuleList([o3.Linear("3x0e+2x1o", gate.irreps_in), gate, nn.BatchNorm(gate.irreps_out), nn.FullyConnectedNet([3, 8, 1], torch.relu)])
    x, optimizer, losses = o3.Irreps("3x0e+2x1o").randn(6, -1), torch.optim.SGD(net.parameters(), 1e-2), []  # Adam enlarges rounding errors
    for _ in range(3):
        hidden = net[2](net[1](net[0](x)))
        loss = (hidden.square().sum() + net[3](x[:, :3]).square().sum()) / 6
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    torch.save(net.state_dict(), "net.pt")
    net.load_state_dict(torch.load("net.pt"))
    return losses, net[2](net[1](net[0](x)))
