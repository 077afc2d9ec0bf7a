"""Loads MindSpore: checks versions, tunes the CPU runtime before the first operation, determines the device."""
from __future__ import annotations

import contextlib
import ctypes
import importlib.util
import io
import logging
import os
import re
import signal
import sys
import threading
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy

TESTED_MINDSPORE = ("2.7.2", "2.8.0", "2.9.0", "2.10.0")
TUNE = os.environ.get("MSTORCH_TUNE", "1") != "0"


def _release(version: str) -> tuple[int, ...]:
    """Return the leading numbers of a version: (2, 10, 0) for ``2.10.0rc1``."""
    numbers = []
    for part in version.split(".")[:3]:
        digits = ""
        for character in part:
            if not character.isdigit():
                break
            digits += character
        if not digits:
            break
        numbers.append(int(digits))
    return tuple(numbers)


def _has(module: str) -> bool:
    """Return whether a module can be imported."""
    try:
        return importlib.util.find_spec(module) is not None
    except ValueError:  # the entry in sys.modules has no spec
        return False


def check_versions(mindspore_version: str | None, numpy_version: str) -> None:
    """Raise ImportError with installation advice if the two versions are incompatible."""
    if mindspore_version is None:
        raise ImportError("mstorch runs on MindSpore, which is not installed: pip install 'mindspore>=2.7.2,<2.11'")
    release = _release(mindspore_version)
    if not (2, 7, 2) <= release < (2, 11):
        raise ImportError(
            f"mstorch is tested with MindSpore {', '.join(TESTED_MINDSPORE)}, not with {mindspore_version}: "
            "pip install 'mindspore>=2.7.2,<2.11'"
        )
    if _release(numpy_version) < (2,):
        return
    if _release(numpy_version) >= (3,) or release < (2, 10):
        raise ImportError(
            f"mstorch is tested with NumPy 1.26, and with NumPy 2 on MindSpore 2.10, not with NumPy {numpy_version} on MindSpore "
            f"{mindspore_version}: pip install 'numpy>=1.26,<2'"
        )
    if not _has("ml_dtypes"):
        raise ImportError("mstorch needs ml_dtypes for bfloat16 on NumPy 2: pip install ml_dtypes")


def _mindspore_release() -> str | None:
    """Return the version of MindSpore without importing it; None if it is not installed."""
    spec = importlib.util.find_spec("mindspore")
    if spec is None or spec.origin is None:
        return None
    found = re.search(r"^__version__ = '([^']+)'", Path(spec.origin).with_name("version.py").read_text("utf-8"), re.MULTILINE)
    return found and found[1]


NUMPY_2 = _release(numpy.__version__) >= (2,)
_mindspore_version = _mindspore_release()
check_versions(_mindspore_version, numpy.__version__)

FAKE_DEVICE = os.environ.get("MSTORCH_FAKE_DEVICE", "")
"""The device that is emulated in host memory: "Ascend", or empty."""
if FAKE_DEVICE not in ("", "Ascend"):
    raise ImportError(f"MSTORCH_FAKE_DEVICE can be Ascend, not {FAKE_DEVICE}")

HOST_NUMBERS = os.environ.get("MSTORCH_DEVICE_RANDOM", "device") == "host"
"""Whether a device's random numbers are the host's stream, so that a run with dropout or noise can be laid beside the CPU's and torch's."""
if os.environ.get("MSTORCH_DEVICE_RANDOM", "device") not in ("device", "host"):
    raise ImportError(f"MSTORCH_DEVICE_RANDOM can be device or host, not {os.environ['MSTORCH_DEVICE_RANDOM']}")

# Under AVX-512 MindSpore 2.9 and 2.10 request convolutions from oneDNN in a layout of weights for which it has a reference kernel only
# (300 ms instead of 6 ms with AVX2). mstorch requests them itself, in the fastest layout; on the stand-in device, where MindSpore's own
# convolutions are used, AVX2 is selected. oneDNN reads the variable once, when MindSpore is loaded.
_TUNED: dict[str, str] = {}
if TUNE and FAKE_DEVICE and "ONEDNN_MAX_CPU_ISA" not in os.environ:
    os.environ["ONEDNN_MAX_CPU_ISA"] = "AVX2"
    _TUNED["ONEDNN_MAX_CPU_ISA"] = "AVX2"

with warnings.catch_warnings():
    # MindSpore's import warns of its own deprecations, which do not concern a torch script.
    warnings.simplefilter("ignore")
    import mindspore

# Neither do those of its functions, some of which run as the interpreter ends.
warnings.filterwarnings("ignore", category=DeprecationWarning, module=r"mindspore\.")


def keep_subnormals() -> None:
    """Undo that a library has made the processor flush subnormal numbers to zero: MindSpore's does on ARM, for the whole process."""
    if numpy.multiply(numpy.float32(1e-40), numpy.float32(1)) == 0:
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).fesetenv(ctypes.c_void_p(-1))  # FE_DFL_ENV of the GNU C library


keep_subnormals()


@contextlib.contextmanager
def without_deprecations() -> Iterator[None]:
    """Context manager that hides MindSpore's deprecation warnings from the log, which do not concern a torch script."""

    def keep(record: logging.LogRecord) -> bool:
        message = record.getMessage()
        return "is deprecated from version" not in message and "will be deprecated and removed" not in message

    logger = mindspore.log._get_logger()
    logger.addFilter(keep)
    try:
        yield
    finally:
        logger.removeFilter(keep)



def _choose_host_without_gpu() -> None:
    """Compute on the CPU where MindSpore's plugin for GPUs is there and no GPU is: a login node, a container without devices.

    MindSpore's target is the GPU as soon as its plugin can be loaded, and the first operation would fail.
    """
    if mindspore.get_context("device_target") == "GPU":
        count = 0
        with contextlib.suppress(RuntimeError):
            count = int(mindspore.hal.device_count("GPU"))
        if count == 0:
            mindspore.set_context(device_target="CPU")


_choose_host_without_gpu()
if FAKE_DEVICE and mindspore.get_context("device_target") != "CPU":
    # Else MindSpore would compute on its device, where the stand-in's writes into host memory are not seen.
    mindspore.set_context(device_target="CPU")
HOST_TARGET: str = mindspore.get_context("device_target")
"""MindSpore's actual device target, even if the CPU emulates a device."""
DEVICE_TARGET: str = FAKE_DEVICE or HOST_TARGET

if TUNE and HOST_TARGET == "CPU":
    # The asynchronous pipeline is slow on few cores: an add of two 256x256 tensors took 4 ms instead of 0.05 ms.
    mindspore.runtime.launch_blocking()
    _TUNED["launch_blocking"] = "on"

if "OMP_NUM_THREADS" not in os.environ:
    # MindSpore sets it to 1 in the C environment, which os.environ does not show: child processes, with MindSpore or without,
    # would compute with one thread. MindSpore's own libraries have already read it.
    os.unsetenv("OMP_NUM_THREADS")


def _take_first_failure() -> None:
    """Trigger MindSpore's first look at an argument that is no tensor, which fails on NumPy 2: it looks for NumPy 1 once.

    The argument is one that MindSpore refuses: an operation that is launched would bind the process to its first device, before the
    program has chosen one. The failure is logged by C++ directly to the file descriptor of stderr.
    """
    with contextlib.suppress(AttributeError, OSError, ValueError):
        sys.stderr.flush()
    kept, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        with contextlib.suppress(SystemError, ImportError, TypeError), contextlib.redirect_stderr(io.StringIO()):  # NumPy's warning
            mindspore.Tensor([1.0]).add("")
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)


if NUMPY_2:
    _take_first_failure()


_MMAP_THRESHOLD, _TRIM_THRESHOLD = -3, -1
_KEPT = 256 << 20


def _keep_memory() -> bool:
    """Make glibc keep freed memory: if each array's memory is returned to the system, each new array costs a page fault per 4 kB."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    if mallopt is None or any(name.startswith("MALLOC_") for name in os.environ):
        return False
    return bool(mallopt(_MMAP_THRESHOLD, 32 << 20)) and bool(mallopt(_TRIM_THRESHOLD, _KEPT))


if TUNE and _keep_memory():
    _TUNED["malloc"] = f"keeps {_KEPT >> 20} MB"


def keep_interrupts() -> None:
    """Reinstall Python's SIGINT handler. MindSpore replaces it when the first Parameter is made, by a handler that ends the process."""
    handler = signal.getsignal(signal.SIGINT)
    if handler is not None and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, handler)


def device_type() -> str:
    """Return torch's name of MindSpore's device: ``cpu``, ``cuda`` or ``npu``."""
    return {"CPU": "cpu", "GPU": "cuda", "Ascend": "npu"}[DEVICE_TARGET]


def set_threads(count: int) -> None:
    """Set the number of host threads for kernels."""
    with without_deprecations():  # what it names instead (device_context.cpu.op_tuning.threads_num) can be called once
        mindspore.set_context(runtime_num_threads=count)


def describe() -> dict[str, str]:
    """Return versions, device and tuning for ``python -m mstorch env``."""
    tuning = ", ".join(f"{name}={value}" for name, value in _TUNED.items())
    return {
        "mindspore": str(mindspore.__version__),
        "numpy": numpy.__version__,
        "device": device_type(),
        "tuning": tuning or ("nothing to tune" if TUNE else "off (MSTORCH_TUNE=0)"),
    }


def set_deterministic(mode: bool) -> None:
    """Require deterministic kernels on a device; the CPU's always are."""
    if DEVICE_TARGET != "CPU" and not FAKE_DEVICE:
        mindspore.set_context(deterministic="ON" if mode else "OFF")


def device_name(index: int) -> str:
    """Return the name of an accelerator."""
    return "stand-in" if FAKE_DEVICE else str(mindspore.hal.get_device_name(index, DEVICE_TARGET))


def capability(index: int) -> tuple[int, int]:
    """Return the compute capability of a GPU."""
    major, minor = mindspore.hal.get_device_capability(index, DEVICE_TARGET)
    return int(major), int(minor)


def processors(index: int) -> int:
    """Return the number of a GPU's multiprocessors."""
    return int(mindspore.hal.get_device_properties(index, DEVICE_TARGET).multi_processor_count)


def synchronize() -> None:
    """Wait until the device is idle; raise RuntimeError if its work failed."""
    if not FAKE_DEVICE:
        mindspore.runtime.synchronize()
        _raise_failure(mindspore.runtime.current_stream())


def heed_launch_blocking() -> None:
    """Make each call wait for its kernels if the environment asks for it, so that an error is raised by the call that failed."""
    if os.environ.get({"GPU": "CUDA_LAUNCH_BLOCKING"}.get(DEVICE_TARGET, "ASCEND_LAUNCH_BLOCKING")) == "1":
        mindspore.runtime.launch_blocking()


def synchronize_stream(stream: Any) -> None:
    """Wait until a stream is idle; raise RuntimeError if its work failed."""
    stream.synchronize()
    if not FAKE_DEVICE:
        _raise_failure(stream)


def _raise_failure(stream: Any) -> None:
    """Raise the error of a stream that failed: MindSpore's synchronization logs it and returns (2.10), an event's raises it."""
    if DEVICE_TARGET == "CPU":
        return
    event = mindspore.runtime.Event()
    event.record(stream)
    event.synchronize()


def empty_cache() -> None:
    """Release the device's cached memory."""
    if not FAKE_DEVICE:
        mindspore.runtime.empty_cache()


def memory_allocated() -> int:
    """Return the number of bytes that tensors occupy on the device."""
    return 0 if FAKE_DEVICE else int(mindspore.runtime.memory_allocated())


def max_memory_allocated() -> int:
    """Return the peak number of bytes that tensors occupied on the device."""
    return 0 if FAKE_DEVICE else int(mindspore.runtime.max_memory_allocated())
