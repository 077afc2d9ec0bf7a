"""torch_npu.testing.common_utils: tensors on the CPU and the device, and decorators for tests of some devices."""
from __future__ import annotations

import functools
import os
import unittest
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import mstorch as torch

from .... import npu as _npu
from ..forms import npu_format_cast


def get_npu_device() -> str:
    """Return the device of the tests: that of SET_NPU_DEVICE, or the first."""
    return f"npu:{os.environ.get('SET_NPU_DEVICE', '0')}"


def set_npu_device() -> str:
    """Choose the device of the tests, and return it."""
    _npu.set_device(get_npu_device())
    return get_npu_device()


def _both(array: Any, device: str | None, acl_format: int) -> tuple[Any, Any]:
    there = torch.from_numpy(array).to(device or get_npu_device())
    return torch.from_numpy(array), npu_format_cast(there, acl_format) if acl_format != -1 else there


def create_common_tensor(item: Sequence[Any], minValue: float, maxValue: float, device: str | None = None) -> tuple[Any, Any]:
    """Return uniform numbers on the CPU and on the device, for (NumPy's dtype, memory format, shape)."""
    return _both(np.random.uniform(minValue, maxValue, item[2]).astype(item[0]), device, item[1])


def create_dtype_tensor(
    shape: Sequence[int], dtype: Any, npu_format: int = -1, min_value: int = -5, max_value: int = 5, no_zero: bool = False,
    device: str | None = None,
) -> tuple[Any, Any]:  # fmt: skip
    """Return random numbers of torch's bool, half or float, else int32, on the CPU and on the device."""
    if dtype is torch.bool:
        array = np.random.randint(0, 2, size=shape).astype(bool)
    elif dtype in (torch.half, torch.float):
        array = np.random.uniform(min_value, max_value, shape).astype(np.float16 if dtype is torch.half else np.float32)
    else:
        array = np.random.randint(min_value, max_value + 1, size=shape).astype(np.int32)
    if no_zero:
        array = np.where(array == 0, np.ones_like(array), array)
    return _both(array, device, npu_format if dtype in (torch.half, torch.float) else -1)


def test_2args_broadcast(fn: Callable[..., Any]) -> list[list[Any]]:
    """Return a function's results on the CPU and on the device for two pairs of shapes."""
    results = []
    for shape in ((1, 1, 1), (4, 5)):
        first, second = (_both(np.random.rand(*sizes).astype(np.float32), None, -1) for sizes in ((2, 3, 4, 5), shape))
        results.append([fn(first[0], second[0]).numpy(), fn(first[1], second[1]).cpu().numpy()])
    return results


def check_operators_in_prof(expected_operators: list[str], prof: Any, unexpected_operators: Sequence[str] = ()) -> bool:
    """Return whether a profile has all of some operators and none of others."""
    seen = {item.key.replace("cached_", "") for item in prof.key_averages()}
    return seen.issuperset(expected_operators) and seen.isdisjoint(unexpected_operators)


def iter_indices(tensor: Any) -> Any:
    """Yield the places of a tensor's elements."""
    return range(tensor.shape[0]) if tensor.dim() == 1 else iter(np.ndindex(*tensor.shape))


def is_iterable(obj: Any) -> bool:
    """Return whether an object can be iterated."""
    try:
        iter(obj)
    except TypeError:
        return False
    return True


class SupportedDevices:
    """Decorator: skip a test on devices whose names do not begin with one of those listed."""

    def __init__(self, supported_devices: Sequence[str]) -> None:
        self.supported_devices = supported_devices

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return the test with the check before it."""

        @functools.wraps(function)
        def check(case: Any, *args: Any, **options: Any) -> Any:
            name = _npu.get_device_name(0)
            if not any(name.startswith(kind) for kind in self.supported_devices):
                raise unittest.SkipTest(f"Only run on {self.supported_devices!r}, current device is {name}.")
            return function(case, *args, **options)

        return check


class SkipIfNotGteCANNVersion:
    """Decorator: skip a test that needs a version of CANN, which MindSpore does not tell."""

    def __init__(self, base_version: str, module: str = "CANN") -> None:
        self.base_version, self.module = base_version, module

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return a test that is skipped."""
        return unittest.skip(f"needs {self.module} {self.base_version}, and the version is not known")(function)
