"""Jobs of optimum-quanto."""
from __future__ import annotations

import torch
from optimum.quanto import Calibration, QTensor, freeze, qint4, qint8, quantization_map, quantize, requantize


def _net():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(128, 64), torch.nn.ReLU(), torch.nn.Linear(64, 8)).eval()


def _quantized(weights):
    x, net = torch.randn(4, 128), _net()
    quantize(net, weights=weights)
    trained = net(x)
    freeze(net)
    torch.save(net.state_dict(), "net.pt")
    back = _net()
    requantize(back, torch.load("net.pt", weights_only=False), quantization_map(net))
    return trained, net(x), isinstance(net[0].weight, QTensor), back(x)


def job_int8():
    return _quantized(qint8)


def job_int4():
    return _quantized(qint4)  # whose bits the package unpacks by a function in C++, which it compiles against torch


def job_activations():
    net, x = _net(), torch.randn(4, 128)
    quantize(net, weights=qint8, activations=qint8)
    with Calibration():
        net(x)
    freeze(net)
    out = net(x)
    return out.dequantize() if isinstance(out, QTensor) else out


def job_training():
    net, x = _net().train(), torch.randn(4, 128)
    quantize(net, weights=qint8)
    optimizer, losses = torch.optim.SGD(net.parameters(), 0.1), []
    for _ in range(3):
        loss = net(x).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses
