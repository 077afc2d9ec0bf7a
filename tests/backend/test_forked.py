"""A forked process has no MindSpore: NumPy's kernels compute there, and an operation without one raises an error."""
from __future__ import annotations

import multiprocessing
from typing import Any

import pytest
import torch

import mstorch

CASES = {
    "arithmetic": lambda t, x, i, m: (x + 1, x * x, x / 3, x // 0.7, x % 0.7, t.fmod(x, 0.7), i // 3, i % 3, i**2, x**2, abs(x), t.sign(x)),
    "bits": lambda t, x, i, m: (i & 3, i | 8, i ^ 5, ~i, i << 2, i >> 1, m & ~m, i << 70),
    "math": lambda t, x, i, m: (
        t.exp(x), t.log(x.abs()), t.round(x), t.round(x * 10, decimals=1), t.atan2(x, x + 1), t.frac(x), t.erfc(x), t.lgamma(x), t.logaddexp(x, -x),
        t.hypot(x, x), t.asinh(x), t.exp2(x), t.xlogy(x, x.abs()), t.copysign(x, -x), t.sinc(x), t.special.i0(x), t.heaviside(x, x),
    ),
    "sort": lambda t, x, i, m: (
        x.sort(), x.sort(0, descending=True), x.argsort(), x.topk(3), i.topk(2, largest=False), x.median(), x.kthvalue(2),
        t.searchsorted(x.sort()[0], x), t.bucketize(x, x[0].sort()[0]), i.unique(return_counts=True), i.unique(dim=0), t.isin(i, i[0]),
    ),
    "scan": lambda t, x, i, m: (
        x.cumsum(1), i.cumsum(0), x.cumprod(0), x.cummax(1), i.cummin(0), x.logcumsumexp(1), i.bincount() if i.dim() == 1 else i.flatten().bincount(),
        i.flatten().bincount(x.flatten()), t.histc(x, 4),
    ),
    "scatter": lambda t, x, i, m: (
        x.scatter(1, i % 5, x), x.scatter_add(0, i % 4, x), x.scatter_reduce(1, i % 5, x, "amax"), x.scatter_reduce(1, i % 5, x, "mean", include_self=False),
        x.index_add(0, i[:, 0] % 4, x), x.index_copy(1, t.arange(5), x), x.put(i, x), x.index_fill(0, i[:, 0] % 4, 2.0), x.masked_fill(m, 0.0),
        x.masked_scatter(m, x), x.index_put((i[:, 0] % 4,), x), x[m], m.nonzero(), x.take(i), x.gather(1, i % 5), t.nn.functional.one_hot(i),
    ),
    "reduce": lambda t, x, i, m: (
        x.amax(1), x.amin(), x.argmax(1), x.argmin(), x.prod(0), i.prod(), x.max(1), x.min(), x.std(), x.var(1), x.norm(), m.any(), m.all(0),
        x.softmax(1), x.logsumexp(0), x.mean(), i.sum(1), x.aminmax(), x.quantile(0.3), x.nansum(), x.count_nonzero(),
    ),
    "shape": lambda t, x, i, m: (
        x.flip(0), x.roll(2, 1), x.tile(2), x.repeat(2, 1), x.tril(), x.triu(1), t.cat((x, x)), t.stack((x, x), 1), x.expand(2, 4, 5) + 0,
        t.nn.functional.pad(x, (1, 2)), t.nn.functional.pad(x[None], (1, 2), mode="reflect"), t.nn.functional.pad(x[None], (1, 2), mode="circular"),
        t.nn.functional.pad(x, (-1, 2, 1, 0), value=3.0), t.rot90(x), x.unfold(1, 2, 1) + 0, x.repeat_interleave(2, 0), t.meshgrid(x[0], x[1], indexing="ij")[0] + 0,
        x.clamp(-0.5, 0.5), t.where(m, x, -x), x.to(t.int32), x.half() * 2, x.bool(), t.diag(x[0]), t.tensor([1.5]), t.arange(4), t.linspace(0, 1, 5),
    ),
    "matrix": lambda t, x, i, m: (
        x @ x.T, t.einsum("ij,kj->ik", x, x), t.linalg.inv(x[:, :4] + 9 * t.eye(4)).sum(0), t.linalg.svd(x)[1], t.cdist(x, x), t.bmm(x[None], x.T[None]), t.linalg.norm(x),
    ),
    "images": lambda t, x, i, m: tuple(
        function(t.nn.functional, t.stack([x.tile(2, 2), x.flip(1).tile(2, 2)])[None]) for function in (
            lambda f, y: f.conv2d(y, t.ones(3, 2, 3, 3), t.ones(3), padding=1, stride=2), lambda f, y: f.conv_transpose2d(y, t.ones(2, 3, 2, 2), stride=2),
            lambda f, y: f.conv1d(y[:, :, 0], t.ones(1, 2, 3)), lambda f, y: f.conv2d(y, t.ones(2, 1, 2, 2), groups=2, dilation=2),
            lambda f, y: f.max_pool2d(y, 2), lambda f, y: f.avg_pool2d(y, 3, 2, 1), lambda f, y: f.adaptive_avg_pool2d(y, 3), lambda f, y: f.adaptive_max_pool2d(y, 3),
            lambda f, y: f.interpolate(y, size=(5, 6), mode="bilinear"), lambda f, y: f.interpolate(y, scale_factor=2), lambda f, y: f.unfold(y, 2),
            lambda f, y: f.interpolate(y, size=(5, 6), mode="bicubic", antialias=True), lambda f, y: f.batch_norm(y, None, None, training=True),
            lambda f, y: f.batch_norm(y, t.zeros(2), t.ones(2)), lambda f, y: f.layer_norm(y, (10,)), lambda f, y: f.relu(f.gelu(y)),
            lambda f, y: f.fold(f.unfold(y, 2, stride=2), (8, 10), 2, stride=2),
        )
    ),
}  # fmt: skip


def _flat(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_flat(item) for item in value]
    return (str(value.dtype), tuple(value.shape), value.stride(), value.float().tolist() if value.dtype.is_floating_point else value.tolist())


def _inputs(t: Any) -> tuple[Any, Any, Any]:
    t.manual_seed(3)
    x = t.randn(4, 5)
    return x, t.arange(20).reshape(4, 5) * 7 % 11, x > 0


def _compute(t: Any, name: str) -> Any:
    return _flat(CASES[name](t, *_inputs(t)))


def _gradients(t: Any) -> Any:
    """Return the gradients of a small network."""
    t.manual_seed(0)
    net = t.nn.Sequential(
        t.nn.Conv2d(1, 4, 3, padding=1), t.nn.BatchNorm2d(4), t.nn.ReLU(), t.nn.Conv2d(4, 2, 3, stride=2), t.nn.Flatten(), t.nn.Linear(18, 5), t.nn.GELU(),
        t.nn.LayerNorm(5),
    )  # fmt: skip
    optimizer = t.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(2):
        optimizer.zero_grad()
        t.nn.functional.cross_entropy(net(t.randn(3, 1, 8, 8)), t.tensor([0, 3, 1])).backward()
        optimizer.step()
    return [_flat(parameter.detach()) for parameter in net.parameters()]


def _refused(t: Any) -> str:
    try:
        t.nn.functional.ctc_loss(t.zeros(4, 1, 3).log_softmax(-1), t.tensor([[1, 2]]), t.tensor([4]), t.tensor([2]))
    except RuntimeError as error:
        return str(error)
    return "no error"


def _in_child(connection: Any) -> None:
    for name in CASES:
        try:
            connection.send(_compute(mstorch, name))
        except Exception as error:  # noqa: BLE001 - the parent shows it
            connection.send(f"{type(error).__name__}: {error}")
    connection.send(_gradients(mstorch))
    connection.send(_refused(mstorch))


@pytest.fixture(scope="module")
def computed() -> dict[str, Any]:
    mstorch.nn.functional.conv2d(mstorch.ones(1, 1, 3, 3), mstorch.ones(1, 1, 2, 2))  # MindSpore has started its threads
    here, there = multiprocessing.Pipe(False)
    child = multiprocessing.get_context("fork").Process(target=_in_child, args=(there,))
    child.start()
    found = {}
    try:
        for name in (*CASES, "gradients", "refused"):
            assert here.poll(60), f"the child hangs at {name}"
            found[name] = here.recv()
    finally:
        child.kill()
        child.join()
    return found


def _same(mine: Any, theirs: Any, where: str) -> None:
    if isinstance(theirs, list):
        assert isinstance(mine, list) and len(mine) == len(theirs), (where, mine)
        for number, (a, b) in enumerate(zip(mine, theirs)):
            _same(a, b, f"{where}[{number}]")
        return
    assert mine[:3] == theirs[:3], (where, mine[:3], theirs[:3])
    ours, real = torch.tensor(mine[3]), torch.tensor(theirs[3])
    torch.testing.assert_close(ours, real, rtol=2e-5, atol=2e-5, equal_nan=True, msg=lambda text: f"{where}: {text}")


@pytest.mark.parametrize("name", CASES)
def test_kernels(name: str, computed: dict[str, Any]) -> None:
    assert not isinstance(computed[name], str), computed[name]
    _same(computed[name], _compute(torch, name), name)


def test_training(computed: dict[str, Any]) -> None:
    _same(computed["gradients"], _gradients(torch), "parameters")


def test_an_operator_without_a_host_kernel_raises(computed: dict[str, Any]) -> None:
    assert "has no host kernel, and MindSpore's cannot run in a forked process" in computed["refused"]
