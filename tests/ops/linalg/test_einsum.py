"""einsum of random equations: values, gradients, strides, and whether the result is a view."""
from __future__ import annotations

import random

import pytest
import torch
import torch.fx.experimental.proxy_tensor as theirs

import mstorch
from mstorch.fx.experimental.proxy_tensor import make_fx


def _equation(rnd: random.Random) -> tuple[str, list[tuple[int, ...]]]:
    letters = "abcdeAB"[: rnd.randint(2, 6)]
    sizes = {letter: rnd.choice((1, 2, 3, 4)) for letter in letters}
    ellipsis = rnd.choice(((2, 3), (1, 3), (2, 1)))[: rnd.randint(0, 2)] if rnd.random() < 0.25 else None
    terms, shapes = [], []
    for _ in range(rnd.choice((1, 2, 2, 2, 3))):
        term = rnd.sample(letters, min(len(letters), rnd.randint(0, 4)))
        if term and rnd.random() < 0.1:
            term.append(term[0])  # a diagonal
        shape = [sizes[letter] for letter in term]
        if ellipsis is not None and rnd.random() < 0.8:
            place, covered = rnd.randint(0, len(term)), ellipsis[rnd.randint(0, len(ellipsis)) :]
            term[place:place], shape[place:place] = ["..."], covered
        terms.append("".join(term))
        shapes.append(tuple(shape))
    equation = ",".join(terms)
    if rnd.random() < 0.85:
        used = sorted(set(equation) - set(",."))
        result = rnd.sample(used, rnd.randint(0, len(used)))
        if ellipsis is not None and rnd.random() < 0.8:
            result.insert(rnd.randint(0, len(result)), "...")
        equation += "->" + "".join(result)
    return equation, shapes


@pytest.mark.parametrize("seed", range(8))
def test_random_equations(both, seed):
    def body(torch):
        rnd, found = random.Random(seed), []
        for _ in range(40):
            equation, shapes = _equation(rnd)
            torch.manual_seed(seed)
            operands = [torch.randn(shape, dtype=torch.float64, requires_grad=True) for shape in shapes]
            result = torch.einsum(equation, *operands)
            (result * result).sum().backward()
            is_view = result._is_view()
            if len(operands) > 2 and not any(1 in shape for shape in shapes):
                result = result.contiguous()  # torch's memory order for three operands takes more steps
            found.append((equation, result, is_view, [operand.grad.flatten() for operand in operands]))
        return found

    both(body)


@pytest.mark.parametrize("equation, kinds", [("ij,jk->ik", ("float32", "float64")), ("ij,jk->ik", ("bool", "bool")), ("ij,kj->", ("int32", "int32"))])
def test_dtypes(both, equation, kinds):
    def body(torch):
        first, second = (getattr(torch, kind) for kind in kinds)
        return torch.einsum(equation, torch.ones(3, 3, dtype=first), torch.ones(3, 3, dtype=second))

    both(body)


_EQUATIONS = {
    "ij,jk,kl->il": ((2, 3), (3, 4), (4, 5)), "...ij,...jk->...ik": ((2, 3, 4), (4, 5)), "ii->i": ((3, 3),), "ij->": ((3, 4),), "ij,kj->": ((2, 3), (4, 3)),
    "i,j->ij": ((2,), (3,)), "ij->ji": ((2, 3),), "bij,bjk->bik": ((1, 3, 4), (2, 4, 5)), "aij,ajk,ak->ik": ((2, 3, 4), (2, 4, 5), (2, 5)),
    "cab,cbd->cda": ((2, 3, 4), (2, 4, 5)), "dba,cea->cdb": ((3, 3, 3), (2, 3, 3)), "...de,...nd,...n->...ne": ((1, 2, 3, 4), (1, 2, 5, 3), (1, 2, 5)), "f,da->af": ((2,), (1, 2)),
}  # fmt: skip


@pytest.mark.parametrize("equation", _EQUATIONS)
def test_graphs(equation):
    def calls(torch, make_fx):
        graph = make_fx(lambda *operands: torch.einsum(equation, *operands))(*map(torch.ones, _EQUATIONS[equation]))
        return [(str(node.target), [str(argument) for argument in node.args]) for node in graph.graph.nodes]

    assert calls(mstorch, make_fx) == calls(torch, theirs.make_fx)
