"""torch.compile's parameters and the names of torch.compiler."""
from __future__ import annotations

import inspect
from typing import Any

import pytest
import torch as real_torch

import mstorch

pytestmark = pytest.mark.sweep


@pytest.mark.parametrize("name", [*[name for name in mstorch.compiler.__all__ if hasattr(real_torch.compiler, name)], "torch.compile"])
def test_signatures(name: str) -> None:
    want, got = (torch.compile if name == "torch.compile" else getattr(torch.compiler, name) for torch in (real_torch, mstorch))
    parameters = [[(p.name, p.kind, p.default) for p in inspect.signature(function).parameters.values()] for function in (want, got)]
    assert parameters[0] == parameters[1]
    assert got.__doc__


@pytest.mark.parametrize(
    "options",
    [
        {"dynamic": True}, {"dynamic": False}, {"mode": "default"}, {"mode": "reduce-overhead"}, {"mode": "max-autotune"},
        {"mode": "max-autotune-no-cudagraphs"}, {"backend": "inductor"}, {"backend": "aot_eager"}, {"backend": "eager"},
        {"options": {"max_autotune": True}}, {"disable": True}, {"name": "step"}, {"isolate_recompiles": True}, {"recompile_limit": 4},
    ],
    ids=str,
)  # fmt: skip
def test_options_are_accepted(options: dict[str, Any]) -> None:
    compiled = mstorch.compile(lambda x: x.sin() * 2, **options)
    for length in (2, 3):
        x = mstorch.arange(float(length))
        assert mstorch.allclose(compiled(x), x.sin() * 2)


@pytest.mark.parametrize(
    "options, message",
    [
        ({"mode": "fastest"}, "Unrecognized mode=fastest, should be one of: "),
        ({"mode": "default", "options": {}}, "Either mode or options can be specified, but both can't be specified at the same time."),
        ({"backend": "nothing"}, "Invalid backend: 'nothing', see `torch."),
    ],
)
def test_wrong_options(options: dict[str, Any], message: str) -> None:
    for torch in (real_torch, mstorch):
        with pytest.raises(RuntimeError) as caught:
            torch.compile(lambda x: x, **options)(torch.ones(1))
        assert message in str(caught.value)
    with pytest.raises(NotImplementedError):
        mstorch.compile(lambda x: x, backend=lambda graph, inputs: graph)
    with pytest.raises(NotImplementedError):
        mstorch.compile(lambda x: x, shapes_spec=[])


def test_as_a_decorator_and_on_methods() -> None:
    torch = mstorch

    class Net(torch.nn.Module):
        """A network."""

        @torch.compile
        def step(self, x: Any) -> Any:
            """One step."""
            return x * self.factor

        @torch.compile(fullgraph=True)
        def forward(self, x: Any) -> Any:
            return x + self.factor

        def __init__(self, factor: float) -> None:
            super().__init__()
            self.factor = torch.nn.Parameter(torch.tensor(factor))

    first, second = Net(2.0), Net(5.0)
    x = torch.ones(3)
    for net in (first, second, first):
        assert net.step(x).tolist() == [net.factor.item()] * 3
        assert net(x).tolist() == [1 + net.factor.item()] * 3
    assert Net.step.__name__ == "step" and Net.step.__doc__ == "One step."


def test_arguments_of_all_kinds() -> None:
    torch = mstorch

    def function(pair: Any, *more: Any, scale: Any, table: Any) -> Any:
        first, second = pair
        return {"sum": first + second * scale, "rest": [m.t() for m in more], "text": table["name"]}, first

    compiled = torch.compile(function, fullgraph=True)
    a, b, c = torch.ones(2, 3), torch.arange(6.0).reshape(2, 3), torch.zeros(4, 2)
    for name in ("one", "other"):
        for args in (((a, b), c), ((b, a),), ((a, a), c.t(), a)):
            got, first = compiled(*args, scale=torch.tensor(2.0), table={"name": name})
            want, _ = function(*args, scale=torch.tensor(2.0), table={"name": name})
            assert torch.equal(got["sum"], want["sum"]) and got["text"] == name and first is args[0][0]
            for one, other in zip(got["rest"], want["rest"]):
                assert torch.equal(one, other) and one.stride() == other.stride()


def test_writes_to_arguments_and_views_of_them() -> None:
    torch = mstorch

    @torch.compile(fullgraph=True)
    def function(x: Any) -> Any:
        x.mul_(2)
        return x[0]

    x = torch.arange(6.0).reshape(2, 3)
    row = function(x)
    assert x.tolist() == [[0.0, 2.0, 4.0], [6.0, 8.0, 10.0]]
    x[0, 0] = 7.0
    assert row.tolist() == [7.0, 2.0, 4.0]


FACTOR = 2.0


def test_globals_are_watched(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = mstorch
    compiled = torch.compile(lambda x: x * FACTOR, fullgraph=True)
    x = torch.ones(2)
    assert compiled(x).tolist() == [2.0, 2.0]
    monkeypatch.setitem(globals(), "FACTOR", 3.0)
    assert compiled(x).tolist() == [3.0, 3.0]


def test_is_compiling_and_stances() -> None:
    torch = mstorch
    seen = []

    def function(x: Any) -> Any:
        seen.append(torch.compiler.is_compiling())
        return x + 1 if torch.compiler.is_compiling() else x + 2

    with pytest.warns(UserWarning, match="changes seen"):
        torch.compile(function, backend="mindspore")(torch.ones(1))
    assert seen == [False], "what the captured run did is undone"
    assert not torch.compiler.is_compiling()

    def plain(x: Any) -> Any:
        return x.sum().item()

    with torch.compiler.set_stance("force_eager"):
        assert torch.compile(plain, fullgraph=True)(torch.ones(2)) == 2.0
    with pytest.raises(RuntimeError, match="invalid torch.compile stance"):
        torch.compiler.set_stance("never")


def test_disabled_functions_and_constants() -> None:
    torch = mstorch

    @torch.compiler.disable
    def outside(x: Any) -> Any:
        return x + 1

    with pytest.warns(UserWarning, match="outside is disabled for torch.compile"):
        assert torch.compile(lambda x: outside(x) * 2, backend="mindspore")(torch.ones(1)).item() == 4.0

    @torch.compiler.assume_constant_result
    def size(x: Any) -> Any:
        return int(x.sum().item())

    compiled = torch.compile(lambda x: x * size(x), fullgraph=True)
    assert compiled(torch.ones(3)).tolist() == [3.0, 3.0, 3.0]
    assert compiled(torch.ones(3) * 2).tolist() == [6.0, 6.0, 6.0]
    assert torch.compiler.allow_in_graph(size) is size
    torch.compiler.reset()
    assert compiled(torch.ones(3) * 2).tolist() == [12.0, 12.0, 12.0]


def test_backends() -> None:
    assert "inductor" in mstorch.compiler.list_backends() and "mindspore" in mstorch.compiler.list_backends()
