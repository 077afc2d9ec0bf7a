"""Graphs on MindSpore's Ascend plugin: captures that fail leave nothing open."""
from __future__ import annotations

import warnings

import pytest

import mstorch as torch
from mstorch import nn
from tests.cann.plugin import is_planted, on_plugin, plant

pytestmark = pytest.mark.slow
D = "npu"


@pytest.mark.parametrize("padding", [None, 2])
@on_plugin
def test_embeddings_are_graphs(padding):
    layer = nn.Embedding(10, 4, padding_idx=padding).to(D)
    index = torch.tensor([[1, 2], [2, 5]], device=D)
    compiled = torch.compile(layer, fullgraph=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = compiled(index)
    (result * result).sum().backward()
    gradient, layer.weight.grad = layer.weight.grad, None
    wanted = layer(index)
    (wanted * wanted).sum().backward()
    assert torch.equal(result, wanted) and torch.equal(gradient, layer.weight.grad)


@on_plugin(alone=True)
def test_a_failed_capture_closes_its_trace():
    def fails(a):
        a.mul(2)
        raise KeyError("the function's own")

    x = torch.ones(3, device=D)
    for number in range(100):
        try:
            torch.compile(fails)(x)
        except KeyError:
            pass
        else:
            raise AssertionError("nothing was raised")
        if number % 20 == 0:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                assert torch.compile(lambda a, n=number: (a * 2 + n).relu().sum(), fullgraph=True)(x).item() == 6 + 3 * number


@on_plugin
def test_operators_that_a_graph_cannot_launch_raise_with_fullgraph():
    x = torch.ones(3, device=D)
    for how in ("prepare", "launch"):
        plant(f"{how} Exp")
        try:
            torch.compile(lambda a: a.exp().sum(), fullgraph=True)(x)
        except torch.AcceleratorError as error:
            assert "aclnnExp" in str(error)
        else:
            raise AssertionError("nothing was raised")
        finally:
            assert not is_planted()
    assert torch.compile(lambda a: (a + 1).sum(), fullgraph=True)(x).item() == 6


COMPOSED = {
    "prod": lambda x: x.prod(), "prod of rows": lambda x: x.prod(dim=1, keepdim=True), "median": lambda x: x.median(), "nanmedian": lambda x: x.nanmedian(),
    "diag_embed": lambda x: x.diag_embed(offset=1), "put": lambda x: x.put(torch.tensor([-1, 3], device=D), x[0, :2]),
    "put that adds": lambda x: x.put(torch.tensor([-1, 3, 3], device=D), x[0, :3], accumulate=True),
}  # fmt: skip


@pytest.mark.parametrize("name", COMPOSED)
@on_plugin
def test_operations_without_a_kernel_in_graphs_are_composed_there(name):
    call = COMPOSED[name]
    compiled = torch.compile(call, fullgraph=True)
    first = torch.tensor([[0.5, -2.0, 3.0, 0.25, 1.0], [1.5, 2.0, 4.0, -1.0, 0.75], [2.0, 0.1, 0.3, -0.2, 6.0]])
    zeros = first.clone()
    zeros[1, 2] = zeros[0, 0] = zeros[2, 4] = 0.0  # the median, and products of all but one
    for x in (first, zeros, first + 1):
        seen = []
        for function in (call, compiled):
            leaf = x.to(D).requires_grad_()
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                result = function(leaf)
            result.sin().sum().backward()
            seen.append((result.detach().cpu(), leaf.grad.cpu()))
        assert all(torch.allclose(one, other, rtol=1e-5, atol=1e-6) for one, other in zip(*seen)), (name, x, seen)


@on_plugin
def test_a_graph_that_is_refused_when_it_is_compared_leaves_no_recording_on() -> None:
    """MindSpore would record the operations that follow, and read memory that is gone."""
    for _ in range(3):
        x = torch.rand(4, 6, device=D, requires_grad=True)
        with pytest.warns(UserWarning, match="shows the memory of a tensor of another dtype"):
            torch.compile(lambda a: torch.view_as_real(torch.complex(a, a)), fullgraph=True)(x)
        y = torch.rand(3, 3, device=D, requires_grad=True)
        torch.nn.functional.hardtanh(y).sum().backward()
        assert y.grad.tolist() == [[1.0] * 3] * 3


@on_plugin
def test_signs_and_bags_have_graphs() -> None:
    numbers = torch.tensor([-0.0, 0.0, -1.0, 2.0], device=D)
    leaf = torch.rand(4, device=D, requires_grad=True)
    rows, words = torch.rand(6, 3, device=D, requires_grad=True), torch.randint(0, 6, (2, 4), device=D)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        signed = torch.compile(lambda a, b: a.copysign(b), fullgraph=True)(leaf, numbers)
        bags = {mode: torch.compile(lambda a, i, m=mode: torch.nn.functional.embedding_bag(i, a, mode=m), fullgraph=True) for mode in ("sum", "mean", "max")}
        signed.sum().backward()
        for mode, bag in bags.items():
            want, got = torch.nn.functional.embedding_bag(words, rows, mode=mode), bag(rows, words)
            assert torch.allclose(want, got)
            assert torch.allclose(torch.autograd.grad(want.sum(), rows)[0], torch.autograd.grad(got.sum(), rows)[0])
    assert torch.equal(signed, leaf.copysign(numbers)) and leaf.grad.tolist() == [-1, 1, -1, 1]
