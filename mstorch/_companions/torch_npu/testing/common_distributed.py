"""torch_npu.testing.common_distributed: tests for several devices."""
from __future__ import annotations

import functools
import unittest
from collections.abc import Callable
from typing import Any

from .... import npu as _npu


def skipIfUnsupportMultiNPU(npu_number_needed: int) -> Callable[..., Any]:
    """Return a decorator that skips a test where there are fewer devices."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def check(self: Any, *args: Any, **options: Any) -> Any:
            if not _npu.is_available() or _npu.device_count() < npu_number_needed:
                raise unittest.SkipTest(f"Multi-NPU {npu_number_needed} condition not satisfied")
            return function(self, *args, **options)

        return check

    return decorate
