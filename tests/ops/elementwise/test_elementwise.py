"""Arithmetic: values, promotion, strides, gradients, errors, in-place forms, out=."""

from __future__ import annotations

import numpy as np
import pytest

from tests.ops.elementwise.samples import COMPLEX, FLOATING, INTEGERS, PAIRS, layouts, operand, tolerance

pytestmark = pytest.mark.core
BINARY = ("add", "sub", "mul", "div", "floor_divide", "remainder", "fmod", "pow")
UNARY = ("neg", "abs", "sign", "sgn", "square", "sqrt", "rsqrt", "reciprocal")
DTYPES = ("bool", *INTEGERS, *FLOATING, *COMPLEX)


@pytest.mark.parametrize("op", ["add", "sub", "mul", "div"])
@pytest.mark.parametrize("first", DTYPES)
def test_promotion(both, op, first):
    def body(torch, second):
        other = operand(torch, second, 1)
        return getattr(torch, op)(operand(torch, first), torch.where(other == 0, torch.ones_like(other), other))

    for second in ("bool", "uint8", "int32", "float32", "bfloat16", "complex64"):
        if op == "sub" and "bool" in (first, second):
            continue
        both(
            lambda torch, second=second: body(torch, second),
            **tolerance("bfloat16" if "float16" in first + second else first),
        )


@pytest.mark.parametrize("op", BINARY)
@pytest.mark.parametrize("dtype", (*INTEGERS, *FLOATING))
def test_binary_with_tensors_and_numbers(both, op, dtype):
    def body(torch):
        function = getattr(torch, op)
        x, y = operand(torch, dtype), operand(torch, dtype, 1)
        y = torch.where(y == 0, torch.ones_like(y), y)
        y = y.abs() % 5 + 1 if op == "pow" else y
        return [function(x, y), function(x, 3), function(x, 2.0), function(x[:, :1], y[0]), function(x[:0], y[0])]

    both(body, **tolerance(dtype))


@pytest.mark.parametrize("mode", [None, "trunc", "floor"])
@pytest.mark.parametrize("dtype", ["int64", "int8", "uint8", "float32", "float64"])
def test_rounded_division(both, mode, dtype):
    both(lambda torch: torch.div(operand(torch, dtype), 3, rounding_mode=mode))
    both(lambda torch: torch.div(operand(torch, dtype), torch.tensor(2.5), rounding_mode=mode))


def test_int64_is_exact(both):
    big = [2**62 + 1, -(2**62) - 1, 2**53 + 1, 7, -(2**63), 2**63 - 1]

    def body(torch):
        x = torch.tensor(big)
        return [
            x // 7,
            x % 7,
            torch.fmod(x, 7),
            torch.div(x, -7, rounding_mode="trunc"),
            x * 3,
            x + x,
            x - 1,
            x**3,
            abs(x[:4]),
        ]

    both(body)


@pytest.mark.parametrize(
    "op", ["div", "floor_divide", "remainder", "fmod", "pow", "maximum", "minimum", "fmax", "fmin"]
)
def test_edge_values(both, op):
    both(lambda torch: getattr(torch, op)(torch.tensor(PAIRS[0]), torch.tensor(PAIRS[1])), rtol=3e-6)


def test_signed_zeros(both):
    def body(torch):
        zero = torch.tensor([0.0, -0.0, 1.0, -1.0])
        return [1 / (1 / torch.tensor([-0.0])), zero / -0.0, 1 / (-zero), 1 / zero.sqrt(), 1 / (zero * -1)]

    both(body)


@pytest.mark.parametrize("op", UNARY)
@pytest.mark.parametrize("dtype", DTYPES)
def test_unary(both, op, dtype):
    if dtype in COMPLEX and op == "sign" or dtype == "bool" and op in ("neg", "abs"):
        pytest.skip("torch refuses it")
    both(lambda torch: [getattr(torch, op)(x) for x in layouts(torch, dtype)], **tolerance(dtype))


@pytest.mark.parametrize("op", ("add", "mul", "sub", "div"))
def test_strides_of_mixed_layouts(both, op):
    def body(torch):
        first, second = layouts(torch), layouts(torch, shift=2)
        results = [getattr(torch, op)(x, y) for x, y in zip(first, second)]
        return [
            *results,
            getattr(torch, op)(first[1], first[1].contiguous()),
            getattr(torch, op)(first[0].t(), first[0][0, :3]),
        ]

    both(body)


SAMPLE = np.array([[0.5, -1.5, 2.0], [3.0, -0.25, 1.0]], np.float32)
OTHER = np.array([[2.0, 0.5, -1.5], [1.0, 4.0, 3.0]], np.float32)


@pytest.mark.parametrize(
    "function",
    [
        lambda torch, x, y: x + y,
        lambda torch, x, y: torch.add(x, y, alpha=3),
        lambda torch, x, y: x - 2 * y,
        lambda torch, x, y: x * y[0],
        lambda torch, x, y: x / y,
        lambda torch, x, y: 3 / y,
        lambda torch, x, y: x % y,
        lambda torch, x, y: torch.fmod(x, y),
        lambda torch, x, y: torch.div(x, y, rounding_mode="floor"),
        lambda torch, x, y: x.abs() ** y,
        lambda torch, x, y: x**2,
        lambda torch, x, y: x**3,
        lambda torch, x, y: x**0,
        lambda torch, x, y: x**-1,
        lambda torch, x, y: x.abs() ** 0.5,
        lambda torch, x, y: 2**x,
        lambda torch, x, y: torch.rsub(x, y, alpha=2),
        lambda torch, x, y: torch.addcmul(x, x, y, value=0.5),
        lambda torch, x, y: torch.addcdiv(x, x, y, value=0.5),
        lambda torch, x, y: torch.lerp(x, y, 0.3),
        lambda torch, x, y: torch.lerp(x, y, torch.full((2, 3), 0.7)),
        lambda torch, x, y: x * torch.sign(y),
        lambda torch, x, y: x.square() + y.abs().sqrt() + y.abs().rsqrt() + x.reciprocal(),
        lambda torch, x, y: torch.float_power(x, 2) + torch.float_power(y.abs(), x),
    ],
)
def test_gradients(with_gradients, function):
    with_gradients(function, SAMPLE, OTHER)
    with_gradients(lambda torch, x, y: function(torch, x.t(), y.t()), SAMPLE, OTHER)


@pytest.mark.parametrize("function", ["abs", "sqrt", "square", "rsqrt", "reciprocal", "sign", "neg"])
def test_gradients_at_the_edges(with_gradients, function):
    edges = np.array([0.0, 1.0, -1.0, 4.0, np.inf, np.nan])
    with_gradients(lambda torch, x: getattr(torch, function)(x), edges)


@pytest.mark.parametrize("exponent", [0, 1, 2, 0.5, -1, 3.0, 2.5])
def test_power_gradient_at_zero(with_gradients, exponent):
    with_gradients(lambda torch, x: x**exponent, np.array([0.0, 1.0, 2.0]))


@pytest.mark.parametrize("op", ["add", "sub", "mul", "div", "pow"])
def test_complex_gradients(with_gradients, op):
    first = np.array([1 + 2j, -0.5 - 1j, 2 + 0j], np.complex128)
    second = np.array([[0.5 - 1j], [2 + 1j]], np.complex128)
    with_gradients(lambda torch, x, y: getattr(torch, op)(x, y), first, second)


@pytest.mark.parametrize("op", ["abs", "sgn", "sqrt", "rsqrt", "reciprocal", "square", "neg"])
def test_complex_unary_gradients(with_gradients, op):
    with_gradients(lambda torch, x: getattr(torch, op)(x), np.array([1 + 2j, -0.5 - 1j, 3j], np.complex128))


def test_second_derivatives(both):
    def body(torch):
        x = torch.tensor([0.5, 2.0, -1.5], dtype=torch.float64, requires_grad=True)
        y = (x**3 / (1 + x * x) + x.abs() * x).sum()
        (first,) = torch.autograd.grad(y, x, create_graph=True)
        (second,) = torch.autograd.grad(first.sum(), x)
        return first, second

    both(body)


def test_operators_and_reflected_operators(both):
    def body(torch):
        x = torch.tensor([3.0, -4.0, 0.5])
        i = torch.tensor([7, -8, 3])
        return [
            x + 1,
            1 + x,
            x - 1,
            1 - x,
            x * 2,
            2 * x,
            x / 2,
            2 / x,
            x // 2,
            2 // x,
            x % 2,
            2 % x,
            x**2,
            2**x,
            -x,
            +x,
            abs(x),
            i + 1,
            5 - i,
            i * 2,
            i / 2,
            2 / i,
            i // 2,
            100 // i,
            i % 5,
            100 % i,
            i**2,
            -i,
            abs(i),
            i + 0.5,
            True + i,
        ]

    both(body)


def test_numpy_operands(both):
    both(lambda torch: torch.ones(3) * np.float32(2) + np.float64(1.5))
    both(lambda torch: torch.ones(3, dtype=torch.int64) + np.int64(1))


@pytest.mark.parametrize("op", ["add_", "sub_", "mul_", "div_", "pow_", "remainder_", "fmod_", "floor_divide_"])
def test_in_place(both, op):
    def body(torch):
        x = operand(torch, "float32") + 0.1
        view = x.t()[1]
        same = getattr(view, op)(2) is view
        getattr(x, op)(torch.tensor([1.0, 2.0, 3.0, 4.0]))
        return x, view, same

    both(body)


def test_in_place_operators(both):
    def body(torch):
        x = torch.tensor([1.0, 2.0, 3.0])
        y = x
        x += 1
        x *= 3
        x -= torch.tensor(2)
        x /= 2
        x //= 1
        x **= 2
        x %= 5
        return x, x is y

    both(body)


def test_in_place_gradients(both):
    def body(torch):
        w = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
        x = w * 2
        x.mul_(w).add_(1)
        x[1].div_(4)
        x.sum().backward()
        return w.grad

    both(body)


def test_out(both):
    def body(torch):
        x, out = torch.tensor([1.0, 2.0]), torch.empty(2)
        assert torch.add(x, 1, out=out) is out
        wide = torch.empty(2, dtype=torch.float64)
        return (
            out,
            torch.mul(x, 3, out=wide),
            torch.sub(x, x, out=x),
            torch.sqrt(torch.tensor([4, 9]), out=torch.empty(2)),
        )

    both(body)


@pytest.mark.parametrize(
    "body",
    [
        lambda torch: torch.tensor([True]) - torch.tensor([True]),
        lambda torch: torch.tensor([True]) - 1,
        lambda torch: torch.tensor([1]) - True,
        lambda torch: -torch.tensor([True]),
        lambda torch: torch.tensor([2]) ** -1,
        lambda torch: torch.ones(2) + torch.ones(3),
        lambda torch: torch.tensor([1]) // 0,
        lambda torch: torch.tensor([1]) % torch.tensor([0]),
        lambda torch: torch.tensor([1]).add_(1.5),
        lambda torch: torch.tensor([1]).div_(2),
        lambda torch: torch.ones(2).add_(torch.ones(2, 2)),
        lambda torch: torch.add(torch.tensor([1]), 1, alpha=1.5),
        lambda torch: torch.sign(torch.tensor([1j])),
        lambda torch: torch.div(torch.ones(1), 1, rounding_mode="up"),
        lambda torch: torch.ones(2, out=torch.ones(2)) + "a",
        lambda torch: torch.addcdiv(torch.tensor([1]), torch.tensor([1]), torch.tensor([1])),
        lambda torch: torch.ones(1, requires_grad=True).add_(1),
        lambda torch: torch.tensor([1j]).abs_(),
        lambda torch: torch.ones(1).float_power_(2),
        lambda torch: +torch.tensor([True]),
        lambda torch: torch.add(torch.ones(1), 1j, out=torch.ones(1)),
        lambda torch: torch.lerp(torch.ones(1), torch.ones(1).double(), 0.5),
    ],
)
def test_errors(both, body):
    both(body)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
def test_interpolation_with_infinite_ends(with_gradients, dtype):
    first = np.array([[1.0, np.inf, np.nan, 2.0], [np.inf, 0.0, 1.0, -np.inf]], dtype)
    end = np.array([[np.inf, 2.0, 1.0, np.inf], [np.inf, -np.inf, np.inf, 1.0]], dtype)
    with_gradients(lambda torch, x, y, w: torch.lerp(x, y, w), first, end, np.array([0.2, 0.5, 0.7, np.nan], dtype))
    with_gradients(lambda torch, x, y, w: torch.lerp(x, y, w), first, end, np.array([[0.2], [np.inf]], dtype))


@pytest.mark.parametrize("alpha", ["1", "1.0", "True", "2", "2.0", "False", "1 + 0j", "1j"])
@pytest.mark.parametrize("dtype", ["int64", "bool", "float32", "complex64", "float16"])
def test_types_of_alpha(both, dtype, alpha):
    for name in ("add", "sub", "rsub"):
        both(lambda torch: getattr(torch, name)(*[torch.ones(2).to(getattr(torch, dtype))] * 2, alpha=eval(alpha)))
