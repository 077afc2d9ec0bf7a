"""Private names of torch that programs use: methods for conjugate and negative bits, the old ``vmap``, features of the build."""
from __future__ import annotations

import pytest

import mstorch
from tests.against_torch import both


@pytest.mark.on_the_cpu
@pytest.mark.parametrize(("name", "dtype"), [("_neg_view", "float32"), ("_neg_view", "int64"), ("_neg_view", "complex64"), ("_conj", "complex64")])
def test_lazy_signs_as_methods(name, dtype):
    def body(torch):
        x = torch.arange(6.0).reshape(2, 3).to(getattr(torch, dtype))
        seen = getattr(x, name)()
        copied = torch.zeros_like(x).copy_(seen)
        x.add_(1)
        target = torch.zeros(3, 2, dtype=x.dtype).t()
        getattr(target, name)().copy_(x)
        return seen, seen.is_neg(), seen.is_conj(), copied, target

    both(body)


def test_the_older_vmap():
    def body(torch):
        vmap = torch._vmap_internals
        x = torch.arange(6.0).reshape(2, 3)
        found = [vmap._vmap(lambda a: a * 2)(x), vmap.vmap(lambda a, b: a + b, (0, None), 1)(x, torch.ones(3))]
        return found, vmap._vmap(lambda a: (a.sum(), None, a), 0, 0, True)(x)

    both(body)


def test_the_older_vmap_around_gradients():
    def body(torch):
        x = torch.arange(3.0, requires_grad=True)
        y = x * x
        return torch._vmap_internals._vmap(lambda v: torch.autograd.grad(y, x, v, retain_graph=True, allow_unused=True), 0, 0, True)(torch.eye(3))

    both(body)


def test_what_the_build_has_is_the_same_under_both_names():
    names = ("has_lapack", "has_mkl", "has_openmp", "has_spectral")
    assert [getattr(mstorch._C, name) for name in names] == [getattr(mstorch, name) for name in names]
    assert mstorch._C.has_lapack is True
