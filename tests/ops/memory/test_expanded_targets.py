"""Writes into expanded tensors that torch allows: elements that share memory get what the last write, or the sum of all, leaves there."""
from __future__ import annotations

import pytest

pytestmark = pytest.mark.filterwarnings("ignore:Use of")
SHAPES = ((1, 4), (3, 1), (1, 1))
WRITES = {
    "fill_": lambda torch, x: x.fill_(2), "zero_": lambda torch, x: x.zero_(), "tril_": lambda torch, x: x.tril_(), "triu_": lambda torch, x: x.triu_(),
    "tril_ 1": lambda torch, x: x.tril_(1), "triu_ -2": lambda torch, x: x.triu_(-2), "fill_diagonal_": lambda torch, x: x.fill_diagonal_(5),
    "item": lambda torch, x: x.__setitem__(0, 5.0), "row": lambda torch, x: x.__setitem__(1, torch.arange(4.0) if x.stride(1) else 3.0),
    "mask": lambda torch, x: x.__setitem__(torch.eye(3, 4).bool(), 5.0), "masked_fill_": lambda torch, x: x.masked_fill_(torch.eye(3, 4).bool(), 4),
    "indices": lambda torch, x: x.__setitem__((torch.tensor([0, 2]), torch.tensor([0, 1])), 5.0),
    "index_fill_": lambda torch, x: x.index_fill_(1, torch.tensor([0, 1]), 4),
    "rows": lambda torch, x: x.index_put_((torch.tensor([2, 0]),), torch.arange(8.0).reshape(2, 4)),
    "accumulated": lambda torch, x: x.index_put_((torch.tensor([0, 1, 2]), torch.tensor([0, 1, 0])), torch.tensor([1.0, 2.0, 4.0]), True),
    "accumulated rows": lambda torch, x: x.index_put_((torch.tensor([2, 0]),), torch.arange(8.0).reshape(2, 4), True),
    "threshold_": lambda torch, x: torch.threshold_(x, 1, 2), "_foreach_zero_": lambda torch, x: torch._foreach_zero_([x]),
    "conj_physical_": lambda torch, x: x.conj_physical_(),
}  # fmt: skip
ON_THE_CPU = {
    "apply_": lambda torch, x: x.apply_(lambda value: 2 * value + 1), "map_": lambda torch, x: x.map_(torch.ones(3, 4), lambda a, b: a + 2 * b),
}  # fmt: skip


@pytest.mark.parametrize("name", WRITES)
def test_values(both, name):
    def body(torch):
        results = []
        for shape in SHAPES:
            base = torch.arange(1.0, 1 + shape[0] * shape[1]).reshape(shape)
            x = base.expand(3, 4)
            WRITES[name](torch, x)
            results += [base, x, x._version]
        return results

    both(body)


@pytest.mark.parametrize("name", ON_THE_CPU)
@pytest.mark.parametrize("shape", SHAPES)
def test_functions_of_python_see_what_was_written_before(both, name, shape):
    def body(torch):
        base = torch.arange(1.0, 1 + shape[0] * shape[1], device="cpu").reshape(shape)
        ON_THE_CPU[name](torch, base.expand(3, 4))
        return base

    both(body)
