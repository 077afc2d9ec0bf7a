"""Functions whose host kernels compute long arrays in another way than short ones: the values and gradients of long arrays with infinities,
NaN, zeros of both signs and exact multiples."""
from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

RNG = np.random.default_rng(7)
ROWS, COLUMNS = 40, 300
X = (RNG.standard_normal((ROWS, COLUMNS)) * 10.0 ** RNG.integers(-3, 4, (ROWS, 1))).astype(np.float32)
Y = (RNG.standard_normal((ROWS, COLUMNS)) + 0.1).astype(np.float32)
X[::5] = np.round(X[::5] * 100) * Y[::5]
X[1::7, ::3] = np.inf
X[2::7, ::3] = np.nan
X[3::7, ::3] = -0.0
Y[4::9, ::5] = 0
Y[5::9, ::5] = -np.inf

OF_TWO = {
    "remainder": lambda torch, x, y: x % y, "fmod": lambda torch, x, y: torch.fmod(x, y), "floor_divide": lambda torch, x, y: x // y,
    "remainder of a number": lambda torch, x, y: x % 0.7, "floor_divide by a number": lambda torch, x, y: x // -0.7,
    "huber": lambda torch, x, y: torch.nn.functional.huber_loss(x, y, delta=0.7, reduction="none"),
    "smooth_l1": lambda torch, x, y: torch.nn.functional.smooth_l1_loss(x, y, reduction="none"),
    "smooth_l1, beta 2": lambda torch, x, y: torch.nn.functional.smooth_l1_loss(x, y, beta=2.0, reduction="none"),
}  # fmt: skip
OF_ONE: dict[str, Any] = {
    **{f"leaky_relu {slope}": lambda torch, x, slope=slope: torch.nn.functional.leaky_relu(x, slope) for slope in (0.01, 0.0, 1.0, 2.0, -0.5)},
    "hardswish": lambda torch, x: torch.nn.functional.hardswish(x), "hardsigmoid": lambda torch, x: torch.nn.functional.hardsigmoid(x),
    "triu": lambda torch, x: x.triu(3), "tril": lambda torch, x: x.tril(-2), "norm of rows": lambda torch, x: x.norm(dim=1),
    "norm of columns": lambda torch, x: x.norm(dim=0), "cumsum 0": lambda torch, x: x.cumsum(0), "cumsum 1": lambda torch, x: x.cumsum(1),
    "erfinv": lambda torch, x: torch.erfinv(x.clamp(-1, 1)), "lgamma": lambda torch, x: x.abs().lgamma(),
    "means of 4 by 25": lambda torch, x: torch.nn.functional.adaptive_avg_pool2d(x[None], (10, 12)),
    "mean of all": lambda torch, x: torch.nn.functional.adaptive_avg_pool2d(x[None], 1),
    "prod of rows": lambda torch, x: x.tanh().prod(1, keepdim=True), "prod of all": lambda torch, x: (1 + x.tanh() * 0.01).prod(),
    "prod of images": lambda torch, x: (1 + x.tanh() * 0.01)[:39].view(3, 13, 300).prod(-1), "prod of columns": lambda torch, x: x.tanh().prod(0),
    "rows by index": lambda torch, x: x[torch.arange(0, 40, 3).repeat(4)],
}  # fmt: skip


@pytest.mark.parametrize("call", OF_TWO.values(), ids=OF_TWO)
def test_functions_of_two_arrays(both: Any, call: Any) -> None:
    both(lambda torch: call(torch, torch.tensor(X), torch.tensor(Y)))


@pytest.mark.parametrize("plain", [True, False], ids=["finite", "special"])
@pytest.mark.parametrize("call", OF_ONE.values(), ids=OF_ONE)
def test_functions_of_one_array(both: Any, call: Any, plain: bool) -> None:
    def body(torch: Any) -> Any:
        x = torch.tensor(Y if plain else X)
        x = x.nan_to_num(0.5, 0.25, -0.25) if plain else x
        x.requires_grad_()
        found = call(torch, x)
        if plain:
            found.sum().backward()
        return found.detach(), x.grad

    both(body)


@pytest.mark.parametrize("function", ["median", "nanmedian"])
@pytest.mark.parametrize("values", [[], [math.nan], [math.inf, -math.inf]], ids=str)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "uint8"])
def test_medians_of_all(both: Any, function: str, values: list[float], dtype: str) -> None:
    def body(torch: Any) -> Any:
        x = torch.tensor(np.concatenate([Y[0][: len(Y[0]) - 1] * 9, values if "float" in dtype else []]).round(1).tolist()).abs()
        x = x.to(getattr(torch, dtype))
        found = getattr(x.requires_grad_("float" in dtype), function)()
        if "float" in dtype:
            found.backward()
        return found.detach(), x.grad

    both(body)


@pytest.mark.parametrize("rows", [(30, 30), (26, 3), (3, 40)], ids=str)
@pytest.mark.parametrize("lead", [(), (2,), (2, 3)], ids=str)
def test_cdist(both: Any, rows: tuple[int, int], lead: tuple[int, ...]) -> None:
    """Among more than 25 rows distances are computed by a product."""

    def body(torch: Any) -> Any:
        a, b = (torch.from_numpy(np.random.default_rng(n).standard_normal((*lead, n, 5))).requires_grad_() for n in rows)
        found = torch.cdist(a, b)
        (found * found.detach().cos()).sum().backward()
        return found.detach(), a.grad, b.grad

    both(body)


def test_rows_at_distance_0_get_no_gradient(both: Any) -> None:
    def body(torch: Any) -> Any:
        a = torch.ones(30, 2, dtype=torch.float64).requires_grad_()
        torch.cdist(a, a).sum().backward()
        return a.grad

    both(body)
