"""Two processes on two devices of MindSpore's Ascend plugin: collectives and trainings agree with one process; what does not fit, or does not
come, ends in time with HCCL's words.
"""
from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cann.build import HERE, environment, missing

pytestmark = [pytest.mark.slow, pytest.mark.skipif(bool(missing()), reason=missing())]

BEGIN = """
import json, os, sys
import mstorch as torch, mstorch.distributed as dist
rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
torch.npu.set_device(rank)
dist.init_process_group("hccl")
told = {}

def tell(name, call):
    try:
        told[name] = call()
    except Exception as error:
        told[name] = type(error).__name__ + ": " + str(error)

def row(value, dtype="float32"):
    return torch.full((2,), value, dtype=getattr(torch, dtype), device="npu")
"""
END = """
open(os.path.join(sys.argv[1], str(rank)), "w").write(json.dumps(told))
"""
COLLECTIVES = """
def reduced(op, dtype):
    x = row(rank + 2, dtype)
    dist.all_reduce(x, getattr(dist.ReduceOp, op))
    return x.tolist()

for op in ("SUM", "PRODUCT", "MAX", "MIN"):
    for dtype in ("float32", "float16", "bfloat16", "int16", "int64", "float64", "bool"):
        tell(f"{op} {dtype}", lambda: reduced(op, dtype))

def gathered():
    parts = [row(0.0) for _ in range(2)]
    dist.all_gather(parts, row(rank + 1.0))
    return [part.tolist() for part in parts]

def exchanged():
    out = torch.zeros(2, device="npu")
    dist.all_to_all_single(out, torch.arange(2.0, device="npu") + 10 * rank)
    return out.tolist()

def train(wrap):
    torch.manual_seed(0)
    model = wrap(torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2)).to("npu"))
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.05)
    x, y, losses = torch.linspace(-1, 1, 32).reshape(8, 4).to("npu"), torch.linspace(1, -1, 16).reshape(8, 2).to("npu"), []
    for _ in range(3):
        optimizer.zero_grad()
        loss = ((model(x[rank::2]) - y[rank::2]) ** 2).mean()
        loss.backward()
        optimizer.step()
        whole = loss.detach().clone()
        dist.all_reduce(whole)
        losses.append(round(whole.item() / 2, 4))
    return losses

def shard(model):
    for layer in (model[0], model[2], model):
        fully_shard(layer)
    return model

from mstorch.distributed.fsdp import FullyShardedDataParallel, fully_shard
tell("gathered", gathered)
tell("exchanged", exchanged)
tell("DDP", lambda: train(torch.nn.parallel.DistributedDataParallel))
tell("FSDP", lambda: train(FullyShardedDataParallel))
tell("FSDP2", lambda: train(shard))
"""
MISMATCH = """
def mismatched():
    x = row(1.0) if rank else torch.ones(3, device="npu")
    dist.all_reduce(x)
    return x.tolist()

tell("mismatch", mismatched)
"""
DEATH = """
if rank:
    os._exit(0)

def alone():
    x = row(1.0)
    dist.all_reduce(x)
    return x.tolist()

tell("alone", alone)
open(os.path.join(sys.argv[1], "0"), "w").write(json.dumps(told))
os._exit(0)
"""
EARLY_END = """
if rank:
    open(os.path.join(sys.argv[1], "1"), "w").write("{}")
    sys.exit(0)

def alone():
    x = row(1.0)
    dist.all_reduce(x)
    return x.tolist()

tell("alone", alone)
"""
TIME_OUT = """
import time

def late():
    if rank:
        time.sleep(40)
    x = row(1.0)
    dist.all_reduce(x)
    return x.tolist()

tell("late", late)
"""
PRODUCT = """
import time
for dtype in ("bfloat16", "int16"):
    for name, call in {
        "all_reduce": lambda: dist.all_reduce(row(2, dtype), dist.ReduceOp.PRODUCT),
        "reduce": lambda: dist.reduce(row(2, dtype), 0, dist.ReduceOp.PRODUCT),
        "reduce_scatter": lambda: dist.reduce_scatter_tensor(row(0, dtype)[:1], torch.ones(world, device="npu").to(row(0, dtype)), dist.ReduceOp.PRODUCT),
    }.items():
        began = time.monotonic()
        if rank or name == "reduce":  # the others are not there: a refusal does not wait for them
            tell(f"{name} {dtype}", call)
            told[f"{name} {dtype} took"] = time.monotonic() - began
x = row(1.0)
dist.all_reduce(x)
told["after"] = x.tolist()
"""
PLANTED = """
from pathlib import Path
out, x = torch.zeros(4, device="npu"), torch.ones(4, device="npu")
layer = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 4).to("npu"))
fault = Path(os.environ["EMULATED_CANN_FAULT"] + str(rank))
os.environ["EMULATED_CANN_FAULT"] = str(fault)
calls = {
    "all_reduce": ("HcclAllReduce", lambda: dist.all_reduce(x)),
    "all_reduce later": ("HcclAllReduce", lambda: dist.all_reduce(x, async_op=True).wait()),
    "broadcast": ("HcclBroadcast", lambda: dist.broadcast(x, 0)),
    "all_gather": ("HcclAllGather", lambda: dist.all_gather_into_tensor(torch.zeros(8, device="npu"), x)),
    "reduce_scatter": ("HcclReduceScatter", lambda: dist.reduce_scatter_tensor(out[:2], x)),
    "all_to_all": ("HcclAlltoAll", lambda: dist.all_to_all_single(out, x)),
    "gradients of DDP": ("HcclAllReduce", lambda: layer(x[None]).sum().backward()),
}

def planted(how, operator, call):
    fault.write_text(f"{how} {operator}")
    try:
        call()
        torch.npu.synchronize()
    finally:
        assert not fault.exists()
    return "nothing was raised"

kinds, names = json.loads(sys.argv[2])
for how in kinds:
    for name in names or calls:
        torch.npu.synchronize()
        tell(f"{how} {name}", lambda: planted(how, *calls[name]))
"""
NAMES = ("all_reduce", "all_reduce later", "broadcast", "all_gather", "reduce_scatter", "all_to_all", "gradients of DDP")


NAMED_LATER = """
def named():
    torch.npu.set_device(int(os.environ["LOCAL_RANK"]))
    x = row(rank + 1.0)
    dist.all_reduce(x)
    return [str(x.device), x.tolist()]

tell("named", named)
tell("another", lambda: torch.npu.set_device(1 - rank))
"""


def _run(folder: Path, text: str, ranks: int = 2, size: int = 2, told: object = None, patience: int = 15) -> list[dict[str, object]]:
    script = folder / "script.py"
    script.write_text((BEGIN if text is not NAMED_LATER else BEGIN.replace("torch.npu.set_device(rank)\n", "")) + text + END)
    changes = {"EMULATED_CANN_DEVICES": size, "EMULATED_CANN_MEMORY_MB": 1024, "HCCL_EXEC_TIMEOUT": patience, "HCCL_CONNECT_TIMEOUT": 60, "EMULATED_CANN_FAULT": folder / "fault"}
    changes["EMULATED_CANN_CALLS"] = folder / "calls"
    starter = [sys.executable, "-m", "mstorch.distributed.run", "--nproc-per-node", str(size), str(script), str(folder), json.dumps(told)]
    with open(folder / "said", "w") as said:
        process = subprocess.Popen(starter, cwd=HERE.parent.parent, env=environment(**changes), stdout=said, stderr=said, start_new_session=True)
        try:
            process.wait(300)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 9)
            process.wait()
            raise
    results = [folder / str(rank) for rank in range(ranks)]
    assert all(path.exists() for path in results), (folder / "said").read_text(errors="replace")[-3000:]
    return [json.loads(path.read_text()) for path in results]


def test_collectives_and_trainings(tmp_path):
    first, second = _run(tmp_path, COLLECTIVES)
    wanted = {"SUM": 5, "PRODUCT": 6, "MAX": 3, "MIN": 2}
    for (name, result), other in zip(first.items(), second.values(), strict=True):
        op, _, dtype = name.partition(" ")
        if op not in wanted:
            continue
        assert result == other
        if dtype in ("float64", "bool") or op == "PRODUCT" and dtype in ("bfloat16", "int16"):
            assert f"HCCL: Unsupported data type torch.{dtype}" in str(result)
        else:
            assert result == [wanted[op]] * 2
    assert first["gathered"] == [[1, 1], [2, 2]] and first["exchanged"] == [0, 10] and second["exchanged"] == [1, 11]
    losses = first["DDP"]
    assert isinstance(losses, list) and losses[0] > losses[-1]
    assert first["FSDP"] == first["FSDP2"] == second["DDP"] == losses


def test_a_group_that_starts_before_a_device_is_named(tmp_path):
    """accelerate starts it first: each process is bound to the device of its LOCAL_RANK, and may name that one afterwards."""
    for rank, told in enumerate(_run(tmp_path, NAMED_LATER)):
        assert told["named"] == [f"npu:{rank}", [3.0, 3.0]]
        assert str(told["another"]).startswith("RuntimeError: npu:") and "binds a process" in str(told["another"])


def test_calls_that_do_not_match(tmp_path):
    texts = [str(told["mismatch"]) for told in _run(tmp_path, MISMATCH)]
    assert all("EI00" in text and "do not fit together" not in text for text in texts)
    assert any("EI0005" in text and "count 3" in text and "count 2" in text for text in texts)  # the other may wait until the time is up


def test_a_rank_that_has_died(tmp_path):
    (told,) = _run(tmp_path, DEATH, ranks=1)
    text = str(told["alone"])
    assert text.startswith(("AcceleratorError", "RuntimeError")) and "EI" in text and "do not fit together" not in text


def test_a_rank_that_ends_early(tmp_path):
    (told,) = _run(tmp_path, EARLY_END, ranks=1)
    text = str(told["alone"])
    assert text.startswith(("AcceleratorError", "RuntimeError")) and "EI" in text and "do not fit together" not in text


def test_a_rank_that_comes_late(tmp_path):
    told = _run(tmp_path, TIME_OUT, patience=5)
    text = str(told[0]["late"])
    assert text.startswith("AcceleratorError") and "EI0002" in text and "HCCL_EXEC_TIMEOUT" in text and "rank 1" in text


@pytest.mark.parametrize("size", [2, 4])
def test_products_that_hccl_refuses_late_are_refused_at_once(tmp_path, size):
    for rank, told in enumerate(_run(tmp_path, PRODUCT, ranks=size, size=size)):
        assert told.pop("after") == [size, size]
        assert len(told) == (12 if rank else 4)
        for name, result in told.items():
            if name.endswith("took"):
                assert isinstance(result, float) and result < 5
            else:
                assert f"HCCL: Unsupported data type torch.{name.split()[1]}" in str(result)


def _check_planted(told, count):
    assert len(told) == count
    for name, text in told.items():
        assert text.startswith("AcceleratorError"), (name, text)
        assert ("EI0003" if name.startswith("prepare") else "EI9999") in text and "Hccl" in text and "do not fit together" not in text, (name, text)


def test_collectives_that_fail_at_the_call(tmp_path):
    for told in _run(tmp_path, PLANTED, told=[["prepare", "launch"], []]):
        _check_planted(told, 2 * len(NAMES))


COUNTED = """
from mstorch import nn
from mstorch.distributed.fsdp import fully_shard

class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        return x + self.down(nn.functional.gelu(self.up(self.norm(x))))

def counted():
    calls = os.environ["EMULATED_CANN_CALLS"]
    return sum(line.startswith("aclnn") for line in open(calls)) if os.path.exists(calls) else 0

def kernels(wrap):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(16, 32), *(Block(32) for _ in range(4)), nn.Linear(32, 3)).npu()  # 3 rows on two devices are uneven
    model = wrap(model)
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
    torch.manual_seed(5)
    x, losses = torch.randn(8, 16).npu(), []
    for step in range(4):
        torch.npu.synchronize()
        dist.barrier()
        before = counted()
        dist.barrier()
        loss = model(x).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    torch.npu.synchronize()
    dist.barrier()
    after = counted()
    dist.barrier()
    return losses, (after - before) / world

def units(model):
    for part in model[1:-1]:
        fully_shard(part)
    fully_shard(model)
    return model

tell("alone", lambda: kernels(lambda model: model))
tell("DDP", lambda: kernels(lambda model: nn.parallel.DistributedDataParallel(model)))
tell("units", lambda: kernels(units))
"""


def test_kernels_of_wrapped_models(tmp_path):
    """A unit of ``fully_shard`` is packed, unpacked, and its gradients packed and divided, by a kernel each; DDP joins and divides the
    gradients of a bucket, where torch copies each gradient twice."""
    told = _run(tmp_path, COUNTED)[0]
    assert not any(isinstance(result, str) for result in told.values()), told
    (losses, alone), (of_ddp, copied), (of_units, sharded) = (told[name] for name in ("alone", "DDP", "units"))
    units = 5
    assert of_ddp == pytest.approx(losses, rel=1e-5) and of_units == pytest.approx(losses, rel=1e-5)
    assert copied <= alone + 2
    # Two gathers of a block, one of the root: a kernel packs, one makes room, one unpacks. Then the same for its gradients, and the mean.
    assert sharded <= alone + 9 * units + 2  # two gradients with uneven rows are padded
