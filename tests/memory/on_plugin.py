"""Peaks of training steps on MindSpore's Ascend plugin beside torch's on the CPU, eager, checkpointed and compiled.

    python -m tests.cann python -m tests.memory.on_plugin [NETWORK …]

The plugin's own allocator counts. Prints the ratio of each network and way to torch's peak of the step that is not compiled.
"""
from __future__ import annotations

import gc
import json
import sys
from collections.abc import Callable
from typing import Any

import torch as real_torch

import mstorch

from . import meter, networks

OPTIMIZER = {"lr": 0.01, "momentum": 0.9}


def _compiled(name: str, whole: bool) -> Callable[[], None]:
    """Return a training step whose loss is compiled, or which is compiled as a whole."""
    mstorch.manual_seed(0)
    blocks, x = networks._blocks(name, mstorch)
    parameters = [parameter for block in blocks for parameter in block.parameters()]
    optimizer = mstorch.optim.SGD(parameters, **OPTIMIZER)

    def loss() -> Any:
        h = x
        for block in blocks:
            h = block(h)
        return h.float().square().mean()

    run = loss if whole else mstorch.compile(loss, fullgraph=True)

    def step() -> None:
        optimizer.zero_grad()
        run().backward()
        optimizer.step()

    return mstorch.compile(step) if whole else step


def _peak(step: Callable[[], None], steps: int = 4) -> int:
    for _ in range(steps - 1):
        step()
    gc.collect()
    mstorch.npu.synchronize()
    mstorch.npu.empty_cache()
    mstorch.npu.reset_peak_memory_stats()
    step()
    mstorch.npu.synchronize()
    return mstorch.npu.max_memory_allocated()


def ratios(name: str) -> dict[str, float]:
    """Return the peaks of one network's steps, divided by torch's."""
    found = {}
    for way, options in (("eager", {}), ("checkpointed", {"checkpointed": True})):
        want = meter.peak(real_torch, networks.make(name, **options, **OPTIMIZER))
        mstorch.npu.synchronize()
        before = mstorch.npu.memory_allocated()
        step = networks.make(name, **options, **OPTIMIZER)(mstorch)[0]
        found[way] = round((_peak(step) - before) / want, 3)
        del step
        gc.collect()
        if way == "eager":
            plain = want
    for way, whole in (("compiled loss", False), ("compiled step", True)):
        mstorch.npu.synchronize()
        before = mstorch.npu.memory_allocated()
        step = _compiled(name, whole)
        found[way] = round((_peak(step) - before) / plain, 3)
        del step
        gc.collect()
    return found


def main() -> None:
    """Print the ratios of the networks as JSON, a line each."""
    mstorch.set_default_device("npu")
    for name in sys.argv[1:] or networks.NAMES:
        print(json.dumps({name: ratios(name)}), flush=True)


if __name__ == "__main__":
    main()
