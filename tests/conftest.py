"""Fixtures of the test suite."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests import against_torch


@pytest.fixture
def both() -> Callable[..., Any]:
    """Run a body with torch and with mstorch and compare (see tests/against_torch.py)."""
    return against_torch.both


@pytest.fixture
def with_gradients() -> Callable[..., Any]:
    """Compare a function's results and gradients (see tests/against_torch.py)."""
    return against_torch.with_gradients
