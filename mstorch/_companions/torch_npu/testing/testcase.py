"""torch_npu.testing.testcase: a test case that compares tensors, arrays and numbers within a share of outliers."""
from __future__ import annotations

import os
import random
import sys
import unittest
from collections.abc import Sequence
from typing import Any

import numpy as np

import mstorch as torch

from . import common_utils

_COMPARED = tuple(np.dtype(kind) for kind in ("bool", "uint8", "uint16", "int8", "int16", "int32", "int64", "float16", "float32",
    "float64"))


def run_tests() -> None:
    """Run the tests of the script."""
    unittest.main(argv=sys.argv)


def _array(value: Any) -> Any:
    return value.detach().cpu().numpy() if isinstance(value, torch.Tensor) else np.asarray(value)


def _as_tensors(x: Any, y: Any) -> tuple[Any, Any]:
    """Return the two, a sequence beside a tensor as a tensor of its kind."""
    if isinstance(x, torch.Tensor) and isinstance(y, Sequence):
        return x, torch.as_tensor(y, dtype=x.dtype, device=x.device)
    if isinstance(x, Sequence) and isinstance(y, torch.Tensor):
        return torch.as_tensor(x, dtype=y.dtype, device=y.device), y
    return x, y


class TestCase(unittest.TestCase):
    """A test case with seeds set before each test, ``assertRtolEqual`` and an ``assertEqual`` for tensors."""

    precision = 1e-5
    maxDiff = None

    @classmethod
    def setUpClass(cls) -> None:
        """Choose the device."""
        cls.npu_device = common_utils.set_npu_device()  # type: ignore[attr-defined]

    def setUp(self) -> None:
        """Seed the generators of torch, Python and NumPy."""
        seed = int(os.getenv("SEED", "666"))
        torch.manual_seed(seed)
        random.seed(seed)
        np.random.seed(seed)

    def assertRtolEqual(
        self, x: Any, y: Any, prec: float = 1e-4, prec16: float = 1e-3, auto_trans_dtype: bool = False, message: Any = None
    ) -> None:  # fmt: skip
        """Fail unless shapes and dtypes are equal, and all but a share of ``prec`` of the numbers within ``prec``, absolutely or relatively
        (``prec16`` in half precision)."""
        if isinstance(x, Sequence) and isinstance(y, Sequence):
            for one, other in zip(x, y):
                self.assertRtolEqual(one, other, prec, prec16, auto_trans_dtype, message)
            return
        x, y = _as_tensors(x, y)
        if isinstance(x, torch.Tensor) and isinstance(y, torch.Tensor):
            x = x.to(y.dtype) if auto_trans_dtype else x
            if x.dtype is torch.bfloat16 and y.dtype is torch.bfloat16:
                if x.shape != y.shape or not torch.allclose(x.cpu(), y.cpu(), rtol=prec16, atol=prec16):
                    self.fail(message or f"{list(x.shape)} and {list(y.shape)} differ")
                return
        first, second = _array(x), _array(y)
        if first.shape != second.shape or first.dtype != second.dtype or first.dtype not in _COMPARED:
            self.fail(message or f"{first.dtype}{list(first.shape)} and {second.dtype}{list(second.shape)}")
        if first.dtype == np.bool_:
            self.assertTrue(np.array_equal(first, second), message)
        else:
            self._check_share(first, second, *((prec16, 6e-8) if first.dtype == np.float16 else (prec, 10e-10)), message)

    def _check_share(self, first: Any, second: Any, bound: float, least: float, message: Any) -> None:
        """Fail if more than a share of ``bound`` of the numbers is farther apart than ``bound``, absolutely and relatively."""
        unknown = np.isnan(first)
        self.assertTrue(np.array_equal(unknown, np.isnan(second)), message or "other places are NaN")
        with np.errstate(all="ignore"):
            apart = np.abs(np.where(unknown, 0, second - first))
            far = ~(apart <= bound)
            farther = ~(apart / (np.maximum(np.abs(first), np.abs(second)) + least) <= bound)
        if far.any() and farther.any() and min(far.sum(), farther.sum()) > first.size * bound:
            self.fail(message or f"{far.sum()} of {first.size} numbers differ, by up to {np.nanmax(apart)}")

    def assertEqual(self, x: Any, y: Any, prec: Any = None, message: Any = "", allow_inf: bool = False, exact_dtype: Any = None) -> None:
        """Fail unless values are equal, tensors and numbers within ``prec``."""
        bound = self.precision if not isinstance(prec, (int, float)) else prec
        message = message or (prec if isinstance(prec, str) else "")
        numbers = (int, float, complex)
        if isinstance(x, torch.Tensor) and isinstance(y, torch.Tensor):
            self._check_tensors(x, y, bound, message, exact_dtype)
        elif isinstance(x, np.ndarray) and isinstance(y, np.ndarray) and x.dtype in _COMPARED and y.dtype in _COMPARED:
            self._check_tensors(torch.from_numpy(x), torch.from_numpy(y), bound, message, exact_dtype)
        elif isinstance(x, torch.Tensor) or isinstance(y, torch.Tensor):
            tensor, value = (x, y) if isinstance(x, torch.Tensor) else (y, x)
            single = tensor.numel() == 1 and not isinstance(value, Sequence)
            self.assertEqual(tensor.item() if single else tensor.tolist(), value, bound, message)
        elif isinstance(x, numbers) and isinstance(y, numbers) and not isinstance(x, bool):
            self.assertTrue(x == y or abs(x - y) <= bound, message or f"{x} and {y}")
        elif isinstance(x, dict) and isinstance(y, dict):
            self.assertTrue(set(x) == set(y), message)
            self.assertEqual([x[key] for key in x], [y[key] for key in x], bound, message)
        elif isinstance(x, (list, tuple)) and isinstance(y, (list, tuple)):
            self.assertTrue(len(x) == len(y), message)
            for one, other in zip(x, y):
                self.assertEqual(one, other, bound, message)
        else:
            super().assertEqual(x, y, message or None)

    def assertNotEqual(self, x: Any, y: Any, prec: Any = None, message: Any = "", allow_inf: bool = False) -> None:
        """Fail if values are equal, tensors and numbers within ``prec``."""
        with self.assertRaises(AssertionError, msg=message):
            self.assertEqual(x, y, prec, message, allow_inf)

    def _check_tensors(self, x: Any, y: Any, bound: float, message: Any, exact_dtype: Any) -> None:
        """Fail unless two tensors have one shape, and values within ``bound``."""
        self.assertTrue(tuple(x.shape) == tuple(y.shape), message or f"{list(x.shape)} and {list(y.shape)}")
        if exact_dtype:
            self.assertIs(x.dtype, y.dtype, message)
        if x.is_sparse or y.is_sparse:
            x, y = x.to_dense(), y.to_dense()
        kind = torch.complex128 if x.is_complex() or y.is_complex() else torch.float64
        close = torch.allclose(x.detach().cpu().to(kind), y.detach().cpu().to(kind), rtol=0.0, atol=bound, equal_nan=True)
        self.assertTrue(close, message)
