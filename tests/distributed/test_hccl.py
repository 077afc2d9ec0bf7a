"""Process groups of tensors on an Ascend device: the stand-in device emulates HCCL, and calls of MindSpore's functions are checked by their
arguments."""
from __future__ import annotations

import ast
import inspect
import os
import pathlib
import signal

import numpy as np
import pytest
from mindspore.mint import distributed as native

import mstorch  # noqa: F401 - before its parts
from mstorch._src.backend.raw import from_numpy
from mstorch.distributed import TCPStore
from mstorch.distributed._played_hccl import PlayedHccl, _Members
from tests import warm

pytestmark = pytest.mark.slow

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRIPT = pathlib.Path(__file__).with_name("hccl_script.py")


def _ended(size: int, folder: pathlib.Path, *command: str, backend: str = "hccl") -> list[tuple[int, str, str]]:
    """Run a script in some processes; return the exit code and the outputs of each rank."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MSTORCH")}
    environment |= {"WORLD_SIZE": str(size), "PYTHONPATH": str(ROOT), "GLOG_v": "3", "OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"}
    if backend == "hccl":
        environment |= {"MSTORCH_FAKE_DEVICE": "Ascend", "MSTORCH_FAKE_DEVICES": str(size)}
    store = TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)  # as a launcher has it, so that ranks may end in any order
    environment |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(store.port), "TORCHELASTIC_USE_AGENT_STORE": "True"}
    files = [[str(folder / f"{backend} {rank} {name}") for name in ("out", "error")] for rank in range(size)]
    started = [
        warm.start("-m", "mstorch", *command, environment=environment | dict.fromkeys(("RANK", "LOCAL_RANK"), str(rank)), out=out, error=error, seconds=300)
        for rank, (out, error) in enumerate(files)
    ]
    codes = [process.wait() for process in started]
    return [(code, pathlib.Path(out).read_text(), pathlib.Path(error).read_text()) for code, (out, error) in zip(codes, files)]


def _lines(size: int, folder: pathlib.Path, *command: str, backend: str = "hccl") -> list[str]:
    """Return the lines of all ranks that begin with "rank"."""
    found = _ended(size, folder, *command, backend=backend)
    assert not any(code for code, _, _ in found), found
    return sorted(line for _, said, _ in found for line in said.splitlines() if line.startswith("rank"))


@pytest.mark.parametrize("size", [2, 3])
def test_collectives_and_training_on_devices_give_what_gloo_gives(size: int, tmp_path: pathlib.Path) -> None:
    on_devices = _lines(size, tmp_path, str(SCRIPT), "hccl")
    assert len(on_devices) >= 12 * size
    assert on_devices == _lines(size, tmp_path, str(SCRIPT), "gloo", backend="gloo")


OVERLAPPED = """
import os, sys
import torch, torch.distributed as dist
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks, powerSGD_hook
from torch.nn.parallel import DistributedDataParallel
from mstorch._src.backend import fake
from mstorch.distributed import _device_backend
rank = int(os.environ["RANK"])
torch.npu.set_device(rank)
dist.init_process_group("hccl")
events = []
fake.on_kernel.append(events.append)
native = _device_backend.communication._native
begin = native.all_reduce

def all_reduce(*args):
    handle = begin(*args)
    events.append("begun")
    ended = handle.wait

    def wait():
        events.append("waited")
        return ended()

    handle.wait = wait
    return handle

native.all_reduce = all_reduce

def own(state, bucket):
    return dist.all_reduce(bucket.buffer().div_(2), async_op=True).get_future().then(lambda done: done.value()[0])

def waiting(state, bucket):
    both = [dist.all_reduce(bucket.buffer() / 2, async_op=True).get_future() for _ in range(2)]
    return torch.futures.collect_all([torch.futures.collect_all(both).wait()[0]]).then(lambda done: done.value()[0].value()[0])

def dropped(state, bucket):
    dist.all_reduce(torch.ones(3, device="npu"), async_op=True).get_future().then(lambda done: events.append("told"))
    return own(state, bucket)

def gradients(hook):
    torch.manual_seed(3)
    net = torch.nn.Sequential(*[torch.nn.Linear(64, 64) for _ in range(5)]).npu()
    model = DistributedDataParallel(net, device_ids=[rank], bucket_cap_mb=0.02)
    if hook is not None:
        state = powerSGD_hook.PowerSGDState(None, matrix_approximation_rank=2, start_powerSGD_iter=9) if hook is powerSGD_hook.powerSGD_hook else None
        model.register_comm_hook(state, hook)
    x = torch.randn(4, 64, generator=torch.Generator().manual_seed(rank)).npu()
    for _ in range(2):
        net.zero_grad()
        events.clear()
        model(x).square().mean().backward()
    return [one.grad.cpu() for one in net.parameters()]

plain = gradients(None)
for name, hook in {"allreduce": default_hooks.allreduce_hook, "own": own, "dropped": dropped, "waiting": waiting, "fp16": default_hooks.fp16_compress_hook, "power": powerSGD_hook.powerSGD_hook}.items():
    found = gradients(hook)
    between = events[events.index("begun") + 1 : events.index("waited")]
    good = all(torch.allclose(a, b, rtol=1e-2 if name == "fp16" else 1e-6, atol=1e-3 if name == "fp16" else 1e-7) for a, b in zip(found, plain))
    ended = events.count("begun") == events.count("waited") and events.count("told") == (events.count("begun") // 2 if name == "dropped" else 0)
    sys.stdout.write(f"rank {rank} {name} {good} {ended} {'(mm)' in between}\\n")
dist.destroy_process_group()
"""


def test_hooks_go_on_while_backward_does(tmp_path: pathlib.Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(OVERLAPPED)
    said = _lines(2, tmp_path, str(script))
    names = {"allreduce": True, "own": True, "dropped": True, "waiting": False, "fp16": True, "power": True}
    assert said == sorted(f"rank {rank} {name} True True {overlaps}" for rank in (0, 1) for name, overlaps in names.items())


LATER = """
import os, sys
from datetime import timedelta
import torch, torch.distributed as dist
from mstorch.distributed import _device_backend as devices
rank, how = int(os.environ["RANK"]), sys.argv[1]
dist.init_process_group(timeout=timedelta(seconds=5 if how == "alone" else 60))
here = torch.full((3,), rank + 1.0)
dist.all_reduce(here)
pair = dist.new_group([0, 1])
dist.barrier()
assert here.tolist() == [3.0] * 3 and not devices.have_met()
if how == "alone":
    try:
        if rank == 1:
            dist.broadcast(here.npu(), 0)
    except dist.DistBackendError as error:
        print("rank 1:", "sends none: name the backend" in str(error), flush=True)
    sys.exit()
there = torch.full((3,), rank + 1.0, device="npu")
if how == "pair":
    dist.all_reduce(there, group=pair)
elif how == "send":
    dist.send(there, 1) if rank == 0 else dist.recv(there, 0)
    there += 2
elif how == "group":
    dist.all_reduce(there, group=dist.new_group([0, 1]))
    assert devices.have_met()
else:
    dist.all_reduce(there)
dist.barrier()
both = torch.ones(2, device="npu")
dist.all_reduce(both, group=pair)
dist.all_reduce(both)
dist.destroy_process_group()
sys.stdout.write(f"rank {rank} {there.tolist()} {both.tolist()} {devices.have_met()}\\n")
"""


@pytest.mark.parametrize("how", ["everyone", "pair", "group", "send", "alone"])
def test_devices_meet_with_their_first_tensor_where_no_backend_is_named(how: str, tmp_path: pathlib.Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(LATER)
    said = _lines(2, tmp_path, str(script), how)
    assert said == (["rank 1: True"] if how == "alone" else [f"rank {rank} [3.0, 3.0, 3.0] [4.0, 4.0] False" for rank in (0, 1)])


ENDED = """
import os, signal, sys, time
import torch, torch.distributed as dist
rank = int(os.environ["RANK"])
torch.npu.set_device(rank)
dist.init_process_group("hccl")
x = torch.ones(200_000, device="npu")
for step in range(4):
    dist.all_reduce(x)
if rank == 2:
    os.kill(os.getpid(), signal.SIGKILL)
work = dist.all_reduce(x, async_op=True) if sys.argv[1] == "asynchronous" else None
began = time.monotonic()
try:
    work.wait() if work else dist.all_reduce(x)
except RuntimeError as error:
    print(f"{time.monotonic() - began:.0f} s: {error}", flush=True)
    time.sleep(5)  # else the other sees this one end, too
"""


@pytest.mark.parametrize("how", ["at once", "asynchronous"])
def test_the_others_are_told_of_a_rank_that_is_killed(tmp_path: pathlib.Path, how: str) -> None:
    """Without a launcher to end them, the other ranks raise an error that names the killed one, long before the timeout of half an hour."""
    script = tmp_path / "script.py"
    script.write_text(ENDED)
    for rank, (code, out, error) in enumerate(_ended(3, tmp_path, str(script), how)):
        if rank == 2:
            assert code == -signal.SIGKILL, error
        else:
            seconds, words = out.split(" s: ")
            assert f"rank 2 has ended; rank {rank} calls all_reduce sum float32 200000" in words and int(seconds) < 20, out + error


AGAIN = """
import os
import torch, torch.distributed as dist
rank = int(os.environ["RANK"])
torch.npu.set_device(rank)
for backend in ("gloo", "cpu:gloo,npu:hccl"):
    dist.init_process_group(backend)
    group = dist.new_group([1, 0], backend="hccl", sort_ranks=False)
    x = torch.ones(2, device="npu") * (rank + 1)
    dist.all_reduce(x, group=group)
    try:
        dist.all_reduce(torch.ones(2, device="npu"))
        whole = True
    except RuntimeError as error:
        assert "No backend type associated with device type npu" in str(error)
        whole = False
    assert whole == ("hccl" in backend) and x.tolist() == [3, 3]
    alone = dist.new_group([rank], backend="hccl", use_local_synchronization=True)
    y = torch.ones(2, device="npu") * 3
    dist.all_reduce(y, dist.ReduceOp.AVG, group=alone)
    dist.destroy_process_group(alone)
    doubled = dist.all_reduce(x, group=group, async_op=True).get_future().then(lambda done: done.value()[0] * 2)
    assert doubled.wait().tolist() == [12, 12] and y.tolist() == [3, 3]
    dist.barrier(device_ids=[rank])
    dist.destroy_process_group()
"""


def test_groups_of_devices_come_late_and_again(tmp_path: pathlib.Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(AGAIN)
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "GLOG_v": "3", "MSTORCH_FAKE_DEVICE": "Ascend", "MSTORCH_FAKE_DEVICES": "2"}
    command = ["-m", "mstorch.distributed.run", "--standalone", "--nproc_per_node", "2", str(script)]
    done = warm.done(*command, environment=environment, seconds=200)
    assert done.returncode == 0, done.stderr[-3000:]


def test_calls_fit_the_functions_of_mindspore() -> None:
    """Names and numbers of arguments are checked in the syntax tree of the one file that calls them."""
    tree = ast.parse((ROOT / "mstorch/_src/backend/collectives.py").read_text())
    seen = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and ast.unparse(node.func.value) == "self._native":
            signature = inspect.signature(getattr(native, node.func.attr))
            signature.bind(*node.args, **{word.arg: word.value for word in node.keywords if word.arg})
            names = list(signature.parameters)
            for place, argument in enumerate(node.args):
                if ast.unparse(argument) == "group" and node.func.attr != "destroy_process_group":
                    assert names[place] == "group", node.func.attr
                if ast.unparse(argument) == "True":
                    assert names[place] == "async_op", node.func.attr
            seen.add(node.func.attr)
    assert len(seen) >= 14
    for name in seen:
        want, got = inspect.signature(getattr(native, name)), inspect.signature(getattr(PlayedHccl(), name))
        assert [(one.name, one.default) for one in want.parameters.values()] == [(one.name, one.default) for one in got.parameters.values()], name


def test_the_played_hccl_is_strict() -> None:
    """The emulation refuses what MindSpore or HCCL refuses or misreads."""
    played = PlayedHccl()
    played._groups["hccl_world_group"] = _Members("hccl_world_group", [0, 1], 0)
    row, truths = from_numpy(np.ones(4, np.float32)), from_numpy(np.ones(4, bool))
    for words, call in {
        "the reductions are": lambda: played.all_reduce(row, "avg"),
        "does not carry bool": lambda: played.broadcast(truths, 0),
        "does not combine float64": lambda: played.all_reduce(from_numpy(np.ones(4)), "sum"),
        "not in memory of its own": lambda: played.all_reduce(row[1:], "sum"),
        "without elements": lambda: played.broadcast(from_numpy(np.ones(0, np.float32)), 0),
        "a tensor is expected": lambda: played.all_reduce(np.ones(4, np.float32)),
        "in no group 'other'": lambda: played.all_reduce(row, "sum", "other"),
        "process 2 is not in": lambda: played.broadcast(row, 2),
        "8 elements|4 elements": lambda: played.all_gather_into_tensor(row, row),
        "every process gives a list of 2": lambda: played.scatter(row, None, 0),
        "parts of": lambda: played.all_to_all_single(row, row, [1, 1], [2, 2]),
        "it is this process": lambda: played.isend(row, 0),
        "with this one among them": lambda: played.new_group([1]),
    }.items():
        with pytest.raises((TypeError, RuntimeError, ValueError), match=words):
            call()
