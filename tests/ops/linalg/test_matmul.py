"""Matrix products of all ranks, layouts and dtypes, chosen at random: values, layouts, two gradients, errors."""
from __future__ import annotations

import random
import warnings

import numpy as np
import pytest


def drawn(torch, r, shape, dtype):
    count = int(np.prod(shape))
    return ((torch.arange(count) * r.choice([3, 5, 7]) % 11 + r.choice([-4, 0])) * 0.25).reshape(shape).to(dtype)


def laid(r, x):
    chance = r.random()
    if chance < 0.2 and x.dim() > 1:
        return x.mT.contiguous().mT
    if chance < 0.35 and x.dim() > 2:
        return x.transpose(0, -1).contiguous().transpose(0, -1)
    if chance < 0.45 and x.shape[0]:
        return x[:1].expand(x.shape)
    return x


def shapes(r):
    first, second = r.choice([1, 2, 3, 3, 3, 4, 5]), r.choice([1, 2, 3, 3, 4])
    inner, rows, columns = r.choice([0, 1, 2, 3, 3, 3]), r.choice([1, 2, 3, 0]), r.choice([1, 2, 4])

    def lead(rank):
        return [r.choice([1, 2, 2, 2, 3, 0]) if r.random() < 0.3 else 2 for _ in range(rank - 2)]

    other = inner if r.random() < 0.93 else inner + 1
    return (
        [*lead(first), rows, inner] if first > 1 else [inner],
        [*lead(second), other, columns] if second > 1 else [other],
    )


def program(torch, seed):
    r = random.Random(seed)
    one, two = shapes(r)
    kinds = [torch.float32] * 5 + [torch.float64, torch.int64, torch.bool]
    kind = r.choice(kinds)
    other = kind if r.random() < 0.9 else torch.float32
    x, y = laid(r, drawn(torch, r, one, kind)).detach(), laid(r, drawn(torch, r, two, other)).detach()
    tracked = [part for part in (x, y) if r.random() < 0.4 and part.dtype.is_floating_point]
    for part in tracked:
        part.requires_grad_()
    if r.random() < 0.15:
        out = torch.zeros(r.choice([(0,), (2, 3), (3,)]), dtype=r.choice([kind, other, torch.float32]))
        made = torch.matmul(x, y, out=out)
        return made, made is out, made._version
    made = torch.matmul(x, y)
    found = [made, made._version, made._base is None]
    if made.requires_grad:
        first = torch.autograd.grad(made.pow(2).sum(), tracked, create_graph=True)
        second = torch.autograd.grad(sum(part.pow(2).sum() for part in first), tracked, allow_unused=True)
        found += [None if part is None else part.tolist() for part in (*first, *second)]
    return found


@pytest.mark.parametrize("block", range(8))
def test_products(both, block):
    for seed in range(block * 60, block * 60 + 60):

        def body(torch, seed=seed):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    return program(torch, seed)
                except (RuntimeError, NotImplementedError) as error:
                    return type(error).__name__, str(error).split("\n")[0]

        both(body)


SIZES = {"mv": ((2, 3), (3,)), "matmul": ((2, 3), (3,)), "dot": ((3,), (3,)), "mm": ((2, 3), (3, 2)), "bmm": ((2, 2, 3), (2, 3, 2))}


@pytest.mark.parametrize("name", SIZES)
@pytest.mark.parametrize("out", ["float32", "float64", "bool"])
def test_dtypes_of_operands_and_out(both, name, out):
    def body(torch):
        found = []
        for one in (torch.float32, torch.float64, torch.bool):
            for two in (torch.float32, torch.float64, torch.bool):
                target = torch.zeros(0, dtype=getattr(torch, out))
                try:
                    getattr(torch, name)(torch.ones(SIZES[name][0], dtype=one), torch.ones(SIZES[name][1], dtype=two), out=target)
                    found.append(target)
                except (RuntimeError, NotImplementedError) as error:
                    found.append(str(error))
        return found

    both(body)


@pytest.mark.parametrize("tracked", [True, False])
@pytest.mark.parametrize("kinds", [("bfloat16", "int64"), ("float32", "bool"), ("float32", "float64"), ("float32", "complex64")])
@pytest.mark.parametrize("shape", [(2, 0, 3), (0, 4, 3), (2, 4, 0)])
def test_batches_of_nothing_in_two_dtypes(both, shape, kinds, tracked):
    def body(torch):
        first = torch.zeros(shape, dtype=getattr(torch, kinds[0]))
        second = torch.zeros(shape[0], shape[2], 5, dtype=getattr(torch, kinds[1]))
        if tracked:
            first.requires_grad_()
        try:
            result = torch.bmm(first, second)
        except RuntimeError as error:
            return str(error)
        return result, result.requires_grad

    both(body)


@pytest.mark.parametrize("other", [2, 2.5, True, 1j, "a", None, [1], object()], ids=lambda other: type(other).__name__)
def test_the_operator_with_an_object_that_is_not_a_tensor(both, other):
    """The operator raises, or calls the other object's method."""
    both(lambda torch: torch.ones(2) @ other)
    both(lambda torch: other @ torch.ones(2))


def test_the_operator_of_an_object_that_has_one(both):
    class Right:
        def __matmul__(self, other):
            return "left"

        __rmatmul__ = __matmul__

    both(lambda torch: (torch.ones(2) @ Right(), Right() @ torch.ones(2)))
