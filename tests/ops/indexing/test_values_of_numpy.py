"""NumPy's arrays and numbers, ranges and lists of objects other than numbers, in keys and as written values."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytestmark = pytest.mark.filterwarnings("ignore:Using a non-tuple sequence", "ignore:indexing with dtype torch.uint8")

BOOLS = [np.bool_(True), np.bool_(False)] if np.lib.NumpyVersion(np.__version__) < "2.0.0" else []  # torch does not know NumPy 2's in a key
NUMBERS = [np.array(1), np.array(True), np.array(1, np.int8), np.array(1, np.uint8), np.array(1.5), *BOOLS, np.int16(1),
           np.array([1]), np.array([[1]]), np.array([], int), np.array([True, False]), np.ones((2, 3), bool)]  # fmt: skip
LISTS = [[0, 1.5], [1.0], [True, 1], [range(2)], [range(2), 0], [[0, 1], range(2)], [slice(0, 1), 1], [np.array(1), 0], [np.int64(0), *BOOLS[:1]]]
WRONG = [[slice(0, 1)], [None], [...], ["a"]]
WRITTEN = [np.ones(4), np.array(3.0), np.ones(3), np.bool_(True), np.array(["a"]), np.float64(3), np.int8(3), [1.0] * 4, (1.0,) * 4, range(4), {}, None, "a"]


@pytest.mark.parametrize("number", range(len(NUMBERS)))
@pytest.mark.parametrize("around", ["{}", "(slice(None), {})", "(..., {})", "({}, None, {})"])
def test_in_a_key(both: Any, number: int, around: str) -> None:
    """A 0-d array stands for its number, unless it holds a bool or a byte; a NumPy bool is a number."""
    key = eval(around.replace("{}", "k"), {"k": NUMBERS[number]})

    def body(torch: Any) -> Any:
        x = torch.arange(24.0).reshape(2, 3, 4)
        part = x[key]
        where, window = x.clone(), x.clone()
        where[key] = 9
        window[key] += part
        return part, part.storage_offset(), part._is_view(), where, window

    both(body)


@pytest.mark.parametrize("items", LISTS, ids=str)
def test_lists_in_a_key(both: Any, items: list[Any]) -> None:
    both(lambda torch: torch.arange(24.0).reshape(2, 3, 4)[items])
    if not any(isinstance(item, (range, slice, np.ndarray)) for item in items):
        both(lambda torch: torch.arange(24.0).reshape(2, 3, 4)[:, items])


@pytest.mark.parametrize("items", WRONG, ids=str)
def test_no_numbers_in_a_list(both: Any, items: list[Any]) -> None:
    both(lambda torch: torch.arange(24.0).reshape(2, 3, 4)[:, items])


@pytest.mark.parametrize("value", WRITTEN, ids=repr)
@pytest.mark.parametrize("key", ["0", "(0, 0, 0)", "x > 3", "[0, 1]", "...", "(slice(None), 1)"])
def test_written(both: Any, value: Any, key: str) -> None:
    """NumPy numbers can be written; arrays and bools cannot."""

    def body(torch: Any) -> Any:
        x = torch.arange(24.0).reshape(2, 3, 4)
        x[eval(key, {"x": x})] = value
        return x

    both(body)
