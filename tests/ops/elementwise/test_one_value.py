"""Elementwise functions of special values: the result does not depend on how long the tensor is, or on how it lies in memory."""
from __future__ import annotations

import math

import numpy as np
import pytest
import torch as reference

import mstorch
from tests.against_torch import values as array_of

INF, NAN = math.inf, math.nan
ONE = """
abs acos acosh asin asinh atan atanh ceil cos cosh deg2rad digamma erf erfc erfinv exp exp2 expm1 floor frac isfinite isinf isnan isneginf
isposinf isreal lgamma log log10 log1p log2 logical_not logit neg positive rad2deg reciprocal round rsqrt sigmoid sign signbit sin sinc sinh
sqrt square tan tanh trunc nan_to_num i0 special.i1 special.ndtr special.log_ndtr special.entr special.erfcx nn.functional.relu
nn.functional.relu6 nn.functional.elu nn.functional.celu nn.functional.selu nn.functional.gelu nn.functional.silu nn.functional.mish
nn.functional.softplus nn.functional.softsign nn.functional.softshrink nn.functional.hardshrink nn.functional.hardtanh
nn.functional.hardsigmoid nn.functional.hardswish nn.functional.logsigmoid nn.functional.leaky_relu nn.functional.tanhshrink bitwise_not
""".split()
TWO = """
add sub mul div true_divide pow maximum minimum fmax fmin atan2 hypot copysign eq ne lt le gt ge isclose logical_and logical_or logical_xor
logaddexp logaddexp2 xlogy nextafter heaviside bitwise_and bitwise_or bitwise_xor
""".split()
KINDS = ["float32", "float64", "float16", "bfloat16", "bool", "uint8", "int8", "int16", "int32", "int64"]


def _specials(kind):
    if kind == "bool":
        return [False, True]
    if "int" in kind:
        limits = np.iinfo(kind)
        return sorted({limits.min, limits.max, 0, 1, 2, 3, 7, limits.max - 1, limits.min + 1, *(() if limits.min == 0 else (-1, -2, -3, -7))})
    limits = reference.finfo(getattr(reference, kind))
    numbers = [0.0, 1.0, INF, limits.max, limits.smallest_normal, 0.5, 2.0, 3.0, 1.5, 20.0, 100.0, 1000.0, limits.max / 2, 0.9990234375]
    return [sign * number for number in numbers for sign in (1, -1)] + [NAN]


def _layouts(torch, values, kind):
    flat = torch.tensor(values, dtype=getattr(torch, kind))
    count = len(values)
    long = flat.repeat(4096 // count + 1)
    yield "short", flat[:3].clone()
    yield "alone", flat
    yield "flat", flat
    yield "long", long
    yield "transposed", flat.repeat(6).reshape(-1, 6).t()
    yield "long transposed", flat.repeat(64).reshape(64, count).t()
    yield "every second", flat.repeat_interleave(2)[::2]
    yield "long, every second", long.repeat_interleave(2)[::2]
    yield "expanded", flat[:, None].expand(count, 3)
    yield "rows", flat.expand(3, count)
    yield "channels last", long[: 4096 // 8 * 8].reshape(1, 4, 2, -1).permute(0, 3, 1, 2)


def _named(torch, name):
    found = torch
    for part in name.split("."):
        found = getattr(found, part)
    return found


def _result(function, args):
    try:
        return function(*args)
    except Exception as error:  # noqa: BLE001 - torch's class of error is what is compared
        return type(error).__name__


def _different(want, got, zeros, kind):
    """Return a mask of results that differ: infinities and NaN exactly, numbers by a few units in the last place."""
    if want.dtype.kind != "f":
        return want != got
    tolerance = 1e-2 if kind == "bfloat16" else {2: 4e-3, 4: 2e-5, 8: 1e-9}[want.dtype.itemsize]
    with np.errstate(all="ignore"):
        near = np.abs(want.astype(np.float64) - got.astype(np.float64)) <= tolerance * np.abs(want.astype(np.float64)) + 2.0**-125
        alike = (want == got) | (np.isnan(want) & np.isnan(got)) | (np.isfinite(want) & np.isfinite(got) & near)
    if zeros:
        alike &= ~((want == 0) & (got == 0) & (np.signbit(want) != np.signbit(got)))
    return ~alike


# Numbers of which torch's own results differ with the length of the tensor, or which its vectorized loop gets wrong.
TORCH_VARIES = {
    "nn.functional.softshrink": "the sign of zeros", "maximum": "the sign of zeros", "minimum": "the sign of zeros",
    "fmax": "the sign of zeros in bfloat16", "fmin": "the sign of zeros in bfloat16",
}  # fmt: skip
# Results below this are zero in one of several ways: oneDNN's exponential below 1e-36, torch's normal distribution of integers.
TINY = {"nn.functional.silu": 1e-35, "nn.functional.mish": 1e-35, "nn.functional.gelu": 2e-6, "special.ndtr": 1e-11}


def _one_by_one(torch, function):
    """Return a function that calls ``function`` with each element as a tensor of one element."""
    return lambda *args: torch.cat([function(*(arg[place : place + 1] for arg in args)) for place in range(len(args[0]))])


def _check(name, kind, cases):
    for (layout, *want_args), (_, *got_args) in cases:
        mine, theirs = _named(mstorch, name), _named(reference, name)
        if layout == "alone":
            mine, theirs = _one_by_one(mstorch, mine), _one_by_one(reference, theirs)
        want, got = _result(theirs, want_args), _result(mine, got_args)
        if isinstance(want, str) or isinstance(got, str):
            assert want == got, f"{name} of {kind}, {layout}: torch {want}, mstorch {got}"
            continue
        assert str(want.dtype) == str(got.dtype) and tuple(want.shape) == tuple(got.shape)
        want, got = array_of(want), array_of(got)
        wrong = _different(want, got, name not in TORCH_VARIES, kind)
        least = TINY.get(name)
        if least is not None and kind != "float64":
            with np.errstate(all="ignore"):
                wrong &= ~(np.abs(want - got) < least)
        if name == "nn.functional.gelu" and kind in ("bfloat16", "float16"):
            wrong &= np.isfinite(want) & np.isfinite(got)  # of infinity and the largest number, by oneDNN and without it
        if wrong.any():
            place = tuple(np.argwhere(wrong)[0])
            given = [array_of(arg)[place] if hasattr(arg, "dtype") else arg for arg in want_args]
            pytest.fail(f"{name} of {kind}, {layout}: at {given} torch {want[place]}, mstorch {got[place]}; {wrong.sum()} in all")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ONE)
def test_one_operand(name, kind):
    values = _specials(kind)
    _check(name, kind, zip(_layouts(reference, values, kind), _layouts(mstorch, values, kind), strict=True))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", TWO)
def test_two_operands(name, kind):
    values = _specials(kind)
    values = values[::2] + values[-1:] if len(values) > 20 else values
    first, second = [x for x in values for _ in values], [y for _ in values for y in values]
    pairs = [
        [(layout, one, two) for (layout, one), (_, two) in zip(_layouts(torch, first, kind), _layouts(torch, second, kind), strict=True)]
        for torch in (reference, mstorch)
    ]
    _check(name, kind, zip(*pairs, strict=True))


@pytest.mark.parametrize("kind", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("exponent", [0.5, -0.5, 1.5, 2, 3, -1, -2, 0, 0.25, INF, -INF])
def test_powers(both, kind, exponent):
    """By a number, by a tensor of one element, by one that is expanded, and by a full one."""

    def body(torch):
        x = torch.tensor([-INF, -0.0, 0.0, -1.0, -2.0, INF, NAN], dtype=getattr(torch, kind))
        y = torch.tensor([float(exponent)], dtype=x.dtype)
        results = [x**exponent, x**y, x ** y.expand(7), x ** y.repeat(7), x[:, None] ** y.expand(3)]
        for one in x:
            results += [one**exponent, one[None] ** exponent, one**y, one[None] ** y, one[None, None] ** y.expand(3), one.item() ** y]
        return [(item, torch.signbit(item.nan_to_num())) for item in results]

    both(body)


@pytest.mark.parametrize("scale", [1, -1])
@pytest.mark.parametrize("how", ["none", "tanh"])
def test_gelu_of_the_largest_numbers(both, how, scale):
    def body(torch):
        x = torch.full((3, 4), 3e38 * scale)
        wide = torch.full((2, 3), 1e308 * scale, dtype=torch.float64)
        return [torch.nn.functional.gelu(item, approximate=how) for item in (x, x.t(), x[:, ::2], x.repeat(40, 40), wide, wide.t())]

    both(body)


@pytest.mark.parametrize("kind", ["uint8", "int8", "int16", "int32", "int64"])
@pytest.mark.parametrize("base", [2, 1, 0, -1, 3, True, 2.0])
def test_powers_of_the_least_integer(both, kind, base):
    def body(torch):
        limits = torch.iinfo(getattr(torch, kind))
        exponents = torch.tensor([limits.min, limits.max, limits.min + 1, 0, 1, 2], dtype=getattr(torch, kind))
        signed = limits.min < 0
        return base**exponents, torch.tensor([2, 1, -1 if signed else 1, 0, 3, 1], dtype=exponents.dtype) ** exponents

    both(body)


@pytest.mark.parametrize("exponent", ["bool", "uint8", "int8", "int16", "int32", "int64"])
@pytest.mark.parametrize("base", ["bool", "uint8", "int8", "int16", "int32", "int64"])
def test_integer_powers_of_two_dtypes(both, base, exponent):
    def body(torch):
        x = torch.tensor([0, 1, 2, 3, 255, -1, -2]).to(getattr(torch, base))
        y = torch.tensor([-1, -2, 3, -3, 2, -3, 1]).to(getattr(torch, exponent))
        return x**y, torch.pow(x, y, out=torch.zeros(7, dtype=torch.float64))

    both(body)


@pytest.mark.parametrize("kind", ["bool", "uint8", "int8", "int16", "int32", "int64"])
def test_closeness_of_integers(both, kind):
    def body(torch):
        dtype = getattr(torch, kind)
        limits = (0, 1) if kind == "bool" else (torch.iinfo(dtype).min, torch.iinfo(dtype).max)
        numbers = [0, 1, *limits] if kind == "bool" else [0, 1, 5, 100, *limits, limits[1] - 1]
        first = torch.tensor([x for x in numbers for _ in numbers], dtype=dtype)
        second = torch.tensor([y for _ in numbers for y in numbers], dtype=dtype)
        return [torch.isclose(first, second, **more) for more in ({}, {"rtol": 0.1}, {"atol": 2.0, "rtol": 0.0})]

    both(body)
    both(lambda torch: torch.allclose(torch.tensor([0]), torch.tensor([-(2**63)])))


CALLS = {
    "fill_": lambda torch, x, n: x.fill_(n), "full": lambda torch, x, n: torch.full((2,), n, dtype=x.dtype),
    "full_like": lambda torch, x, n: torch.full_like(x, n), "tensor": lambda torch, x, n: torch.tensor([n]), "add": lambda torch, x, n: x + n,
    "mul": lambda torch, x, n: x * n, "eq": lambda torch, x, n: x == n, "lt": lambda torch, x, n: x < n, "rsub": lambda torch, x, n: n - x,
    "masked_fill": lambda torch, x, n: x.masked_fill(x == 0, n), "clamp": lambda torch, x, n: x.clamp(max=n),
    "where": lambda torch, x, n: torch.where(x == 0, x, n), "alpha": lambda torch, x, n: torch.add(x, x, alpha=n),
    "new_full": lambda torch, x, n: x.new_full((2,), n), "index_fill": lambda torch, x, n: x.index_fill(0, torch.tensor([0]), n),
    "fmod": lambda torch, x, n: torch.fmod(x, n), "remainder": lambda torch, x, n: torch.remainder(x, n), "div": lambda torch, x, n: x / n,
    "floor_divide": lambda torch, x, n: x // n, "pow": lambda torch, x, n: x**n, "rpow": lambda torch, x, n: n**x,
    "arange": lambda torch, x, n: torch.arange(n), "arange from": lambda torch, x, n: torch.arange(n, n + 3),
    "written": lambda torch, x, n: x.__setitem__(0, n), "written by a mask": lambda torch, x, n: x.__setitem__(x == 0, n),
    "item": lambda torch, x, n: x[n], "item of a row": lambda torch, x, n: x[None][0, n], "rows": lambda torch, x, n: x[[0, n]],
    "size": lambda torch, x, n: torch.zeros(n), "sizes": lambda torch, x, n: torch.zeros((2, n)), "view": lambda torch, x, n: x.view(1, n),
    "narrow": lambda torch, x, n: x.narrow(0, n, 1), "select": lambda torch, x, n: x.select(0, n), "sum": lambda torch, x, n: x.sum(n),
    "unsqueeze": lambda torch, x, n: x.unsqueeze(n), "transpose": lambda torch, x, n: x.transpose(0, n), "flip": lambda torch, x, n: x.flip(n),
    "topk": lambda torch, x, n: x.topk(n), "cumsum": lambda torch, x, n: x.cumsum(n), "softmax": lambda torch, x, n: torch.softmax(x, n),
    "index_select": lambda torch, x, n: x.index_select(n, torch.tensor([0])), "permute": lambda torch, x, n: x[None].permute(0, n),
}  # fmt: skip


@pytest.mark.parametrize("number", [2**64, -(2**63) - 1, 2**200, -(2**64)])
@pytest.mark.parametrize("name", CALLS)
def test_integers_beyond_64_bits(name, number):
    """No dtype holds them; the class of the error is torch's."""
    for kind in ("int64", "int8", "float32", "float64"):
        found = []
        for torch in (reference, mstorch):
            try:
                found.append(CALLS[name](torch, torch.zeros(2, dtype=getattr(torch, kind)), number))
            except Exception as error:  # noqa: BLE001 - the class is compared
                found.append((type(error).__name__, str(error).partition("\n")[0].rstrip('"')))  # torch's trace follows
        assert found[0] == found[1], f"{name} of {kind}"


@pytest.mark.parametrize("name", ["isfinite", "isinf", "isnan", "neg"])
@pytest.mark.parametrize("kind", ["float32", "float64"])
def test_narrow_results_of_many_rows(both, name, kind):
    """NumPy 2.4 computes these wrongly where it writes to every second element."""

    def body(torch):
        row = torch.tensor([INF, 1.0, NAN, 2.0, -INF], dtype=getattr(torch, kind)).repeat(400)
        x = row.repeat(8).reshape(1, 4, 2, 2000).permute(0, 3, 1, 2)
        return getattr(torch, name)(x), getattr(torch, name)(row.repeat(3).reshape(3, -1).t())

    both(body)
