"""Scripts of Ascend users in several processes over HCCL, which the emulated CANN has between MindSpore's plugins: what gloo gives on the CPU."""
from __future__ import annotations

import os
import pathlib
import subprocess
import sys

import pytest

from mstorch.distributed import TCPStore
from tests.cann.build import environment, missing

pytestmark = [pytest.mark.slow, pytest.mark.skipif(bool(missing()), reason=missing())]

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRIPT = pathlib.Path(__file__).with_name("hccl_script.py")


def _lines(size: int, folder: pathlib.Path, *command: str, backend: str = "hccl", status: int = 0) -> list[str]:
    """Run a script in some processes, which end with ``status``; return the lines of all that begin with "rank"."""
    variables: dict[str, object] = {
        "WORLD_SIZE": size, "OMP_NUM_THREADS": 1, "PYTHONWARNINGS": "ignore", "EMULATED_CANN_DEVICES": size, "EMULATED_CANN_MEMORY_MB": 1024,
    }  # fmt: skip
    store = TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)  # as a launcher has it, so that ranks may end in any order
    variables |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": store.port, "TORCHELASTIC_USE_AGENT_STORE": "True"}
    there = environment(**variables)
    if backend == "gloo":
        there = {**os.environ, **{name: str(value) for name, value in variables.items()}, "PYTHONPATH": str(ROOT), "GLOG_v": "3"}
    started = []
    for rank in range(size):
        files = [open(folder / f"{backend} {rank} {name}", "w") for name in ("out", "error")]
        starter = [sys.executable, "-m", "mstorch", *command]
        started.append(subprocess.Popen(starter, cwd=ROOT, env=there | dict.fromkeys(("RANK", "LOCAL_RANK"), str(rank)), stdout=files[0], stderr=files[1]))
        for file in files:
            file.close()
    try:
        codes = [process.wait(300) for process in started]
    finally:
        for process in started:
            process.kill()
    said = [(folder / f"{backend} {rank} out").read_text() for rank in range(size)]
    assert codes == [status] * size, [(code, out, (folder / f"{backend} {rank} error").read_text()[-3000:]) for rank, (code, out) in enumerate(zip(codes, said))]
    return sorted(line for text in said for line in text.splitlines() if line.startswith("rank"))


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
from mstorch._src.backend import primitives
from mstorch.distributed import _device_backend
rank = int(os.environ["RANK"])
torch.npu.set_device(rank)
dist.init_process_group("hccl")
events = []
primitives.watchers.append(lambda name, kernel, args: (events.append(name), kernel(*args))[1])
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
    sys.stdout.write(f"rank {rank} {name} {good} {ended} {any('MatMul' in one or one in ('Mm', 'Dense') for one in between)}\\n")
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
torch.npu.set_device(rank)
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
print("rank", rank, "ended")
"""


def test_groups_of_devices_come_late_and_again(tmp_path: pathlib.Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(AGAIN)
    assert _lines(2, tmp_path, str(script)) == ["rank 0 ended", "rank 1 ended"]


ONE_DEVICE = """
import atexit, os, sys
import torch, torch.distributed as dist
torch.npu.set_device(0)
atexit.register(lambda: print("rank", os.environ["RANK"], "ended"))
try:
    dist.init_process_group("hccl")
except RuntimeError as error:
    said = "the processes 0, 1 have one device, npu:0 of" in str(error) and "set_device(local_rank)" in str(error)
    print("rank", os.environ["RANK"], said)
    if sys.argv[1] == "1":
        raise
    sys.exit(int(sys.argv[1]))
"""


@pytest.mark.parametrize("status", [0, 1, 3])
def test_processes_on_one_device_are_told_so_and_end_with_their_own_status(tmp_path: pathlib.Path, status: int) -> None:
    script = tmp_path / "script.py"
    script.write_text(ONE_DEVICE)
    said = _lines(2, tmp_path, str(script), str(status), status=status)
    assert said == ["rank 0 True", "rank 0 ended", "rank 1 True", "rank 1 ended"]
