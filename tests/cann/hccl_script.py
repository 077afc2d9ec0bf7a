"""A script as Ascend users write it, with HCCL on devices or gloo on the CPU; both print the same lines."""
import os
import sys
import warnings

import torch
import torch.distributed as dist

warnings.simplefilter("ignore")
rank, local, size = (int(os.environ[name]) for name in ("RANK", "LOCAL_RANK", "WORLD_SIZE"))
backend, LINES = sys.argv[1], []
place = torch.device("cpu")
if backend == "hccl":
    torch.npu.set_device(local)
    place = torch.device("npu", local)
dist.init_process_group(backend)


def told(name, *values):
    LINES.append(" ".join(map(str, [f"rank {rank} {name}", *[one.tolist() if isinstance(one, torch.Tensor) else one for one in values]])))


def row(count=4, dtype=torch.float32):
    return (torch.arange(count, device=place) + 10 * rank).to(dtype)


for kind in (torch.float32, torch.bfloat16, torch.int64):
    x = row(dtype=kind)
    dist.all_reduce(x)
    told(f"all_reduce {kind}", x)
x = row(6).view(2, 3).t()
work = dist.all_reduce(x, dist.ReduceOp.MAX, async_op=True)
work.wait()
told("of a transpose", x, x.stride())
part = torch.zeros(8, device=place)
dist.all_reduce(part[2:6].add_(1))
told("of a part", part)
parts = [torch.zeros(4, device=place) for _ in range(size)]
dist.all_gather(parts, row())
told("all_gather", *parts)
whole = torch.zeros(4 * size, device=place)
dist.all_gather_into_tensor(whole, row())
told("all_gather_into_tensor", whole)
own = torch.zeros(2, device=place)
dist.reduce_scatter_tensor(own, row(2 * size))
told("reduce_scatter_tensor", own)
x = row()
dist.broadcast(x, 1)
told("broadcast", x)
x = row()
dist.reduce(x, 0)
told("reduce", x if rank == 0 else None)
into, given = torch.zeros(size, device=place), row(size)
dist.all_to_all_single(into, given)
told("all_to_all_single", into)
lists = [torch.zeros(2, device=place) for _ in range(size)] if rank == 0 else None
dist.gather(row(2), lists)
told("gather", *(lists or ()))
x = torch.zeros(2, device=place)
dist.scatter(x, [torch.full((2,), float(one), device=place) for one in range(size)] if rank == 0 else None)
told("scatter", x)
objects = [None] * size
dist.all_gather_object(objects, {"rank": rank})
told("objects", objects)
if rank == 0:
    dist.send(row(), 1)
elif rank == 1:
    x = torch.zeros(4, device=place)
    dist.recv(x, 0)
    told("received", x)
group = dist.new_group([0, 1])
if rank < 2:
    x = row()
    dist.all_reduce(x, group=group)
    told("of two", x)
dist.barrier()

torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2)).to(place)
parallel = torch.nn.parallel.DistributedDataParallel(net, device_ids=[local] if backend == "hccl" else None)
steps = torch.optim.SGD(parallel.parameters(), lr=0.1, momentum=0.9)
data = torch.randn(6 * size, 4, generator=torch.Generator().manual_seed(1))
for _ in range(3):
    steps.zero_grad()
    loss = parallel(data[rank::size].to(place)).square().mean()
    loss.backward()
    steps.step()
    told("loss", round(loss.item(), 5))
told("weights", *[round(one.sum().item(), 4) for one in net.parameters()])
every = [None] * size
dist.all_gather_object(every, LINES)
if rank == 0:
    print("\n".join(line for lines in every for line in lines))
dist.destroy_process_group()
