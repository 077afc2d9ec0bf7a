"""Jobs of torchao."""
from __future__ import annotations

import torch
from torchao.quantization import Int8DynamicActivationInt8WeightConfig, Int8WeightOnlyConfig, quantize_


def _net():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(64, 32), torch.nn.ReLU(), torch.nn.Linear(32, 8)).eval()


def job_int8():
    x, found = torch.randn(4, 64), []
    for settings in (Int8WeightOnlyConfig(), Int8DynamicActivationInt8WeightConfig()):
        net = _net()
        before = net(x)
        quantize_(net, settings)
        after = net(x)
        found.append((before, after, type(net[0].weight).__name__))
        torch.save(net.state_dict(), "net.pt")
        back = _net()
        back.load_state_dict(torch.load("net.pt", weights_only=False), assign=True)
        found.append(back(x))
    return found


def job_quantisation_aware_training():
    from torchao.quantization.qat import FakeQuantizeConfig, FakeQuantizer

    torch.manual_seed(0)
    fake = FakeQuantizer(FakeQuantizeConfig(torch.int8, "per_token", is_symmetric=False))
    x = torch.randn(4, 16, requires_grad=True)
    out = fake(x)
    out.square().sum().backward()
    return out, x.grad


def job_optimizers():
    from torchao.optim import AdamW8bit

    net = torch.nn.Linear(256, 32)
    torch.manual_seed(0)
    torch.nn.init.normal_(net.weight)
    optimizer, x, losses = AdamW8bit(net.parameters(), 1e-2), torch.randn(8, 256), []
    for _ in range(3):
        loss = net(x).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    return losses
