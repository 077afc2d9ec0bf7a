"""torch.npu.NPUGraph on the plugin: replays beside the same code run eagerly, and what a graph cannot hold."""
from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

import mstorch as torch
from tests.cann.plugin import on_plugin

pytestmark = pytest.mark.slow


def _normal(*shape: int) -> Any:
    return torch.randn(*shape, device="npu")


def _captured(block: Callable[[], Any]) -> tuple[Any, Any]:
    graph = torch.npu.NPUGraph()
    with torch.npu.graph(graph):
        result = block()
    return graph, result


@on_plugin
def test_replays_read_the_memory_anew_and_write_where_the_block_wrote() -> None:
    x, w, total = _normal(4, 8), _normal(8, 8), torch.zeros(8, device="npu")

    def compute(x: Any) -> Any:
        return torch.nn.functional.gelu(x @ w), torch.softmax(x[:, 2:6], -1)

    def block() -> Any:
        first, second = compute(x)
        total.add_(first.sum(0))
        x[1].mul_(2)
        return first, second, first[0], torch.full((3,), 7.0, device="npu")

    before = x.clone()
    graph, (first, second, row, constant) = _captured(block)
    assert torch.equal(x, before) and not total.any()
    places = [tensor.data_ptr() for tensor in (first, second, row, constant, x, total)]
    constant.zero_()
    for _ in range(3):
        x.copy_(_normal(4, 8))
        wanted, before, sum_before = compute(x.clone()), x.clone(), total.clone()
        graph.replay()
        assert torch.allclose(first, wanted[0]) and torch.allclose(second, wanted[1]) and torch.equal(row, first[0])
        before[1] *= 2
        assert torch.equal(x, before) and torch.allclose(total, sum_before + wanted[0].sum(0)) and (constant == 7).all()
    assert places == [tensor.data_ptr() for tensor in (first, second, row, constant, x, total)]


@on_plugin
def test_memory_that_is_exchanged() -> None:
    a, b = torch.ones(3, device="npu"), torch.zeros(3, device="npu")

    def block() -> None:
        held = a.clone()
        a.copy_(b)
        b.copy_(held)

    graph, _ = _captured(block)
    graph.replay()
    assert not a.any() and (b == 1).all()
    graph.replay()
    assert (a == 1).all() and not b.any()


@on_plugin
def test_a_graph_reads_what_another_has_made() -> None:
    x = torch.ones(3, device="npu")
    kept: list[Any] = []
    first, _ = _captured(lambda: kept.append(x * 2))
    second, z = _captured(lambda: (kept[0] + 1).reshape(3, 1))
    x.fill_(5)
    first.replay()
    second.replay()
    assert (z == 11).all() and z.shape == (3, 1)
    kept.clear()
    x.fill_(6)
    first.replay()
    second.replay()
    assert (z == 13).all()


@on_plugin
def test_integers_indices_and_dtypes() -> None:
    table, places = _normal(10, 4), torch.tensor([1, 2, 3], device="npu")
    half = _normal(3, 4).bfloat16()

    def block() -> Any:
        rows = torch.nn.functional.embedding(places, table)
        return table[places], rows.argmax(-1), rows.to(torch.bfloat16) * half, places > 1

    graph, results = _captured(block)
    places.copy_(torch.tensor([7, 0, 9]))
    half.copy_(_normal(3, 4))
    graph.replay()
    for result, want in zip(results, block()):
        assert torch.equal(result, want) and result.dtype == want.dtype


_OPTIMIZERS: dict[str, tuple[str, dict[str, Any]]] = {
    "SGD": ("SGD", {}), "momentum": ("SGD", {"momentum": 0.9, "weight_decay": 0.1}), "AdamW": ("AdamW", {"capturable": True}),
    "Adam": ("Adam", {"capturable": True, "foreach": False}),
}  # fmt: skip


@pytest.mark.parametrize("name", _OPTIMIZERS)
@on_plugin
def test_a_training_step(name: str) -> None:
    torch.manual_seed(0)
    kind, options = _OPTIMIZERS[name]
    net = torch.nn.Sequential(
        torch.nn.Linear(8, 16, bias=False), torch.nn.BatchNorm1d(16), torch.nn.ReLU(), torch.nn.Dropout(0.5), torch.nn.Linear(16, 1)
    ).npu()
    other = copy.deepcopy(net)
    ours, theirs = (getattr(torch.optim, kind)(module.parameters(), lr=0.05, **options) for module in (net, other))
    x = _normal(6, 8)

    def step(module: Any, optimizer: Any, x: Any) -> Any:
        optimizer.zero_grad(set_to_none=True)
        loss = module(x).square().mean()
        loss.backward()
        optimizer.step()
        return loss

    def beside(run: Callable[[], Any]) -> tuple[Any, Any]:
        x.copy_(_normal(6, 8))
        state = torch.npu.get_rng_state()
        loss = run()
        after = torch.npu.get_rng_state()
        torch.npu.set_rng_state(state)
        return loss, (step(other, theirs, x.clone()), torch.equal(after, torch.npu.get_rng_state()))

    for _ in range(2):
        beside(lambda: step(net, ours, x))
    state = torch.npu.get_rng_state()
    graph, loss = _captured(lambda: step(net, ours, x))
    assert torch.equal(torch.npu.get_rng_state(), state)
    masks = []
    for _ in range(3):
        _, (want, advanced) = beside(graph.replay)
        assert advanced and torch.allclose(loss, want, rtol=1e-5)
        for p, q in zip((*net.parameters(), *net.buffers()), (*other.parameters(), *other.buffers())):
            assert torch.allclose(p, q, rtol=1e-5, atol=1e-6)
        for p, q in zip(net.parameters(), other.parameters()):
            assert torch.allclose(p.grad, q.grad, rtol=1e-4, atol=1e-6)
        masks.append(loss.item())
    assert len(set(masks)) == 3
    assert loss.requires_grad
    with pytest.raises(RuntimeError, match="a second time|outside of it"):
        loss.backward()


@on_plugin
def test_gradients_are_added_to() -> None:
    weight, x = torch.ones(3, requires_grad=True, device="npu"), torch.ones(3, device="npu")
    (weight * x).sum().backward()
    gradient = weight.grad
    graph, _ = _captured(lambda: (weight * x).sum().backward())
    x.fill_(10)
    graph.replay()
    graph.replay()
    assert weight.grad is gradient and (gradient == 21).all()


@on_plugin
def test_modules_as_graphs() -> None:
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.BatchNorm1d(8), torch.nn.Dropout(0.3), torch.nn.Linear(8, 2)).npu()
    other = copy.deepcopy(net)
    sample = _normal(6, 4).requires_grad_()
    graphed = torch.npu.make_graphed_callables(net, (sample,))
    assert graphed is net
    for _ in range(3):
        x = _normal(6, 4).requires_grad_()
        y, state = x.detach().clone().requires_grad_(), torch.npu.get_rng_state()
        out = net(x)
        out.square().sum().backward()
        torch.npu.set_rng_state(state)
        want = other(y)
        want.square().sum().backward()
        assert torch.allclose(out, want, rtol=1e-5, atol=1e-6) and torch.allclose(x.grad, y.grad, rtol=1e-4, atol=1e-5)
        for p, q in zip(net.parameters(), other.parameters()):
            assert torch.allclose(p.grad, q.grad, rtol=1e-4, atol=1e-5)
        for p, q in zip(net.buffers(), other.buffers()):
            assert torch.allclose(p, q, rtol=1e-5)
    with pytest.raises(RuntimeError, match="takes tensors as its sample_args"):
        net(_normal(3, 4).requires_grad_())
    net.eval()
    assert torch.allclose(net(_normal(3, 4) * 0), other.eval()(_normal(3, 4) * 0), rtol=1e-5)  # not the graph, of any size


@on_plugin
def test_several_functions_as_graphs() -> None:
    sample = _normal(5).requires_grad_()
    exp, sin = torch.npu.make_graphed_callables((lambda x: x.exp(), lambda x: x.sin()), ((sample,), (sample,)))
    x = _normal(5).requires_grad_()
    sin(exp(x)).sum().backward()
    assert torch.allclose(x.grad, x.exp().cos() * x.exp(), rtol=1e-5)
    with pytest.raises(AssertionError, match="must contain only Tensors"):
        torch.npu.make_graphed_callables(len, (3,))
    with pytest.raises(RuntimeError, match="values of a tensor are read"):
        torch.npu.make_graphed_callables(lambda x: x * x.sum().item(), (sample,))
    hooked = torch.nn.Linear(2, 2).npu()
    hooked.register_forward_hook(print)
    with pytest.raises(AssertionError, match="hooks registered"):
        torch.npu.make_graphed_callables(hooked, (_normal(2, 2),))


_x: list[Any] = []
_HOST = torch.ones(3)


def _swallow() -> None:
    try:
        (_x[0] * 2).sum().item()
    except RuntimeError:
        pass


_REFUSED: dict[str, tuple[str, Callable[[], Any]]] = {
    "item": ("values of a tensor are read", lambda: _x[0].sum().item()),
    "swallowed": ("values of a tensor are read", _swallow),
    "to the CPU": ("between the CPU and the device", lambda: (_x[0] * 2).cpu()),
    "a tensor of the CPU": ("a tensor of the CPU", lambda: _x[0] + _HOST),
    "a place on the CPU": ("a tensor of the CPU", lambda: _x[0][_HOST.long()]),
    "a write to the CPU": ("a tensor of the CPU is written", lambda: _HOST.add_(1)),
    "a truth value": ("values of a tensor are read", lambda: bool(_x[0].any())),
    "a shape": ("depends on values", lambda: _x[0].nonzero()),
    "waiting": ("the host waits", lambda: torch.npu.synchronize()),
    "waiting for a stream": ("the host waits", lambda: torch.npu.current_stream().synchronize()),
    "nested": ("capture inside of a capture", lambda: _captured(lambda: _x[0] + 1)),
    "a seed": ("random numbers", lambda: torch.npu.manual_seed(3)),
    "its own": ("own error", lambda: 1 / 0),
}  # fmt: skip


@pytest.mark.parametrize("name", _REFUSED)
@on_plugin
def test_refused_blocks_leave_nothing_open(name: str) -> None:
    match, block = _REFUSED[name]
    _x[:] = [torch.ones(3, device="npu")]
    state, graph = torch.npu.get_rng_state(), torch.npu.NPUGraph()
    kept: list[Any] = []

    def whole() -> None:
        kept.append(_x[0] + 1)
        _x[0].add_(1)
        block()

    with pytest.raises((RuntimeError, ZeroDivisionError), match=match if name != "its own" else "division"):
        with torch.npu.graph(graph):
            whole()
    assert not torch.npu.is_current_stream_capturing() and torch.equal(torch.npu.get_rng_state(), state)
    assert (_x[0] == 1).all() and (kept[0] == 2).all()
    assert torch.npu.current_stream() == torch.npu.default_stream()
    with pytest.raises(RuntimeError, match="without a preceding successful capture"):
        graph.replay()
    with torch.npu.graph(graph):
        y = _x[0] * 3
    _x[0].fill_(2)
    graph.replay()
    assert (y == 6).all()


@on_plugin
def test_calls_in_the_wrong_order() -> None:
    graph = torch.npu.NPUGraph()
    for call in (graph.replay, graph.pool):
        with pytest.raises(RuntimeError, match="without a preceding successful capture"):
            call()
    with pytest.raises(RuntimeError, match="must be captured on a non-default stream"):
        graph.capture_begin()
    with pytest.raises(RuntimeError, match=r"without capture_begin\(\)"):
        graph.capture_end()
    x = torch.ones(2, device="npu")
    with torch.npu.graph(graph, pool=torch.npu.graph_pool_handle(), stream=torch.npu.graph.default_capture_stream):
        assert torch.npu.is_current_stream_capturing()
        y = x + 1
        with pytest.raises(RuntimeError, match="capture"):
            graph.replay()
    with pytest.raises(RuntimeError, match="already owns a captured graph"):
        graph.capture_begin()
    assert len(graph.pool()) == 2
    graph.reset()
    with pytest.raises(RuntimeError, match="without a preceding successful capture"):
        graph.replay()
    assert (y == 2).all()
    with pytest.warns(UserWarning, match="NPU Graph is empty"), torch.npu.graph(graph):
        pass


@on_plugin
def test_a_graph_that_is_dropped_ends_its_capture() -> None:
    x, graph = torch.ones(2, device="npu"), torch.npu.NPUGraph()
    _captured(lambda: x + 1)  # which makes the stream
    with torch.npu.stream(torch.npu.graph.default_capture_stream):
        graph.capture_begin()
        y = x * 2
        del graph
    assert not torch.npu.is_current_stream_capturing() and (y + x == 3).all()


@on_plugin
def test_a_replayed_graph_in_a_capture_is_refused() -> None:
    x = torch.ones(2, device="npu")
    graph, _ = _captured(lambda: x + 1)
    with pytest.raises(RuntimeError, match="replayed in a capture"):
        _captured(graph.replay)


@on_plugin
def test_numbers_of_the_cpu_are_constants() -> None:
    x, factor, lengths = torch.ones(3, device="npu"), torch.tensor(3.0), torch.tensor([1, 2])
    graph, y = _captured(lambda: x[: (lengths + 0).tolist()[1]] * factor)
    factor.fill_(100)
    x.fill_(2)
    graph.replay()
    assert (y == 6).all() and y.shape == (2,)


@on_plugin
def test_tasks_that_are_replaced() -> None:
    npu = torch.npu
    graph, event, x, out = npu.NPUGraph(), npu.ExternalEvent(), torch.ones(3, device="npu"), torch.zeros(3, device="npu")
    with npu.graph(graph):
        stream = npu.current_stream()
        first = x + 1
        event.wait(stream)
        event.reset(stream)
        npu.graph_task_group_begin(stream)
        torch.mul(first, 2, out=out)
        handle = npu.graph_task_group_end(stream)
        last = out + 100
    event.record()
    graph.replay()
    assert (last == 104).all()
    x.fill_(4)
    graph.replay()  # it waits in the middle
    for use in (lambda: x + 1, lambda: last.cpu(), lambda: out.sum().item(), graph.replay):
        with pytest.raises(RuntimeError, match="waits for an ExternalEvent"):
            use()
    other = npu.graph.default_capture_stream  # another one would take a gigabyte of the emulated memory
    with npu.stream(other):
        npu.graph_task_update_begin(other, handle)
        torch.mul(first, 3, out=out)
        npu.graph_task_update_end(other)
        event.record(other)
    assert (last == 115).all() and (out == 15).all()
    event.record()
    x.fill_(1)
    graph.replay()
    assert (last == 106).all()
    with pytest.raises(RuntimeError, match="not recorded"):
        event.wait()


@on_plugin
def test_a_network_under_no_grad() -> None:
    layer = torch.nn.TransformerEncoderLayer(16, 2, 32, batch_first=True).npu().eval()
    x = _normal(2, 5, 16)
    with torch.no_grad():
        graph, y = _captured(lambda: layer(x))
        x.copy_(_normal(2, 5, 16))
        graph.replay()
        assert torch.allclose(y, layer(x), rtol=1e-4, atol=1e-5)


@on_plugin
def test_calls_of_the_host_between_two_parts() -> None:
    npu: Any = torch.npu
    x, seen, back = torch.ones(2, device="npu"), [], torch.zeros(2, device="npu")
    graph = torch.npu.NPUGraph()

    def call(tensor: Any) -> None:
        seen.append(tensor.tolist())
        back.copy_(tensor.cpu() * 10)

    with torch.npu.graph(graph):
        stream = torch.npu.current_stream()
        npu._subscribe_report(stream)
        npu._launch_host_func(stream, call, x * 2)
        y = back + 1
    assert not seen
    for value in (3.0, 4.0):
        x.fill_(value)
        graph.replay()
        assert seen[-1] == [2 * value] * 2 and (y == 20 * value + 1).all()
    npu._launch_host_func(stream, call, x)
    assert seen[-1] == [4.0, 4.0]
