"""Products of float8 matrices with scaling recipes: those that the CPU supports, and its errors for the others."""
from __future__ import annotations

from typing import Any

import pytest
import torch as real_torch

import mstorch
from tests.against_torch import both

KINDS = ("float8_e4m3fn", "float8_e5m2")


def _bytes(library: Any, kind: str, count: int) -> Any:
    """Return numbers of a float8 dtype, 16 by 32, the same for both libraries."""
    numbers = [((7 * place * place + 3 * place + count) % 61 - 30) / 8 for place in range(16 * 32)]
    return library.tensor(numbers).reshape(16, 32).to(getattr(library, kind))


def _scales(torch: Any) -> dict[str, Any]:
    rows = (torch.arange(16.0) + 1) / 8
    return {
        "number": torch.tensor(2.0), "one of two": torch.full((1, 1), 0.5), "rows": rows[:, None], "columns": rows[None], "flat": rows,
        "too few": rows[:15, None], "too few columns": rows[None, :15], "too many": torch.ones(2, 16), "wide": torch.ones(16, 2),
        "apart": torch.ones(1, 32)[:, ::2], "double": torch.tensor(2.0, dtype=torch.float64),
    }  # fmt: skip


def _told(call: Any) -> Any:
    try:
        found = call()
    except (IndexError, RuntimeError, TypeError, ValueError) as error:
        return type(error).__name__, str(error).splitlines()[0]
    return str(found.dtype), found.stride(), found.double()


@pytest.mark.parametrize("recipe", [0, 1, 2, 9])
@pytest.mark.parametrize("kind", KINDS)
def test_scales_and_recipes(kind: str, recipe: int) -> None:
    def body(torch: Any) -> Any:
        a, b, scales = _bytes(torch, kind, 1), _bytes(torch, kind, 5).t(), _scales(torch)
        good = (scales["rows"], scales["columns"]) if recipe == 1 else (scales["number"], scales["one of two"])

        def product(first: Any, second: Any) -> Any:
            return torch._scaled_mm_v2(a, b, [first], [recipe], [], [second], [recipe], [], None, torch.float32)

        told = {name: _told(lambda: product(scale, good[1])) for name, scale in scales.items()}
        if recipe == 1:  # with row scales for columns torch's kernel raises its own broadcast error
            scales.pop("rows")
        return told, {name: _told(lambda: product(good[0], scale)) for name, scale in scales.items()}

    both(body)


REST: dict[str, Any] = {
    "swizzled": lambda t, a, b, one: t._scaled_mm_v2(a, b, [one], [0], [1], [one], [0], [0], None, t.float32),
    "unswizzled": lambda t, a, b, one: t._scaled_mm_v2(a, b, [one], [0], [0], [one], [0], [0], None, t.float32),
    "two scales": lambda t, a, b, one: t._scaled_mm_v2(a, b, [one, one], [0, 0], [], [one, one], [0, 0], [], None, t.float32),
    "no scales": lambda t, a, b, one: t._scaled_mm_v2(a, b, [], [], [], [], [], [], None, t.float32),
    "mixed": lambda t, a, b, one: t._scaled_mm_v2(a, b, [one], [0], [], [t.ones(1, 16)], [1], [], None, t.float32),
    "dimensions": lambda t, a, b, one: t._scaled_mm_v2(a, b, [one], [0], [], [one], [0], [], None, t.float32, [1, 0], True),
    "one dimension": lambda t, a, b, one: t._scaled_mm_v2(a, b, [one], [0], [], [one], [0], [], None, t.float32, [1]),
    "shapes": lambda t, a, b, one: t._scaled_mm_v2(a, b.t(), [one], [0], [], [one], [0], [], None, t.float32),
    "a batch": lambda t, a, b, one: t._scaled_mm_v2(a[None], b, [one], [0], [], [one], [0], [], None, t.float32),
    "a batch second": lambda t, a, b, one: t._scaled_mm_v2(a, b[None], [one], [0], [], [one], [0], [], None, t.float32),
    "bias": lambda t, a, b, one: t._scaled_mm_v2(a, b, [one], [0], [], [one], [0], [], t.arange(16.0), t.float32),
    "short bias": lambda t, a, b, one: t._scaled_mm_v2(a, b, [one], [0], [], [one], [0], [], t.ones(15), t.float32),
    "bias in double": lambda t, a, b, one: t._scaled_mm_v2(a, b, [one], [0], [], [one], [0], [], t.ones(16).double(), t.float32),
    "own dtype": lambda t, a, b, one: t._scaled_mm_v2(a, b, [one], [0], [], [one], [0], [], None, None),
    "integers": lambda t, a, b, one: t._scaled_mm_v2(a, b, [one], [0], [], [one], [0], [], None, t.int32),
    "floats": lambda t, a, b, one: t._scaled_mm_v2(a.float(), b.float(), [one], [0], [], [one], [0], [], None, t.float32),
    "odd": lambda t, a, b, one: t._scaled_mm_v2(a[:3, :7], b[:7, :5], [one], [0], [], [one], [0], [], None, t.float32),
    "out": lambda t, a, b, one: t._scaled_mm_v2(a, b, [one], [0], [], [one], [0], [], None, t.float32, out=t.empty(16, 16)),
    "aten": lambda t, a, b, one: t.ops.aten._scaled_mm_v2(a, b, [one], [0], [], [one], [0], [], None, t.float32),
    "public": lambda t, a, b, one: t.nn.functional.scaled_mm(
        a, b, one, t.nn.functional.ScalingType.TensorWise, one, t.nn.functional.ScalingType.TensorWise
    ),
    "public, of rows": lambda t, a, b, one: t.nn.functional.scaled_mm(
        a, b, [t.ones(16, 1)], [t.nn.functional.ScalingType.RowWise], [t.ones(1, 16)], [t.nn.functional.ScalingType.RowWise],
        t.nn.functional.SwizzleType.NO_SWIZZLE, t.nn.functional.SwizzleType.NO_SWIZZLE, t.ones(16), t.float16,
    ),
    "public, swizzled": lambda t, a, b, one: t.nn.functional.scaled_mm(
        a, b, one, t.nn.functional.ScalingType.TensorWise, one, t.nn.functional.ScalingType.TensorWise, t.nn.functional.SwizzleType.SWIZZLE_32_4_4
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REST)
@pytest.mark.parametrize("kind", KINDS)
def test_the_rest(kind: str, name: str) -> None:
    both(lambda torch: _told(lambda: REST[name](torch, _bytes(torch, kind, 1), _bytes(torch, kind, 5).t(), torch.tensor(2.0))))


@pytest.mark.parametrize("first", [[], [0], [1], [0, 1]])
def test_swizzles(first: list[int]) -> None:
    def body(torch: Any) -> Any:
        a, b, one = _bytes(torch, KINDS[0], 1), _bytes(torch, KINDS[0], 5).t(), torch.tensor(2.0)
        return [
            _told(lambda: torch._scaled_mm_v2(a, b, [one], [0], first, [one], [0], second, None, torch.float32))
            for second in ([], [0], [1], [0, 1])
        ]

    both(body)


@pytest.mark.parametrize("name", ["ScalingType", "SwizzleType"])
def test_names(name: str) -> None:
    ours, theirs = getattr(mstorch.nn.functional, name), getattr(real_torch.nn.functional, name)
    assert {key: (one.value, repr(one), str(one), int(one)) for key, one in ours.__members__.items()} == {
        key: (one.value, repr(one), str(one), int(one)) for key, one in theirs.__members__.items()
    }
    assert ours(1) is list(ours.__members__.values())[1] and ours(1) != 1
