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
