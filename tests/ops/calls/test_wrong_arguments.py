"""Calls with too few, too many and wrong arguments: errors of torch's parser come first, whatever else is wrong."""
from __future__ import annotations

import pytest
import torch as real_torch

import mstorch
from mstorch._src.core.public_names import HANDED_ON
from tests.ops.calls.test_mistakes import _outcome

METHODS = (
    "expand reshape view repeat permute tile sum_to_size resize_ new_zeros new_ones new_empty flip movedim swapaxes transpose transpose_ "
    "squeeze unsqueeze unsqueeze_ broadcast_to roll rot90 flatten unfold narrow chunk select index_select diagonal sum mean amax prod any "
    "std var logsumexp cumsum cumprod softmax unbind tensor_split hsplit as_strided t fliplr expand_as take_along_dim new_full "
    "repeat_interleave tril diag diag_embed argmax max median mode kthvalue topk sort argsort cummax count_nonzero nansum gather scatter "
    "scatter_add index_add index_fill masked_fill masked_select take put renorm dist quantile clamp item stride size dim is_contiguous "
    "add mul eq pow lerp addmm matmul mm bmm where copy_ fill_ requires_grad_ abs exp relu"
).split()
FUNCTIONS = (
    "reshape permute tile flip movedim transpose squeeze unsqueeze roll flatten narrow chunk select sum mean amax prod any std cumsum softmax "
    "tensor_split zeros ones empty full randn eye tril stack cat gather topk sort argsort max argmax clamp masked_fill mm matmul bmm "
    "dot add mul where"
).split()
ARGUMENTS = (
    "", "()", "(), 1", "'a'", "1.5", "1, None", "[None]", "[1.5]", "(2, 'a')", "2, 2.5", "True", "x=1", "size=(2, 3)", "dim='a'",
    "torch.tensor([1, 2])", "torch.zeros(2, 3), 1, 2, 3, 4, 5",
)  # fmt: skip


@pytest.mark.parametrize("tensor", ["torch.zeros(2, 3)", "torch.tensor(1.0)"])
@pytest.mark.parametrize("name", METHODS)
def test_methods(name, tensor):
    for arguments in ARGUMENTS:
        _check(f"{tensor}.{name}({arguments})")


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name):
    for arguments in ("", *(f"torch.zeros(2, 3), {arguments}" for arguments in ARGUMENTS), "3, ()", "None"):
        _check(f"torch.{name}({arguments})")


def _check(call):
    want, got = _outcome(real_torch, call), _outcome(mstorch, call)
    if want[0] == "TypeError" and got[0] != "no error":  # harmless calls that torch rejects are not compared
        assert got == want, call


def test_the_table_is_read_once():
    from mstorch._src.core import call_forms

    mstorch.zeros(2, 3).unfold(0, 1, 1)
    before = call_forms.forms_of.cache_info().misses
    mstorch.zeros(2, 3).unfold(0, 1, 1)
    assert call_forms.forms_of.cache_info().misses == before
    with pytest.raises(TypeError, match="missing 3 required"):
        mstorch.zeros(2, 3).unfold()
    form = call_forms.forms_of("Tensor", "unfold")[0]
    assert [parameter.name for parameter in form.parameters] == ["dimension", "size", "step"] and form.least == form.by_place == 3


@pytest.mark.parametrize("call", [
    "zeros(2).new_tensor(torch.tensor([1, 2]))", "zeros(2, 3).any(())", "ones(2, 3).all(dim=[])", "zeros(2, 3).any((), True)",
    "tensor([2, 0], dtype=torch.uint8).any(())", "any(torch.ones(2, 3), ())", "zeros(2, 3).resize_(-1)",
])  # fmt: skip
def test_what_is_given_as_it_stands(both, call):
    both(lambda torch: eval(f"torch.{call}", {"torch": torch}))


def test_words_for_the_kinds_of_arguments():
    """Classes written in C are named with their module, including torch's own."""

    values = (
        "torch.float32", "torch.device('cpu')", "torch.strided", "torch.contiguous_format", "torch.Size([1])", "torch.Generator()",
        "torch.finfo()", "torch.nn.Linear(1, 1)", "torch.ones(1).untyped_storage()", "__import__('numpy').ones(1)", "range(3)", "'a'",
        "__import__('numpy').float32(1)", "__import__('collections').OrderedDict()",
    )  # fmt: skip
    calls = [f"torch.relu({value})" for value in values]
    calls += ["torch.Tensor([1], dtype=torch.int32)", "torch.ones(2).view(torch.device('cpu'))", "torch.zeros(torch.float32)"]
    assert [_outcome(mstorch, call) for call in calls] == [_outcome(real_torch, call) for call in calls]


GIVES_ITS_INPUT = {"alpha_dropout", "feature_alpha_dropout"}  # whatever torch returns where it does not train


@pytest.mark.parametrize("room", [room for room in HANDED_ON if HANDED_ON[room]])
def test_what_is_written_in_python_hands_its_arguments_on(room: str) -> None:
    """The error for a string in place of a tensor comes from the compiled function that the Python function calls."""
    seen = 0
    for name in HANDED_ON[room].keys() - GIVES_ITS_INPUT:
        for given in ("'a'", "'a', 'a'", "'a', 'a', 'a'"):
            call = f"torch.{room}.{name}({given})" if room else f"torch.{name}({given})"
            want = _outcome(real_torch, call)
            if "(): argument '" in want[1] or "expected Tensor as element" in want[1]:
                assert _outcome(mstorch, call) == want, call
                seen += 1
                break
    assert seen > len(HANDED_ON[room]) // 2
