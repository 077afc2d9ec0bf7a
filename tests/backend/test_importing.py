"""Importing mstorch raises the default threshold of Python's garbage collector, and leaves a user's setting unchanged."""
from __future__ import annotations

import pytest

from tests import warm


@pytest.mark.parametrize(("before", "after"), [("", "7000"), ("gc.set_threshold(1234, 5, 6)", "1234"), ("gc.set_threshold(0)", "0")])
@pytest.mark.parametrize("enabled", [True, False])
def test_threshold(before: str, after: str, enabled: bool) -> None:
    start = f"import gc; gc.unfreeze(); {before or 'pass'}; gc.{'enable' if enabled else 'disable'}()"
    program = f"{start}; import mstorch; print(gc.get_threshold()[0], gc.isenabled())"
    assert warm.said("-c", program, library="mindspore").split() == [after, str(enabled)]


def test_no_cycles() -> None:
    """A training step leaves no reference cycles, so that the collector may run rarely."""
    program = """
import gc
import mstorch as torch
net = torch.nn.Sequential(torch.nn.Conv2d(1, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.LazyLinear(3))
optimizer = torch.optim.Adam([*net.parameters()] if net(torch.ones(1, 1, 8, 8)).shape else [])
def step():
    optimizer.zero_grad()
    torch.nn.functional.cross_entropy(net(torch.randn(2, 1, 8, 8)), torch.tensor([0, 2])).backward()
    optimizer.step()
step(), step()
gc.collect()
gc.disable()
step(), step()
print(gc.collect())
"""
    assert warm.said("-c", program).split() == ["0"]
