"""``torch._dynamo.explain``: the graphs of torch's compiler, their operations, and the reasons for breaks."""
from __future__ import annotations

import re
import warnings
from typing import Any

import pytest
import torch as real_torch

import mstorch
import mstorch._dynamo

pytestmark = pytest.mark.slow


def _functions(torch: Any) -> dict[str, Any]:
    dynamo = torch._dynamo

    def number(x: Any) -> Any:
        y = x + 1
        return y * y.sum().item()

    def printed(x: Any) -> Any:
        y = x + 1
        print("")
        return y * 2

    def told(x: Any) -> Any:
        y = torch.sin(x)
        dynamo.graph_break()
        return torch.cos(y) + 1

    def whole(x: Any) -> Any:
        y = x * 2
        if int(y[0]) > 0:
            y = y - 1
        return y

    def listed(x: Any) -> Any:
        return x + len((x * 2).tolist())

    def places(x: Any) -> Any:
        return (x * 2).nonzero() + 1

    def masked(x: Any) -> Any:
        return x[x > 0].sum() + 1

    def nothing(x: Any) -> Any:
        return 3

    def chosen(x: Any) -> Any:
        return x * 2 if x.sum() > 0 else x * 3

    def looped(x: Any) -> Any:
        for step in range(3):
            x = torch.relu(x) - step
        return x

    def methods(x: Any) -> Any:
        return x.view(-1).sum().exp()

    def inner(x: Any) -> Any:
        y = x * 3
        dynamo.graph_break()
        return y + 1

    def nested(x: Any) -> Any:
        return inner(x + 1) * 2

    def written(x: Any) -> Any:
        y = x.clone()
        y.add_(1)
        y[0] = 3
        y += 1
        return y

    @dynamo.disable
    def off(x: Any) -> Any:
        return x * 5

    def apart(x: Any) -> Any:
        return off(x + 1) + 2

    def several(x: Any) -> Any:
        first, second = x.chunk(2)
        return torch.cat([first @ second, x]) if first.dim() > 1 else torch.max(x, 0)

    return {key: value for key, value in locals().items() if key not in ("torch", "dynamo", "inner", "off")}


def _module(torch: Any) -> Any:
    class Net(torch.nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.first, self.norm, self.drop = torch.nn.Linear(4, 4), torch.nn.LayerNorm(4), torch.nn.Dropout(0.1)
            self.attention = torch.nn.MultiheadAttention(4, 2)

        def forward(self, x: Any) -> Any:
            hidden = self.drop(torch.nn.functional.gelu(self.first(x)))
            found = self.norm(hidden + x)
            return self.attention(found, found, found)[0]

    return Net()


def _told(torch: Any, function: Any, *args: Any) -> Any:
    torch._dynamo.reset()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = torch._dynamo.explain(function)(*args)
    assert found.out_guards is not None and found.compile_times.startswith("TorchDynamo compilation metrics:")
    assert f"Graph Count: {found.graph_count}\nGraph Break Count: {found.graph_break_count}\nOp Count: {found.op_count}\n" in str(found)
    steps = [
        [(node.op, getattr(node.target, "__name__", node.target)) for node in graph.graph.nodes if node.op not in ("placeholder", "output")]
        for graph in found.graphs
    ]  # fmt: skip
    ops = [[getattr(op, "__name__", op) for op in graph] for graph in found.ops_per_graph]
    reasons = [
        (reason.reason.split("\n")[0], reason.graph_break, [(frame.lineno, frame.name) for frame in reason.user_stack])
        for reason in found.break_reasons
    ]  # fmt: skip
    inputs = [sum(node.op == "placeholder" for node in graph.graph.nodes) for graph in found.graphs]
    return found.graph_count, found.graph_break_count, found.op_count, ops, steps, reasons, inputs


def test_graphs_are_torchs() -> None:
    theirs, ours = _functions(real_torch), _functions(mstorch)
    for name, function in theirs.items():
        want = _told(real_torch, function, real_torch.tensor([1.0, 2.0, 3.0, -4.0]))
        got = _told(mstorch, ours[name], mstorch.tensor([1.0, 2.0, 3.0, -4.0]))
        assert want == got, name


def test_a_module() -> None:
    want = _told(real_torch, _module(real_torch), real_torch.ones(2, 1, 4))
    got = _told(mstorch, _module(mstorch), mstorch.ones(2, 1, 4))
    assert want == got


def test_graphs_run() -> None:
    x = mstorch.tensor([1.0, 2.0, 3.0, -4.0])
    function = _functions(mstorch)["told"]
    first, second = mstorch._dynamo.explain(function)(x).graphs
    (between,) = first(x)
    (found,) = second(between)
    assert found.tolist() == function(x).tolist()
    names = [node.name for node in first.graph.nodes]
    assert names[0] == "l_x_" or re.fullmatch(r"[lL]_x_", names[0])


def test_the_older_form_warns() -> None:
    with pytest.warns(FutureWarning, match="explain\\(f\\)\\(\\*args, \\*\\*kwargs\\)"):
        found = mstorch._dynamo.explain(lambda x: x + 1, mstorch.ones(2))
    assert found.graph_count == 1 and found.graph_break_count == 0


def test_errors_of_the_function_are_raised() -> None:
    def wrong(x: Any) -> Any:
        raise KeyError("x")

    with pytest.raises(KeyError):
        mstorch._dynamo.explain(wrong)(mstorch.ones(2))
    assert mstorch._dynamo.explain(lambda x: x * 2)(mstorch.ones(2)).op_count == 1
