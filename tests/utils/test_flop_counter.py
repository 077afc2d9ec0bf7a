"""FlopCounterMode: the counts are torch's, by module and operator."""
from __future__ import annotations

import importlib

import pytest
import torch as real_torch

import mstorch


def _conv(torch):
    nn = torch.nn
    net = nn.Sequential(nn.Conv2d(3, 4, 3, 2, 1, bias=False), nn.BatchNorm2d(4), nn.ReLU(inplace=True), nn.MaxPool2d(2), nn.Flatten(),
                        nn.Linear(16, 5))  # fmt: skip
    x = torch.randn(2, 3, 8, 8)
    return lambda: net(x).sum().backward()


def _transposed(torch):
    net = torch.nn.ConvTranspose2d(3, 4, 3, 2)
    x = torch.randn(2, 3, 8, 8, requires_grad=True)
    return lambda: net(x).sum().backward()


def _encoder(torch):
    layer = torch.nn.TransformerEncoderLayer(16, 2, 32, batch_first=True)
    x = torch.randn(2, 5, 16)
    return lambda: layer(x).sum().backward()


def _attention(torch):
    layer = torch.nn.MultiheadAttention(16, 2)
    x = torch.randn(5, 2, 16)
    return lambda: layer(x, x, x)[0].sum().backward()


def _products(torch):
    a, b = torch.randn(2, 3, 4, requires_grad=True), torch.randn(2, 4, 5)
    return lambda: (torch.einsum("bij,bjk->bik", a, b) + torch.baddbmm(torch.zeros(2, 3, 5), a, b)).sum().backward()


def _loss_is_the_root(torch):
    nn = torch.nn

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.table, self.head = nn.Embedding(7, 4), nn.Linear(4, 7, bias=False)

        def forward(self, x):
            return nn.functional.cross_entropy(self.head(self.table(x)).view(-1, 7), x.view(-1))

    net, x = Net(), torch.arange(6).view(2, 3)
    return lambda: net(x).backward()


@pytest.mark.parametrize("program", [_conv, _transposed, _encoder, _attention, _products, _loss_is_the_root])
def test_counts(program):
    found = []
    for torch in (real_torch, mstorch):
        torch.manual_seed(0)
        run = program(torch)
        with importlib.import_module(f"{torch.__name__}.utils.flop_counter").FlopCounterMode(display=False) as counter:
            run()
        found.append({name: {str(op): n for op, n in counts.items()} for name, counts in counter.get_flop_counts().items()})
        assert counter.get_total_flops() == sum(found[-1]["Global"].values()) > 0
    assert found[0] == found[1]


def test_formulas_of_ones_own(capsys):
    flops = importlib.import_module("mstorch.utils.flop_counter")
    with flops.FlopCounterMode(custom_mapping={mstorch.ops.aten.relu: lambda shape, out_shape=None: 1500}) as counter:
        mstorch.ones(2).relu()
    assert counter.get_total_flops() == 1500
    assert capsys.readouterr().out == (
        "Module            FLOP  % Total\n------------  --------  -------\nGlobal        1500.000  100.00%\n - aten.relu  1500.000  100.00%\n"
    )


def test_multi_grad_hooks_do_not_wait_for_inputs_that_are_not_reached(both):
    def body(torch):
        tensors, seen = [torch.ones(2, requires_grad=True) for _ in range(4)], []
        torch.autograd.graph.register_multi_grad_hook(tensors, lambda grads: seen.append([g is not None for g in grads]))
        out = (tensors[1] * tensors[2]).sum()
        for inputs in ((1, 2), (0, 3), (0, 2), (0, 1, 2, 3)):
            out.backward(inputs=[tensors[i] for i in inputs], retain_graph=True)
        return seen

    both(body)


def test_multi_grad_hooks_wait_for_what_runs():
    for torch in (real_torch, mstorch):
        x = torch.ones(2, requires_grad=True)
        y = x * 2
        z, other, calls = y.sum(), y * 3, []
        torch.autograd.graph.register_multi_grad_hook([y, other], lambda grads: calls.append([g is None for g in grads]))
        torch.autograd.graph.register_multi_grad_hook([z], lambda grads: calls.append("root"))
        torch.autograd.graph.register_multi_grad_hook([z, y], lambda grad: calls.append("any"), mode="any")
        z.backward()
        assert calls == ["any", [False, True]]
