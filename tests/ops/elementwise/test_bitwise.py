"""Bitwise operations, shifts, gcd and lcm."""

from __future__ import annotations

import pytest

from tests.ops.elementwise.samples import INTEGERS, layouts, operand


@pytest.mark.parametrize("op", ["bitwise_and", "bitwise_or", "bitwise_xor"])
@pytest.mark.parametrize("dtype", ("bool", *INTEGERS))
def test_logic_of_bits(both, op, dtype):
    both(lambda torch: [getattr(torch, op)(x, y) for x, y in zip(layouts(torch, dtype), layouts(torch, dtype, 1))])
    both(
        lambda torch: [
            getattr(torch, op)(operand(torch, dtype), 3),
            getattr(torch, op)(operand(torch, dtype), operand(torch, "int64")),
        ]
    )


@pytest.mark.parametrize("dtype", ("bool", *INTEGERS))
def test_not(both, dtype):
    both(lambda torch: [~x for x in layouts(torch, dtype)])


@pytest.mark.parametrize("op", ["bitwise_left_shift", "bitwise_right_shift"])
@pytest.mark.parametrize("dtype", INTEGERS)
def test_shifts(both, op, dtype):
    both(lambda torch: [getattr(torch, op)(operand(torch, dtype), count) for count in (0, 1, 5)])
    both(
        lambda torch: getattr(torch, op)(
            operand(torch, dtype), torch.tensor([0, 1, 2, 70]).to(operand(torch, dtype).dtype)
        )
    )


@pytest.mark.parametrize("op", ["gcd", "lcm"])
@pytest.mark.parametrize("dtype", INTEGERS)
def test_divisors(both, op, dtype):
    both(lambda torch: getattr(torch, op)(operand(torch, dtype) % 16, operand(torch, dtype, 1) % 16))
    both(lambda torch: getattr(torch, op)(torch.tensor([0, 5, -4, 6]), torch.tensor([[0], [10], [-6]])))


def test_operators(both):
    def body(torch):
        x, b = torch.tensor([5, -7, 12]), torch.tensor([True, False, True])
        y = x.clone()
        y &= 6
        y |= 1
        y ^= 3
        y <<= 2
        y >>= 1
        return [
            x & 3,
            3 & x,
            x | 8,
            8 | x,
            x ^ 5,
            5 ^ x,
            x << 2,
            x >> 1,
            ~x,
            b & True,
            b | b,
            b ^ True,
            ~b,
            b & x,
            y,
            1 << torch.tensor([1, 2]),
        ]

    both(body)


@pytest.mark.parametrize(
    "body",
    [
        lambda torch: torch.ones(1) & 1,
        lambda torch: torch.gcd(torch.ones(1), torch.ones(1)),
        lambda torch: torch.tensor([1]) | 1.5,
    ],
)
def test_errors(both, body):
    both(body, message="not implemented for")


def test_invert_of_floats(both):
    both(lambda torch: ~torch.ones(1))
    both(lambda torch: torch.bitwise_not(torch.ones(1)))


KINDS = {"bool": lambda torch: torch.tensor([True, False]), "int": lambda torch: torch.tensor([3, 4]), "wide": lambda torch: torch.ones(3).bool()}


@pytest.mark.parametrize("other", KINDS)
@pytest.mark.parametrize("name", ["gcd", "lcm", "bitwise_left_shift", "bitwise_right_shift", "hypot", "nextafter", "floor_divide", "pow", "fmod"])
def test_dtypes_that_kernels_lack(both, name, other):
    """Errors for shapes that do not match come first."""
    both(lambda torch: getattr(torch, name)(torch.tensor([True, True]), KINDS[other](torch)))
