"""Gradients of compiled functions on MindSpore's Ascend plugin: they are a graph of mstorch's own rules, whose results are eager's."""
from __future__ import annotations

import copy
import gc
import warnings
from unittest import mock

import numpy as np
import pytest

import mstorch as torch
from mstorch import nn
from mstorch._src.backend import tape
from tests.cann.plugin import on_plugin

pytestmark = pytest.mark.slow
D = "npu"
F = nn.functional


class _Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm, self.attention, self.up, self.down = nn.LayerNorm(8), nn.MultiheadAttention(8, 2, batch_first=True), nn.Linear(8, 16), nn.Linear(16, 8)

    def forward(self, x):
        h = self.norm(x)
        x = x + self.attention(h, h, h, need_weights=False)[0]
        return x + self.down(F.gelu(self.up(x)))


class _Convolutions(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.norm, self.last = nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4), nn.Conv2d(4, 2, 3, stride=2)

    def forward(self, x):
        return self.last(F.max_pool2d(F.relu(self.norm(self.first(x)), inplace=True), 2)).flatten(1).tanh()


class _Writes(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(6, 6)

    def forward(self, x):
        y = self.layer(x)
        y[:, 2:4] = x[:, :2] * 3
        y[0].mul_(2).add_(y[1])
        a, b = y.chunk(2, 1)
        return (a.transpose(0, 1).reshape(-1) * b.t().flatten()).cumsum(0)


class _Words(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.table, self.head = nn.Embedding(12, 8, padding_idx=0), nn.Linear(8, 12, bias=False)
        self.head.weight = self.table.weight

    def forward(self, x):
        words = (x.abs() * 4).long().clamp(max=11)
        return F.cross_entropy(self.head(self.table(words)).flatten(0, 1), words.flatten(), reduction="none")


NETWORKS = {
    "block": (_Block, (2, 5, 8)), "convolutions": (_Convolutions, (2, 3, 9, 9)), "writes and views": (_Writes, (4, 6)), "tied words": (_Words, (2, 5)),
}  # fmt: skip


@pytest.mark.parametrize("name", NETWORKS)
@on_plugin
def test_a_network_has_eagers_gradients_and_state(name):
    make, shape = NETWORKS[name]
    torch.manual_seed(0)
    plain = make().to(D)
    other = copy.deepcopy(plain)
    # An argument that is no leaf, as inside of a greater network.
    inputs = [torch.randn(shape, device=D, requires_grad=True) for _ in range(3)]
    compiled = torch.compile(other, fullgraph=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for x in inputs:
            results = []
            for net in (plain, compiled):
                x.grad = None
                net.zero_grad()
                out = net(x * 1.5)
                (out * torch.arange(1.0, out.numel() + 1, device=D).reshape(out.shape)).sum().backward()
                gradients = [p.grad for p in net.parameters()]
                results.append([out, *([] if x.grad is None else [x.grad]), *gradients, *net.state_dict().values()])
            for want, got in zip(*results, strict=True):
                np.testing.assert_allclose(got.detach().cpu(), want.detach().cpu(), rtol=2e-4, atol=2e-4)


@on_plugin
def test_backward_is_a_graph_of_its_own():
    layer = nn.Linear(3, 4).to(D)
    compiled = torch.compile(lambda x: layer(x).exp().sum(), fullgraph=True)
    x = torch.randn(5, 3, device=D)
    with mock.patch.object(tape, "run_backward", side_effect=AssertionError("MindSpore was asked for gradients")):
        loss = compiled(x)
        loss.backward(retain_graph=True)
        first = layer.weight.grad.clone()
        (loss * 2).backward()
    assert torch.allclose(layer.weight.grad, first * 3)
    try:
        loss.backward()
    except RuntimeError as error:
        assert "second time" in str(error)
    else:
        raise AssertionError("backward ran again through a graph that was freed")


@on_plugin
def test_a_parameter_that_no_used_result_reaches_has_no_gradient():
    one, two = nn.Linear(3, 3).to(D), nn.Linear(3, 3).to(D)
    compiled = torch.compile(lambda x: (one(x).sum(), two(x).tanh()), fullgraph=True)
    x = torch.randn(5, 3, device=D)
    first, second = compiled(x)
    first.backward()
    assert one.weight.grad is not None and two.weight.grad is None
    first, second = compiled(x)
    one.zero_grad()
    second.sum().backward()
    assert one.weight.grad is None and two.weight.grad is not None


@on_plugin
def test_hooks_inside_of_a_function_are_not_passed_over():
    layer, seen = nn.Linear(3, 3).to(D), []

    def function(x):
        h = layer(x)
        h.register_hook(lambda gradient: seen.append(1))
        return h.sum()

    compiled = torch.compile(function)
    for _ in range(3):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compiled(torch.ones(2, 3, device=D)).backward()
    assert len(seen) == 3


@on_plugin
def test_hooks_of_parameters_run_once():
    layer, seen = nn.Linear(3, 3).to(D), []
    layer.weight.register_hook(lambda gradient: seen.append(1) or gradient * 0.5)
    layer.bias.register_post_accumulate_grad_hook(lambda bias: seen.append(2))
    compiled = torch.compile(lambda x: layer(x).square().sum(), fullgraph=True)
    x = torch.ones(2, 3, device=D)
    for _ in range(2):
        layer.zero_grad()
        compiled(x).backward()
        got = layer.weight.grad.clone()
    seen.clear()
    layer.zero_grad()
    compiled(x).backward()
    assert sorted(seen) == [1, 2]
    layer.zero_grad()
    layer(x).square().sum().backward()
    assert torch.allclose(got, layer.weight.grad, rtol=1e-5)


@on_plugin
def test_what_backward_needs_of_a_written_buffer_is_kept():
    """A copy of a buffer that the function changes afterwards: the graph may return the buffer's own memory for it."""
    layer = nn.Linear(3, 3).to(D)
    scale = torch.full((3,), 2.0, device=D)

    def function(x):
        kept = scale.clone()
        y = layer(x) * kept
        with torch.no_grad():
            scale.mul_(0.5)
        return y.sum()

    compiled = torch.compile(function, fullgraph=True)
    x = torch.randn(4, 3, device=D)
    for _ in range(3):
        factor = scale.clone()
        layer.zero_grad()
        compiled(x).backward()
        assert torch.allclose(layer.bias.grad, factor * 4) and torch.allclose(scale, factor * 0.5)


@on_plugin
def test_a_function_whose_backward_has_no_graph_is_differentiated_by_mindspore():
    """A gradient that reads values has no graph of mstorch's; whatever computes it, it is eager's."""
    x = torch.tensor([[2.0, 0.5], [1.0, 3.0]], device=D, requires_grad=True)
    for function in (lambda x: x.prod(), lambda x: x.sort(0).values[0].sum(), lambda x: torch.where(x > 1, x, x.exp()).norm()):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            got, = torch.autograd.grad(torch.compile(function)(x), x)
        want, = torch.autograd.grad(function(x), x)
        assert torch.allclose(got, want, rtol=1e-4)


PICKS = {
    "kthvalue": lambda x: x.kthvalue(2, 1), "mode": lambda x: x.mode(1), "median": lambda x: x.median(1), "max": lambda x: x.max(1),
    "sort": lambda x: x.sort(1), "topk": lambda x: x.topk(2, 1), "squeezed": lambda x: ((x * 2)[:, :1].clone().squeeze(1), x.argmax(1)),
}  # fmt: skip


@pytest.mark.parametrize("name", PICKS)
@on_plugin
def test_values_and_their_places(name):
    """MindSpore's own gradient of kthvalue's graph left objects that ended the process in the next garbage collection."""
    rows = torch.tensor([[3.0, 1.0, 2.0, 2.0], [0.5, 4.0, 4.0, -1.0]], device=D)
    compiled, gradients = torch.compile(PICKS[name], fullgraph=True), []
    for function in (PICKS[name], compiled, compiled):
        x = rows.clone().requires_grad_()
        values, places = function(x)
        (values * torch.arange(1.0, values.numel() + 1, device=D).reshape(values.shape)).sum().backward()
        gradients.append((values.detach().cpu(), places.cpu(), x.grad.cpu()))
        gc.collect()
    for values, places, gradient in gradients[1:]:
        assert torch.equal(values, gradients[0][0]) and torch.equal(places, gradients[0][1]) and torch.equal(gradient, gradients[0][2])
