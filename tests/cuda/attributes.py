"""What scripts for GPUs ask of torch.cuda: the uses that were counted most often in transformers, diffusers, timm, torchvision, PyTorch
Geometric, mmcv, xformers and YOLOv7 (``torch.cuda.is_available`` 591 times, … ``cudart`` twice), with the arguments that they give.

    python -m tests.cuda python -m tests.cuda.attributes      # on the emulated CUDA runtime: each answers, or says by name that MindSpore cannot
"""
from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import mstorch

USES: dict[str, Callable[[Any], Any]] = {
    "is_available": lambda torch: torch.cuda.is_available(), "get_device_capability": lambda torch: torch.cuda.get_device_capability(),
    "get_device_capability of an index": lambda torch: torch.cuda.get_device_capability(0), "device_count": lambda torch: torch.cuda.device_count(),
    "synchronize": lambda torch: torch.cuda.synchronize(), "synchronize a device": lambda torch: torch.cuda.synchronize("cuda:0"),
    "empty_cache": lambda torch: torch.cuda.empty_cache(), "Stream": lambda torch: torch.cuda.Stream(),
    "Stream with a priority": lambda torch: torch.cuda.Stream(device="cuda:0", priority=-1), "current_device": lambda torch: torch.cuda.current_device(),
    "stream of None": lambda torch: torch.cuda.stream(None).__enter__(), "stream": lambda torch: torch.cuda.stream(torch.cuda.current_stream()),
    "CUDAGraph": lambda torch: torch.cuda.CUDAGraph(), "graph": lambda torch: torch.cuda.graph(torch.cuda.CUDAGraph()),
    "set_device": lambda torch: torch.cuda.set_device(0), "set_device of no index": lambda torch: torch.cuda.set_device(-1),
    "current_stream": lambda torch: torch.cuda.current_stream(), "max_memory_allocated": lambda torch: torch.cuda.max_memory_allocated(),
    "memory_allocated": lambda torch: torch.cuda.memory_allocated(), "get_device_name": lambda torch: torch.cuda.get_device_name(),
    "get_device_properties": lambda torch: torch.cuda.get_device_properties(0).total_memory,
    "the capability among the properties": lambda torch: torch.cuda.get_device_properties("cuda").major,
    "the processors among the properties": lambda torch: torch.cuda.get_device_properties(0).multi_processor_count,
    "GradScaler": lambda torch: torch.cuda.amp.GradScaler().state_dict() is None, "autocast": lambda torch: torch.cuda.amp.autocast().__enter__() and None,
    "reset_peak_memory_stats": lambda torch: torch.cuda.reset_peak_memory_stats(), "device": lambda torch: torch.cuda.device(0).__enter__(),
    "device of no index": lambda torch: torch.cuda.device(-1).__enter__(), "device of the CPU": lambda torch: torch.cuda.device("cpu"),
    "device_of": lambda torch: torch.cuda.device_of(torch.ones(1)).__enter__(), "manual_seed": lambda torch: torch.cuda.manual_seed(0),
    "manual_seed_all": lambda torch: torch.cuda.manual_seed_all(0), "default_generators": lambda torch: len(torch.cuda.default_generators),
    "Event": lambda torch: torch.cuda.Event(), "Event with times": lambda torch: torch.cuda.Event(enable_timing=True).record(),
    "memory_reserved": lambda torch: torch.cuda.memory_reserved(), "mem_get_info": lambda torch: torch.cuda.mem_get_info(),
    "is_bf16_supported": lambda torch: torch.cuda.is_bf16_supported(), "default_stream": lambda torch: torch.cuda.default_stream(),
    "FloatTensor": lambda torch: torch.cuda.FloatTensor(2), "LongTensor": lambda torch: torch.cuda.LongTensor([1]),
    "reset_max_memory_allocated": lambda torch: torch.cuda.reset_max_memory_allocated(), "memory_stats": lambda torch: dict(torch.cuda.memory_stats()),
    "is_initialized": lambda torch: torch.cuda.is_initialized(), "get_rng_state": lambda torch: torch.cuda.get_rng_state(),
    "set_rng_state": lambda torch: torch.cuda.set_rng_state(torch.zeros(16, dtype=torch.uint8)), "random": lambda torch: torch.cuda.random.get_rng_state_all(),
    "get_rng_state_all": lambda torch: torch.cuda.get_rng_state_all(), "set_rng_state_all": lambda torch: torch.cuda.set_rng_state_all([]),
    "StreamContext": lambda torch: torch.cuda.StreamContext(None).__enter__(), "streams.Stream": lambda torch: torch.cuda.streams.Stream(),
    "is_current_stream_capturing": lambda torch: torch.cuda.is_current_stream_capturing(), "profiler": lambda torch: torch.cuda.profiler.profile().__enter__(),
    "cudart": lambda torch: torch.cuda.cudart(), "ipc_collect": lambda torch: torch.cuda.ipc_collect(), "init": lambda torch: torch.cuda.init(),
    "get_arch_list": lambda torch: torch.cuda.get_arch_list(), "is_tf32_supported": lambda torch: torch.cuda.is_tf32_supported(),
    "version.cuda": lambda torch: torch.version.cuda, "cudnn.is_available": lambda torch: torch.backends.cudnn.is_available(),
    "cudnn.version": lambda torch: torch.backends.cudnn.version(), "cudnn.benchmark": lambda torch: torch.backends.cudnn.benchmark,
    "x.cuda": lambda torch: torch.ones(1).cuda(), "x.to": lambda torch: torch.ones(1).to("cuda"), "x.is_cuda": lambda torch: torch.ones(1).is_cuda,
    "a factory": lambda torch: torch.ones(1, device="cuda"), "Module.cuda": lambda torch: torch.nn.Linear(1, 1).cuda(),
    "Generator": lambda torch: torch.Generator(device="cuda").device.type, "nvtx": lambda torch: torch.cuda.nvtx.range_push("step"),
}  # fmt: skip
# What MindSpore's runtime does not reach, and says by name.
REFUSED = {"CUDAGraph", "graph", "cudart", "profiler", "nvtx", "device of the CPU"}


def main() -> int:
    """Print the uses that raise; return the number of those that ought to answer."""
    wrong = 0
    for name, use in USES.items():
        try:
            answer = use(mstorch)
        except Exception as error:  # noqa: BLE001 - each is printed
            print(f"{name}: {type(error).__name__}: {error}")
            wrong += name not in REFUSED
        else:
            nothing = answer is None and name in ("version.cuda", "cudnn.version") or answer is False and name in ("is_available", "cudnn.is_available")
            wrong += nothing
            if nothing or name in REFUSED:
                print(f"{name}: {answer}")
    print(f"{len(USES)} uses, {wrong} without an answer")
    return wrong


if __name__ == "__main__":
    sys.exit(min(main(), 1))
