"""python -m mstorch.distributed.run: scripts with ``import torch`` in several processes, failures, restarts."""
from __future__ import annotations

import os
import pathlib
import re
import time

import pytest

from tests import warm

pytestmark = pytest.mark.slow

ROOT = pathlib.Path(__file__).resolve().parents[2]

START = """
import os, signal, sys, time
import torch, torch.distributed as dist
assert torch.__name__ == "torch" and "mstorch" in torch.__version__
dist.init_process_group()
rank = dist.get_rank()
def say(line):  # in one piece, beside the other process
    os.write(1, (line + "\\n").encode())
say(f"pid {os.getpid()}")
dist.barrier()
"""
GOOD = """
x = torch.full((3,), float(rank))
dist.all_reduce(x)
say(f"rank {rank} of {dist.get_world_size()}: {x.tolist()} {dist.is_torchelastic_launched()} {sys.argv[1:]}")
dist.destroy_process_group()
"""
RESTARTED = """
if os.environ["TORCHELASTIC_RESTART_COUNT"] == "0" and rank == 1:
    raise ValueError("the first time")
x = torch.ones(1)
dist.all_reduce(x)
say(f"sum {x.item()}")
"""
KILLED = """
if rank == 1:
    say(f"killed at {time.time()}")
    os.kill(os.getpid(), signal.SIGKILL)
while True:
    dist.all_reduce(torch.ones(100_000))
"""
SPAWNED = """
import torch, torch.distributed as dist, torch.multiprocessing as mp
def main(rank, address):
    assert "mstorch" in torch.__version__
    dist.init_process_group("gloo", init_method=address, rank=rank, world_size=2)
    x = torch.tensor([1.0 + rank])
    dist.all_reduce(x)
    dist.destroy_process_group()
    assert x.item() == 3
if __name__ == "__main__":
    import sys
    mp.spawn(main, (sys.argv[1],), nprocs=2)
    print("done")
"""


def run(*command, path=()):
    environment = {key: value for key, value in os.environ.items() if not key.startswith("MSTORCH")}
    environment |= {"PYTHONPATH": os.pathsep.join(map(str, (*path, ROOT))), "GLOG_v": "3", "OMP_NUM_THREADS": "1"}
    return warm.done("-m", *map(str, command), environment=environment, seconds=200)


def alive(output):
    return [pid for pid in re.findall(r"pid (\d+)", output) if os.path.exists(f"/proc/{pid}")]


def test_a_script_with_options(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(START + GOOD)
    done = run("mstorch.distributed.run", "--standalone", "--nproc_per_node=2", "--log-dir", tmp_path / "logs", "--redirects", "0:0,1:1", script, "-x", "3")
    assert done.returncode == 0, done.stderr
    assert "rank 0 of 2: [1.0, 1.0, 1.0] True ['-x', '3']" in done.stdout and "rank 1" not in done.stdout
    (log,) = (tmp_path / "logs").rglob("1/stdout.log")
    assert "rank 1 of 2: [1.0, 1.0, 1.0] True ['-x', '3']" in log.read_text()


def test_a_failure_and_a_restart(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(START + RESTARTED)
    done = run("mstorch.distributed.run", "--nproc-per-node", 2, "--max-restarts", 1, script)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count(" 2.0") == 2 and "ValueError: the first time" in done.stderr
    assert not alive(done.stdout)


def test_a_process_that_is_killed(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(START + KILLED)
    done = run("mstorch.distributed.run", "--nproc-per-node", 2, script)
    assert done.returncode == 1 and time.time() - float(re.findall(r"killed at ([0-9.]+)", done.stdout)[0]) < 30
    assert "ChildFailedError" in done.stderr and "rank      : 1" in done.stderr and "SIGKILL" in done.stderr
    assert not alive(done.stdout)


def test_processes_that_are_spawned(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SPAWNED)
    (tmp_path / "sitecustomize.py").write_text((ROOT / "tools" / "mstorch_hook.pth").read_text())  # as the wheel installs it for children
    done = run("mstorch", script, f"file://{tmp_path}/store", path=(tmp_path,))
    assert done.returncode == 0 and "done" in done.stdout, done.stderr


def losses(*command):
    done = run(*command, "examples/digits_ddp.py", "--epochs", 1)
    if done.returncode and command[0].startswith("torch."):  # its threads may abort an exiting process
        done = run(*command, "examples/digits_ddp.py", "--epochs", 1)
    assert done.returncode == 0, done.stderr
    return [float(loss) for loss in re.findall(r"train loss ([0-9.]+)", done.stdout)]


@pytest.mark.long
def test_the_digits_have_one_curve():
    want = losses("torch.distributed.run", "--standalone", "--nproc-per-node", "2")
    assert len(want) == 1
    assert losses("mstorch.distributed.run", "--standalone", "--nproc-per-node", "2") == pytest.approx(want, abs=1e-4)
    assert losses("mstorch") == pytest.approx(want, abs=1e-4)
