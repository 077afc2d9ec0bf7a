"""Gradients of sparse tensors: values, layout and indices of ``.grad``, against torch."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Both = Callable[..., Any]
SIZE = (2, 3)
SEEDS = ("sum", "to_dense", "sparse.sum", "coo", "csr", "dense")


def parts(value: Any) -> Any:
    """Return layout, indices and values."""
    if value is None:
        return None
    layout = str(value.layout)
    if "strided" in layout:
        return layout, value
    if "coo" in layout:
        return layout, tuple(value.shape), value.detach()._indices(), value.detach()._values()
    return layout, value.detach().to_dense(), value.detach().values()


class Leaves:
    """Leaves with different indices: ``a`` and ``b`` sorted, ``u`` and ``v`` unsorted with a duplicate index; CSR ones; a dense one."""

    def __init__(self, torch: Any, dtype: str = "float32") -> None:
        def coo(rows: Any, columns: Any, values: Any, coalesced: bool = True) -> Any:
            made = torch.sparse_coo_tensor(
                torch.tensor([rows, columns]), torch.tensor(values, dtype=getattr(torch, dtype)), SIZE
            )
            return (made.coalesce() if coalesced else made).detach().requires_grad_()

        self.a, self.b = coo([0, 0, 1], [0, 2, 1], [1.0, 2.0, 3.0]), coo([0, 1, 1], [0, 1, 2], [5.0, 7.0, 11.0])
        self.u = coo([0, 1, 0, 1], [0, 1, 0, 2], [5.0, 7.0, 1.0, 11.0], False)
        self.v = coo([1, 0, 1], [1, 0, 1], [2.0, 3.0, 4.0], False)
        self.c, self.e = (part.detach().to_sparse_csr().requires_grad_() for part in (self.a, self.b))
        self.d = torch.arange(1.0, 7.0).reshape(SIZE).requires_grad_()

    def grads(self, names: str) -> list[Any]:
        return [parts(getattr(self, name).grad) for name in names]


OPERATIONS: dict[str, Callable[..., Any]] = {
    "+": lambda t, x, y: x + y, "add alpha": lambda t, x, y: t.add(x, y, alpha=2), "*": lambda t, x, y: x * y,
    "-": lambda t, x, y: x - y, "neg": lambda t, x, y: -x, "* 3": lambda t, x, y: x * 3,
    "* 0-d": lambda t, x, y: x * t.tensor(2.0), "clone": lambda t, x, y: x.clone(), "itself": lambda t, x, y: x,
    "chain": lambda t, x, y: (x + y * 2) * x, "transposed": lambda t, x, y: (x.t() + y.t()).t(),
}  # fmt: skip
COO = {"/": lambda t, x, y: x / 2, "coalesce": lambda t, x, y: x.coalesce(), "to_csr": lambda t, x, y: x.to_sparse_csr()}


def _begin(torch: Any, result: Any, seed: str) -> None:
    weights = torch.arange(1.0, 7.0).reshape(SIZE)
    if seed == "sum":
        result.sum().backward()
    elif seed == "to_dense":
        (result.to_dense() * weights).sum().backward()
    elif seed == "sparse.sum":
        torch.sparse.sum(result).backward()
    else:
        sparse = torch.sparse_coo_tensor(torch.tensor([[0, 0, 1], [1, 2, 0]]), torch.tensor([2.0, 4.0, 6.0]), SIZE).coalesce()
        result.backward({"coo": sparse, "csr": sparse.to_sparse_csr(), "dense": weights}[seed])


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("names", ["ab", "ce", "uv", "au"])
def test_sparse_operands(both: Both, names: str, seed: str) -> None:
    for name, function in {**OPERATIONS, **(COO if names != "ce" else {})}.items():
        if (names, name) in {("ce", "-"), ("ce", "transposed")} or (names == "ce" and seed == "sparse.sum"):
            continue  # torch has no such kernel
        if names in ("uv", "au") and name == "chain" or (name, seed) in {("transposed", "csr")}:
            continue

        def body(torch: Any, function: Any = function) -> Any:
            x = Leaves(torch)
            _begin(torch, function(torch, *(getattr(x, name) for name in names)), seed)
            return x.grads(names)

        both(body, strides=False, message="" if seed == "csr" or (names, seed) == ("ce", "coo") else None)


@pytest.mark.parametrize("seed", ["sum", "dense", "coo", "to_dense"])
def test_with_dense_operands(both: Both, seed: str) -> None:
    forms: dict[str, Callable[..., Any]] = {
        "*": lambda x, s: s * x.d, "reversed *": lambda x, s: x.d * s, "d +": lambda x, s: x.d + s, "d -": lambda x, s: x.d - s,
    }  # fmt: skip
    for name, function in forms.items():
        for leaf in "auc":
            if (leaf, name) == ("c", "d -"):
                continue

            def body(torch: Any, leaf: str = leaf, function: Any = function) -> Any:
                x = Leaves(torch)
                _begin(torch, function(x, getattr(x, leaf)), seed)
                return x.grads("d" + leaf)

            both(body, strides=False, message="invalid gradient" if leaf == "c" and "*" in name and seed != "coo" else None)


def test_difference_of_compressed(both: Both) -> None:
    both(lambda torch: Leaves(torch).c - Leaves(torch).e, message="unsupported tensor layout: SparseCsr")
    both(lambda torch: torch.ones(SIZE).sub_(Leaves(torch).c.detach()), message="unsupported tensor layout: SparseCsr")


@pytest.mark.parametrize("names", ["ca", "ac"])
def test_factors_of_two_layouts(both: Both, names: str) -> None:
    def body(torch: Any, start: bool = False) -> Any:
        x = Leaves(torch)
        first, second = (getattr(x, name) for name in names)
        return parts(first.detach() * second.detach()) if start else (first * second).sum().backward()

    both(lambda torch: body(torch, True))
    both(body)


def _scaled(torch: Any, x: Leaves) -> Any:
    k = torch.tensor(3.0, requires_grad=True)
    ((x.a * k).sum() + torch.sparse.sum(x.b * k) + (x.b / k).sum()).backward()
    return k.grad, x.grads("ab")


def _accumulated(torch: Any, x: Leaves) -> Any:
    torch.sparse.sum(x.a * x.b).backward()
    (x.a + x.b).sum().backward()
    first = x.a.grad
    torch.sparse.sum(x.a * x.b).backward()
    return x.a.grad is first, x.grads("ab")


def _shared(torch: Any, x: Leaves) -> Any:
    total = x.a + x.b
    total.backward(x.b.detach())
    total.backward(x.b.detach())
    seed = x.b.detach()
    for _ in range(2):
        (x.d + x.u).backward(seed)
    return x.grads("abdu"), parts(seed)


def _asked_for(torch: Any, x: Leaves) -> Any:
    inner = x.a + x.b
    inner.retain_grad()
    seen: list[Any] = []
    x.a.register_hook(lambda g: seen.append(str(g.layout)))
    (inner * x.a).sum().backward(retain_graph=True)
    found = torch.autograd.grad((inner * x.a).sum(), [x.a, inner, x.e], allow_unused=True)
    return seen, parts(inner.grad), [parts(g) for g in found], x.grads("ab")


def _twice_differentiated(torch: Any, x: Leaves) -> Any:
    (first,) = torch.autograd.grad(torch.sparse.sum(x.a * x.a * x.b), x.a, create_graph=True)
    second = torch.autograd.grad(torch.sparse.sum(first), [x.a, x.b])
    return parts(first.detach()), first.requires_grad, [parts(g) for g in second]


def _freed(torch: Any, x: Leaves) -> Any:
    total = (x.a * x.b).sum()
    total.backward()
    total.backward()


def _written(torch: Any, x: Leaves) -> Any:
    inner = x.b * 1
    product = x.a * inner
    inner.mul_(2)
    product.sum().backward()


def _in_place(torch: Any, x: Leaves) -> Any:
    sum_, product = x.a * 2, x.a * 2
    sum_.add_(x.b)
    product.mul_(x.b)
    (sum_.sum() + torch.sparse.sum(product)).backward()
    return sum_.is_leaf, x.grads("ab")


def _leaf_in_place(torch: Any, x: Leaves) -> Any:
    with torch.no_grad():
        x.a.add_(x.b)
    torch.sparse.sum(x.a * x.b).backward()
    return x.a.is_leaf, x.a.requires_grad, x.grads("ab")


def _from_dense(torch: Any, x: Leaves) -> Any:
    for convert in ("to_sparse", "to_sparse_csr"):
        start = x.d * torch.tensor([1.0, 0.0, 1.0])
        other = x.b.detach() if convert == "to_sparse" else x.e.detach()
        (getattr(start, convert)() + other).sum().backward()
    return x.d.grad


def _from_values(torch: Any, x: Leaves) -> Any:
    v = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    made = torch.sparse_coo_tensor(torch.tensor([[0, 0, 0], [0, 2, 0]]), v, SIZE)
    ((made * x.b).sum() + (made.coalesce().values() * torch.tensor([3.0, 4.0])).sum()).backward()
    raw = x.a._values()
    (x.a.values() ** 2).sum().backward()
    return v.grad, raw.requires_grad, x.grads("ab")


def _dtypes(torch: Any, x: Leaves) -> Any:
    y = Leaves(torch, "float64")
    (x.a + y.b).sum().backward()
    torch.sparse.sum(x.b * y.a).backward()
    return x.grads("ab"), y.grads("ab")


def _complex(torch: Any, x: Leaves) -> Any:
    x = Leaves(torch, "complex64")
    (x.a * x.b * 2j).backward((x.b * (1 + 1j)).detach())
    return x.grads("ab")


def _function(torch: Any, x: Leaves) -> Any:
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, gradient: Any) -> Any:
            return gradient * 2

    result = Double.apply(x.a)
    torch.sparse.sum(result * x.b).backward()
    return parts(result.detach()), result.requires_grad, x.grads("ab")


def _hooked(torch: Any, x: Leaves) -> Any:
    seen: list[Any] = []

    def pack(value: Any) -> Any:
        seen.append(str(value.layout))
        return value * 2

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda value: value):
        product = x.a * x.b
    product.sum().backward()
    return seen, x.grads("ab")


def _assigned(torch: Any, x: Leaves) -> Any:
    x.a.grad = torch.ones(SIZE)


def _parts_and_joined(torch: Any, x: Leaves) -> Any:
    joined = torch.cat([x.a, x.b], 1).sum() + torch.stack([x.a, x.b]).sum() * 2
    (joined + x.a[1].sum() + x.b.index_select(0, torch.tensor([1, 0, 1])).sum() + x.b.unsqueeze(0).sum()).backward()
    return x.grads("ab")


PROGRAMS = [
    _scaled, _accumulated, _shared, _asked_for, _twice_differentiated, _freed, _in_place, _leaf_in_place, _from_dense,
    _from_values, _dtypes, _complex, _function, _hooked, _assigned, _parts_and_joined,
]  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_programs(both: Both, program: Callable[..., Any]) -> None:
    both(lambda torch: program(torch, Leaves(torch)), strides=False)


def test_written_operand(both: Both) -> None:
    both(lambda torch: _written(torch, Leaves(torch)), message="modified by an inplace operation: [torch.sparse.FloatTensor [2, 3]]")
