"""Optimizers that update all parameters on a device at once, compared with the CPU: ``python -m tests.devices.together``."""
from __future__ import annotations

import copy
import io
from collections.abc import Callable
from typing import Any

import mstorch as torch
from mstorch._src.backend import cost, table

nn, optim = torch.nn, torch.optim

# The number of kernels that torch's foreach form of a step launches (counted by torch's dispatcher on the CPU, without views).
FOREACH: dict[str, tuple[Callable[[Any], Any], int]] = {
    "SGD": (lambda p: optim.SGD(p, 0.1), 1), "SGD, momentum, decay": (lambda p: optim.SGD(p, 0.1, 0.9, weight_decay=0.1), 4),
    "SGD, nesterov": (lambda p: optim.SGD(p, 0.1, 0.9, nesterov=True), 4), "Adam": (optim.Adam, 9), "AMSGrad": (lambda p: optim.Adam(p, amsgrad=True), 10),
    "AdamW": (optim.AdamW, 10), "Adam, decay": (lambda p: optim.Adam(p, weight_decay=0.1), 10), "RMSprop": (optim.RMSprop, 7),
    "RMSprop, centred": (lambda p: optim.RMSprop(p, momentum=0.9, centered=True), 11), "NAdam": (optim.NAdam, 11), "RAdam": (optim.RAdam, 11),
    "Adagrad": (optim.Adagrad, 7), "Adadelta": (optim.Adadelta, 13), "Adamax": (optim.Adamax, 8), "Rprop": (optim.Rprop, 97), "ASGD": (optim.ASGD, 44),
    "maximize": (lambda p: optim.AdamW(p, maximize=True), 10), "Adafactor": (lambda p: optim.Adafactor(p, lr=1e-3), 50),
    "Muon": (lambda p: optim.Muon([item for item in p if item.dim() == 2]), 69),  # torch has no foreach form of them
}  # fmt: skip


def _net(place: str) -> Any:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(6, 9), nn.ReLU(), nn.Linear(9, 9), nn.ReLU(), nn.Linear(9, 3)).to(place)


def _backward(net: Any, place: str) -> Any:
    loss = net(torch.randn(8, 6).to(place)).square().mean()
    loss.backward()
    return loss


def _values(net: Any, optimizer: Any) -> list[Any]:
    states = [value for state in optimizer.state.values() for value in state.values() if isinstance(value, torch.Tensor)]
    return [item.detach().cpu().clone() for item in (*net.parameters(), *states)]


def _alike(here: list[Any], there: list[Any]) -> bool:
    pairs = zip(here, there, strict=True)
    return all(a.shape == b.shape and a.stride() == b.stride() and torch.allclose(a.float(), b.float(), 1e-4, 1e-6) for a, b in pairs)


def optimizers() -> list[str]:
    """Return optimizers whose numbers differ from the CPU's, or that launch over 1.5 times what torch's foreach form launches (one more for
    SGD)."""
    wrong = []
    for name, (make, most) in FOREACH.items():
        found = []
        for place in ("cpu", "npu"):
            net = _net(place)
            optimizer = make(net.parameters())
            torch.manual_seed(1)
            for _ in range(8):
                optimizer.zero_grad()
                _backward(net, place)
                with cost.counted() as step:
                    optimizer.step()
            found.append(_values(net, optimizer))
        kernels = sum(step.kernels.values()) + sum(step.casts.values())
        if not _alike(*found) or kernels > max(1.5 * most, 2):
            wrong.append(f"{name}: {kernels} kernels, alike {_alike(*found)}")
    return wrong


def _state_written(net: Any, optimizer: Any) -> None:
    for state in optimizer.state.values():
        state["exp_avg"].mul_(0.5)


def _reloaded(net: Any, optimizer: Any) -> None:
    file = io.BytesIO()
    torch.save({"net": net.state_dict(), "optimizer": optimizer.state_dict()}, file)
    file.seek(0)
    saved = torch.load(file)
    with torch.no_grad():
        for parameter in net.parameters():
            parameter.zero_()
    net.load_state_dict(saved["net"])
    optimizer.load_state_dict(saved["optimizer"])


def _no_gradient(net: Any, optimizer: Any) -> None:
    net[2].weight.grad = None


def _one_row(net: Any, optimizer: Any) -> None:
    with torch.no_grad():
        net[0].weight[1] = 0.25


def _frozen(net: Any, optimizer: Any) -> None:
    net[0].bias.requires_grad_(not net[0].bias.requires_grad)


def _halved(net: Any, optimizer: Any) -> None:
    net[0].weight.data = net[0].weight.data * 0.5


def _added(net: Any, optimizer: Any) -> None:
    if len(optimizer.param_groups) == 1:
        optimizer.add_param_group({"params": [nn.Parameter(torch.ones((), device=net[0].weight.device))], "lr": 0.5})
    optimizer.param_groups[1]["params"][0].grad = torch.ones((), device=net[0].weight.device)


def gaps() -> list[str]:
    """Return optimizers that differ from the CPU's if parameters have had different numbers of steps."""
    wrong = []
    for name, (make, _) in FOREACH.items():
        found = []
        for place in ("cpu", "npu"):
            net = _net(place)
            optimizer = make(net.parameters())
            torch.manual_seed(4)
            for i in range(6):
                optimizer.zero_grad()
                _backward(net, place)
                if i in (0, 3):
                    net[0].weight.grad = net[2].bias.grad = None
                optimizer.step()
            found.append(_values(net, optimizer))
        if not _alike(*found):
            wrong.append(f"{name}, stepped unevenly")
    return wrong


EVENTS: dict[str, Callable[[Any, Any], Any]] = {
    "nothing": lambda net, optimizer: None, "a row is written": _one_row, "states are written": _state_written, "reloaded": _reloaded,
    "no gradient": _no_gradient, "frozen": _frozen, "data is replaced": _halved, "a group": _added,
    "clipped": lambda net, optimizer: nn.utils.clip_grad_norm_(net.parameters(), 0.1),
    "averaged": lambda net, optimizer: [p.data.lerp_(torch.ones_like(p), 0.1) for p in net.parameters()],
    "copied": lambda net, optimizer: (copy.deepcopy(net), copy.deepcopy(optimizer.state_dict())),
    "rate": lambda net, optimizer: optimizer.param_groups[0].update(lr=optimizer.param_groups[0]["lr"] * 0.5),
    "one by one": lambda net, optimizer: optimizer.param_groups[0].update(foreach=False),
}  # fmt: skip


def events() -> list[str]:
    """Return the events between steps (loading, resizing, …) after which numbers differ from the CPU's."""
    wrong = []
    for name, event in EVENTS.items():
        found = []
        for place in ("cpu", "npu"):
            net = _net(place)
            optimizer = optim.AdamW(net.parameters(), lr=0.01)
            seen = net[0].weight.view(-1)
            torch.manual_seed(2)
            values = []
            for i in range(7):
                optimizer.zero_grad(set_to_none=i % 2 == 0)
                _backward(net, place)
                if i % 3 == 2:
                    event(net, optimizer)
                optimizer.step()
                values += [net[2].bias._version > 0, *_values(net, optimizer)]
            if name != "data is replaced":
                values.append(seen.detach().cpu())
            found.append([torch.as_tensor(value) for value in values])
        if not _alike(*found):
            wrong.append(name)
    return wrong


def scaler() -> list[str]:
    """Return steps with scaled gradients, some of them infinite, that differ from the CPU's, or read more than one flag."""
    wrong, found = [], []
    for place in ("cpu", "npu"):
        net = _net(place)
        optimizer = optim.SGD(net.parameters(), 0.1, 0.9)
        scale = torch.amp.GradScaler(place, init_scale=8.0, growth_interval=2)
        torch.manual_seed(3)
        values = []
        for i in range(7):
            optimizer.zero_grad()
            with cost.counted() as step:
                loss = net(torch.randn(8, 6).to(place)).square().mean()
                scale.scale(loss).backward()
                if i in (2, 3):
                    net[2].weight.grad[1, 2] = float("inf") if i == 2 else float("nan")
                if i % 2:
                    scale.unscale_(optimizer)
                scale.step(optimizer)
                scale.update()
            if place == "npu" and sum(step.reads.values()) > 1:
                wrong.append(f"step {i} reads {dict(step.reads)}")
            values += [torch.tensor(scale.get_scale()), *_values(net, optimizer)]
        found.append(values)
    return wrong + ([] if _alike(*found) else ["scaled steps differ"])


def clipped() -> list[str]:
    """Check gradient clipping of all parameters at once: values, the memory of views, and that a NaN does not affect later steps."""
    wrong = []
    utils = nn.utils
    for name, clip, fresh, broken in (
        ("norm", lambda p: utils.clip_grad_norm_(p, 0.5), True, None), ("norm, kept gradients", lambda p: utils.clip_grad_norm_(p, 0.5), False, None),
        ("NaN", lambda p: utils.clip_grad_norm_(p, 0.5), True, 1), ("NaN, kept gradients", lambda p: utils.clip_grad_norm_(p, 0.5), False, 1),
        ("largest", lambda p: utils.clip_grad_norm_(p, 0.5, float("inf")), True, None), ("smallest", lambda p: utils.clip_grad_norm_(p, 0.5, -1.0), True, None),
        ("values", lambda p: utils.clip_grad_value_(p, 0.1), True, None), ("no order", lambda p: utils.clip_grad_norm_(p, 0.5, 0.0), False, None),
    ):  # fmt: skip
        found: list[list[Any]] = []
        for place in ("cpu", "npu"):
            net, values = _net(place), []
            optimizer = optim.AdamW(net.parameters(), lr=0.01)
            torch.manual_seed(5)
            for i in range(4):
                optimizer.zero_grad(set_to_none=fresh)
                _backward(net, place)
                if i == broken:
                    net[0].bias.grad[1] = float("nan")
                seen = net[2].weight.grad.view(-1)
                with cost.counted() as step:
                    total = clip(net.parameters())
                values += [item.detach().cpu().clone() for item in (*(p.grad for p in net.parameters()), seen, *([] if total is None else [total]))]
                if i == broken:
                    for parameter in net.parameters():
                        parameter.grad.zero_()
                optimizer.step()
            found.append([*values, *_values(net, optimizer)])
        alike = all(torch.allclose(a, b, 1e-4, 1e-6, equal_nan=True) for a, b in zip(*found, strict=True))
        if not alike or (fresh and name != "smallest" and sum(step.kernels.values()) > 7):
            wrong.append(f"{name}: alike {alike}, {dict(step.kernels)}")
    return wrong


def memory() -> list[str]:
    """Return the copies of parameters that change with them, and the views that do not, if a kernel writes into the parameters' memory."""

    def in_place(*args: Any) -> Any:
        found = table.HOST["adamw_step"].function(*[item.asnumpy().copy() if hasattr(item, "asnumpy") else item for item in args])
        for raw, new in zip((args[0], args[2], args[3]), found):
            raw.asnumpy()[...] = new
        return args[0], args[2], args[3]

    net = _net("npu")
    optimizer = optim.AdamW(net.parameters(), lr=0.1)
    _backward(net, "npu")
    optimizer.step()
    wrong = []
    copies, views = [p.detach().clone() for p in net.parameters()], [p.detach().view(-1) for p in net.parameters()]
    before = [(item.cpu(), view.cpu()) for item, view in zip(copies, views)]
    kept, table.kernel("adamw_step")["float32"] = table.kernel("adamw_step")["float32"], in_place
    optimizer.zero_grad()
    _backward(net, "npu")
    optimizer.step()
    table.kernel("adamw_step")["float32"] = kept
    for place, (parameter, item, view, (old, _)) in enumerate(zip(net.parameters(), copies, views, before)):
        if not torch.equal(item.cpu(), old):
            wrong.append(f"copy {place} changed")
        if not torch.equal(view.cpu(), parameter.detach().cpu().view(-1)) or torch.equal(parameter.detach().cpu(), old):
            wrong.append(f"view {place} stayed")
    return wrong


if __name__ == "__main__":
    print(optimizers() + gaps() + events() + scaler() + clipped() + memory())
