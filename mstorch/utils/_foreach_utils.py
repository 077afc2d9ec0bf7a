"""torch.utils._foreach_utils: grouping of tensor lists for ``_foreach_`` functions."""
from __future__ import annotations

from typing import Any

__all__ = ["_get_foreach_kernels_supported_devices", "_get_fused_kernels_supported_devices", "_group_tensors_by_device_and_dtype"]


def _get_foreach_kernels_supported_devices() -> list[str]:
    """Return the device types on which ``_foreach_`` functions launch one kernel for many tensors."""
    return ["cuda", "xpu", "mtia", "npu"]


def _get_fused_kernels_supported_devices() -> list[str]:
    """Return the types of devices for which optimizers take ``fused=True``."""
    return ["mps", "cuda", "xpu", "hpu", "cpu", "mtia", "npu"]


def _group_tensors_by_device_and_dtype(
    tensorlistlist: list[list[Any]], with_indices: bool = False
) -> dict[tuple[Any, Any], tuple[list[list[Any]], list[int]]]:
    """Group the rows of equally long tensor lists by the device and dtype of the first list's tensors.

    Return a dict from (device, dtype) to the group's lists and, with ``with_indices``, the rows' indices.
    """
    groups: dict[tuple[Any, Any], tuple[list[list[Any]], list[int]]] = {}
    for place, row in enumerate(zip(*tensorlistlist, strict=True)):
        lists, places = groups.setdefault((row[0].device, row[0].dtype), ([[] for _ in tensorlistlist], []))
        for one, tensor in zip(lists, row):
            one.append(tensor)
        if with_indices:
            places.append(place)
    return groups
