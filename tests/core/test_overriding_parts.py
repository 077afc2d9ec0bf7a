"""``__torch_function__`` of subclasses of tuple, list and dict."""
from __future__ import annotations

from typing import NamedTuple

import pytest

import mstorch


def test_tuples_lists_and_dicts_may_override(both):
    """Some classes that override functions are named tuples, such as brevitas's quantized tensors."""

    def body(torch):
        class Overrides:
            @classmethod
            def __torch_function__(cls, func, types, args=(), kwargs=None):
                return func.__name__, [kind.__name__ for kind in types if kind is not torch.Tensor]

        class Pair(Overrides, NamedTuple("Pair", [("value", object), ("scale", object)])):
            pass

        class Many(Overrides, list):
            pass

        class Named(Overrides, dict):
            pass

        x, F = torch.ones(1, 2, 3, 3), torch.nn.functional
        found = []
        for value in (Pair(torch.ones(2, 2, 3, 3), 1.0), Many([1]), Named()):
            found += [
                torch.exp(value), F.relu(value), F.gelu(value), torch.add(x, value), x.mul(value), x + value, value - x, F.conv2d(x, value),
                F.linear(x, value), torch.sum(value, 0), torch.stack([x, value]), torch.cat([value, value]), F.conv2d(x, x, bias=value),
            ]  # fmt: skip
        return found

    both(body)


def test_endless_recursion_raises_recursion_error():
    """Endless recursion raises RecursionError; torch's native stack overflows before Python's limit is reached."""

    class Again:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return func(*args, **(kwargs or {}))

    with pytest.raises(RecursionError):
        mstorch.exp(Again())
