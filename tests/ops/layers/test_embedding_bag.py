"""embedding_bag: empty bags, offsets and invalid arguments, sparse gradients of empty tables."""
from __future__ import annotations

import pytest

BAGS = {
    "nothing": ([], [0, 0]), "an empty bag": ([1, 2, 2, 4], [0, 0, 3]), "no bags": ([], []), "from another start": ([1, 2], [1, 1]),
    "beyond the end": ([1, 2], [0, 3]),
}  # fmt: skip


@pytest.mark.parametrize("options", [{}, {"padding_idx": 1}, {"padding_idx": 1, "include_last_offset": True}, {"sparse": True}])
@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
@pytest.mark.parametrize("name", BAGS)
def test_bags(both, name, mode, options):
    def body(torch):
        indices, offsets = (torch.tensor(values, dtype=torch.int64) for values in BAGS[name])
        weight = torch.arange(10.0).reshape(5, 2).requires_grad_()
        try:
            result = torch.nn.functional.embedding_bag(indices, weight, offsets, mode=mode, **options)
        except (RuntimeError, ValueError) as error:
            return str(error).split("\n")[0]
        result.backward(torch.ones_like(result))
        return result, weight.grad.to_dense(), str(weight.grad.layout)

    both(body)


@pytest.mark.parametrize("change", ["indices", "offsets", "weight", "types", "outside", "padded", "kinds"])
def test_arguments_that_do_not_fit(both, change):
    def body(torch):
        weight, indices, offsets = torch.ones(5, 2), torch.tensor([1, 2]), torch.tensor([0])
        if change == "indices":
            indices = indices.reshape(1, 1, 2)
        elif change == "offsets":
            offsets = offsets.reshape(1, 1)
        elif change == "weight":
            weight = weight.reshape(5, 2, 1)
        elif change == "types":
            return torch.embedding_bag(weight, indices, offsets, per_sample_weights=torch.ones(2, dtype=torch.float64))
        elif change == "kinds":
            offsets = offsets.float()
        else:
            indices = indices + 3
        return torch.embedding_bag(weight, indices, offsets, False, 0, False, None, False, 0 if change == "padded" else None)

    both(body)


@pytest.mark.parametrize(("rows", "width", "indices"), [(0, 0, []), (10, 0, [[0, 2], [3, 4]]), (10, 3, [])])
@pytest.mark.parametrize("sparse", [True, False])
def test_gradients_of_empty_tables(both, rows, width, indices, sparse):
    def body(torch):
        table = torch.nn.Embedding(rows, width, sparse=sparse)
        table(torch.tensor(indices, dtype=torch.int64)).sum().backward()
        gradient = table.weight.grad
        return gradient._values().shape if sparse else gradient

    both(body)


def test_a_nan_at_the_padding(both):
    def body(torch):
        weight = torch.zeros(3, 2, requires_grad=True)
        taken = torch.nn.functional.embedding(torch.tensor([0, 1, 0]), weight, padding_idx=1)
        taken.backward(torch.tensor([[1.0, 2], [float("nan"), 1], [3, 4]]))
        return weight.grad

    both(body)


@pytest.mark.parametrize("kind", ["float32", "float64", "bfloat16"])
def test_rows_are_scaled_to_the_greatest_norm(both, kind):
    """Rows are scaled in place and outside of autograd: a derivative sees the rows as they are then."""

    def body(torch):
        forward = torch.autograd.forward_ad
        indices = torch.tensor([[0, 3], [3, 2]])
        weight = (torch.arange(12.0).reshape(4, 3) / 3).to(getattr(torch, kind)).requires_grad_()
        before = weight._version
        torch.nn.functional.embedding(indices, weight, max_norm=1.0).sum().backward()
        with forward.dual_level():
            dual = forward.make_dual(torch.ones(4, 3) * 2, torch.ones(4, 3))
            parts = forward.unpack_dual(torch.nn.functional.embedding(indices, dual, max_norm=1.0))
        try:
            torch.nn.functional.embedding(torch.tensor([9]), weight, max_norm=1.0)
        except IndexError as error:
            words = str(error)
        return weight.detach(), weight._version - before, weight.grad, parts.primal, parts.tangent, words

    both(body)
