"""Arguments in the loose forms that users write, and objects of the same classes that torch refuses, before and after each other: functions
of each way to take numbers, lists, tensors and dtypes. ``python -m tests.loose_arguments`` goes through all forms and operators."""
from __future__ import annotations

import collections
import enum
from fractions import Fraction

import numpy as np
import pytest

from tests import argument_kinds, loose_arguments

pytestmark = [pytest.mark.sweep, pytest.mark.on_the_cpu]

OPERATORS = (
    "topk", "kthvalue", "cumsum", "narrow", "as_strided_scatter", "repeat", "sum", "clamp", "stack", "eye", "full", "nn.functional.conv1d",
)  # fmt: skip
DRESSES = {"bytes": "torch takes bytes in the place of a str", "long": "what the number is for is refused first, with another class"}
"""Replacements for which functions differ, with the reason."""
IN_PYTHON = (
    "nn.functional.unfold", "nn.functional.adaptive_avg_pool2d", "nn.functional.max_unpool1d", "nn.functional.interpolate.nearest", "split",
)  # fmt: skip
"""Functions that torch writes in Python: of what its lines cannot compute mstorch takes more."""


def _differences(name):
    with argument_kinds.quiet():
        calls = (call for call in argument_kinds.of_database(name) if call.name == name)
        for _, place, dress, difference in argument_kinds.differences(calls, loose_arguments.variants):
            if dress not in DRESSES:
                yield f"{place} = {dress}: {difference}" if difference else ""


@pytest.mark.parametrize("name", OPERATORS)
def test_as_torch(name):
    seen = list(_differences(name))
    assert not any(seen), "\n".join(filter(None, seen))
    assert len(seen) > 10


@pytest.mark.parametrize("name", IN_PYTHON)
def test_what_torch_takes(name):
    seen = list(_differences(name))
    wrong = [difference for difference in seen if ": refuses: " in difference or ": value: " in difference]
    assert not wrong, "\n".join(wrong)
    assert len(seen) > 50


PAIRS = [
    ("x.sum(torch.tensor([1]))", "x.sum(torch.tensor([1.0]))"), ("x.sum(torch.tensor([1]))", "x.sum(torch.tensor([1, 0]))"),
    ("x.roll(torch.tensor([1]), 0)", "x.roll(torch.tensor(1.0), 0)"), ("x.topk(np.array(1))[0]", "x.topk(np.array([1, 1]))"),
    ("x.view(np.array(3), 4)", "x.view(np.array([3]), 4)"), ("x.view([np.array(3), 4])", "x.view([np.array([3]), 4])"),
    ("x.sum(dtype=float)", "x.sum(dtype=str)"), ("x.sum([0, 1])", "x.sum([0, 'a'])"), ("x.sum([])", "x.sum(['a'])"),
    ("x.sum((0, 1), keepdim=True)", "x.sum((0, None), keepdim=True)"), ("torch.stack([x[0, 0], x[0, 1]])", "torch.stack([x[0, 0], 1.0])"),
    ("torch.cat([x[0, :1]])", "torch.cat([1])"), ("x.sum(Choice.one)", "x.sum(0, keepdim=Choice.one)"),
    ("x.add(Choice.one)", "x.sum([Fraction(1)])"),
]  # fmt: skip


@pytest.mark.parametrize(("taken", "refused"), PAIRS)
def test_same_types(both, taken, refused):
    """A call that is taken says nothing of another of the same types."""

    def body(torch, call):
        x, choice = torch.arange(12.0).reshape(3, 4), enum.IntEnum("Choice", {"one": 1})
        return eval(call, {"torch": torch, "np": np, "x": x, "Choice": choice, "Fraction": Fraction})

    def refused_again(torch):
        body(torch, taken)
        return body(torch, refused)

    both(lambda torch: body(torch, taken))
    both(refused_again, message="")
    both(lambda torch: body(torch, taken))


def test_iterables(both):
    """Sizes of layers may be anything that can be iterated over."""

    def body(torch):
        F, x, of = torch.nn.functional, torch.arange(36.0).reshape(1, 1, 6, 6), torch.nn.Conv2d(1, 1, range(1, 3)).weight.shape
        kernels = [range(2, 4), collections.deque([2, 3]), np.array([2, 3]), torch.tensor([2, 3]), {2: 0, 3: 0}.keys()]
        results = [F.unfold(x, kernel) for kernel in kernels] + [F.adaptive_avg_pool2d(x, kernel) for kernel in kernels]
        return of, *results, F.unfold(x, (size for size in (2, 3))), x.split(torch.tensor(4), 2)[0]

    both(body)
