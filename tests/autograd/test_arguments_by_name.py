"""Functions with arguments given by name, and results that are not tuples, compared with torch."""
from __future__ import annotations

from collections import namedtuple
from typing import Any

import pytest


def _scaled(torch: Any) -> Any:
    class Scaled(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, w=None, k=2, *, z=1):
            return x * (1 if w is None else w) * k * z

        @staticmethod
        def backward(ctx, g):
            return tuple(g * (i + 1) if needed else None for i, needed in enumerate(ctx.needs_input_grad))

    return Scaled


def _apart(torch: Any) -> Any:
    class Apart(torch.autograd.Function):
        @staticmethod
        def forward(x, w=None, k=2):
            return x * (1 if w is None else w) * k

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.count = len(inputs)

        @staticmethod
        def backward(ctx, g):
            return tuple(g * (i + 1) if needed else None for i, needed in enumerate(ctx.needs_input_grad))

    return Apart


def _keyword_only(torch: Any) -> Any:
    class KeywordOnly(_apart(torch)):
        @staticmethod
        def forward(x, w=None, k=2, *, z=1):
            return x * z

    return KeywordOnly


def _any(torch: Any) -> Any:
    class Any_(_scaled(torch)):
        @staticmethod
        def forward(ctx, *given, **named):
            return sum(given) + sum(named.values())

    return Any_


CALLS = ["x, w", "x, w=w", "x=x, w=w", "w=w, x=x", "x, k=3", "x, k=3, w=w", "x, z=4", "x, z=w", "x, q=1", "x, x=x", "w=w", "k=3", "x, w, 2"]


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("made", [_scaled, _apart, _keyword_only, _any])
def test_gradients_of_arguments_by_name(both: Any, made: Any, call: str) -> None:
    """Arguments given by name have positions among the inputs; keyword-only ones are refused."""

    def body(torch: Any) -> Any:
        x, w = torch.ones(2, requires_grad=True), torch.full((2,), 3.0, requires_grad=True)
        result = eval(f"apply({call})", {"apply": made(torch).apply, "x": x, "w": w})
        result.sum().backward()
        return result, x.grad, w.grad, len(result.grad_fn.next_functions)

    both(body)


@pytest.mark.parametrize("name", ["list", "dict", "tuple", "tuple with a list", "nothing", "named"])
def test_results_that_are_no_tuple(both: Any, name: str) -> None:
    """A list or dict is one result that has no gradient."""
    shapes = {"list": lambda y: [y, y], "dict": lambda y: {"a": y}, "tuple": lambda y: (y, 3, None), "tuple with a list": lambda y: (y, [y]),
              "nothing": lambda y: None, "named": namedtuple("Named", "p q")(1, 2)._replace}  # fmt: skip

    def body(torch: Any) -> Any:
        class Shaped(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return shapes[name](p=x * 2) if name == "named" else shapes[name](x * 2)

            @staticmethod
            def backward(ctx, *gradients):
                return gradients[0]

        found = Shaped.apply(torch.ones(2, requires_grad=True))
        return type(found).__name__, found

    both(body)
