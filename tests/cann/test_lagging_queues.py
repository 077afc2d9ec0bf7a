"""Operators, copies and fills that the stream's thread does later, in order: who does not wait reads what is not there yet."""
from __future__ import annotations

import pytest

import mstorch as torch
from mstorch import nn
from tests.cann.plugin import on_plugin

pytestmark = pytest.mark.slow
LAG = 2000


@on_plugin(EMULATED_CANN_LAG_US=LAG)
def test_training_waits_for_what_it_reads():
    torch.manual_seed(0)
    x, y = torch.randn(16, 4), torch.randint(0, 3, (16,))
    seen = []
    for device in ("cpu", "npu"):
        torch.manual_seed(0)
        net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3)).to(device)
        optimizer = torch.optim.AdamW(net.parameters(), lr=1e-2)
        for _ in range(5):
            loss = nn.functional.cross_entropy(net(x.to(device)), y.to(device))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        large = x.to(device) > 0.5
        chosen = x.to(device)[large]
        seen.append((loss.item(), chosen.tolist(), torch.nonzero(large).tolist(), (x.to(device) @ x.to(device).t()).cpu().numpy().sum().item()))
    assert seen[0][1:3] == seen[1][1:3]
    assert abs(seen[0][0] - seen[1][0]) < 1e-5 and abs(seen[0][3] - seen[1][3]) < 1e-2


@on_plugin(EMULATED_CANN_LAG_US=LAG)
def test_streams_that_wait_and_streams_that_do_not():
    x = torch.randn(2000, device="npu")
    torch.npu.synchronize()
    other = torch.npu.Stream()
    with torch.npu.stream(other):
        y = x * 2
        for _ in range(20):
            y = y + 1
    early = y * 1
    torch.npu.current_stream().wait_stream(other)
    late = y * 1
    wanted = x.cpu() * 2 + 20
    assert torch.allclose(late.cpu(), wanted)
    assert not torch.allclose(early.cpu(), wanted), "a missing wait was not seen"


@on_plugin(EMULATED_CANN_LAG_US=LAG)
def test_a_graph_waits_for_its_inputs():
    x = torch.randn(64, 8)
    compiled = torch.compile(lambda a: (a.exp() * 2).sum(dim=0), fullgraph=True)
    for step in range(3):
        device = (x + step).to("npu")
        assert torch.allclose(compiled(device).cpu(), ((x + step).exp() * 2).sum(dim=0), rtol=1e-4)


@on_plugin(EMULATED_CANN_LAG_US=LAG)
def test_copies_that_do_not_block_are_waited_for():
    x = torch.randn(5000)
    device = x.to("npu", non_blocking=True)
    for _ in range(10):
        device = device + 1
    host = device.to("cpu", non_blocking=True)
    torch.npu.synchronize()
    assert torch.allclose(host, x + 10, atol=1e-4)
