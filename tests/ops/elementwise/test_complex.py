"""Complex numbers: parts, conjugates, views of memory in another dtype."""

from __future__ import annotations

import numpy as np
import pytest

from tests.ops.elementwise.samples import COMPLEX, operand

VALUES = np.array([[1 + 2j, -0.5 - 1j, 3j], [2 - 1j, 0.25 + 0j, -1 + 1j]], np.complex128)


@pytest.mark.parametrize("dtype", COMPLEX)
def test_parts_are_views(both, dtype):
    def body(torch):
        x = operand(torch, dtype)
        x.real[0] = 7
        x.imag.mul_(2)
        torch.view_as_real(x)[1, 1] = torch.tensor([5.0, 6.0])
        y = x.t()[1:]
        y.real.add_(100)
        return [
            x,
            y,
            x.real,
            x.imag,
            x[0].imag,
            torch.view_as_real(x),
            torch.view_as_real(x.t()),
            x.real.storage_offset(),
            x[:0].real,
        ]

    both(body)


def test_assignment_to_the_parts(both):
    def body(torch):
        x = torch.tensor(VALUES)
        x.real = torch.ones(3)
        x.imag = 2
        return x

    both(body)


def test_view_as_complex(both):
    def body(torch):
        x = torch.arange(12.0).reshape(3, 2, 2)
        z = torch.view_as_complex(x)
        z[0] = 9j
        return [x, z, torch.view_as_real(z), z.real, torch.view_as_complex(x[1:]), z.real.is_contiguous()]

    both(body)


@pytest.mark.parametrize(
    "function",
    [
        lambda torch, x: x.real,
        lambda torch, x: x.imag * 2,
        lambda torch, x: torch.view_as_real(x),
        lambda torch, x: x.abs(),
        lambda torch, x: x.angle(),
        lambda torch, x: torch.conj_physical(x),
        lambda torch, x: x.t().imag,
        lambda torch, x: torch.view_as_complex(torch.view_as_real(x) * 2),
        lambda torch, x: (x * x.conj()).real,
        lambda torch, x: torch.complex(x.real, x.imag * 3),
        lambda torch, x: torch.polar(x.abs(), x.angle()),
    ],
)
def test_gradients(with_gradients, function):
    with_gradients(function, VALUES, strides=False)


def test_gradient_through_a_write_to_a_part(both):
    def body(torch):
        x = torch.tensor(VALUES, requires_grad=True)
        y = x * 1
        y.real.mul_(3)
        (y * y).abs().sum().backward()
        return x.grad

    both(body, strides=False)


def test_complex_and_polar(both, with_gradients):
    both(
        lambda torch: [
            torch.complex(torch.ones(3), torch.zeros(3)),
            torch.complex(torch.ones(2, 1), torch.tensor([1.0, 2.0])),
            torch.complex(torch.tensor(1.0), torch.ones(2)),
            torch.complex(torch.ones(0), torch.ones(0)),
            torch.polar(torch.tensor([1.0, 2.0]), torch.tensor([0.5, -3.0])),
        ]
    )
    with_gradients(lambda torch, x, y: torch.complex(x, y), np.ones((2, 1)), np.arange(3.0))
    with_gradients(lambda torch, x, y: torch.polar(x, y), np.ones((2, 1)), np.arange(3.0))


def test_conjugates(both):
    def body(torch):
        x, r = torch.tensor(VALUES), torch.ones(2)
        return [
            x.conj().resolve_conj(),
            torch.conj_physical(x),
            x.clone().conj_physical_(),
            r.conj() is r,
            torch.resolve_neg(r) is r,
            torch.conj_physical(x[:0]),
            torch.real(r) is r,
            torch.is_complex(x),
        ]

    both(body, strides=False)


def test_view_in_another_dtype(both):
    def body(torch):
        x = torch.arange(8, dtype=torch.float32).reshape(2, 4)
        bits = x.view(torch.int32)
        bits[0, 0] = 1065353216
        small = x.view(torch.uint8)
        wide = x.view(torch.float64)
        return [
            x,
            bits,
            small,
            wide,
            x.t().view(torch.int32),
            x[1:].view(torch.int16),
            x.view(torch.int32).view(torch.float32),
            small.view(torch.float32),
            x.view(torch.complex64),
            x[:0].view(torch.int32),
            x.view(torch.float32),
        ]

    both(body)


@pytest.mark.parametrize(
    "body",
    [
        lambda torch: torch.ones(2).imag,
        lambda torch: torch.view_as_real(torch.ones(2)),
        lambda torch: torch.view_as_complex(torch.ones(3)),
        lambda torch: torch.view_as_complex(torch.ones(2, dtype=torch.int64)),
        lambda torch: torch.complex(torch.ones(2), torch.ones(2).double()),
        lambda torch: torch.complex(torch.tensor([1]), torch.tensor([1])),
        lambda torch: torch.ones(3).view(torch.float64),
        lambda torch: torch.tensor(1.0).view(torch.float64),
        lambda torch: torch.ones(2, 2).t().view(torch.int16),
    ],
)
def test_errors(both, body):
    both(body)


@pytest.mark.parametrize("dtype", ["complex64", "int64", "uint8"])
def test_shrinking_functions(dtype, both):
    """Activations that torch composes accept the dtypes of their parts."""

    def body(torch):
        x = torch.tensor([2, 0, 1]).to(getattr(torch, dtype)) * (1 if dtype != "complex64" else 1 - 2j)
        return torch.nn.functional.softsign(x), torch.nn.functional.tanhshrink(x)

    both(body)


def test_masked_variance(both):
    """In torch, the variance of complex numbers under a mask is complex."""

    def body(torch):
        x = torch.tensor([[1 + 1j, 2, 3j], [0.5j, 1, 2]])
        mask = torch.tensor([[True, False, True], [True, True, True]])
        return torch.masked.var(x, 1, mask=mask), torch.masked.std(x, 0, mask=mask)

    both(body)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_derivatives_of_exponentials(dtype, both):
    """Gradients and tangents of complex ``logaddexp`` and ``matrix_exp``."""

    def body(torch):
        kind = getattr(torch, dtype)
        x = torch.tensor([[1 + 2j, -1j], [0.5, 2 - 1j]], dtype=kind).requires_grad_()
        y = torch.tensor([[0.5j, 1], [2 + 1j, 1 - 1j]], dtype=kind).requires_grad_()
        found = [torch.logaddexp(x, y), torch.matrix_exp(x)]
        gradients = [torch.autograd.grad(item.abs().sum(), (x, y), allow_unused=True) for item in found]
        with torch.autograd.forward_ad.dual_level():
            dual = torch.autograd.forward_ad.make_dual(x.detach(), y.detach())
            moved = [torch.logaddexp(dual, y.detach()), torch.logaddexp(y.detach(), dual), torch.matrix_exp(dual)]
            tangents = [torch.autograd.forward_ad.unpack_dual(item).tangent for item in moved]
        return found[0], gradients, tangents

    both(body, rtol=1e-4, atol=1e-5, strides=False)


def test_numbers_that_differ_in_the_sign_of_a_zero(both):
    def body(torch):
        x = torch.full((1,), -1, dtype=torch.complex64)
        yes = torch.tensor(True)
        roots = [torch.where(yes, number, x).sqrt() for number in (complex(-1, -0.0), complex(-1, 0.0), complex(-1, -0.0))]
        return [*roots, 1 / (torch.ones(1) * 0.0), 1 / (torch.ones(1) * -0.0), 1 / (torch.ones(1) * 0)]

    both(body)
