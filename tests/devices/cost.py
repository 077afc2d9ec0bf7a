"""Cost of training steps on the stand-in device; ``python -m tests.devices.cost [steps

moves

reads

writes] [name…]`` prints it.
"""
from __future__ import annotations

import importlib
import json
import pathlib
import sys
from collections.abc import Callable
from typing import Any

import mstorch as torch
from mstorch._src.backend import cost

F, nn = torch.nn.functional, torch.nn
MODELS = pathlib.Path(__file__).parents[2] / "examples" / "models"


def _mlp() -> tuple[Any, Any, Callable[[], Any], Callable[..., Any]]:
    net = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 4)).npu()
    return net, torch.optim.AdamW(net.parameters()), lambda: (torch.randn(8, 16), torch.randint(4, (8,))), lambda model, x, y: F.cross_entropy(model(x), y)


def _lstm() -> tuple[Any, Any, Callable[[], Any], Callable[..., Any]]:
    net = nn.LSTM(8, 16, 2).npu()
    return net, torch.optim.SGD(net.parameters(), 0.1), lambda: (torch.randn(10, 4, 8),), lambda model, x: model(x)[0].square().mean()


def _example(name: str) -> tuple[Any, Any, Callable[[], Any], Callable[..., Any]]:
    if str(MODELS) not in sys.path:
        torch.install()
        sys.path.insert(0, str(MODELS))
    example = importlib.import_module(name)
    model, optimizer = example.build()
    return model.npu(), optimizer, example.batch, example.loss


STEPS: dict[str, Callable[[], Any]] = {
    "MLP, AdamW": _mlp, "ResNet-18, SGD": lambda: _example("resnet"), "GPT, AdamW": lambda: _example("gpt"), "UNet": lambda: _example("unet"), "LSTM, SGD": _lstm,
}  # fmt: skip


def step(name: str) -> cost.Cost:
    """Return the cost of the third training step."""
    torch.manual_seed(0)
    model, optimizer, batch, loss = STEPS[name]()
    for _ in range(2):
        _once(model, optimizer, [part.npu() for part in batch()], loss)
    parts = [part.npu() for part in batch()]
    with cost.counted() as found:
        _once(model, optimizer, parts, loss)
    return found


def _once(model: Any, optimizer: Any, parts: list[Any], loss: Callable[..., Any]) -> None:
    optimizer.zero_grad()
    loss(model, *parts).backward()
    optimizer.step()


# Data movements and views of a (4, 6, 8) tensor that need no table of positions in forward or backward.
MOVES: dict[str, Callable[[Any], Any]] = {
    "view": lambda x: x.view(24, 8), "view, flat": lambda x: x.view(-1), "reshape": lambda x: x.reshape(8, 24), "flatten": lambda x: x.flatten(1),
    "unflatten": lambda x: x.unflatten(2, (2, 4)), "transpose": lambda x: x.transpose(0, 2), "mT": lambda x: x.mT, "permute": lambda x: x.permute(2, 0, 1),
    "movedim": lambda x: x.movedim(0, 2), "swapaxes": lambda x: x.swapaxes(0, 1), "contiguous": lambda x: x.transpose(0, 1).contiguous(),
    "reshape of a transposed": lambda x: x.transpose(0, 2).reshape(-1), "squeeze": lambda x: x[:, :1].squeeze(1), "unsqueeze": lambda x: x.unsqueeze(1),
    "None": lambda x: x[..., None], "expand": lambda x: x[:, None].expand(4, 3, 6, 8), "expand_as": lambda x: x[:1].expand_as(x),
    "broadcast_to": lambda x: x[:, :1].broadcast_to(4, 6, 8), "select": lambda x: x.select(1, 2), "int": lambda x: x[1], "negative int": lambda x: x[:, -1],
    "slice": lambda x: x[1:3], "slice, inner": lambda x: x[:, 1:3, 2:], "slice with steps": lambda x: x[:, ::2], "steps and start": lambda x: x[1:, 1::3, ::2],
    "last": lambda x: x[:, -1:], "Ellipsis": lambda x: x[..., 3], "mixed": lambda x: x[1, :, None, ::3], "empty": lambda x: x[2:2],
    "narrow": lambda x: x.narrow(1, 2, 3), "chunk": lambda x: x.chunk(3, 1)[1], "all chunks": lambda x: sum(x.chunk(2, 2)), "split": lambda x: x.split(4, 1)[0],
    "split of sizes": lambda x: x.split([1, 2, 3], 1)[2] * 2 + x.split([1, 2, 3], 1)[2], "unbind": lambda x: x.unbind(1)[3], "unbind, all": lambda x: sum(x.unbind(0)),
    "tensor_split": lambda x: x.tensor_split(4, 1)[1], "hsplit": lambda x: x.hsplit(2)[1], "iteration": lambda x: sum(row for row in x),
    "diagonal": lambda x: x.diagonal(0, 1, 2), "diagonal beside": lambda x: x.diagonal(1, 0, 2), "as_strided": lambda x: x.as_strided((3, 4), (16, 2), 5),
    "as_strided, shared": lambda x: x.as_strided((3, 4), (2, 2)), "unfold": lambda x: x.unfold(2, 3, 2), "unfold, apart": lambda x: x.unfold(1, 2, 3),
    "flip": lambda x: x.flip(0, 2), "fliplr": lambda x: x.fliplr(), "roll": lambda x: x.roll(2, 1), "roll, flat": lambda x: x.roll(3),
    "rot90": lambda x: x.rot90(1, (0, 1)), "tril": lambda x: x.tril(), "triu": lambda x: x.triu(1), "repeat": lambda x: x.repeat(2, 1, 3), "tile": lambda x: x.tile(2),
    "cat": lambda x: torch.cat([x, x[:1], x * 2]), "stack": lambda x: torch.stack([x, x * 2], 1), "hstack": lambda x: torch.hstack([x, x]),
    "pad": lambda x: F.pad(x, (1, 2, 0, 1), value=3.0), "pad, cut": lambda x: F.pad(x, (-1, 2)), "reflect": lambda x: F.pad(x, (1, 2), "reflect"),
    "replicate": lambda x: F.pad(x, (1, 2), "replicate"), "circular": lambda x: F.pad(x, (1, 2), "circular"), "clone": lambda x: x.clone(),
    "F.unfold": lambda x: F.unfold(x[None], 2), "F.fold": lambda x: F.fold(x.reshape(1, 8, 24)[..., :20], (5, 6), 2), "pixel_shuffle": lambda x: F.pixel_shuffle(x[None], 2),
    "meshgrid": lambda x: torch.meshgrid(x[0, 0], x[0, 1], indexing="ij")[0], "atleast_3d": lambda x: torch.atleast_3d(x[0]), "kron": lambda x: torch.kron(x[0, 0], x[0, 1]),
    "half": lambda x: x.half(), "view_as_real": lambda x: torch.view_as_real(torch.complex(x, x)), "block_diag": lambda x: torch.block_diag(x[0], x[1]),
}  # fmt: skip


def _moved(function: Callable[[Any], Any], x: Any) -> tuple[Any, Any, Any]:
    """Return the result of a data movement, its gradient, and the gradient of the gradient."""
    found = function(x)
    weight = (found.detach() + 1).square()
    (first,) = torch.autograd.grad((found * weight).sum(), x, create_graph=True)
    (second,) = torch.autograd.grad((first * first * x).sum() + (function(x) ** 3).sum(), x)
    return found, first, second


def moves() -> dict[str, Any]:
    """Return the cost of each movement, forward and backward; ``wrong`` is set where results differ from the host's."""
    costs = {}
    for name, function in MOVES.items():
        values = torch.arange(192.0).reshape(4, 6, 8) / 100
        here = _moved(function, values.requires_grad_())
        there = values.detach().npu().requires_grad_()
        function(there)  # a table of positions that depends on sizes only is sent once
        with cost.counted() as found:
            moved = function(there)
        weight = (moved.detach() + 1).square()
        with cost.counted() as back:
            moved.backward(weight)
        pairs = [*zip(here, _moved(function, there)), (here[1], there.grad)]
        wrong = not all(torch.allclose(a, b.cpu(), 1e-4, 1e-5) for a, b in pairs)
        costs[name] = {"forward": found.numbers(), "backward": back.numbers(), "wrong": wrong}
    return costs


# Writes by positions and masks that are on the device: of x (64, 32), i and j (3) positions, m a mask of x, r one of its rows, v values.
WRITES: dict[str, Callable[..., Any]] = {
    "x[i] = number": lambda x, i, j, m, r, v: x.__setitem__(i, 0.5), "x[i] = rows": lambda x, i, j, m, r, v: x.__setitem__(i, v),
    "x[:, i] = number": lambda x, i, j, m, r, v: x.__setitem__((slice(None), i), 2.0), "x[i, j]": lambda x, i, j, m, r, v: x.__setitem__((i, j), v[:, 0]),
    "x[1:, i]": lambda x, i, j, m, r, v: x.__setitem__((slice(1, None), i), 3.0), "a view": lambda x, i, j, m, r, v: x[::2, 1:].__setitem__(i, 1.0),
    "x[m] = number": lambda x, i, j, m, r, v: x.__setitem__(m, 0.0), "x[r] = number": lambda x, i, j, m, r, v: x.__setitem__(r, 1.0),
    "x[m] = tensor": lambda x, i, j, m, r, v: x.__setitem__(m, v[0, 0]), "x[:, mask]": lambda x, i, j, m, r, v: x.__setitem__((slice(None), m[0]), 2.0),
    "x[3:9, mask]": lambda x, i, j, m, r, v: x.__setitem__((slice(3, 9), m[1]), 2.0), "x[..., None, mask]": lambda x, i, j, m, r, v: x.__setitem__((..., None, m[2]), 4.0),
    "index_put_": lambda x, i, j, m, r, v: x.index_put_((i, j), v[:, 0]), "index_put_, added": lambda x, i, j, m, r, v: x.index_put_((i,), v, accumulate=True),
    "index_add_": lambda x, i, j, m, r, v: x.index_add_(0, i, v), "index_copy_": lambda x, i, j, m, r, v: x.index_copy_(0, i, v),
    "index_copy_ of a view": lambda x, i, j, m, r, v: x[:, 4:20].index_copy_(0, i, v[:, :16]), "index_fill_": lambda x, i, j, m, r, v: x.index_fill_(0, i, 2.0),
    "masked_fill_": lambda x, i, j, m, r, v: x.masked_fill_(m, 2.0), "scatter_": lambda x, i, j, m, r, v: x.scatter_(0, i[:, None], v[:, :1]),
    "scatter_add_": lambda x, i, j, m, r, v: x.scatter_add_(0, i[:, None], v[:, :1]), "put_": lambda x, i, j, m, r, v: x.put_(i, v[:, 0]),
    "put_, added": lambda x, i, j, m, r, v: x.put_(i, v[:, 0], accumulate=True), "transposed": lambda x, i, j, m, r, v: x.t().__setitem__(i, 5.0),
}  # fmt: skip


def _written_by(function: Callable[..., Any], place: str, track: bool) -> tuple[Any, Any, dict[str, Any]]:
    """Return a tensor after a write, the gradient of its old values, and the cost of the write."""
    leaf = (torch.arange(64.0 * 32).reshape(64, 32) / 100).to(place).requires_grad_(track)
    x = leaf * 1
    i, j = (torch.tensor(rows).to(place) + 0 for rows in ([3, 1, 2], [5, -6, 0]))
    m = (x.detach() * 100).round() % 3 == 0
    given = i, j, m, m[:, 0], torch.arange(96.0).to(place).reshape(3, 32) + 1
    with cost.counted() as found:
        function(x, *given)
    if track:
        (x * x).sum().backward()
    return x.detach(), leaf.grad, found.numbers()


def writes() -> dict[str, Any]:
    """Return the cost of each write; ``wrong`` is set where the written tensor or a gradient differs from the host's."""
    costs = {}
    for name, function in WRITES.items():
        _written_by(function, "npu", False)
        pairs = [(_written_by(function, "cpu", track), _written_by(function, "npu", track)) for track in (False, True)]
        wrong = not all(torch.allclose(here[0], there[0].cpu()) for here, there in pairs)
        here, there = pairs[1]
        costs[name] = {**pairs[0][1][2], "wrong": wrong or not torch.allclose(here[1], there[1].cpu())}
    return costs


def _places(x: Any, most: int) -> Any:
    """Return positions below a number, computed on the device."""
    return (x.detach().abs() * 1000).long() % most


D = torch.distributions
# Calls that read nothing from a device: of x (6, 8) with a gradient, i (6, 8) and v (6) positions below 6 on the device, m a mask.
CALLS: dict[str, Callable[..., Any]] = {
    "embedding": lambda x, i, v, m: F.embedding(i, x), "embedding, padding": lambda x, i, v, m: F.embedding(v, x, padding_idx=1),
    "embedding_bag": lambda x, i, v, m: F.embedding_bag(i, x), "embedding_bag, sum": lambda x, i, v, m: F.embedding_bag(i, x, mode="sum"),
    "embedding, frequency": lambda x, i, v, m: F.embedding(v, x, scale_grad_by_freq=True), "one_hot": lambda x, i, v, m: F.one_hot(v, 6) * x[:, :1],
    "gather": lambda x, i, v, m: x.gather(0, i), "gather, inner": lambda x, i, v, m: x.gather(1, i[:, :3]), "take": lambda x, i, v, m: x.take(i),
    "index_select": lambda x, i, v, m: x.index_select(0, v), "index_select, inner": lambda x, i, v, m: x.index_select(1, v),
    "take_along_dim": lambda x, i, v, m: torch.take_along_dim(x, i, 0), "index": lambda x, i, v, m: x[v], "index, inner": lambda x, i, v, m: x[:, v],
    "index, pairs": lambda x, i, v, m: x[v, v], "index, two": lambda x, i, v, m: x[i], "index, range": lambda x, i, v, m: x[torch.arange(6, device=x.device), v],
    "sort": lambda x, i, v, m: x.sort(1)[0], "sort, stable": lambda x, i, v, m: x.sort(dim=0, descending=True, stable=True)[0], "argsort": lambda x, i, v, m: x.argsort(1) * x,
    "msort": lambda x, i, v, m: x.msort(), "topk": lambda x, i, v, m: x.topk(3)[0], "kthvalue": lambda x, i, v, m: x.kthvalue(2, 1)[0],
    "max": lambda x, i, v, m: x.max(), "max(dim)": lambda x, i, v, m: x.max(1)[0], "min(dim)": lambda x, i, v, m: x.min(0)[0], "amax": lambda x, i, v, m: x.amax(1),
    "amin": lambda x, i, v, m: x.amin((0, 1)), "aminmax": lambda x, i, v, m: sum(x.aminmax(dim=1)), "median": lambda x, i, v, m: x.median(),
    "median(dim)": lambda x, i, v, m: x.median(1)[0], "mode": lambda x, i, v, m: x.mode(1)[0], "maximum": lambda x, i, v, m: torch.maximum(x, x.flip(0)),
    "fmax": lambda x, i, v, m: torch.fmax(x, x.flip(0)), "argmax": lambda x, i, v, m: x.argmax(1) * x[:, 0], "cummax": lambda x, i, v, m: x.cummax(1)[0],
    "cumsum": lambda x, i, v, m: x.cumsum(1), "cumsum of positions": lambda x, i, v, m: i.cumsum(0) * x, "logcumsumexp": lambda x, i, v, m: x.logcumsumexp(1),
    "logsumexp": lambda x, i, v, m: x.logsumexp(1), "sum": lambda x, i, v, m: x.sum(1), "mean": lambda x, i, v, m: x.mean(), "var": lambda x, i, v, m: x.var(1),
    "std": lambda x, i, v, m: x.std(1), "std_mean": lambda x, i, v, m: sum(torch.std_mean(x, 0)), "norm": lambda x, i, v, m: x.norm(),
    "norm, rows": lambda x, i, v, m: x.norm(dim=1), "norm, 1": lambda x, i, v, m: x.norm(1, 1), "norm, inf": lambda x, i, v, m: x.norm(float("inf"), 1),
    "normalize": lambda x, i, v, m: F.normalize(x), "cosine_similarity": lambda x, i, v, m: F.cosine_similarity(x, x.flip(0)),
    "pairwise_distance": lambda x, i, v, m: F.pairwise_distance(x, x.flip(0)), "cdist": lambda x, i, v, m: torch.cdist(x, x.flip(0)),
    "dist": lambda x, i, v, m: x.dist(x.flip(0)), "renorm": lambda x, i, v, m: x.renorm(2, 0, 1.0), "all": lambda x, i, v, m: m.all() * x, "any": lambda x, i, v, m: m.any(1) * x[:, 0],
    "where": lambda x, i, v, m: torch.where(m, x, 0.0), "masked_fill": lambda x, i, v, m: x.masked_fill(m, 2.0), "masked_scatter": lambda x, i, v, m: x.masked_scatter(m, x.flip(0)),
    "clamp": lambda x, i, v, m: x.clamp(-0.5, 0.5), "clamp by tensors": lambda x, i, v, m: x.clamp(x.flip(0) - 0.1, x.flip(0) + 0.1), "isnan": lambda x, i, v, m: x.isnan() * x,
    "nan_to_num": lambda x, i, v, m: x.nan_to_num(), "scatter": lambda x, i, v, m: x.scatter(0, i, x.flip(0)), "scatter, number": lambda x, i, v, m: x.scatter(1, i, 2.0),
    "scatter_add": lambda x, i, v, m: x.scatter_add(0, i, x), "index_add": lambda x, i, v, m: x.index_add(0, v, x), "index_copy": lambda x, i, v, m: x.index_copy(0, v.argsort(), x * 2),
    "index_fill": lambda x, i, v, m: x.index_fill(0, v, 3.0), "index_put, added": lambda x, i, v, m: x.index_put((v,), x * 2, accumulate=True),
    "index_put": lambda x, i, v, m: x.index_put((v.argsort(),), x * 2), "write by positions": lambda x, i, v, m: _written_at(x, v.argsort()),
    "cross_entropy": lambda x, i, v, m: F.cross_entropy(x, v), "cross_entropy, smooth": lambda x, i, v, m: F.cross_entropy(x, v, label_smoothing=0.1),
    "cross_entropy, weights": lambda x, i, v, m: F.cross_entropy(x, v, x.detach()[0].exp(), ignore_index=2, reduction="sum"),
    "cross_entropy, images": lambda x, i, v, m: F.cross_entropy(x.reshape(1, 6, 8), i[:1]), "cross_entropy, double": lambda x, i, v, m: F.cross_entropy(x.double(), v),
    "nll_loss": lambda x, i, v, m: F.nll_loss(x.log_softmax(1), v), "nll_loss, none": lambda x, i, v, m: F.nll_loss(x, v, reduction="none"),
    "multi_margin": lambda x, i, v, m: F.multi_margin_loss(x, v), "bce": lambda x, i, v, m: F.binary_cross_entropy(x.sigmoid(), m.float()),
    "bce with logits": lambda x, i, v, m: F.binary_cross_entropy_with_logits(x, m.float()), "kl_div": lambda x, i, v, m: F.kl_div(x.log_softmax(1), x.detach().softmax(1)),
    "mse": lambda x, i, v, m: F.mse_loss(x, x.detach().flip(0)), "smooth_l1": lambda x, i, v, m: F.smooth_l1_loss(x, x.detach().flip(0)), "huber": lambda x, i, v, m: F.huber_loss(x, x.flip(0)),
    "hinge": lambda x, i, v, m: F.hinge_embedding_loss(x, m.float() * 2 - 1), "triplet": lambda x, i, v, m: F.triplet_margin_loss(x, x.flip(0), x.flip(1)),
    "gaussian_nll": lambda x, i, v, m: F.gaussian_nll_loss(x, x.detach().flip(0), x.detach().abs() + 1), "poisson_nll": lambda x, i, v, m: F.poisson_nll_loss(x, x.detach().abs()),
    "softmax": lambda x, i, v, m: x.softmax(1), "gumbel_softmax": lambda x, i, v, m: F.gumbel_softmax(x), "dropout": lambda x, i, v, m: F.dropout(x, 0.3),
    "grid_sample": lambda x, i, v, m: F.grid_sample(x[None, None], x[:, :6].reshape(1, 3, 6, 2).detach()), "interpolate": lambda x, i, v, m: F.interpolate(x[None, None], scale_factor=2, mode="bilinear"),
    "nearest": lambda x, i, v, m: F.interpolate(x[None], scale_factor=2), "avg_pool2d": lambda x, i, v, m: F.avg_pool2d(x[None], 2), "avg_pool1d": lambda x, i, v, m: F.avg_pool1d(x, 2),
    "max_pool2d": lambda x, i, v, m: F.max_pool2d(x[None], 2), "adaptive_avg_pool2d": lambda x, i, v, m: F.adaptive_avg_pool2d(x[None], 2), "lp_pool": lambda x, i, v, m: F.lp_pool2d(x[None, None].abs(), 2, 2),
    "avg_pool2d, ceil_mode": lambda x, i, v, m: F.avg_pool2d(x[None], 3, 2, 1, ceil_mode=True), "avg_pool1d, ceil_mode": lambda x, i, v, m: F.avg_pool1d(x, 3, 2, 1, ceil_mode=True),
    "avg_pool2d, divisor": lambda x, i, v, m: F.avg_pool2d(x[None], 3, 2, ceil_mode=True, divisor_override=5), "avg_pool3d": lambda x, i, v, m: F.avg_pool3d(x.reshape(1, 2, 3, 8), 2, 1),
    "avg_pool3d, padding": lambda x, i, v, m: F.avg_pool3d(x.reshape(1, 3, 4, 4), 3, 2, 1, count_include_pad=False),
    "adaptive_avg_pool1d, uneven": lambda x, i, v, m: F.adaptive_avg_pool1d(x, 3), "adaptive_avg_pool2d, uneven": lambda x, i, v, m: F.adaptive_avg_pool2d(x[None], (4, 3)),
    "adaptive_avg_pool3d, uneven": lambda x, i, v, m: F.adaptive_avg_pool3d(x.reshape(1, 2, 3, 8), (2, 2, 5)), "area": lambda x, i, v, m: F.interpolate(x[None, None], size=(4, 3), mode="area"),
    "nearest-exact": lambda x, i, v, m: F.interpolate(x[None], scale_factor=1.7, mode="nearest-exact"), "antialias": lambda x, i, v, m: F.interpolate(x[None, None], size=(4, 3), mode="bilinear", antialias=True),
    "affine_grid": lambda x, i, v, m: F.affine_grid(x[None, :2, :3], (1, 1, 4, 5), align_corners=False), "affine_grid, solid": lambda x, i, v, m: F.affine_grid(x[None, :3, :4], (1, 1, 2, 4, 5), align_corners=True),
    "cdist, 1": lambda x, i, v, m: torch.cdist(x, x.flip(1), 1), "cdist, inf": lambda x, i, v, m: torch.cdist(x, x.flip(1), float("inf")), "cdist, 1.5": lambda x, i, v, m: torch.cdist(x, x.flip(1), 1.5),
    "select_scatter": lambda x, i, v, m: x.select_scatter(x[0] * 2, 0, 2), "slice_scatter": lambda x, i, v, m: x.slice_scatter(x[:2] * 2, 0, 1, 3),
    "diagonal_scatter": lambda x, i, v, m: x.diagonal_scatter(x[:, 0] * 2), "embedding_bag, max": lambda x, i, v, m: F.embedding_bag(i, x, mode="max"),
    "embedding_bag, weights": lambda x, i, v, m: F.embedding_bag(i, x, mode="sum", per_sample_weights=x * 2), "embedding_bag, padding": lambda x, i, v, m: F.embedding_bag(i, x, padding_idx=2),
    "arange of small integers": lambda x, i, v, m: x[:, :5] * torch.arange(5, dtype=torch.int16, device=x.device), "arange of floats": lambda x, i, v, m: x * torch.arange(0, 16, 2, dtype=torch.float32, device=x.device),
    "multinomial": lambda x, i, v, m: torch.multinomial(x.detach().softmax(1), 2) * x[:, :2], "bernoulli": lambda x, i, v, m: torch.bernoulli(x.sigmoid()) * x,
    "Normal.rsample": lambda x, i, v, m: D.Normal(x, x.exp()).rsample(), "Categorical": lambda x, i, v, m: D.Categorical(logits=x).log_prob(v), "pow": lambda x, i, v, m: x.abs() ** x.detach(),
    "attention": lambda x, i, v, m: F.scaled_dot_product_attention(x[None], x[None], x[None]), "attention, mask": lambda x, i, v, m: F.scaled_dot_product_attention(x[None], x[None], x[None], attn_mask=m[:, :6]),
    "attention, float mask": lambda x, i, v, m: F.scaled_dot_product_attention(x[None], x[None], x[None], attn_mask=torch.zeros(6, 6, device=x.device).masked_fill(m[:, :6], -torch.inf)),
    "searchsorted": lambda x, i, v, m: torch.searchsorted(x.detach().sort(1)[0], x.detach()) * x, "bucketize": lambda x, i, v, m: torch.bucketize(x.detach(), x.detach()[0].sort()[0]) * x,
    "repeat_interleave, output_size": lambda x, i, v, m: x.repeat_interleave((v * 0 + 2), 0, output_size=12),
    "histc": lambda x, i, v, m: x.histc(5, -1, 1), "histc of integers": lambda x, i, v, m: (v if v.is_npu else v.float()).histc(6, 0, 5).float(),
    "prelu": lambda x, i, v, m: F.prelu(x, x[0, :1]), "lerp": lambda x, i, v, m: torch.lerp(x, x.flip(0), x.detach()), "diff": lambda x, i, v, m: x.diff(), "trapezoid": lambda x, i, v, m: torch.trapezoid(x),
    "remainder": lambda x, i, v, m: x % x.detach().abs(), "matmul": lambda x, i, v, m: x @ x.mT, "einsum": lambda x, i, v, m: torch.einsum("ij,kj->ik", x, x), "outer": lambda x, i, v, m: torch.outer(x[0], x[1]),
    "clip_grad_norm": lambda x, i, v, m: _clipped(x), "group_norm": lambda x, i, v, m: F.group_norm(x[None], 2), "batch_norm": lambda x, i, v, m: F.batch_norm(x, None, None, training=True),
}  # fmt: skip
SIZED: dict[str, Callable[..., Any]] = {
    "mask": lambda x, i, v, m: x[m], "mask of rows": lambda x, i, v, m: x[m[:, 0]], "mask of columns": lambda x, i, v, m: x[:, m[0]], "mask of a view": lambda x, i, v, m: x[1:, ::2][m[1:, ::2]],
    "mask and positions": lambda x, i, v, m: x[m[:, 0], 2], "0-d mask": lambda x, i, v, m: x[m[0, 0]], "masked_select": lambda x, i, v, m: x.masked_select(m), "masked_select, spread": lambda x, i, v, m: x.masked_select(m[:, :1]),
    "nonzero": lambda x, i, v, m: x.nonzero(), "nonzero, vectors": lambda x, i, v, m: m.nonzero(as_tuple=True)[1], "nonzero of a vector": lambda x, i, v, m: v.nonzero(), "argwhere": lambda x, i, v, m: m.argwhere(),
    "where, alone": lambda x, i, v, m: torch.where(m)[0], "x[m] = rows": lambda x, i, v, m: _written_by_mask(x, m[:, 0]), "repeat_interleave": lambda x, i, v, m: x.repeat_interleave(v, 0),
    "repeat_interleave, alone": lambda x, i, v, m: torch.repeat_interleave(v),
}  # fmt: skip
"""Calls that ask the device for a length, and for nothing else."""
READING: dict[str, Callable[..., Any]] = {
    **SIZED, "unique": lambda x, i, v, m: v.unique(), "bincount": lambda x, i, v, m: v.bincount(), "allclose": lambda x, i, v, m: torch.allclose(x, x), "item": lambda x, i, v, m: x.sum().item(),
}  # fmt: skip
"""Calls whose result is as long as values say, or a number of Python's: these wait, as in torch."""


def _written_by_mask(x: Any, m: Any) -> Any:
    y = x * 2
    y[m] = x.flip(0)[m]
    return y


def _written_at(x: Any, v: Any) -> Any:
    y = x * 2
    y[v] = x.flip(0)
    return y


def _clipped(x: Any) -> Any:
    leaf = x.detach().clone().requires_grad_()
    (leaf * 3).sum().backward()
    nn.utils.clip_grad_norm_([leaf], 1.0)
    return x * leaf.grad


def reads() -> dict[str, Any]:
    """Return the reads of each call, forward and backward; ``wrong`` is set where values or gradients that are not random differ from the
    host's."""
    found = {}
    drawn = {"gumbel_softmax", "dropout", "multinomial", "bernoulli", "Normal.rsample"}
    for name, function in {**CALLS, **READING}.items():
        torch.manual_seed(3)
        values = torch.randn(6, 8)
        results = []
        counts: dict[str, Any] = {}
        for place in ("cpu", "npu"):
            x = values.clone().to(place).requires_grad_()
            i, v, m = _places(x, 6), _places(x[:, 0], 6), x > 0.3
            with cost.counted() as counted:
                try:
                    result = function(x, i, v, m)
                    if isinstance(result, torch.Tensor) and result.requires_grad:
                        result.sum().backward()
                except RuntimeError as error:
                    result = torch.zeros(0)
                    counts["error"] = str(error)
            results.append([item.detach().cpu() for item in (result, x.grad) if isinstance(item, torch.Tensor)])
            counts.update(counted.numbers())
        same = (a.shape == b.shape and torch.allclose(a, b, 1e-4, 1e-5) for a, b in zip(*results))
        wrong = name not in drawn and not all(same)
        found[name] = {"sized": name in SIZED, "reads": counts["reads"], "copies": counts["copies"], "bytes": counts["bytes"], "wrong": wrong or counts.get("error")}
    return found


def steps(*names: str) -> dict[str, Any]:
    """Return the cost of a step of each network."""
    return {name: step(name).numbers() for name in names or STEPS}


if __name__ == "__main__":
    if sys.argv[1] == "show":
        for each in sys.argv[2:] or STEPS:
            print(each, step(each).text(30))
    else:
        print(json.dumps({"steps": steps, "moves": moves, "reads": reads, "writes": writes}[sys.argv[1]](*sys.argv[2:])))
