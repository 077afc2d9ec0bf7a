"""Scripts of Ascend users for two processes, as torchrun or mp.spawn start them: each prints numbers, the first process's are kept.

``python -m mstorch.distributed.run --nproc_per_node 2 -m tests.devices.scripts_of_two npu`` runs all of them, one after the other, as
they stand; with ``cpu`` those that name gloo and the CPU instead.
"""
from __future__ import annotations

import contextlib
import io
import json
import os
import sys
import tempfile

_CUDA = """
import os
import torch
import torch.distributed as dist
from torch import nn
import torch_npu
from torch_npu.contrib import transfer_to_npu
rank, local_rank, world_size = int(os.environ["RANK"]), int(os.environ["LOCAL_RANK"]), int(os.environ["WORLD_SIZE"])
torch.cuda.set_device(local_rank)
device = torch.device("cuda", local_rank)
dist.init_process_group(backend="nccl")
torch.manual_seed(0)
def network():
    return nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 3))
data, labels = torch.randn(32, 6), torch.randint(0, 3, (32,))
"""
SCRIPTS = {
    "torch_npu": """
import os
import torch
import torch_npu
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset
local_rank = int(os.environ["LOCAL_RANK"])
torch.npu.set_device(local_rank)
device = torch.device(f"npu:{local_rank}")
dist.init_process_group(backend="hccl", init_method="env://")
torch.manual_seed(0)
dataset = TensorDataset(torch.randn(40, 5), torch.randn(40, 1))
sampler = DistributedSampler(dataset, seed=2)
loader = DataLoader(dataset, batch_size=4, sampler=sampler)
model = DDP(torch.nn.Sequential(torch.nn.Linear(5, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1)).to(device), device_ids=[local_rank])
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
for epoch in range(2):
    sampler.set_epoch(epoch)
    for x, y in loader:
        loss = torch.nn.functional.mse_loss(model(x.to(device)), y.to(device))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    total = loss.detach().clone()
    dist.all_reduce(total, op=dist.ReduceOp.SUM)
    if dist.get_rank() == 0:
        print(epoch, loss.item(), total.item() / dist.get_world_size())
dist.barrier()
dist.destroy_process_group()
""",
    "mixed precision": _CUDA
    + """
model = nn.parallel.DistributedDataParallel(network().to(device), device_ids=[local_rank], output_device=local_rank)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
scaler = torch.cuda.amp.GradScaler(enabled=False)
for step in range(4):
    with torch.autocast("cuda", dtype=torch.bfloat16):
        loss = nn.functional.cross_entropy(model(data[rank::2].to(device)), labels[rank::2].to(device))
    optimizer.zero_grad(set_to_none=True)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    print(loss.item())
dist.destroy_process_group()
""",
    "snapshots": """
import os
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

class Trainer:
    def __init__(self, path):
        self.local_rank, self.path, self.first = int(os.environ["LOCAL_RANK"]), path, 0
        self.device = torch.device(f"{torch.accelerator.current_accelerator()}:{self.local_rank}")
        torch.manual_seed(1)
        self.model = torch.nn.Sequential(torch.nn.Embedding(9, 8), torch.nn.Flatten(), torch.nn.Linear(32, 9)).to(self.local_rank)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=0.01)
        if os.path.exists(path):
            snapshot = torch.load(path, map_location="cpu")
            self.model.load_state_dict(snapshot["model"])
            self.optimizer.load_state_dict(snapshot["optimizer"])
            self.first = snapshot["epoch"]
        self.model = DistributedDataParallel(self.model, device_ids=[self.local_rank])

    def train(self, epochs):
        for epoch in range(self.first, epochs):
            generator = torch.Generator().manual_seed(10 * epoch + dist.get_rank())
            tokens = torch.randint(0, 9, (6, 5), generator=generator).to(self.local_rank)
            loss = torch.nn.functional.cross_entropy(self.model(tokens[:, :4]), tokens[:, 4])
            self.optimizer.zero_grad(set_to_none=True)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), 0.5)
            self.optimizer.step()
            if self.local_rank == 0:
                torch.save({"model": self.model.module.state_dict(), "optimizer": self.optimizer.state_dict(), "epoch": epoch + 1}, self.path)
            print(epoch, loss.item())
            dist.barrier()

acc = torch.accelerator.current_accelerator()
dist.init_process_group(backend=torch.distributed.get_default_backend_for_device(torch.device(f"{acc}:{os.environ['LOCAL_RANK']}")))
torch.accelerator.set_device_index(int(os.environ["LOCAL_RANK"]))
Trainer(os.path.join(FOLDER, "snapshot.pt")).train(2)
Trainer(os.path.join(FOLDER, "snapshot.pt")).train(4)
dist.destroy_process_group()
""",
    "accumulation": _CUDA
    + """
model = nn.parallel.DistributedDataParallel(network().to(device), device_ids=[local_rank])
optimizer = torch.optim.AdamW(model.parameters(), lr=0.01, betas=(0.9, 0.95), fused=False)
for step in range(3):
    for micro in range(4):
        model.require_backward_grad_sync = micro == 3
        part = slice(8 * micro + 4 * rank, 8 * micro + 4 * rank + 4)
        loss = nn.functional.cross_entropy(model(data[part].pin_memory().to(device, non_blocking=True)), labels[part].to(device)) / 4
        loss.backward()
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    print(loss.item(), norm.item())
dist.destroy_process_group()
""",
    "fully sharded": _CUDA
    + """
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
mesh = init_device_mesh("cuda", (world_size,))
model = network()
for layer in model:
    if isinstance(layer, nn.Linear):
        fully_shard(layer, mesh=mesh)
fully_shard(model, mesh=mesh, mp_policy=MixedPrecisionPolicy(reduce_dtype=torch.float32))
optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
for step in range(4):
    loss = nn.functional.cross_entropy(model(data[rank::2].to(device)), labels[rank::2].to(device))
    loss.backward()
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 0.7)
    optimizer.step()
    optimizer.zero_grad()
    print(loss.item(), norm.full_tensor().item())
state = get_model_state_dict(model, options=StateDictOptions(full_state_dict=True, cpu_offload=True))
if rank == 0:
    print(*[value.sum().item() for value in state.values()])
dist.destroy_process_group()
""",
    "flat parameters": _CUDA
    + """
import functools
from torch.distributed.fsdp import FullStateDictConfig, FullyShardedDataParallel as FSDP, ShardingStrategy, StateDictType
from torch.distributed.fsdp.wrap import size_based_auto_wrap_policy
model = FSDP(network(), auto_wrap_policy=functools.partial(size_based_auto_wrap_policy, min_num_params=40), device_id=torch.cuda.current_device(),
             sharding_strategy=ShardingStrategy.FULL_SHARD, sync_module_states=True)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for step in range(4):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(data[rank::2].to(device)), labels[rank::2].to(device))
    loss.backward()
    norm = model.clip_grad_norm_(0.7)
    optimizer.step()
    total = torch.stack([loss.detach(), torch.ones_like(loss)])
    dist.all_reduce(total)
    print(loss.item(), norm.item(), (total[0] / total[1]).item())
with FSDP.state_dict_type(model, StateDictType.FULL_STATE_DICT, FullStateDictConfig(offload_to_cpu=True, rank0_only=True)):
    print(*[value.sum().item() for value in model.state_dict().values()])
dist.destroy_process_group()
""",
    "tensor parallel": _CUDA
    + """
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
mesh = init_device_mesh("cuda", (world_size,), mesh_dim_names=("tp",))
model = parallelize_module(network().to(device), mesh, {"0": ColwiseParallel(), "2": RowwiseParallel()})
optimizer = torch.optim.AdamW(model.parameters(), lr=0.02, foreach=True)
for step in range(4):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(data.to(device)), labels.to(device))
    loss.backward()
    optimizer.step()
    print(loss.item(), *[parameter.grad.full_tensor().abs().sum().item() for parameter in model.parameters()])
dist.destroy_process_group()
""",
    "parts of an optimizer": _CUDA
    + """
from torch.distributed.optim import ZeroRedundancyOptimizer
model = nn.Sequential(nn.Linear(6, 8, bias=False), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 3))
model = nn.SyncBatchNorm.convert_sync_batchnorm(model).to(device)
model = nn.parallel.DistributedDataParallel(model, device_ids=[local_rank], gradient_as_bucket_view=True)
optimizer = ZeroRedundancyOptimizer(model.parameters(), optimizer_class=torch.optim.Adam, lr=0.01)
for step in range(4):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(data[rank::2].to(device)), labels[rank::2].to(device))
    loss.backward()
    optimizer.step()
    print(loss.item(), model.module[1].running_mean.sum().item(), model.module[1].running_var.sum().item())
dist.destroy_process_group()
""",
    "metrics": _CUDA
    + """
model = network().to(device)
for parameter in model.parameters():
    dist.broadcast(parameter.data, src=0)
with torch.no_grad():
    predicted = model(data[rank * 16 : rank * 16 + 16].to(device)).argmax(1)
right = (predicted == labels[rank * 16 : rank * 16 + 16].to(device))
mean = right.float().mean()
dist.all_reduce(mean, op=dist.ReduceOp.AVG)
gathered = [torch.zeros_like(predicted) for _ in range(world_size)]
dist.all_gather(gathered, predicted)
masks = torch.empty(world_size * 16, dtype=torch.bool, device=device)
dist.all_gather_into_tensor(masks, right)
found = [None] * world_size
dist.all_gather_object(found, {"rank": rank, "right": int(right.sum())})
names = [["a", 3] if rank == 0 else None]
dist.broadcast_object_list(names, src=0, device=device)
print(mean.item(), *torch.cat(gathered).tolist(), masks.sum().item(), sum(one["right"] for one in found), *names[0])
counts = torch.tensor([rank + 1.0, 5.0 - rank], device=device)
own = torch.empty(1, device=device)
dist.reduce_scatter_tensor(own, counts)
dist.reduce(counts, dst=0, op=dist.ReduceOp.MAX)
print(own.item(), *counts.tolist())
dist.destroy_process_group()
""",
    "stages": _CUDA
    + """
first, second = nn.Linear(6, 8).to(device), nn.Linear(8, 3).to(device)
for step in range(3):
    if rank == 0:
        out = torch.tanh(first(data.to(device)))
        dist.send(out.detach(), dst=1)
        gradient = torch.empty_like(out)
        dist.recv(gradient, src=1)
        out.backward(gradient)
    else:
        given = torch.empty(32, 8, device=device)
        dist.recv(given, src=0)
        given.requires_grad_()
        loss = nn.functional.cross_entropy(second(given), labels.to(device))
        loss.backward()
        dist.send(given.grad, dst=0)
    with torch.no_grad():
        for parameter in (first if rank == 0 else second).parameters():
            parameter -= 0.5 * parameter.grad
            parameter.grad = None
    value = torch.zeros(1, device=device) if rank == 0 else loss.detach().reshape(1)
    dist.broadcast(value, src=1)
    print(value.item())
ring = torch.full((4,), float(rank), device=device)
came = torch.empty_like(ring)
for request in dist.batch_isend_irecv([dist.P2POp(dist.isend, ring, 1 - rank), dist.P2POp(dist.irecv, came, 1 - rank)]):
    request.wait()
print(*came.tolist())
dist.destroy_process_group()
""",
    "uneven inputs": _CUDA
    + """
from torch.distributed.algorithms.join import Join
model = nn.parallel.DistributedDataParallel(network().to(device), device_ids=[local_rank])
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
with Join([model]):
    for step in range(3 + rank):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(data[4 * step : 4 * step + 4].to(device)), labels[4 * step : 4 * step + 4].to(device))
        loss.backward()
        optimizer.step()
        print(loss.item())
model.eval()
with torch.no_grad():
    mine = model.module(data[: 3 + rank].to(device))
sizes = [torch.zeros(1, dtype=torch.int64, device=device) for _ in range(world_size)]
dist.all_gather(sizes, torch.tensor([len(mine)], device=device))
padded = torch.zeros(max(int(size) for size in sizes), 3, device=device)
padded[: len(mine)] = mine
every = [torch.empty_like(padded) for _ in range(world_size)]
dist.all_gather(every, padded)
print(*[int(size) for size in sizes], *[part[: int(size)].sum().item() for part, size in zip(every, sizes)])
dist.destroy_process_group()
""",
}  # fmt: skip
SPAWNED = """
import sys
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch_npu.contrib import transfer_to_npu

def worker(gpu, count, address):
    torch.cuda.set_device(gpu)
    dist.init_process_group(backend="nccl", init_method=address, world_size=count, rank=gpu)
    torch.manual_seed(0)
    model = torch.nn.Linear(4, 2).cuda(gpu)
    model = torch.nn.parallel.DistributedDataParallel(model, device_ids=[gpu])
    optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9, weight_decay=1e-4)
    data = torch.randn(8, 4)
    for step in range(3):
        loss = model(data[gpu::count].cuda(gpu, non_blocking=True)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if gpu == 0:
            print(loss.item(), flush=True)
    dist.destroy_process_group()

if __name__ == "__main__":
    mp.spawn(worker, nprocs=2, args=(2, sys.argv[1]))
"""
_WORDS = {
    "import torch_npu\n": "", "from torch_npu.contrib import transfer_to_npu\n": "", "torch.cuda.set_device(local_rank)\n": "",
    "torch.npu.set_device(local_rank)\n": "", "torch.cuda.set_device(gpu)\n": "pass\n", ".cuda(gpu, non_blocking=True)": "", ".cuda(gpu)": "",
    'torch.device(f"npu:{local_rank}")': '"cpu"', 'torch.device("cuda", local_rank)': 'torch.device("cpu")', '"cuda"': '"cpu"', '"nccl"': '"gloo"',
    '"hccl"': '"gloo"', ", device_ids=[local_rank], output_device=local_rank": "", ", device_ids=[local_rank]": "", ", device_ids=[gpu]": "",
    "torch.cuda.current_device()": 'torch.device("cpu")', ", sync_module_states=True": "", ".to(self.local_rank)": "",
    ", device_ids=[self.local_rank]": "", 'torch.device(f"{torch.accelerator.current_accelerator()}:{self.local_rank}")': '"cpu"',
    "backend=torch.distributed.get_default_backend_for_device(torch.device(f\"{acc}:{os.environ['LOCAL_RANK']}\"))": 'backend="gloo"',
    'torch.accelerator.set_device_index(int(os.environ["LOCAL_RANK"]))': "", "torch.cuda.amp": "torch.cpu.amp", ".pin_memory()": "",
}  # fmt: skip


def on_cpu(script: str) -> str:
    """Return the script with gloo, and with the CPU where it names a device."""
    for word, other in _WORDS.items():
        script = script.replace(word, other)
    return script


def nearby(mine: list[str], theirs: list[str], most: float) -> bool:
    """Return whether two programs printed the same words and, up to a relative error, the same numbers."""
    return len(mine) == len(theirs) and all(
        one == other or abs(float(one) - float(other)) <= most * max(1.0, abs(float(other))) for one, other in zip(mine, theirs)
    )


def main(place: str) -> None:
    """Run all scripts; the first process prints its outputs, by name."""
    box = {"FOLDER": os.path.join(tempfile.gettempdir(), f"scripts_of_two_{place}_{os.environ['MASTER_PORT']}")}
    os.makedirs(box["FOLDER"], exist_ok=True)
    for name, script in SCRIPTS.items():
        text = io.StringIO()
        with contextlib.redirect_stdout(text):
            exec(compile(script if place == "npu" else on_cpu(script), name, "exec"), {"__name__": "__main__", **box})
        if os.environ["RANK"] == "0":
            os.write(1, (json.dumps([name, text.getvalue().split()]) + "\n").encode())
    if place == "npu":
        import torch

        assert torch.npu.max_memory_allocated() > 100, "nothing was computed on the device"


if __name__ == "__main__":
    main(sys.argv[1])
