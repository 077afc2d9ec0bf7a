"""Every sixth call form of torch's stubs under both libraries; ``python -m tests.overloads -v`` runs all of them."""
from __future__ import annotations

import warnings

import pytest
import torch as real_torch

import mstorch
from tests.against_torch import run, same
from tests.overloads import CALLS, forms, judge, made_by_hand

# Forms that torch computes and mstorch does not, with the reason.
KNOWN = {
    "torch.binomial": "torch draws from any numbers that it is given; mstorch says what is wrong with them",
    "torch.normal": "torch leaves an empty out= as it is here",
    "torch.rnn_relu_cell": "biases of two dimensions", "torch.rnn_tanh_cell": "biases of two dimensions",
    "torch.split_copy": "torch leaves an empty out= as it is here", "functional.linear": "a bias of two dimensions",
    "Tensor.chalf": "complex32", "functional.pad_sequence": "stands in nn.utils.rnn",
}  # fmt: skip
# Overloads that `overload_coverage.py` cannot bind and that torch refuses (``refused`` in the table of verdicts); one form of each:
REFUSED = [
    "torch.add(self=x, alpha=2, other=x)", "torch.addmm(beta=1, self=x, mat1=x, mat2=x)", "torch.linspace(0, 1)", "torch.logspace(0, 1)",
    "torch.numel(self=x)", "torch.from_numpy(ndarray=a)", "torch.range(0, 1, pin_memory=False)", "x.requires_grad_(mode=True)",
    "torch.full((2,), 1.0, names=None)", "torch.tensor([1], torch.float64)", "x.new_tensor([1], torch.float64)",
]  # fmt: skip


@pytest.mark.parametrize("part", range(6))
@pytest.mark.parametrize("owner", ["torch", "Tensor", "functional"])
def test_forms(owner: str, part: int) -> None:
    chosen = list(forms(owner))[part * 6 :: 36]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        verdicts = [judge(form, real_torch, mstorch) for form in chosen]
    wrong = [f"{v.form.title}: {v.why or v.state}" for v in verdicts
             if v.state in ("differs", "absent") and f"{owner}.{v.form.name}" not in KNOWN]  # fmt: skip
    assert not wrong, "\n".join(wrong)
    assert len(chosen) < 20 or sum(v.state == "equal" for v in verdicts) > len(chosen) / 2


@pytest.mark.parametrize("call", REFUSED)
def test_what_torch_refuses(call: str) -> None:
    for library in (real_torch, mstorch):
        x = library.eye(3)
        with pytest.raises(TypeError):
            eval(call, {"torch": library, "x": x, "a": x.numpy()})


@pytest.mark.parametrize("call", CALLS)
def test_calls_made_by_hand(call: str) -> None:
    want, error = run(lambda torch: made_by_hand(torch, call), real_torch)
    got, mine = run(lambda torch: made_by_hand(torch, call), mstorch)
    assert type(error) is type(mine), f"torch: {error or want!r}; mstorch: {mine or got!r}"
    if error is None:
        same(want, got, strides=False)
