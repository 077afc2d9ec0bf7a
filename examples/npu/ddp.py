"""DistributedDataParallel and FSDP: `ddp.py` or `ddp.py fsdp`, a process for each NPU, or on CPUs where there is none."""
import os
import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel


def main():
    on_npu = torch.npu.is_available() if hasattr(torch, "npu") else False
    if on_npu:
        torch.npu.set_device(int(os.environ["LOCAL_RANK"]))  # before the first tensor on the device
    dist.init_process_group("hccl" if on_npu else "gloo")
    device = torch.device("npu" if on_npu else "cpu")
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(16, 32), nn.GELU(), nn.Linear(32, 4)).to(device)
    net = fully_shard(net) if sys.argv[1:] == ["fsdp"] else DistributedDataParallel(net)
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-2)
    x, target = torch.randn(64, 16), torch.randint(4, (64,))
    part = slice(dist.get_rank(), None, dist.get_world_size())
    for step in range(8):
        loss = nn.functional.cross_entropy(net(x[part].to(device)), target[part].to(device))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        mean = loss.detach().clone()
        dist.all_reduce(mean)
        if dist.get_rank() == 0:
            print(f"step {step}: {mean.item() / dist.get_world_size():.3f}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
