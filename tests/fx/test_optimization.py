"""Layers that are joined or left out for inference, compared with torch."""
from __future__ import annotations

import importlib

import pytest


def _tools(torch):
    return importlib.import_module(f"{torch.__name__}.fx.experimental.optimization")


def _network(torch, kind):
    nn = torch.nn
    torch.manual_seed(3)
    if kind == "linear":
        return nn.Sequential(nn.Linear(4, 5), nn.BatchNorm1d(5), nn.ReLU(), nn.Dropout(0.5), nn.Linear(5, 2)), torch.ones(2, 4)
    size = {"conv1": 1, "conv2": 2, "conv3": 3, "no statistics": 2}[kind]
    layer, norm = (getattr(nn, f"{name}{size}d") for name in ("Conv", "BatchNorm"))
    return nn.Sequential(layer(2, 3, 2), norm(3, track_running_stats=kind != "no statistics")), torch.arange(2.0 * 4**size).reshape(1, 2, *[4] * size)


@pytest.mark.parametrize("kind", ["linear", "conv1", "conv2", "conv3", "no statistics"])
def test_layers_are_joined(both, kind):
    def body(torch):
        model, x = _network(torch, kind)
        model(x.repeat(2, *[1] * (x.dim() - 1)) * 0.3)  # for the statistics
        model.eval()
        fused = _tools(torch).fuse(model)
        return [type(layer).__name__ for layer in fused.children()], fused(x), model(x), [node.op for node in fused.graph.nodes]

    both(body, rtol=1e-4, atol=1e-5)


def test_a_layer_that_others_use_stays(both):
    def body(torch):
        class Twice(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.layer, self.norm = torch.nn.Linear(3, 3), torch.nn.BatchNorm1d(3)

            def forward(self, x):
                y = self.layer(x)
                return self.norm(y) + y

        torch.manual_seed(0)
        fused = _tools(torch).fuse(Twice().eval())
        return fused(torch.ones(2, 3)), [str(node.target) for node in fused.graph.nodes if node.op == "call_module"]

    both(body)


def test_dropout_is_left_out(both):
    def body(torch):
        model, x = _network(torch, "linear")
        found = _tools(torch).remove_dropout(model.eval())
        return found(x), [str(node.target) for node in found.graph.nodes if node.op == "call_module"]

    both(body)


def test_a_part_of_a_graph(both):
    def body(torch):
        model, x = _network(torch, "linear")
        traced = torch.fx.symbolic_trace(model.eval())
        nodes = list(traced.graph.nodes)
        part = _tools(torch).extract_subgraph(traced, nodes[3:5], [nodes[2]], [nodes[3], nodes[4]])
        return part(model[1](model[0](x)))

    both(body)


def test_disjoint_sets(both):
    def body(torch):
        sets = _tools(torch).UnionFind(6)
        for number in range(5):
            sets.make_set(number)
        answers = [sets.join(0, 1), sets.join(2, 3), sets.join(3, 1), sets.join(0, 2)]
        return answers, [sets.find(number) for number in range(5)]

    both(body)
    both(lambda torch: _tools(torch).UnionFind(2).find(1))
