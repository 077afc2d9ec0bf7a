"""Arguments of other types than a call takes: every thirtieth form of torch's stubs, and the kinds that were once accepted. ``python -m
tests.argument_kinds`` goes through all forms and operators."""
from __future__ import annotations

import itertools

import pytest

from tests import argument_kinds

pytestmark = [pytest.mark.sweep, pytest.mark.on_the_cpu]

REPLACEMENTS = {
    "its first item tensor(1.0)": "torch fails when it unpacks the list", "its first item tensor(True)": "likewise",
    "its first item np.bool_(True)": "a whole number to Python with NumPy 1, and none with NumPy 2",
    "tensor(1)": "a tensor of no dimension: of the errors about shapes torch's come in another order", "tensor(1.0)": "likewise",
    "tensor(True)": "likewise", "np.bool_(True)": "torch takes NumPy's bools for numbers in places", "as a tensor": "a tensor of one element is a number",
}  # fmt: skip
"""Replacements for which functions differ, with the reason."""
PLACES = {
    "device": "a number names a device of a kind that is not there, which has an error of its own here",
    "Tensor.to": "torch takes any number in the place of a dtype for its type", "Tensor.istft": "torch writes it in Python, and checks later",
    "Tensor.split": "likewise", "torch.rsub": "its alpha by position is an older order, of which the checks come later",
    "triplet_margin_loss": "F's own check of the margin is torch's there, too",
}  # fmt: skip
"""Arguments and functions that differ, with the reason."""


def _is_known(call, place, name):
    return name in REPLACEMENTS or place in PLACES or any(function in call.name for function in PLACES)


@pytest.mark.parametrize("part", range(3))
def test_forms(part):
    wrong, seen = [], 0
    with argument_kinds.quiet():
        calls = itertools.islice(argument_kinds.of_stubs(), part * 10, None, 30)
        for call, place, name, difference in argument_kinds.differences(calls):
            seen += 1
            if difference and not _is_known(call, place, name):
                wrong.append(f"{call.name}: {place} = {name}: {difference}")
    assert not wrong, "\n".join(wrong)
    assert seen > 1000


CALLS = [
    "x.sum(0, keepdim=1)", "x.sum(0, keepdim=None)", "x.sum(0, True, dtype=())", "x.var(0, unbiased=1)", "torch.std_mean(x, 0, keepdim=0)",
    "x.repeat_interleave(True)", "x.hsplit(True)", "x.tensor_split(False)", "x.as_strided([True], [1])", "F.avg_pool2d(x[None], True)",
    "F.avg_pool2d(x[None], 2, ceil_mode=1)", "F.conv1d(x[None], x[None], stride=True)", "F.pad(x, (True, 1))", "torch.unique(x, sorted=1)",
    "x.quantile(0.5, keepdim=[True])", "x.chunk(True)", "torch.Tensor.exp_([1.0])", "torch.eye(2, requires_grad=1)", "x.std(dim=torch.tensor([1]))",
    "x.sum(dim=torch.tensor(True))", "x.sum(keepdim=False, dim=torch.tensor(1.0))",
]  # fmt: skip


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("before", [False, True])
def test_calls(both, call, before):
    """Also after a call of the same function that is taken."""

    def body(torch):
        x = torch.arange(12.0).reshape(3, 4)
        if before:
            x.sum(0, keepdim=True), x.var(0, unbiased=True), x.hsplit(2), x.chunk(2), x.unique(), torch.eye(2, requires_grad=True)
        return eval(call, {"torch": torch, "x": x, "F": torch.nn.functional})

    both(body, message="")
