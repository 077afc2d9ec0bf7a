"""A forked process lacks MindSpore's threads: work on a device raises torch's error there, where a kernel would wait forever."""
from __future__ import annotations

import os

import pytest

from tests import warm

SCRIPT = """
import copy, os
import mstorch as torch

a = torch.ones(3, device="npu")
WORK = dict(
    zeros=lambda: torch.zeros(2, device="npu"), empty=lambda: torch.empty(2, device="npu"), full=lambda: torch.full((2,), 3.0, device="npu"),
    arange=lambda: torch.arange(3, device="npu"), data=lambda: torch.tensor([1.0], device="npu"), rand=lambda: torch.rand(3, device="npu"),
    dropout=lambda: torch.nn.functional.dropout(a), to=lambda: torch.ones(3).to("npu"), add=lambda: a + a, in_place=lambda: a.add_(1),
    product=lambda: a @ a, sum=lambda: a.sum(), window=lambda: a[1:].zero_(), cpu=lambda: a.cpu(), item=lambda: a[0].item(),
    tolist=lambda: a.tolist(), text=lambda: repr(a), copied=lambda: copy.deepcopy(a), like=lambda: torch.zeros_like(a),
)
child = os.fork()
if not child:
    wrong = ["nothing ran"]
    try:
        wrong = []
        for name, work in WORK.items():
            try:
                work()
                wrong.append(name)
            except RuntimeError as error:
                if "Cannot re-initialize NPU in forked subprocess" not in str(error):
                    wrong.append((name, error))
        torch.manual_seed(3)
        assert torch.rand(3).sum() > 0 and a[1:].shape == (2,)
    finally:
        print(wrong, flush=True)
        os._exit(0)
os.waitpid(child, 0)
assert a.add_(1).tolist() == [2.0, 2.0, 2.0]
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_work_on_a_device_raises() -> None:
    environment = os.environ | {"MSTORCH_FAKE_DEVICE": "Ascend", "GLOG_v": "3"}
    run = warm.done("-c", SCRIPT, environment=environment, seconds=120)
    assert run.stdout == "[]\n" and not run.returncode, run.stdout + run.stderr
