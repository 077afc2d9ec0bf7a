"""The sweep that compares Ascend's rows with the host's reports differences."""
from __future__ import annotations

import json

import numpy as np
import pytest

from tools import kernel_calls

ONE = np.ones((2, 3), np.float32)


@pytest.mark.parametrize("mine, theirs, words", [
    (ONE, ONE, ""), (ONE * (1 + 1e-6), ONE, ""), (ONE * 1.01, ONE, "1.01 for 1"), (ONE.astype(np.float64), ONE, "float64 for float32"),
    (ONE[:1], ONE, "shape [1, 3] for [2, 3]"), (ONE * np.nan, ONE, "nan for 1"), (ONE * np.nan, ONE * np.nan, ""),
    (np.array([1, 2]), np.array([1, 3]), "2 for 3"), ([ONE], [ONE, ONE], "another number of results"), ([ONE, ONE * 2], [ONE, ONE], "2 for 1"),
    (ONE.astype(np.float16) * np.float16(1.001), ONE.astype(np.float16), ""), (ONE > 0, ONE > 1, "1 for 0"),
])  # fmt: skip
def test_what_differs(mine: object, theirs: object, words: str) -> None:
    assert kernel_calls.apart(mine, theirs) == words


def test_the_figures() -> None:
    """Most rows ran on calls of torch's databases; few differ, each with an example."""
    found = json.loads(kernel_calls.PATH.read_text())
    wrong = {op: entry for op, entry in found.items() if entry[1]}
    assert len(found) > 110 and len(wrong) < 10 and sum(count for count, _, _ in found.values()) > 50_000
    assert all(count >= differ and bool(first) == bool(differ) for count, differ, first in found.values())
