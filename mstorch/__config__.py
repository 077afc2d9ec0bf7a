"""torch.__config__: a description of the compute libraries."""
from __future__ import annotations

import os

from ._src.backend import runtime
from ._src.core.settings import get_num_threads
from .version import __version__


def show() -> str:
    """Return versions, device and tuning as text, as torch shows its build settings."""
    rows = runtime.describe()
    lines = [f"  - MindSpore {rows.pop('mindspore')}", *(f"  - {name}: {value}" for name, value in rows.items())]
    return "\n".join(["PyTorch built with:", *lines, f"  - Build settings: TORCH_VERSION={__version__}, USE_CUDA=0, ", ""])


def _cxx_flags() -> str:
    """Return an empty string: no C++ was compiled."""
    return ""


def parallel_info() -> str:
    """Return the threads and the environment variables that set them, as text."""
    variables = (f"\t{name} : {os.environ.get(name, '[not set]')}" for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS"))
    threads = [f"\tat::get_num_threads() : {get_num_threads()}", f"std::thread::hardware_concurrency() : {os.cpu_count()}"]
    return "\n".join(["ATen/Parallel:", *threads, "Environment variables:", *variables, "ATen parallel backend: MindSpore", ""])
