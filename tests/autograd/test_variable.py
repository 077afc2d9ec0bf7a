"""``Variable`` and ``volatile``: names of before 0.4 that programs still use."""
from __future__ import annotations

import importlib
import warnings

import numpy as np
import pytest

CALLS = [
    lambda V, x: V(), lambda V, x: V(x), lambda V, x: V(x, volatile=True), lambda V, x: V(x, volatile=False), lambda V, x: V(x, True, True),
    lambda V, x: V(x, True, False), lambda V, x: V(x, None), lambda V, x: V(x, requires_grad=True), lambda V, x: V(x, 1), lambda V, x: V(data=x),
    lambda V, x: V(None), lambda V, x: V(3.0), lambda V, x: V([1.0]), lambda V, x: V(np.ones(2)), lambda V, x: V("a"),
    lambda V, x: V(x, True, False, None), lambda V, x: V(x, True, False, None, "n"), lambda V, x: V(x, True, False, None, "n", 1),
    lambda V, x: V(x, _grad_fn=None), lambda V, x: V(x, name="a"), lambda V, x: V(x, foo=1), lambda V, x: V(x.long(), True),
    lambda V, x: V(x, volatile=None), lambda V, x: V(x, requires_grad="a"), lambda V, x: V(x, requires_grad=True, volatile=True),
    lambda V, x: setattr(x, "volatile", True), lambda V, x: x.volatile, lambda V, x: delattr(x, "volatile"), lambda V, x: hasattr(x, "volatile"),
]  # fmt: skip


@pytest.mark.parametrize("place", range(len(CALLS)))
def test_calls(both, place):
    def body(torch):
        with warnings.catch_warnings(record=True) as given:
            warnings.simplefilter("always")
            try:
                found = CALLS[place](importlib.import_module(f"{torch.__name__}.autograd").Variable, torch.ones(2))
            except Exception as error:  # noqa: BLE001 - class and text are compared, and the warnings before it
                found = type(error).__name__, str(error)
        return found, [(item.category.__name__, str(item.message)) for item in given]

    both(body)


def test_the_result_is_a_leaf(both):
    def body(torch):
        x = torch.ones(2)
        found = importlib.import_module(f"{torch.__name__}.autograd").Variable(x, True)
        (found * 2).sum().backward()
        return found.grad, x.requires_grad, found.data_ptr() == x.data_ptr(), found.is_leaf

    both(body)
