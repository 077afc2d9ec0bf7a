"""Threads and forks: processes end, and calls return, whatever other threads are doing."""
from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.core]

# The number of threads changes while two threads compute.
CHANGED = """
import threading, time
import mstorch as torch
sys.setswitchinterval(1e-5)
x, going, wrong = torch.ones(2_000_000), True, []
def work():
    while going:
        y = torch.sin(x)
        if not (y[::999] == y[0]).all():
            wrong.append(y)
others = [threading.Thread(target=work) for _ in range(2)]
for other in others: other.start()
end, count = time.time() + 1.5, 0
while time.time() < end:
    count += 1
    torch.set_num_threads(count % 3 + 1)
    time.sleep(0.0005)
going = False
for other in others: other.join()
assert not wrong
"""

# A process is forked while another thread draws random numbers and adds to a gradient.
FORKED = """
import os, threading
import mstorch as torch
from mstorch._src.tape import accumulate
held, done = threading.Event(), threading.Event()
def hold():
    with accumulate._accumulating, torch.default_generator._engine.lock:
        held.set()
        done.wait()
other = threading.Thread(target=hold)
other.start()
held.wait()
child = os.fork()
if child == 0:
    x = torch.randn(3).requires_grad_()
    x.sum().backward()
    os._exit(0 if x.grad.tolist() == [1, 1, 1] else 1)
done.set()
other.join()
assert os.waitpid(child, 0)[1] == 0
"""

# The interpreter exits while daemon threads compute, draw, train and allocate.
ENDED = """
import threading, time
import mstorch as torch
torch.set_num_threads(2)
def compute():
    x = torch.ones(2_000_000)
    while True: torch.sin(x)
def draw():
    while True: torch.randn(2_000_000)
def train():
    model = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(8 * 36, 4))
    optimizer = torch.optim.Adam(model.parameters())
    while True:
        optimizer.zero_grad()
        model(torch.randn(8, 3, 8, 8)).square().mean().backward()
        optimizer.step()
for job in (compute, draw, train): threading.Thread(target=job, daemon=True).start()
time.sleep(0.5)
"""

# A backward pass within a hook of an accumulation.
NESTED = """
import mstorch as torch
class Counting(torch.Tensor):
    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        if getattr(function, "__name__", "") == "add_":
            with torch.enable_grad():
                w = torch.ones(2, requires_grad=True)
                (w * 2).sum().backward()
            assert w.grad.tolist() == [2, 2]
        return super().__torch_function__(function, types, args, kwargs or {})
x = torch.ones(3, requires_grad=True)
x.grad = torch.ones(3).as_subclass(Counting)
x.sum().backward()
assert x.grad.tolist() == [2, 2, 2]
"""


@pytest.mark.parametrize("program", [CHANGED, FORKED, ENDED, NESTED], ids=["changed", "forked", "ended", "nested"])
def test_processes_end(program: str) -> None:
    if program is FORKED and not hasattr(os, "fork"):
        pytest.skip("no fork here")
    start = "import faulthandler, sys\nfaulthandler.dump_traceback_later(100, exit=True)\n"
    ended: Any = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", start + program], capture_output=True, text=True, timeout=150, check=False
    )
    assert (ended.returncode, ended.stderr) == (0, "")
