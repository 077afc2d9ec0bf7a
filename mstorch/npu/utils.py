"""torch_npu.npu.utils: functions of a device, and the number of its kind, which OpenMMLab's packages ask for."""
from __future__ import annotations

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


__all__ = [
    "current_device", "current_stream", "default_stream", "device_count", "get_device_capability", "get_device_name",
    "get_device_properties", "get_soc_version", "is_bf16_supported", "set_device", "set_stream", "stream", "synchronize",
]  # fmt: skip
