"""Training steps that are compiled as a whole on MindSpore's Ascend plugin: one graph, and eager's losses, parameters and optimizer states."""
from __future__ import annotations

import copy
import warnings

import pytest

import mstorch as torch
from mstorch import nn
from mstorch._src.compile import compiled as graphs
from tests.cann.plugin import on_plugin

pytestmark = pytest.mark.slow
D = "npu"
F = nn.functional


class _Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.norm, self.drop, self.last = nn.Linear(6, 16, bias=False), nn.BatchNorm1d(16), nn.Dropout(0.25), nn.Linear(16, 3)
        self.scale = nn.Parameter(torch.tensor(1.5))
        self.frozen = nn.Parameter(torch.ones(3), requires_grad=False)

    def forward(self, x):
        return self.last(self.drop(F.gelu(self.norm(self.first(x))))) * self.scale + self.frozen


def _usual(net, optimizer):
    def step(x, y):
        optimizer.zero_grad()
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        return loss

    return step


def _cleared_last(net, optimizer):
    def step(x, y):
        out = net(x)
        loss = F.cross_entropy(out, y, label_smoothing=0.1)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return {"loss": loss.detach(), "out": out}

    return step


def _clipped(net, optimizer):
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.7)

    def step(x, y):
        net.zero_grad()
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        norm = nn.utils.clip_grad_norm_(net.parameters(), 0.2)
        optimizer.step()
        scheduler.step()
        return loss, norm

    return step


def _zeroed(net, optimizer):
    def step(x, y):
        optimizer.zero_grad(set_to_none=False)
        (F.cross_entropy(net(x), y) + net.scale**2).backward()
        optimizer.step()

    return step


def _added(net, optimizer):
    """Two backward passes in a step, and no gradient is cleared: each step adds to the last one's."""

    def step(x, y):
        F.cross_entropy(net(x), y).backward()
        loss = F.cross_entropy(net(x * 2), y)
        (0.5 * loss).backward()
        optimizer.step()
        return loss

    return step


def _scaled(net, optimizer):
    scaler = torch.amp.GradScaler(D, init_scale=64.0, growth_interval=2)

    def step(x, y):
        optimizer.zero_grad()
        with torch.autocast(D, torch.float16):
            loss = F.cross_entropy(net(x), y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        return loss

    step.scaler = scaler
    return step


def _unscaled(net, optimizer):
    scaler = torch.amp.GradScaler(D, init_scale=2.0**14, growth_interval=2)
    plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=0, threshold=0.5)

    def step(x, y):
        optimizer.zero_grad()
        with torch.autocast(D, torch.float16):
            loss = F.cross_entropy(net(x), y)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        norm = nn.utils.clip_grad_norm_(net.parameters(), 0.1)
        scaler.step(optimizer)
        scaler.update()
        plateau.step(loss.detach())
        return loss, norm

    step.scaler = scaler
    return step


def _by_hand(net, optimizer):
    def step(x, y):
        optimizer.zero_grad()
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        with torch.no_grad():
            for param in net.parameters():
                if param.grad is not None:
                    param.grad.clamp_(-0.01, 0.01)
        optimizer.step()
        return loss

    return step


STEPS = {
    "usual": _usual, "cleared last": _cleared_last, "clipped, scheduled": _clipped, "zeroed": _zeroed, "added": _added, "scaled": _scaled,
    "unscaled, on a plateau": _unscaled, "by hand": _by_hand,
}  # fmt: skip
OPTIMIZERS = {
    "AdamW": lambda net: torch.optim.AdamW(net.parameters(), 0.01),
    "SGD": lambda net: torch.optim.SGD([{"params": net.first.parameters(), "lr": 0.1}, {"params": net.last.parameters()}, {"params": [net.scale]}], 0.05, momentum=0.9, nesterov=True),
    "RMSprop": lambda net: torch.optim.RMSprop(net.parameters(), 0.01),
}  # fmt: skip


def _numbers(value):
    if isinstance(value, torch.Tensor):
        return [value.detach().float().cpu().flatten()]
    if isinstance(value, dict):
        return [number for one in value.values() for number in _numbers(one)]
    if isinstance(value, (list, tuple)):
        return [number for one in value for number in _numbers(one)]
    return [] if value is None else [torch.tensor([float(value)])]


def _assert_close(one, two, least=1e-5):
    assert len(one) == len(two)
    for first, second in zip(one, two):
        torch.testing.assert_close(second, first, rtol=least, atol=least)


def _graph_entries(function_name):
    return [entry for each in graphs._all for entries in each.entries.values() for entry in entries if each.name.endswith(function_name)]


def _run(step, net, optimizer, batches, warned):
    """Return the numbers of a step's results, of the network and of the optimizer's state after some steps, and the learning rates."""
    with warnings.catch_warnings():
        warnings.simplefilter(warned, UserWarning)
        results = [number for x, y in batches for number in _numbers(step(x, y))]
    states = [list(net.state_dict().values()), list(optimizer.state_dict()["state"].values())]
    return [results, *map(_numbers, states)], [group["lr"] for group in optimizer.param_groups]


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("kind", STEPS)
@on_plugin
def test_a_step_is_one_graph_and_gives_eagers_results(kind, optimizer):
    torch.compiler.reset()  # the tests of a process share it
    torch.manual_seed(0)
    net = _Net().to(D)
    other = copy.deepcopy(net)
    batches = [(torch.randn(8, 6, device=D), torch.randint(0, 3, (8,)).to(D)) for _ in range(6)]
    runs = []
    for each, compile in ((net, lambda step: step), (other, lambda step: torch.compile(step, fullgraph=True))):
        torch.manual_seed(1)
        trainer = OPTIMIZERS[optimizer](each)
        plain = STEPS[kind](each, trainer)
        numbers, rates = _run(compile(plain), each, trainer, batches, "error")
        numbers.append(_numbers([param.grad for param in each.parameters()]))
        scaler = getattr(plain, "scaler", None)
        runs.append((numbers, rates, None if scaler is None else scaler.state_dict()))
    least = 2e-3 if "scaled" in kind else 2e-5
    for one, two in zip(runs[0][0], runs[1][0], strict=True):
        _assert_close(one, two, least)
    assert runs[0][1:] == runs[1][1:]
    entries = _graph_entries("step")
    assert 1 <= len(entries) <= 2  # without and with gradients of the step before
    assert all(entry.reason is None and entry.step is not None for entry in entries)


@on_plugin
def test_gradients_that_a_program_keeps_are_not_overwritten():
    net = _Net().to(D).eval()
    step = torch.compile(_usual(net, torch.optim.SGD(net.parameters(), 0.1)), fullgraph=True)
    x, y = torch.randn(8, 6, device=D), torch.randint(0, 3, (8,)).to(D)
    step(x, y)
    kept = [net.first.weight.grad, net.last.weight.grad.view(-1)[2:], net.last.bias.grad.detach()]
    before = [tensor.cpu() for tensor in kept]
    for _ in range(3):
        step(x, y)
        assert all(torch.equal(tensor.cpu(), value) for tensor, value in zip(kept, before))
    assert not torch.equal(net.first.weight.grad.cpu(), before[0])


@on_plugin
def test_a_result_cannot_be_differentiated_again():
    net = _Net().to(D)
    step = torch.compile(_usual(net, torch.optim.SGD(net.parameters(), 0.1)), fullgraph=True)
    for _ in range(2):
        loss = step(torch.randn(8, 6, device=D), torch.randint(0, 3, (8,)).to(D))
    assert loss.requires_grad
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        loss.backward()


def _averaged(net, optimizer):
    average = copy.deepcopy(net)

    def step(x, y):
        optimizer.zero_grad()
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            for mean, param in zip(average.parameters(), net.parameters()):
                mean.lerp_(param, 0.1)
        return loss

    step.net = average
    return step


def _rate_of_group(net, optimizer):
    def step(x, y):
        optimizer.zero_grad()
        loss = F.cross_entropy(net(x), y) * optimizer.param_groups[0]["lr"]
        loss.backward()
        optimizer.step()
        optimizer.param_groups[0]["lr"] *= 0.9
        return loss

    return step


def _hooked(net, optimizer):
    net.last.weight.register_hook(lambda grad: grad * 2)
    return _usual(net, optimizer)


def _asks_after(net, optimizer):
    def step(x, y):
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return loss if net.first.weight.grad is None else loss * 0

    return step


def _closed(net, optimizer):
    def step(x, y):
        def closure():
            optimizer.zero_grad()
            loss = F.cross_entropy(net(x), y)
            loss.backward()
            return loss

        return optimizer.step(closure)

    return step


def _left_open(net, optimizer):
    def step(x, y):
        optimizer.zero_grad()
        out = net(x)
        F.cross_entropy(out.detach() * net.scale, y).backward()
        optimizer.step()
        return out

    return step


NO_GRAPHS = {
    "averaged": _averaged, "rate of a group": _rate_of_group, "hooked": _hooked, "asks after": _asks_after,
    "closed": _closed, "left open": _left_open,
}  # fmt: skip


@pytest.mark.parametrize("kind", NO_GRAPHS)
@on_plugin
def test_a_step_that_is_no_graph_runs_as_eager(kind):
    torch.manual_seed(0)
    net = _Net().to(D)
    nets = [net, copy.deepcopy(net)]
    batches = [(torch.randn(8, 6, device=D), torch.randint(0, 3, (8,)).to(D)) for _ in range(4)]
    runs = []
    for each, compile in zip(nets, (lambda step: step, torch.compile)):
        torch.manual_seed(1)
        optimizer = torch.optim.AdamW(each.parameters(), 0.01)
        plain = NO_GRAPHS[kind](each, optimizer)
        numbers, rates = _run(compile(plain), each, optimizer, batches, "ignore")
        average = getattr(plain, "net", None)
        numbers.append(_numbers(list(average.state_dict().values())) if average else [])
        runs.append((numbers, rates))
    for one, two in zip(runs[0][0], runs[1][0], strict=True):
        _assert_close(one, two)
    assert runs[0][1] == runs[1][1]


@on_plugin
def test_a_step_follows_an_optimizer_that_is_patched():
    torch.compiler.reset()
    net = _Net().to(D)
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    step = torch.compile(_usual(net, optimizer), fullgraph=True)
    x, y = torch.randn(8, 6, device=D), torch.randint(0, 3, (8,)).to(D)
    step(x, y)
    plain, told = optimizer.step, []

    def patched(*args):
        told.append(1)
        return plain(*args)

    optimizer.step = patched
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        step = torch.compile(_usual(net, optimizer))
        for turn in range(3):
            step(x, y)
            assert len(told) == turn + 1
    optimizer.step = lambda: None
    before = net.last.weight.detach().clone()
    step(x, y)
    assert len(told) == 3 and torch.equal(net.last.weight, before)


@on_plugin
def test_parameters_that_are_frozen_or_thawed_between_steps():
    torch.compiler.reset()
    torch.manual_seed(0)
    net = _Net().to(D).eval()
    other = copy.deepcopy(net)
    x, y = torch.randn(8, 6, device=D), torch.randint(0, 3, (8,)).to(D)
    losses = []
    for each, compile in ((net, lambda step: step), (other, lambda step: torch.compile(step, fullgraph=True))):
        step = compile(_usual(each, torch.optim.SGD(each.parameters(), 0.1)))
        given = []
        for turn in range(6):
            each.first.weight.requires_grad_(turn % 3 != 1)
            each.frozen.requires_grad_(turn > 3)
            given.append(step(x, y).item())
        losses.append(given)
    assert losses[0] == pytest.approx(losses[1], abs=1e-5)
    _assert_close(_numbers(list(net.state_dict().values())), _numbers(list(other.state_dict().values())))
