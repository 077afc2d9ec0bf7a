"""The accelerator that a process computes on: the program may choose it until its first use, and cannot change it afterwards.

MindSpore binds a process to one device with its first kernel (``mindspore.set_device`` precedes it). The stand-in device provides
``MSTORCH_FAKE_DEVICES`` devices, one per process.
"""
from __future__ import annotations

import os
from collections.abc import Callable

import mindspore

from . import runtime
from .turns import LOCK

_VISIBLE = "ASCEND_RT_VISIBLE_DEVICES"
_OF_CUDA = "CUDA_VISIBLE_DEVICES"


class _Bound:
    index = 0
    chosen = False  # whether the program named a device
    used = False
    cuda = False  # whether CUDA_VISIBLE_DEVICES is respected
    passed_on: str | None = None  # the value of it that was copied to the variable that the device's runtime reads


_bound = _Bound()
_to_do: dict[str, Callable[[], None]] = {}


def let_cuda_choose() -> None:
    """Let CUDA_VISIBLE_DEVICES select the visible devices until the first use, as ASCEND_RT_VISIBLE_DEVICES does."""
    _bound.cuda = True
    _visible()


def _visible() -> str | None:
    """Return the device numbers that the environment makes visible; None: all. Raise RuntimeError if variables contradict each other."""
    ascend = os.environ.get(_VISIBLE)
    cuda = os.environ.get(_OF_CUDA) if _bound.cuda and not _bound.used else None
    if cuda is None:
        return ascend
    if any(not part.strip().lstrip("-").isdigit() for part in cuda.split(",") if part.strip()):
        raise RuntimeError(f"mstorch: {_OF_CUDA}={cuda} names no Ascend devices, which have numbers; set {_VISIBLE}")
    if ascend not in (None, _bound.passed_on) and _numbers(ascend) != _numbers(cuda):
        raise RuntimeError(f"mstorch: {_OF_CUDA}={cuda} and {_VISIBLE}={ascend} name different devices; set one of them")
    os.environ[_VISIBLE] = _bound.passed_on = cuda  # read by the device's runtime and by child processes
    return cuda


def _numbers(visible: str | None) -> list[int]:
    """Parse a list of devices up to the first invalid entry, as CUDA and CANN do."""
    found: list[int] = []
    for part in (visible or "").split(","):
        if not part.strip().isdigit():
            break
        found.append(int(part))
    return found


def count() -> int:
    """Return the number of accelerators visible to this process."""
    if runtime.DEVICE_TARGET == "CPU":
        return 0
    seen = _visible()
    if not runtime.FAKE_DEVICE:
        return int(mindspore.hal.device_count(runtime.DEVICE_TARGET))
    played = int(os.environ.get("MSTORCH_FAKE_DEVICES", "1"))
    return played if seen is None else len([number for number in _numbers(seen) if number < played])


def index() -> int:
    """Return the index of the accelerator that this process is or will be bound to."""
    return _bound.index


def is_used() -> bool:
    """Return whether the process is bound to its accelerator."""
    return _bound.used


def when_bound(name: str, do: Callable[[], None]) -> None:
    """Register a function to call once the device is bound; a function registered earlier under the same name is replaced."""
    if _bound.used or runtime.DEVICE_TARGET == "CPU":
        do()
    else:
        _to_do[name] = do


def check(wanted: int) -> None:
    """Raise RuntimeError unless the accelerator with this index exists and this process may use it."""
    there = count()
    if not 0 <= wanted < there:
        kind = runtime.device_type()
        raise RuntimeError(f"Invalid device ID: {kind}:{wanted} was asked for, and this process sees {there}, from {kind}:0 on")
    if _bound.used and wanted != _bound.index:
        kind = runtime.device_type()
        raise RuntimeError(
            f"{kind}:{wanted} was asked for, but this process computes on {kind}:{_bound.index}: MindSpore binds a process to the device "
            f"that it uses first. Call torch.{kind}.set_device({wanted}) before anything is computed there, and start one process for each "
            "device (torchrun, python -m mstorch.distributed.run)"
        )


def choose(wanted: int) -> None:
    """Choose the accelerator with this index, before the first use."""
    check(wanted)
    _bound.index, _bound.chosen = wanted, True


def use_own(rank: int) -> int:
    """Bind a process of several to an accelerator of its own, if the program has named none: that of LOCAL_RANK, or of the rank among those
    that there are. Return its number. torch_npu binds later, when the program has named one; MindSpore cannot.
    """
    if not (_bound.chosen or _bound.used):
        local = os.environ.get("LOCAL_RANK", "")
        own = int(local) if local.isdigit() else rank
        _bound.index = own % max(count(), 1)
    return use()


def _bind(number: int) -> None:
    """Bind MindSpore to a device, which it may be bound to already because the program called MindSpore itself."""
    try:
        mindspore.set_device(runtime.DEVICE_TARGET, number)
    except RuntimeError:
        with runtime.without_deprecations():
            bound = mindspore.get_context("device_id")
        if bound != number:
            raise RuntimeError(
                f"{runtime.device_type()}:{number} was asked for, but MindSpore has already computed on {runtime.device_type()}:{bound}: "
                f"call torch.{runtime.device_type()}.set_device({number}) before anything of MindSpore's is computed"
            ) from None
    runtime.heed_launch_blocking()


def use(wanted: int | None = None) -> int:
    """Bind the process to accelerator number ``wanted``, by default to the chosen one, and return its number."""
    if wanted is not None and (wanted != _bound.index or not _bound.used):
        choose(wanted)
    if not _bound.used:
        with LOCK:  # threads may begin at once
            if not _bound.used:
                check(_bound.index)
                if not runtime.FAKE_DEVICE:
                    _bind(_bound.index)
                _bound.used = True
                while _to_do:
                    _to_do.popitem()[1]()
    return _bound.index
