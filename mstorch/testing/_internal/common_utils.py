"""torch.testing._internal.common_utils: a test case that compares tensors, parametrized tests, and small helpers."""
from __future__ import annotations

import functools
import random
import sys
import unittest
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

import mstorch as torch

from ..._src.core.dtype import default_dtype_again
from ..._src.leaving import END, Undo, undoing
from .. import assert_close, make_tensor
from .._comparison import default_tolerances

IS_WINDOWS = sys.platform == "win32"
IS_MACOS = sys.platform == "darwin"
IS_LINUX = sys.platform == "linux"
TEST_CUDA = torch.cuda.is_available()
TEST_MULTIGPU = TEST_CUDA and torch.cuda.device_count() > 1
TEST_NUMPY = True
TEST_WITH_ROCM = TEST_WITH_SLOW = TEST_WITH_TORCHDYNAMO = TEST_WITH_ASAN = TEST_XPU = IS_FBCODE = IS_SANDCASTLE = False
SEED = 1234

__all__ = [
    "IS_FBCODE", "IS_LINUX", "IS_MACOS", "IS_SANDCASTLE", "IS_WINDOWS", "SEED", "TEST_CUDA", "TEST_MULTIGPU", "TEST_NUMPY",
    "TEST_WITH_ASAN", "TEST_WITH_ROCM", "TEST_WITH_SLOW", "TEST_WITH_TORCHDYNAMO", "TEST_XPU", "TestCase", "freeze_rng_state",
    "instantiate_parametrized_tests", "make_tensor", "parametrize", "run_tests", "set_default_dtype", "set_rng_seed", "slowTest", "subtest",
]  # fmt: skip


def set_rng_seed(seed: int = SEED) -> None:
    """Seed the random numbers of torch, Python and NumPy."""
    torch.manual_seed(seed)
    random.seed(seed)
    np.random.seed(seed)


def freeze_rng_state(*args: Any, **kwargs: Any) -> Any:
    """Return a context manager that restores the state of the random numbers."""
    return torch.random.fork_rng(*args, **kwargs)


@undoing
def set_default_dtype(undo: Undo, dtype: torch.dtype) -> None:
    """Context manager that sets the default dtype."""
    undo[END:] = (default_dtype_again(),)
    torch.set_default_dtype(dtype)


class TestCase(unittest.TestCase):
    """Test case whose ``assertEqual`` compares tensors, numbers, arrays and containers within ``precision`` and ``rel_tol``."""

    __test__ = False  # a base class: pytest must not collect it
    precision: float = 0
    rel_tol: float = 0
    maxDiff = None

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls.__test__ = True

    def setUp(self) -> None:
        """Seed each test with the same seed."""
        set_rng_seed(SEED)

    def assertEqual(
        self, x: Any, y: Any, msg: Any = None, *, atol: float | None = None, rtol: float | None = None, equal_nan: bool = True,
        exact_dtype: bool = True, exact_device: bool = False, exact_layout: bool = False, exact_stride: bool = False,
        exact_is_coalesced: bool = False,
    ) -> None:  # fmt: skip
        """Raise AssertionError unless ``x`` and ``y`` are close as defined by ``torch.testing.assert_close``.

        A tensor is compared with a number, an array or a list by value. Tolerances are at least those of the test case.
        """
        x, y = _comparable(x, y), _comparable(y, x)
        if not _is_numeric(x) or not _is_numeric(y):
            parts = _parts(x, y)
            if parts is None and (isinstance(x, _HOLDERS) or isinstance(y, _HOLDERS)):
                self.fail(msg if isinstance(msg, str) else f"{type(x).__name__} and {type(y).__name__} differ in keys, length or kind")
            elif parts is None:
                super().assertEqual(x, y, msg)
            for one, other in parts or ():
                self.assertEqual(
                    one, other, msg, atol=atol, rtol=rtol, equal_nan=equal_nan, exact_dtype=exact_dtype, exact_device=exact_device,
                    exact_layout=exact_layout, exact_stride=exact_stride, exact_is_coalesced=exact_is_coalesced,
                )  # fmt: skip
            return
        exact_dtype = exact_dtype and not (isinstance(x, (int, float, complex)) and isinstance(y, (int, float, complex)))
        if rtol is None and atol is None:
            rtol, atol = default_tolerances(x, y)
            rtol, atol = max(rtol, self.rel_tol), max(atol, self.precision)
        assert_close(
            x, y, rtol=rtol, atol=atol, equal_nan=equal_nan, check_device=exact_device, check_dtype=exact_dtype, check_layout=exact_layout,
            check_stride=exact_stride, msg=msg,
        )  # fmt: skip

    def assertNotEqual(self, x: Any, y: Any, msg: Any = None, **options: Any) -> None:
        """Raise AssertionError if ``assertEqual`` does not."""
        with self.assertRaises(AssertionError, msg=msg):
            self.assertEqual(x, y, msg, **options)


def _is_numeric(value: Any) -> bool:
    """Return whether ``assert_close`` supports the value."""
    if isinstance(value, (list, tuple)) and not isinstance(value, str):
        return all(_is_numeric(one) for one in value)
    if isinstance(value, dict):
        return all(_is_numeric(one) for one in value.values())
    return isinstance(value, (torch.Tensor, np.ndarray, np.number, bool, int, float, complex))


_HOLDERS = (Mapping, list, tuple, torch.Tensor)
"""Types that are compared by their parts or elements, because a tensor has no single truth value."""


def _parts(x: Any, y: Any) -> list[tuple[Any, Any]] | None:
    """Return the pairs of items of two mappings with the same keys, or of two lists or tuples of the same length; None for other values."""
    if isinstance(x, Mapping) and isinstance(y, Mapping) and x.keys() == y.keys():
        return [(x[key], y[key]) for key in x]
    if isinstance(x, (list, tuple)) and isinstance(y, (list, tuple)) and len(x) == len(y):
        return list(zip(x, y, strict=True))
    return None


def _comparable(value: Any, other: Any) -> Any:
    """Convert a value to the other's type for comparison: numbers, arrays and lists to tensors, and NumPy numbers to Python's."""
    if isinstance(value, np.ndarray) and not isinstance(other, np.ndarray):
        value = torch.from_numpy(value)
    if isinstance(other, torch.Tensor) and not isinstance(value, torch.Tensor) and _is_numeric(value) and not isinstance(value, dict):
        return torch.as_tensor(value, dtype=other.dtype, device=other.device)
    return value.item() if isinstance(value, np.number) else value


class subtest:
    """Values of one case of ``parametrize``, with a name and decorators of its own."""

    def __init__(
        self, arg_values: Any, name: str | None = None, decorators: Sequence[Callable[..., Any]] | None = None
    ) -> None:
        self.arg_values, self.name, self.decorators = arg_values, name, list(decorators or ())


Cases = list[tuple[str, dict[str, Any], list[Callable[..., Any]]]]


class parametrize:
    """Decorator of test methods or classes that makes a test for each set of argument values.

    ``arg_str``: the arguments' names, separated by commas. ``name_fn``: returns the suffix of a test's name from the values.
    """

    def __init__(self, arg_str: str, arg_values: Iterable[Any], name_fn: Callable[..., str] | None = None) -> None:
        self.names = [name.strip() for name in arg_str.split(",") if name.strip()]
        self.values, self.name_fn = list(arg_values), name_fn

    def __call__(self, decorated: Any) -> Any:
        if isinstance(decorated, type):
            for name, test in list(vars(decorated).items()):
                if name.startswith("test") and callable(test):
                    setattr(decorated, name, self(test))
            return decorated
        cases: Cases = getattr(decorated, "_cases", [("", {}, [])])
        decorated._cases = [
            ("_".join(filter(None, (more, suffix))), kwargs | added, extra + decorators)
            for more, added, decorators in self._own() for suffix, kwargs, extra in cases
        ]  # fmt: skip
        return decorated

    def _own(self) -> Cases:
        found: Cases = []
        for place, value in enumerate(self.values):
            values, name, decorators = value, None, []
            if isinstance(value, subtest):
                values, name, decorators = value.arg_values, value.name, value.decorators
            row = [values] if len(self.names) == 1 else list(values)
            if len(row) != len(self.names):
                raise RuntimeError(f"Expected # values == # arg names, but got: {len(row)} values and {len(self.names)} names")
            if name is None:
                name = self.name_fn(*row) if self.name_fn else "_".join(_word(key, one, place) for key, one in zip(self.names, row))
            found.append((name, dict(zip(self.names, row)), decorators))
        return found


def _word(name: str, value: Any, place: int) -> str:
    """Return an argument's part of a case's name; by position if it has no short text."""
    if isinstance(value, torch.dtype):
        return str(value).rpartition(".")[2]
    if isinstance(value, torch.device):
        return str(value)
    return f"{name}_{str(value).replace('.', '_')}" if isinstance(value, (int, float, str)) else f"{name}{place}"


def instantiate_parametrized_tests(generic_cls: type) -> type:
    """Replace each parametrized test of a class by its cases; return the class."""
    for name, test in list(vars(generic_cls).items()):
        cases = getattr(test, "_cases", None)
        if cases is None:
            continue
        delattr(generic_cls, name)
        for suffix, kwargs, decorators in cases:
            full = f"{name}_{suffix}" if suffix else name
            if hasattr(generic_cls, full):
                raise RuntimeError(f"instantiation of {name} gives {full} twice")
            setattr(generic_cls, full, _case(test, full, kwargs, decorators))
    return generic_cls


def _case(test: Callable[..., Any], name: str, values: dict[str, Any], decorators: Sequence[Callable[..., Any]]) -> Callable[..., Any]:
    @functools.wraps(test)
    def run(self: TestCase, *args: Any, **kwargs: Any) -> Any:
        return test(self, *args, **values, **kwargs)

    vars(run).pop("_cases", None)
    vars(run).pop("__wrapped__", None)  # otherwise pytest would look for fixtures for the arguments that are already given
    run.__name__ = name
    for decorator in decorators:
        run = decorator(run)
    return run


def slowTest(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Skip a test unless slow tests are enabled, which they are not."""
    return unittest.skip("test is slow; run with PYTORCH_TEST_WITH_SLOW to enable test")(fn)


def run_tests(argv: Sequence[str] | None = None) -> None:
    """Run the tests of the main module."""
    unittest.main(argv=list(sys.argv if argv is None else argv))
