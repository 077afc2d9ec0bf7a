"""Forward mode over backward on MindSpore's Ascend plugin, of functions that write in place and of gradients that are one kernel: real torch's values."""
from __future__ import annotations

import pytest

import mstorch
from tests.cann.plugin import on_plugin
from tests.cann.test_values import _same
from tests.func.functions_that_write import WRITES
from tests.func.test_functions_that_write import apart

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("pair", ["hessian", "vmap_hvp", "functional_hessian_forward"])
@on_plugin
def test_of_functions_that_write(pair):
    mstorch.set_default_device("npu")
    try:
        faults = [fault for name in WRITES if (fault := apart(pair, name))]
    finally:
        mstorch.set_default_device(None)
    assert not faults, "\n".join(faults)


@on_plugin
def test_the_tangent_of_an_embeddings_gradient_is_divided_by_the_frequency():
    """The gradient of that gradient is not, as in torch."""

    def body(torch, device):
        table, ids = torch.arange(6.0, device=device).view(3, 2), torch.tensor([0, 0, 2], device=device)
        pull = torch.func.vjp(lambda weight: torch.nn.functional.embedding(ids, weight, scale_grad_by_freq=True), table)[1]
        rows = torch.arange(6.0, device=device).view(3, 2)
        leaf = rows.clone().requires_grad_()
        (again,) = torch.autograd.grad(pull(leaf)[0].pow(2).sum(), leaf)
        return torch.func.jvp(lambda g: pull(g)[0], (rows,), (rows + 1,))[1], again

    _same(body)
