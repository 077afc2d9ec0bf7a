"""apply_ and map_ with Python functions, and the arguments of ravel and trace, compared with torch."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

VALUES = [1000.0, 2.7, -1, True, 10**9, 10**12, 2**70, 1j]


@pytest.mark.parametrize("kind", ["uint8", "int8", "int16", "int32", "int64", "float32", "float16"])
def test_numbers_that_functions_give(both: Callable[..., Any], kind: str) -> None:
    def body(torch: Any) -> Any:
        found = []
        for value in VALUES:
            if kind == "float16" and value in (10**9, 10**12, 2**70) or kind == "float32" and value == 2**70:
                continue
            t = torch.tensor([1, 2]).to(getattr(torch, kind))
            try:
                found.append(t.apply_(lambda _, value=value: value))
            except (RuntimeError, TypeError, ValueError) as error:
                found.append((type(error).__name__, str(error)))
        return found

    both(body)


RAVELED = {
    "of one place": lambda t: t.ones(1).as_strided((3,), (0,)), "diagonal": lambda t: t.eye(3).diagonal(), "turned": lambda t: t.ones(2, 3).t(),
    "every second": lambda t: t.ones(4)[::2], "column": lambda t: t.ones(2, 3)[:, :1], "number": lambda t: t.ones(()), "row-major": lambda t: t.ones(2, 3),
    "nothing": lambda t: t.ones(0, 2).t(),
}  # fmt: skip


@pytest.mark.parametrize("name", RAVELED)
def test_ravel_is_contiguous(both: Callable[..., Any], name: str) -> None:
    def body(torch: Any) -> Any:
        x = RAVELED[name](torch)
        found = x.ravel()
        return found, found.stride(), found.numel() == 0 or found.data_ptr() == x.data_ptr()

    both(body)


@pytest.mark.parametrize("shape", [(3,), (2, 2)])
def test_trace_of_bools(both: Callable[..., Any], shape: tuple[int, ...]) -> None:
    def body(torch: Any) -> Any:
        try:
            torch.trace(torch.ones(shape, dtype=torch.bool))
        except (NotImplementedError, RuntimeError) as error:
            return type(error).__name__, str(error)

    both(body)
