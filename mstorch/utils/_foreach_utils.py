"""torch.utils._foreach_utils: tensors in groups that one call of a ``_foreach_`` function takes."""
from __future__ import annotations

from typing import Any

__all__ = ["_get_foreach_kernels_supported_devices", "_get_fused_kernels_supported_devices", "_group_tensors_by_device_and_dtype"]


def _get_foreach_kernels_supported_devices() -> list[str]:
    """Return the types of devices whose ``_foreach_`` functions join many tensors into one kernel."""
    return ["cuda", "xpu", "mtia", "npu"]


def _get_fused_kernels_supported_devices() -> list[str]:
    """Return the types of devices for which optimizers take ``fused=True``."""
    return ["mps", "cuda", "xpu", "hpu", "cpu", "mtia", "npu"]


def _group_tensors_by_device_and_dtype(
    tensorlistlist: list[list[Any]], with_indices: bool = False
) -> dict[tuple[Any, Any], tuple[list[list[Any]], list[int]]]:
    """Return lists of equal length, row by row in groups of one device and dtype, told by the first list.

    The result has for each (device, dtype) the lists of its rows and, with ``with_indices``, the rows' places.
    """
    groups: dict[tuple[Any, Any], tuple[list[list[Any]], list[int]]] = {}
    for place, row in enumerate(zip(*tensorlistlist, strict=True)):
        lists, places = groups.setdefault((row[0].device, row[0].dtype), ([[] for _ in tensorlistlist], []))
        for one, tensor in zip(lists, row):
            one.append(tensor)
        if with_indices:
            places.append(place)
    return groups
