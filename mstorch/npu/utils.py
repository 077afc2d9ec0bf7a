"""torch_npu.npu.utils: functions of a device, its overflows, CANN's version, and the number of the device's kind."""
from __future__ import annotations

import math
import os
import re
from pathlib import Path
from typing import NoReturn

from packaging.version import Version

from .._src.core.warned import warn
from .._tensor import Tensor
from . import (
    current_device,
    current_stream,
    default_stream,
    device_count,
    get_device_capability,
    get_device_name,
    get_device_properties,
    is_bf16_supported,
    set_device,
    set_stream,
    stream,
    synchronize,
)

_FIRST = {
    100: "910PremiumA 910ProA 910A 910ProB 910B", 200: "310P1 310P2 310P3 310P4 310P5 310P7", 220: "910B1 910B2 910B2C 910B3 910B4 910B4-1",
    240: "310B1 310B2 310B3 310B4", 250: "910_9391 910_9392 910_9381 910_9382 910_9372 910_9362",
}  # fmt: skip
_KINDS = {f"Ascend{name}": first + place for first, names in _FIRST.items() for place, name in enumerate(names.split())}


def get_soc_version() -> int:
    """Return torch_npu's number for the device's kind: from 100 on for the first 910, from 220 on for Atlas A2, from 250 on for A3, and -1
    for an unknown one."""
    return _KINDS.get(get_device_name(), -1)


def get_cann_version(module: str = "CANN") -> str:
    """Return the version in CANN's own file, of the installation that ASCEND_HOME_PATH names; "" if there is none."""
    home = os.environ.get("ASCEND_HOME_PATH") or os.environ.get("ASCEND_TOOLKIT_HOME")
    for path in sorted(Path(home).glob("*/ascend_toolkit_install.info")) if home else ():
        match = re.search(r"^version=(.+)$", path.read_text("utf-8", "replace"), re.MULTILINE)
        if match:
            return match[1].strip()
    return ""


def _is_gte_cann_version(version: str, module: str = "CANN") -> bool:
    """Return whether CANN is of a version or a newer one; False if none is installed."""
    installed = get_cann_version(module)
    return bool(installed) and Version(installed) >= Version(version)


def is_support_inf_nan() -> bool:
    """Return whether the device computes infinities and NaN, as Atlas A2 and later do; earlier ones saturate, and set a flag."""
    return get_soc_version() >= _KINDS["Ascend910B1"]


def _without_flag(name: str) -> None:
    if not is_support_inf_nan():
        raise NotImplementedError(f"mstorch: torch.npu.utils.{name}(): MindSpore does not tell the flag of a device that saturates")


def npu_check_overflow(grad: float | Tensor) -> bool:
    """Return whether a number, or the sum of a tensor, is infinite or NaN. Raise RuntimeError for another type, and NotImplementedError on
    a device that saturates."""
    _without_flag("npu_check_overflow")
    if not isinstance(grad, (float, Tensor)):
        raise RuntimeError("Unsupported type.")
    return not math.isfinite(grad if isinstance(grad, float) else grad.float().sum().item())


def get_npu_overflow_flag() -> NoReturn:
    """Raise RuntimeError: there is no flag; NotImplementedError on a device that has one."""
    _without_flag("get_npu_overflow_flag")
    raise RuntimeError("Unsupported api when soc_version >= Ascend910B1, please use npu_check_overflow")


def clear_npu_overflow_flag() -> None:
    """Do nothing but warn: there is no flag. Raise NotImplementedError on a device that has one."""
    _without_flag("clear_npu_overflow_flag")
    warn("When soc_version >= Ascend910B1, clear_npu_overflow_flag is useless, please remove it.")


__all__ = [
    "clear_npu_overflow_flag", "current_device", "current_stream", "default_stream", "device_count", "get_cann_version",
    "get_device_capability", "get_device_name", "get_device_properties", "get_npu_overflow_flag", "get_soc_version", "is_bf16_supported",
    "is_support_inf_nan", "npu_check_overflow", "set_device", "set_stream", "stream", "synchronize",
]  # fmt: skip
