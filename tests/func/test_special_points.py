"""Derivatives at zeros, ties, kinks, bounds and infinities, in all orders of modes."""
from __future__ import annotations

import math

import pytest

from tests.func.special_functions import OF_VECTORS
from tests.func.special_points import cases, mapped_differences, verdicts


@pytest.mark.sweep
@pytest.mark.parametrize(("text", "name", "points", "direction"), list(cases()), ids=lambda value: value if isinstance(value, str) else "")
def test_all(text, name, points, direction):
    if "svdvals" in text and "infinit" in name:
        pytest.skip("decompositions of infinities")
    for word, told in verdicts(text, points, direction):
        assert word != "different", told


@pytest.mark.sweep
@pytest.mark.parametrize(("text", "name", "points", "direction"), list(cases()), ids=lambda value: value if isinstance(value, str) else "")
def test_all_under_vmap(text, name, points, direction):
    if text == "torch.var_mean(x)[0]" and name == "one zero":
        pytest.skip("the variance of one element")
    assert mapped_differences(text, points) == []


@pytest.mark.parametrize(("text", "points"), [
    ("F.prelu(x,torch.tensor([.25],dtype=x.dtype))", [0.0, -0.0, 1.0, -1.0]), ("F.prelu(x[None],x)", [0.0, -0.0, 1.0, -1.0]),
    ("x.median()", [0.0, 1.0, 0.0, 2.0]), ("x.nanmedian()", [1.0, 1.0, 1.0]), ("x.prod()", [-1.0, 0.0, 1.0, 1.0]), ("x.prod(0)", [2.0, 0.0, 0.0]),
    ("x.reshape(2,2).prod(1)", [2.0, 0.0, 0.0, 3.0]),
], ids=str)  # fmt: skip
def test_under_vmap(text, points):
    assert mapped_differences(text, points) == []


ZERO = [0.0, -0.0, 1.0, -1.0]


@pytest.mark.parametrize(("text", "points"), [
    ("F.huber_loss(x,torch.zeros_like(x),reduction='none')", [*ZERO, 2.0]), ("F.smooth_l1_loss(x,torch.zeros_like(x),reduction='none')", ZERO),
    ("F.elu(x)", ZERO), ("F.elu(x,2.)", ZERO), ("F.selu(x)", ZERO), ("F.celu(x,2.)", ZERO), ("F.prelu(x[None],x)", ZERO),
    ("F.softplus(x,2,1)", [0.5, 0.0, 1.0]), ("x**x", [1.0, 0.5, 2.0]), ("torch.pow(x,torch.ones_like(x))", ZERO), ("x**1", ZERO),
    ("torch.pow(x,torch.zeros_like(x))", [1.0, -2.0]), ("torch.special.log_ndtr(x)", [100.0, 0.0, -3.0]), ("torch.polar(x,x).real", [1.0, 2.0]),
], ids=str)  # fmt: skip
def test_of_elements(text, points):
    assert [told for word, told in verdicts(text, points, [1.0] * len(points)) if word == "different"] == []


@pytest.mark.parametrize("order", [1.5, 2.5, 3, 4, 1, 2, "inf"])
def test_norms_at_zero(order):
    text = f"torch.linalg.vector_norm(x,{order})"
    for points in ([0.0, 0.0, 0.0], [0.0], [1.0, 0.0, -2.0]):
        assert [told for word, told in verdicts(text, points, [1.0] * len(points)) if word == "different"] == []


@pytest.mark.parametrize("points", [[0.0, 0.0, 0.0], [1.0, 2.0, -3.0], [1.0, 1.0]])
def test_logcumsumexp(points):
    """Reverse over forward mode was NaN everywhere."""
    assert "x.logcumsumexp(0)" in OF_VECTORS
    assert [word for word, _ in verdicts("x.logcumsumexp(0)", points, [1.0] * len(points))] == ["equal", "equal"]


@pytest.mark.parametrize("transform", ["hessian", "jacfwd", "jacfwd of jacfwd", "jacrev of jacfwd"])
@pytest.mark.parametrize("f", [
    lambda torch: lambda x: (x[x > 1] ** 3).sum(), lambda torch: lambda x: torch.masked_select(x, x > 1).prod(),
    lambda torch: lambda x: (x * x).sum() if x.sum() > 0 else x.sum(), lambda torch: lambda x: (x * x[x > 1].sum().item()).sum(),
    lambda torch: lambda x: (x[x.nonzero()] ** 2).sum(), lambda torch: lambda x: {"a": (x[x > 1] ** 2).sum(), "b": x.sum()},
])  # fmt: skip
def test_functions_that_read_values(both, f, transform):
    """In torch only tangents have the dimension of a Jacobian's rows, so that the values may be read."""

    def body(torch):
        import importlib

        func = importlib.import_module(f"{torch.__name__}.func")
        function, x = f(torch), torch.tensor([0.5, 2.0, 3.0])
        if transform == "hessian":
            return func.hessian(function)(x)
        inner = func.jacfwd(function)
        return {"jacfwd": inner, "jacfwd of jacfwd": func.jacfwd(inner), "jacrev of jacfwd": func.jacrev(inner)}[transform](x)

    both(body, strides=False)


def test_vmap_still_refuses_to_read(both):
    both(lambda torch: torch.vmap(lambda x: x[x > 1])(torch.ones(2, 3)))


@pytest.mark.parametrize("kind", ["float16", "bfloat16", "float32"])
def test_rounded_quotients_by_zero(both, kind):
    def body(torch):
        x, y = (torch.tensor(values, dtype=getattr(torch, kind)).requires_grad_() for values in ([0.0, 1.0, -1.0], [0.0, 2.0, 0.0]))
        found = torch.div(x, y, rounding_mode="trunc")
        by_number = torch.autograd.grad(torch.div(x, 0.0, rounding_mode="trunc").sum(), x)
        return found, torch.autograd.grad(found.sum(), (x, y)), by_number

    both(body)


def test_second_derivative_of_an_embedding_by_frequency(both):
    def body(torch):
        weight = torch.ones(3, 2).requires_grad_()
        found = torch.nn.functional.embedding(torch.tensor([0, 0, 1]), weight, scale_grad_by_freq=True, padding_idx=1)
        (grad,) = torch.autograd.grad((found**2).sum(), weight, create_graph=True)
        return grad.detach(), torch.autograd.grad((grad * torch.arange(6.0).reshape(3, 2)).sum(), weight)

    both(body)


@pytest.mark.parametrize("place", [(0, 0), (0, 1), (1, 1)])
@pytest.mark.parametrize("name", ["svdvals", "svd", "pinv", "matrix_rank"])
def test_decompositions_of_infinities_return(both, name, place):
    """LAPACK's gesdd does not return from such matrices; torch's values of U and Vh are arbitrary."""

    def body(torch):
        matrix = torch.eye(3, dtype=torch.float64)
        matrix[place] = math.inf
        batch = torch.stack([matrix, torch.eye(3, dtype=torch.float64) * 2])
        found = getattr(torch.linalg, name)(batch)
        return found[1] if name == "svd" else found if name in ("svdvals", "matrix_rank") else found[1]

    both(body)
