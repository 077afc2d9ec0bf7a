"""Abrupt ends leave no process and no file in /dev/shm; ``python -m tests.ends`` tries more of them."""
from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests import ends

pytestmark = pytest.mark.slow


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_abrupt_ends() -> None:
    kinds = ("interrupt", "exception", "kill", "kill worker")
    with ThreadPoolExecutor(2) as pool:
        left = list(pool.map(ends.end, kinds))
    assert left == [""] * len(kinds)
