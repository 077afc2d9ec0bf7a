"""Switch that makes "cuda" an alias of the Ascend device, for scripts written for GPUs; it is read whenever a device is named.

``from torch_npu.contrib import transfer_to_npu``, ``TORCH_TRANSFER_TO_NPU=1`` and ``python -m mstorch --cuda-is-npu`` turn it on.
"""
from __future__ import annotations

import os
import sys

from ..backend import binding, runtime
from .warned import warn_once

VARIABLE = "TORCH_TRANSFER_TO_NPU"


class _Switch:
    on = runtime.device_type() == "npu" and os.environ.get(VARIABLE, "").lower() in ("1", "true", "on", "yes")


_switch = _Switch()
if _switch.on:
    binding.let_cuda_choose()


def turn_on() -> None:
    """Make "cuda" an alias of the Ascend device; raise RuntimeError if there is none."""
    if runtime.device_type() != "npu":
        raise RuntimeError("mstorch: cuda cannot mean npu, as MindSpore computes on no Ascend device in this process")
    binding.let_cuda_choose()
    _switch.on = True


def is_on() -> bool:
    """Return whether "cuda" is an alias of the Ascend device."""
    return _switch.on


def is_there() -> bool:
    """Return whether "cuda" names an existing device: a GPU, or the Ascend device."""
    return _switch.on or runtime.device_type() == "cuda"


class _Either(str):
    """Device type of the Ascend device while "cuda" is an alias: ``"npu"``, which also compares equal to ``"cuda"``."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return str.__eq__(self, other) is True or (isinstance(other, str) and str.__eq__("cuda", other))

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = str.__hash__

    def __reduce__(self) -> tuple[type, tuple[str]]:
        return str, (str(self),)


_EITHER = _Either("npu")


def meant(kind: str) -> str:
    """Return the device type that a name means: Ascend's for "cuda" while the alias is on."""
    return _EITHER if _switch.on and kind in ("cuda", "npu") else kind


is_cuda = property(lambda self: self.device.type == meant("cuda"), doc="True if the memory is on the device that \"cuda\" names.")
"""Property ``is_cuda`` of classes with a device."""


def tell() -> None:
    """Print once that an Ascend device is available if a script asks for GPUs; nothing is printed for queries by installed packages."""
    if runtime.device_type() != "npu" or _switch.on:
        return
    file = sys._getframe(2).f_code.co_filename
    if "site-packages" not in file and "dist-packages" not in file:
        warn_once(
            "torch.cuda.is_available() is False, but there is an Ascend device: use torch.npu and the device 'npu', or let cuda mean npu "
            "by `from torch_npu.contrib import transfer_to_npu`, TORCH_TRANSFER_TO_NPU=1, or `python -m mstorch --cuda-is-npu script.py`",
            key="cuda means npu",
        )
