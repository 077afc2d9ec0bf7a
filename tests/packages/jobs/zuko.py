"""Jobs of zuko."""
from __future__ import annotations

import torch
import zuko


def _fitted(flow, x, context=None):
    optimizer, losses = torch.optim.Adam(flow.parameters(), 1e-2), []
    for _ in range(3):
        loss = -flow(context).log_prob(x).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    torch.save(flow.state_dict(), "flow.pt")
    flow.load_state_dict(torch.load("flow.pt"))
    torch.manual_seed(5)
    with torch.no_grad():
        return losses, flow(context).sample((3,))


def job_flows():
    found = []
    for make in (
        lambda: zuko.flows.NSF(3, 2, transforms=2, hidden_features=[16]), lambda: zuko.flows.MAF(3, 2, transforms=2, hidden_features=[16]),
        lambda: zuko.flows.NICE(3, 2, transforms=2, hidden_features=[16]), lambda: zuko.flows.SOSPF(3, 2, transforms=2, hidden_features=[16]),
        lambda: zuko.flows.BPF(3, 2, transforms=2, hidden_features=[16]), lambda: zuko.flows.GMM(3, 2, components=2),
    ):  # fmt: skip
        torch.manual_seed(0)
        found.append(_fitted(make(), torch.rand(8, 3), torch.randn(8, 2)))
    return found


def job_continuous_flow():
    torch.manual_seed(0)
    flow = zuko.flows.CNF(2, hidden_features=[8]).double()  # the solver's steps depend on rounding
    loss = -flow().log_prob(torch.randn(4, 2).double()).mean()
    loss.backward()
    return loss, [p.grad for p in flow.parameters()]
