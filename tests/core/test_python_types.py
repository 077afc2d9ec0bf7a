"""Python types in place of dtypes, and the calls that reject them, compared with torch."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.against_torch import both

X = [1.5, 2.5]
CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "zeros": lambda t, d: t.zeros(2, dtype=d),
    "empty": lambda t, d: t.empty(2, dtype=d).dtype,
    "full": lambda t, d: t.full((2,), 1, dtype=d),
    "eye": lambda t, d: t.eye(2, dtype=d),
    "arange": lambda t, d: t.arange(1, dtype=d),
    "linspace": lambda t, d: t.linspace(0, 1, 2, dtype=d),
    "randint": lambda t, d: t.randint(3, (2,), dtype=d).dtype,
    "tensor": lambda t, d: t.tensor([1, 2], dtype=d),
    "as_tensor": lambda t, d: t.as_tensor([1, 2], dtype=d),
    "asarray": lambda t, d: t.asarray([1, 2], dtype=d),
    "frombuffer": lambda t, d: t.frombuffer(bytearray(16), dtype=d),
    "scalar_tensor": lambda t, d: t.scalar_tensor(1, dtype=d),
    "ones_like": lambda t, d: t.ones_like(t.tensor(X), dtype=d),
    "new_full": lambda t, d: t.tensor(X).new_full((2,), 1, dtype=d),
    "to": lambda t, d: t.tensor(X).to(d),
    "to a place": lambda t, d: t.tensor(X).to("cpu", d),
    "type": lambda t, d: t.tensor(X).type(d),
    "view": lambda t, d: t.tensor([1, 2]).view(d),
    "sum": lambda t, d: t.tensor(X).sum(dtype=d),
    "sum of rows": lambda t, d: t.sum(t.tensor([X]), 1, dtype=d),
    "prod": lambda t, d: t.tensor(X).prod(dtype=d),
    "cumsum": lambda t, d: t.tensor(X).cumsum(0, dtype=d),
    "mean": lambda t, d: t.tensor(X).mean(dtype=d),
    "softmax": lambda t, d: t.softmax(t.tensor(X), 0, dtype=d),
    "functional.softmax": lambda t, d: t.nn.functional.softmax(t.tensor(X), 0, dtype=d),
    "log_softmax": lambda t, d: t.log_softmax(t.tensor(X), 0, d),
    "norm": lambda t, d: t.norm(t.tensor(X), dtype=d),
    "vector_norm": lambda t, d: t.linalg.vector_norm(t.tensor(X), dtype=d),
    "fftfreq": lambda t, d: t.fft.fftfreq(3, dtype=d),
    "rfftfreq": lambda t, d: t.fft.rfftfreq(3, dtype=d),
    "Linear": lambda t, d: t.nn.Linear(2, 2, dtype=d).weight.dtype,
    "Module.to": lambda t, d: t.nn.Linear(2, 2).to(d).weight.dtype,
    "promote_types": lambda t, d: t.promote_types(d, t.int8),
    "can_cast": lambda t, d: t.can_cast(d, t.float32),
    "set_default_dtype": lambda t, d: t.set_default_dtype(d),
    "finfo": lambda t, d: repr(t.finfo(d)),
    "iinfo": lambda t, d: repr(t.iinfo(d)),
    "hann_window": lambda t, d: t.hann_window(3, dtype=d),
}
ELSEWHERE = {
    ("to", 3): "a number is a device", ("Module.to", 3): "a number is a device",
    ("hann_window", complex): "torch refuses a complex window in arange, by another class of error",
}  # fmt: skip


@pytest.mark.parametrize("given", [float, int, bool, complex, str, np.float32, "float32", np.dtype("float32"), 3], ids=str)
@pytest.mark.parametrize("call", CALLS)
def test_types_in_the_place_of_dtypes(call: str, given: Any) -> None:
    if (call, given) in ELSEWHERE:
        pytest.skip(ELSEWHERE[call, given])

    def body(torch: Any) -> Any:
        try:
            return CALLS[call](torch, given)
        except (TypeError, ValueError, RuntimeError) as error:
            return type(error).__name__

    both(body)
