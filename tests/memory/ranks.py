"""Peaks of training steps of several processes: ``python -m tests.memory.ranks LIBRARY WAY`` in each, with torchrun's variables.

Prints the peak in bytes from the making of the network to the end of the third step.
"""
from __future__ import annotations

import gc
import importlib
import sys
import tracemalloc
from collections.abc import Callable
from typing import Any

from . import meter

WIDTH, DEPTH, BATCH = 512, 8, 1024


def _net(torch: Any) -> Any:
    torch.manual_seed(0)
    blocks = [torch.nn.Sequential(torch.nn.Linear(WIDTH, WIDTH), torch.nn.ReLU()) for _ in range(DEPTH)]
    return torch.nn.Sequential(*blocks, torch.nn.Linear(WIDTH, 10))


def _wrapped(torch: Any, way: str, net: Any) -> Any:
    if way == "alone":
        return net
    if way.startswith("ddp"):
        from_options = {"ddp": {}, "ddp, gradients as views": {"gradient_as_bucket_view": True}}[way]
        return torch.nn.parallel.DistributedDataParallel(net, **from_options)
    if way == "fsdp":
        fsdp = importlib.import_module(f"{torch.__name__}.distributed.fsdp")
        wrap = importlib.import_module(f"{torch.__name__}.distributed.fsdp.wrap")
        policy = wrap.ModuleWrapPolicy({torch.nn.Sequential})
        return fsdp.FullyShardedDataParallel(net, auto_wrap_policy=policy, device_id=None)
    shard = importlib.import_module(f"{torch.__name__}.distributed.fsdp").fully_shard
    for block in net:
        shard(block)
    return shard(net)


def _train(torch: Any, way: str) -> Callable[[], None]:
    net = _wrapped(torch, way, _net(torch))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    batch, target = torch.randn(BATCH, WIDTH), torch.randint(0, 10, (BATCH,))

    def step() -> None:
        torch.nn.functional.cross_entropy(net(batch), target).backward()
        optimizer.step()
        optimizer.zero_grad()

    return step


def main() -> None:
    """Measure one rank."""
    library, way = sys.argv[1:]
    torch = importlib.import_module(library)
    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo")

    def steps() -> None:
        step = _train(torch, way)
        for _ in range(3):
            step()

    if library == "torch":
        with meter.of_torch() as peak:
            steps()
    else:
        steps()  # what is made once per process does not count
        gc.collect()
        tracemalloc.start()
        before = tracemalloc.get_traced_memory()[0]
        with meter.of_host() as peak:
            steps()
        peak.bytes -= before
    print("peak", peak.bytes)
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
