"""Parts of training and evaluation programs, for ``programs.py``: each is a function of a device that returns a function to count."""
from __future__ import annotations

import copy
import io
from collections.abc import Callable
from typing import Any

from .launched import _torch

Run = Callable[[], Any]


def _net(place: str) -> Any:
    torch = _torch()
    nn = torch.nn
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 4)).to(place)


def _batch(place: str) -> tuple[Any, Any]:
    torch = _torch()
    return torch.randn(8, 16).to(place), torch.randint(4, (8,)).to(place)


def _step(change: Callable[..., Any], make: Callable[..., Any] | None = None) -> Callable[[str], Run]:
    """Return a program: ``change(torch, net, optimizer, loss, state)`` takes the step in its own way; ``state`` is a dictionary to keep things in."""

    def program(place: str) -> Run:
        torch = _torch()
        net, (x, y) = _net(place), _batch(place)
        optimizer = make(torch, net) if make else torch.optim.AdamW(net.parameters(), lr=1e-3, foreach=True)
        state: dict[str, Any] = {"place": place, "x": x, "y": y}

        def loss() -> Any:
            return torch.nn.functional.cross_entropy(net(x), y)

        return lambda: change(torch, net, optimizer, loss, state)

    return program


def _plain(torch: Any, net: Any, optimizer: Any, loss: Any, state: Any) -> None:
    optimizer.zero_grad()
    loss().backward()
    optimizer.step()


def _accumulated(torch: Any, net: Any, optimizer: Any, loss: Any, state: Any) -> None:
    optimizer.zero_grad(set_to_none=False)
    for _ in range(4):
        (loss() / 4).backward()
    optimizer.step()


def _clipped(torch: Any, net: Any, optimizer: Any, loss: Any, state: Any) -> None:
    optimizer.zero_grad()
    loss().backward()
    torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0, foreach=True)
    optimizer.step()


def _clipped_values(torch: Any, net: Any, optimizer: Any, loss: Any, state: Any) -> None:
    optimizer.zero_grad()
    loss().backward()
    torch.nn.utils.clip_grad_value_(net.parameters(), 0.5, foreach=True)
    optimizer.step()


def _scaled(torch: Any, net: Any, optimizer: Any, loss: Any, state: Any) -> None:
    scaler = state.setdefault("scaler", torch.amp.GradScaler(state["place"]))
    optimizer.zero_grad()
    with torch.autocast(state["place"], torch.float16 if state["place"] != "cpu" else torch.bfloat16):
        found = loss()
    scaler.scale(found).backward()
    scaler.unscale_(optimizer)
    torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0, foreach=True)
    scaler.step(optimizer)
    scaler.update()


def _averaged(torch: Any, net: Any, optimizer: Any, loss: Any, state: Any) -> None:
    mean = state.setdefault("mean", copy.deepcopy(net))
    _plain(torch, net, optimizer, loss, state)
    with torch.no_grad():
        for kept, now in zip(mean.parameters(), net.parameters()):
            kept.lerp_(now, 0.01)


def _averaged_model(torch: Any, net: Any, optimizer: Any, loss: Any, state: Any) -> None:
    swa = torch.optim.swa_utils
    mean = state.setdefault("mean", swa.AveragedModel(net, multi_avg_fn=swa.get_ema_multi_avg_fn(0.99)))
    _plain(torch, net, optimizer, loss, state)
    mean.update_parameters(net)


def _logged(torch: Any, net: Any, optimizer: Any, loss: Any, state: Any) -> float:
    optimizer.zero_grad()
    found = loss()
    found.backward()
    optimizer.step()
    state.setdefault("scheduler", torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 100)).step()
    return float(found.item())


def _optimizer(name: str, **rest: Any) -> Callable[[str], Run]:
    return _step(_plain, lambda torch, net: getattr(torch.optim, name)(net.parameters(), **rest))


def _saved(torch: Any, net: Any, optimizer: Any, loss: Any, state: Any) -> Any:
    if "done" not in state:
        state["done"] = _plain(torch, net, optimizer, loss, state)
    file = state["file"] = io.BytesIO()
    torch.save({"model": net.state_dict(), "optimizer": optimizer.state_dict()}, file)


def _loaded(torch: Any, net: Any, optimizer: Any, loss: Any, state: Any) -> Any:
    if "file" not in state:
        _saved(torch, net, optimizer, loss, state)
    state["file"].seek(0)
    found = torch.load(state["file"], map_location=state["place"], weights_only=True)
    net.load_state_dict(found["model"])
    optimizer.load_state_dict(found["optimizer"])


def _loaded_to_cpu(torch: Any, net: Any, optimizer: Any, loss: Any, state: Any) -> Any:
    if "file" not in state:
        _saved(torch, net, optimizer, loss, state)
    state["file"].seek(0)
    found = torch.load(state["file"], map_location="cpu", weights_only=True)
    net.load_state_dict(found["model"])


def _restored(torch: Any, net: Any, optimizer: Any, loss: Any, state: Any) -> None:
    optimizer.load_state_dict(optimizer.state_dict())
    _plain(torch, net, optimizer, loss, state)


def _evaluated(torch: Any, net: Any, optimizer: Any, loss: Any, state: Any) -> float:
    with torch.inference_mode():
        right = (net(state["x"]).argmax(1) == state["y"]).sum().item()
    return float(right)


def _metrics(torch: Any, net: Any, optimizer: Any, loss: Any, state: Any) -> Any:
    with torch.no_grad():
        scores = net(state["x"])
        guess, y = scores.argmax(1), state["y"]
        matrix = torch.zeros(4, 4, dtype=torch.int64, device=y.device).index_put_((y, guess), torch.ones_like(y), accumulate=True)
        top = (scores.topk(2, 1)[1] == y[:, None]).any(1).float().mean()
        diagonal = matrix.diagonal()
        return diagonal / matrix.sum(0).clamp(min=1), diagonal / matrix.sum(1).clamp(min=1), top


def _generated(torch: Any, net: Any, optimizer: Any, loss: Any, state: Any) -> Any:
    """Return a program: attention generates four tokens, with keys and values written into memory of a fixed length."""
    place, heads, width, most = state["place"], 2, 16, 16
    with torch.inference_mode():
        if "table" not in state:
            torch.manual_seed(0)
            state.update(table=torch.randn(20, 32).to(place), w=torch.randn(32, 96).to(place), keys=torch.zeros(1, heads, most, width).to(place))
            state["values"] = torch.zeros_like(state["keys"])
        token, keys, values = torch.ones(1, 1, dtype=torch.int64, device=place), state["keys"], state["values"]
        found = []
        for place_ in torch.arange(4, device=place).split(1):
            x = state["table"][token]
            q, k, v = ((x @ state["w"]).view(1, 1, 3, heads, width)).unbind(2)
            keys.index_copy_(2, place_, k.transpose(1, 2))
            values.index_copy_(2, place_, v.transpose(1, 2))
            mask = torch.arange(most, device=place) <= place_
            y = torch.nn.functional.scaled_dot_product_attention(q.transpose(1, 2), keys, values, mask[None])
            token = (y.reshape(1, 1, 32) @ state["table"].t()).argmax(-1)
            found.append(token)
        return torch.cat(found, 1)


def _generated_by_cat(torch: Any, net: Any, optimizer: Any, loss: Any, state: Any) -> Any:
    """Return a program: attention generates four tokens, with growing keys and values; tokens are drawn from the three likeliest."""
    place, heads, width = state["place"], 2, 16
    with torch.no_grad():
        if "table" not in state:
            torch.manual_seed(0)
            state.update(table=torch.randn(20, 32).to(place), w=torch.randn(32, 96).to(place))
        token = torch.ones(1, 1, dtype=torch.int64, device=place)
        keys = values = None
        for _ in range(4):
            x = state["table"][token]
            q, k, v = (part.transpose(1, 2) for part in ((x @ state["w"]).view(1, 1, 3, heads, width)).unbind(2))
            keys, values = (k, v) if keys is None else (torch.cat([keys, k], 2), torch.cat([values, v], 2))
            y = torch.nn.functional.scaled_dot_product_attention(q, keys, values)
            scores = (y.transpose(1, 2).reshape(1, 32) @ state["table"].t()) / 0.8
            scores = scores.masked_fill(scores < scores.topk(3)[0][:, -1:], float("-inf"))
            token = torch.multinomial(scores.softmax(-1), 1)
        return token


def _with_loader(torch: Any, net: Any, optimizer: Any, loss: Any, state: Any) -> None:
    """Return a program: a step with a batch that is sent from the host without a wait."""
    x, y = _batch("cpu")
    x, y = x.to(state["place"], non_blocking=True), y.to(state["place"], non_blocking=True)
    optimizer.zero_grad()
    torch.nn.functional.cross_entropy(net(x), y).backward()
    optimizer.step()


def _checkpointed(torch: Any, net: Any, optimizer: Any, loss: Any, state: Any) -> None:
    optimizer.zero_grad()
    x = torch.utils.checkpoint.checkpoint(net, state["x"], use_reentrant=False)
    torch.nn.functional.cross_entropy(x, state["y"]).backward()
    optimizer.step()


def _penalised(torch: Any, net: Any, optimizer: Any, loss: Any, state: Any) -> None:
    """Return a program: a gradient penalty."""
    optimizer.zero_grad()
    x = state["x"].detach().requires_grad_()
    (slope,) = torch.autograd.grad(net(x).sum(), x, create_graph=True)
    ((slope.norm(dim=1) - 1) ** 2).mean().backward()
    optimizer.step()


def _compiled(torch: Any, net: Any, optimizer: Any, loss: Any, state: Any) -> None:
    made = state.setdefault("made", torch.compile(net) if state["place"] != "cpu" else net)
    optimizer.zero_grad()
    torch.nn.functional.cross_entropy(made(state["x"]), state["y"]).backward()
    optimizer.step()


FLOWS: dict[str, Callable[[str], Run]] = {
    "step": _step(_plain), "batch of a loader": _step(_with_loader), "accumulation": _step(_accumulated), "clip_grad_norm_": _step(_clipped), "clip_grad_value_": _step(_clipped_values),
    "GradScaler": _step(_scaled), "EMA by lerp_": _step(_averaged), "AveragedModel": _step(_averaged_model), "loss.item(), scheduler": _step(_logged),
    "save": _step(_saved), "load": _step(_loaded), "load by the CPU": _step(_loaded_to_cpu), "load_state_dict": _step(_restored), "evaluation": _step(_evaluated), "metrics": _step(_metrics),
    "generate, fixed memory": _step(_generated), "generate, cat": _step(_generated_by_cat), "checkpoint": _step(_checkpointed), "gradient penalty": _step(_penalised), "compile": _step(_compiled),
    "SGD": _optimizer("SGD", lr=0.1, foreach=True), "Adam, one by one": _optimizer("Adam", foreach=False), "AdamW, fused": _optimizer("AdamW", fused=True),
    "ASGD": _optimizer("ASGD", foreach=True), "Adagrad": _optimizer("Adagrad", foreach=True), "Adafactor": _optimizer("Adafactor", lr=1e-3, foreach=True), "RMSprop": _optimizer("RMSprop", foreach=True),
    "NAdam": _optimizer("NAdam", foreach=True), "Rprop": _optimizer("Rprop", foreach=True), "LBFGS": _step(lambda torch, net, optimizer, loss, state: optimizer.step(lambda: _closure(optimizer, loss)), lambda torch, net: torch.optim.LBFGS(net.parameters(), max_iter=4)),
}  # fmt: skip


def _closure(optimizer: Any, loss: Any) -> Any:
    optimizer.zero_grad()
    found = loss()
    found.backward()
    return found
