"""``torch.jit._get_trace_graph``: nodes, shapes, scopes and constants are torch's."""
from __future__ import annotations

import re
import warnings
from typing import Any

import pytest
import torch as real_torch

import mstorch


def _nets(torch: Any) -> dict[str, Any]:
    nn = torch.nn
    functional = nn.functional

    class Mixed(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.first, self.table = nn.Linear(3, 4), nn.Embedding(5, 3)
            self.images = nn.Sequential(nn.Conv2d(1, 2, 3, padding=1), nn.BatchNorm2d(2), nn.ReLU(inplace=True), nn.MaxPool2d(2))

        def forward(self, x: Any, places: Any, image: Any) -> Any:
            y = self.first(x + self.table(places)).relu() * 2 - 1
            z = self.images(image)
            return y.sum(-1), z.flatten(1), torch.cat([y, y], dim=1).view(-1)

    class Calls(nn.Module):  # type: ignore[misc, name-defined]
        def forward(self, x: Any) -> Any:
            y = functional.softmax(x @ x.transpose(0, 1), dim=-1)
            y = functional.dropout(y, 0.5, self.training) / 2
            y = functional.gelu(y).reshape(2, 8).permute(1, 0).contiguous()
            y = functional.layer_norm(y, (2,)) + torch.sigmoid(y) ** 2
            first, second = y.chunk(2)
            return torch.stack([first, second]).mean(dim=0), y.max(), (x > 0).to(torch.int64), 1 - first

    args = {
        "mixed": (torch.ones(2, 3), torch.tensor([0, 4]), torch.ones(1, 1, 6, 6)), "calls": (torch.ones(4, 3),),
        "transposed": (torch.ones(1, 2, 5),), "norms": (torch.ones(2, 4, 5),), "pools": (torch.ones(1, 2, 6, 6),),
    }  # fmt: skip
    made = {
        "mixed": Mixed(), "calls": Calls(), "transposed": nn.Sequential(nn.ConvTranspose1d(2, 3, 3, stride=2), nn.Conv1d(3, 2, 3), nn.LeakyReLU()),
        "norms": nn.Sequential(nn.GroupNorm(2, 4), nn.LayerNorm(5), nn.Hardtanh(), nn.SiLU(), nn.Dropout(0.3), nn.Softmax(-1)),
        "pools": nn.Sequential(nn.AvgPool2d(2), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.ELU(), nn.Linear(2, 3), nn.LogSoftmax(-1)),
    }  # fmt: skip
    return {name: (net.eval(), args[name]) for name, net in made.items()}


def _told(torch: Any, net: Any, args: Any) -> Any:
    def before(name: str) -> Any:
        return lambda module, given: torch._C._get_tracing_state().push_scope(name)

    for name, module in net.named_modules():
        module.register_forward_pre_hook(before(name))
        module.register_forward_hook(lambda module, given, found: torch._C._get_tracing_state().pop_scope())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        graph, result = torch.jit._get_trace_graph(net, args)
    assert torch._C._get_tracing_state() is None and result is not None
    nodes = []
    for node in graph.nodes():
        values = [
            (value.type().kind(), value.type().sizes() if value.isCompleteTensor() else value.toIValue() if "Constant" in value.node().kind() else None)
            for value in node.inputs()
        ]  # fmt: skip
        results = [(value.type().kind(), value.type().sizes() if value.isCompleteTensor() else None) for value in node.outputs()]
        nodes.append((node.kind(), node.scopeName(), values, results, node.inputsSize(), node.outputsSize(), node.attributeNames()))
    text = re.sub(r"%[\w.]+", "%", re.sub(r" # .*", "", str(graph)))
    text = re.sub(r"requires_grad=\d", "", text)
    return nodes, text, [str(value.type()) for value in graph.inputs()], len(list(graph.outputs()))


@pytest.mark.parametrize("name", ["mixed", "calls", "transposed", "norms", "pools"])
def test_nodes_are_torchs(name: str) -> None:
    want, got = _told(real_torch, *_nets(real_torch)[name]), _told(mstorch, *_nets(mstorch)[name])
    for theirs, ours in zip(want[0], got[0]):
        assert theirs == ours
    assert want == got


def test_functions_and_inputs() -> None:
    for library in (real_torch, mstorch):
        graph, result, inputs = library.jit._get_trace_graph(lambda x, y: x * y + 1, (library.ones(2), library.ones(2)), return_inputs=True)
        assert [node.kind() for node in graph.nodes() if node.kind().startswith("aten")] == ["aten::mul", "aten::add"]
        assert result.tolist() == [2.0, 2.0] and len(inputs) == 2
        assert len(graph.findAllNodes("aten::mul")) == 1 and graph.findNode("aten::exp") is None


def test_what_is_composed_is_followed_below() -> None:
    layer = mstorch.nn.MultiheadAttention(4, 2)
    x = mstorch.ones(3, 1, 4)
    graph, result = mstorch.jit._get_trace_graph(layer, (x, x, x))
    kinds = {node.kind() for node in graph.nodes()}
    assert kinds & {"aten::bmm", "aten::scaled_dot_product_attention", "aten::matmul", "aten::addmm", "aten::linear"}
    assert tuple(result[0].shape) == (3, 1, 4)


def test_an_error_leaves_nothing_behind() -> None:
    def wrong(x: Any) -> Any:
        raise KeyError("x")

    with pytest.raises(KeyError):
        mstorch.jit._get_trace_graph(wrong, (mstorch.ones(1),))
    assert mstorch._C._get_tracing_state() is None and not mstorch.jit.is_tracing()
