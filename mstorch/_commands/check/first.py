"""The ten first steps on a device, each with a known result: whether anything works there at all."""
from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import mstorch as torch

from ..._src.backend import runtime
from ..._src.core import device as devices
from . import Item

nn = torch.nn


def _here() -> Any:
    return devices.current()


def _leaf() -> Any:
    return torch.tensor([[1.0, 2.0], [3.0, 4.0]], device=_here(), requires_grad=True)


def _bind() -> Any:
    if runtime.DEVICE_TARGET != "CPU":
        torch.accelerator.set_device_index(torch.accelerator.current_device_index())
    return _here().type != "cpu" or runtime.DEVICE_TARGET == "CPU"


def _product() -> Any:
    x = _leaf().detach()
    return (x @ x).cpu().tolist()


def _loss() -> Any:
    loss = nn.functional.cross_entropy(torch.zeros(3, 4, device=_here()), torch.tensor([0, 1, 2], device=_here()))
    return [round(loss.item(), 4), list(loss.shape)]


def _backward() -> Any:
    x = _leaf()
    (x * x).sum().backward()
    return x.grad.tolist()


def _step() -> Any:
    x = _leaf()
    optimizer = torch.optim.SGD([x], lr=0.5)
    x.sum().backward()
    optimizer.step()
    return x.tolist()


def _synchronise() -> Any:
    x = _leaf().detach() + 1
    if runtime.DEVICE_TARGET != "CPU":
        torch.accelerator.synchronize()
    return x.sum().item()


def _capture() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return torch.compile(lambda x: (x * 2 + 1).relu().sum(), fullgraph=True)(_leaf().detach()).item()


def _collective() -> Any:
    dist = torch.distributed
    backend = {"Ascend": "hccl", "GPU": "nccl"}.get(runtime.DEVICE_TARGET, "gloo")
    with tempfile.TemporaryDirectory() as folder:
        dist.init_process_group(backend, init_method=f"file://{Path(folder)}/store", rank=0, world_size=1, timeout=timedelta(seconds=60))
        try:
            x = _leaf().detach()
            dist.all_reduce(x)
            return x.tolist()
        finally:
            dist.destroy_process_group()


STEPS: dict[str, tuple[Callable[[], Any], Any]] = {
    "bind": (_bind, True),
    "tensor": (lambda: torch.arange(3, device=_here()).tolist(), [0, 1, 2]),
    "product": (_product, [[7.0, 10.0], [15.0, 22.0]]),
    "half": (lambda: (_leaf().detach().half() / 2).tolist(), [[0.5, 1.0], [1.5, 2.0]]),
    "loss": (_loss, [1.3863, []]),
    "backward": (_backward, [[2.0, 4.0], [6.0, 8.0]]),
    "optimizer": (_step, [[0.5, 1.5], [2.5, 3.5]]),
    "synchronise": (_synchronise, 14.0),
    "capture": (_capture, 24.0),
    "collective": (_collective, [[1.0, 2.0], [3.0, 4.0]]),
}


def _compared(step: Callable[[], Any], wanted: Any) -> str:
    result = step()
    return "" if result == wanted else f"{result!r} instead of {wanted!r}"


def first() -> list[Item]:
    """Return the ten steps."""
    return [(name, lambda step=step, wanted=wanted: _compared(step, wanted)) for name, (step, wanted) in STEPS.items()]
