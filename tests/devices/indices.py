"""A process that uses one of several devices: each way to use another one raises an error that names it. Prints failures."""
from __future__ import annotations

import io
import sys
from collections.abc import Callable
from typing import Any

import mstorch as torch

nn = torch.nn


def _ways(i: int) -> dict[str, Callable[[], Any]]:
    name, place = f"npu:{i}", torch.device("npu", i)
    x, layer = torch.zeros(2), nn.Linear(2, 2)
    return {
        "zeros": lambda: torch.zeros(2, device=name), "ones of a device": lambda: torch.ones(2, device=place),
        "empty": lambda: torch.empty(2, device=name), "full": lambda: torch.full((2,), 1.0, device=name),
        "arange": lambda: torch.arange(3, device=name), "rand": lambda: torch.rand(2, device=name),
        "randn": lambda: torch.randn(2, device=place), "randint": lambda: torch.randint(3, (2,), device=name),
        "randperm": lambda: torch.randperm(3, device=name), "eye": lambda: torch.eye(2, device=name),
        "linspace": lambda: torch.linspace(0, 1, 3, device=name), "tensor": lambda: torch.tensor([1.0], device=name),
        "as_tensor": lambda: torch.as_tensor([1.0], device=name), "scalar": lambda: torch.scalar_tensor(1.0, device=name),
        "zeros_like": lambda: torch.zeros_like(x, device=name), "empty_like": lambda: torch.empty_like(x, device=name),
        "full_like": lambda: torch.full_like(x, 2, device=name), "rand_like": lambda: torch.rand_like(x, device=name),
        "new_zeros": lambda: x.new_zeros(2, device=name), "new_tensor": lambda: x.new_tensor([1.0], device=name),
        "to": lambda: x.to(name), "to of a device": lambda: x.to(place), "to with a dtype": lambda: x.to(name, torch.float16),
        "to like": lambda: x.to(device=name), "npu": lambda: x.npu(i), "npu of a device": lambda: x.npu(place),
        "module.to": lambda: layer.to(name), "module.npu": lambda: layer.npu(i), "to_empty": lambda: nn.Linear(2, 2).to_empty(device=name),
        "layer": lambda: nn.Linear(2, 2, device=name), "default": lambda: torch.set_default_device(name),
        "with": lambda: _inside(place), "npu.device": lambda: _inside(torch.npu.device(i)), "set_device": lambda: torch.npu.set_device(i),
        "set_device by name": lambda: torch.npu.set_device(name), "index": lambda: torch.accelerator.set_device_index(i),
        "load": lambda: _loaded(name), "generator": lambda: torch.Generator(device=name), "storage": lambda: x.untyped_storage().to(device=name),
        "memory": lambda: torch.npu.memory_allocated(i), "mem_get_info": lambda: torch.npu.mem_get_info(i), "synchronize": lambda: torch.npu.synchronize(i),
        "name": lambda: torch.npu.get_device_name(i), "stream": lambda: torch.npu.Stream(name), "sparse": lambda: torch.eye(2).to_sparse().to(name),
        "buffer": lambda: nn.BatchNorm1d(2, device=name), "parameter": lambda: nn.Parameter(torch.ones(2, device=name)),
    }  # fmt: skip


def _inside(context: Any) -> Any:
    with context:
        return torch.zeros(2, device="npu")


def _loaded(name: str) -> Any:
    buffer = io.BytesIO()
    torch.save(torch.zeros(2), buffer)
    buffer.seek(0)
    return torch.load(buffer, map_location=name)


def _entered(context: Any) -> None:
    with context:
        pass


def _open() -> dict[str, Callable[[], Any]]:
    """Return calls that scripts make before they choose a device, by name; none of them may bind the process to a device."""
    npu, layer, accelerator = torch.npu, nn.Linear(2, 2), torch.accelerator
    return {
        "manual_seed": lambda: torch.manual_seed(0), "npu.manual_seed": lambda: npu.manual_seed(1), "manual_seed_all": lambda: npu.manual_seed_all(1),
        "cuda.manual_seed_all": lambda: torch.cuda.manual_seed_all(0), "seed": torch.seed, "npu.seed": npu.seed, "npu.seed_all": npu.seed_all,
        "initial_seed": npu.initial_seed, "get_rng_state": npu.get_rng_state, "get_rng_state_all": npu.get_rng_state_all,
        "set_rng_state": lambda: npu.set_rng_state(npu.get_rng_state()), "fork_rng": lambda: _entered(torch.random.fork_rng()),
        "generator": lambda: torch.Generator("npu").manual_seed(3), "is_available": npu.is_available, "device_count": npu.device_count,
        "current_device": npu.current_device, "name": npu.get_device_name, "properties": lambda: npu.get_device_properties(0), "init": npu.init,
        "synchronize": npu.synchronize, "empty_cache": npu.empty_cache, "memory": npu.memory_allocated, "peak": npu.max_memory_allocated,
        "reset": npu.reset_peak_memory_stats, "accelerator": accelerator.current_accelerator,
        "index": accelerator.current_device_index, "device": lambda: torch.device("npu:1"), "with": lambda: _entered(torch.device("npu")),
        "default device": lambda: torch.set_default_device("npu"), "default cpu": lambda: torch.set_default_device("cpu"),
        "no default": lambda: torch.set_default_device(None), "scaler": lambda: torch.amp.GradScaler("npu"),
        "autocast": lambda: _entered(torch.autocast("npu")), "stream": npu.Stream, "event": lambda: npu.Event(enable_timing=True),
        "current_stream": npu.current_stream, "pin_memory": lambda: torch.ones(2).pin_memory(),
        "work of the CPU": lambda: nn.functional.dropout(layer(torch.randn(3, 2)), 0.5).sum().backward(), "load": lambda: _loaded("cpu"),
        "compile mode": lambda: npu.set_compile_mode(jit_compile=False), "block": lambda: _entered(npu.device(1)),
        "profiler": lambda: _entered(torch.profiler.profile()), "compile": lambda: torch.compile(layer)(torch.ones(1, 2)),
        "meta": lambda: nn.Linear(2, 2, device="meta"), "loader": lambda: next(iter(torch.utils.data.DataLoader([1.0], pin_memory=True))),
        "set_device": lambda: npu.set_device(1), "set_device by name": lambda: npu.set_device("npu:0"),
    }  # fmt: skip


def binding_too_early() -> list[str]:
    """Return the calls that bind the process to device 0 before a script has chosen another."""
    found = []
    for name, way in _open().items():
        way()
        if torch.npu.is_initialized():
            return [f"{name} binds the process"]
    torch.set_default_device("npu")
    torch.npu.manual_seed(7)
    torch.npu.set_device(5)
    made = torch.randn(2)
    if str(made.device) != "npu:5" or torch.npu.initial_seed() != 7:
        found.append(f"the default device, chosen later: {made.device}, {torch.npu.initial_seed()}")
    torch.set_default_device(None)
    return found


def refused() -> list[str]:
    """Return the ways to name a device other than the current one that do not raise an error about it."""
    found = []
    torch.npu.set_device(2)
    here = torch.zeros(2, device="npu")
    if here.device != torch.device("npu:2") or torch.npu.current_device() != 2:
        found.append(f"the chosen device: {here.device}")
    for i, words in ((3, "npu:3 was asked for"), (8, "npu:8 was asked for")):
        for name, way in _ways(i).items():
            try:
                way()
            except RuntimeError as error:
                if words not in str(error) and "torch.npu.device_count() is 8" not in str(error):  # torch's own messages for files
                    found.append(f"{name} of npu:{i}: {error}")
            else:
                found.append(f"{name} of npu:{i} is not refused")
    for name, way in _ways(2).items():
        made = way()
        if isinstance(made, torch.Tensor) and str(made.device) != "npu:2":
            found.append(f"{name} gives {made.device}")
    torch.set_default_device(None)
    return found


if __name__ == "__main__":
    if torch.npu.device_count() != 8 or torch.accelerator.device_count() != 8:
        sys.exit(f"8 devices expected, {torch.npu.device_count()} seen")
    print({"refused": refused, "early": binding_too_early}[sys.argv[1]]())
