"""Extreme numbers of dtypes, compared with torch: negative powers of integers, remainders by denormals, sums of small integers."""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

Both = Callable[..., Any]
INTEGERS = ("int8", "int16", "int32", "int64")


@pytest.mark.parametrize("kind", INTEGERS)
def test_negative_powers_of_integers(both: Both, kind: str) -> None:
    def body(torch: Any) -> Any:
        dtype = getattr(torch, kind)
        bases = torch.tensor([1, -1, 2, 0, -1, -2, torch.iinfo(dtype).max, torch.iinfo(dtype).min], dtype=dtype)
        powers = torch.tensor([-1, -3, -2, -1, -2, -1, -1, -1], dtype=dtype)
        return [bases**powers, torch.pow(bases, powers), torch.pow(3, powers), torch.pow(-1, powers), torch.pow(1, powers), bases.clone().pow_(powers)]

    both(body)


@pytest.mark.parametrize("kind", INTEGERS)
def test_a_negative_number_as_the_power_of_integers(both: Both, kind: str) -> None:
    both(lambda torch: torch.tensor([1, 2], dtype=getattr(torch, kind)) ** -1)


@pytest.mark.parametrize("kind", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("name", ["fmod", "remainder", "floor_divide"])
def test_division_by_denormals(both: Both, kind: str, name: str) -> None:
    def body(torch: Any) -> Any:
        dtype, function = getattr(torch, kind), getattr(torch, name)
        tiny = torch.finfo(dtype).smallest_normal / 4
        x = torch.tensor([1.0, -1.0, tiny * 3, -tiny * 5, 0.0, math.inf, math.nan], dtype=dtype)
        return [function(x, torch.full((7,), tiny, dtype=dtype)), function(x, -tiny), function(torch.full((7,), tiny, dtype=dtype), x)]

    both(body)


@pytest.mark.parametrize("kind", ["bool", "uint8", "int8", "int16", "int32"])
def test_sums_of_many_small_integers(both: Both, kind: str) -> None:
    """Elements are cast block by block; dimensions and memory order do not matter."""

    def body(torch: Any) -> Any:
        torch.manual_seed(3)
        x = torch.randint(-90, 90, (300, 30, 20)).to(getattr(torch, kind))
        found = []
        for part in (x, x.permute(2, 0, 1), x[::2], x[:, :, :1].expand(300, 30, 20)):
            found += [part.sum(), part.sum(dtype=torch.int8), part.sum(dtype=torch.bool), torch.count_nonzero(part), torch.count_nonzero(part, 1)]
            found += [part.sum(dim, keepdim=keep) for dim in (0, -1, (0, 2), (0, 1, 2), ()) for keep in (False, True)]
        return found

    both(body)
