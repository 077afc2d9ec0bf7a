"""torch.amp: the dtypes that operations compute in, the regions' bookkeeping, training in mixed precision."""
from __future__ import annotations

import copy
import inspect
import io
import pickle
import threading

import numpy as np
import pytest
import torch

import mstorch
from tests.against_torch import same

LIBRARIES = (torch, mstorch)


def some(t, *shape):
    return t.linspace(-1, 1, int(np.prod(shape))).reshape(shape)


OPERATIONS = {
    "matmul": lambda t, x: x @ x.T,
    "mm": lambda t, x: x.mm(x.T),
    "bmm": lambda t, x: t.bmm(x[None], x.T[None]),
    "addmm": lambda t, x: t.addmm(x[:, :1], x, x.T),
    "baddbmm": lambda t, x: t.baddbmm(x[None, :, :1], x[None], x.T[None]),
    "linear": lambda t, x: t.nn.functional.linear(x, x, x[:, 0]),
    "einsum": lambda t, x: t.einsum("ij,kj->ik", x, x),
    "conv1d": lambda t, x: t.conv1d(x[None], x[None]),
    "conv2d": lambda t, x: t.nn.functional.conv2d(x[None, None], x[None, None, :2, :2], padding=1),
    "conv_transpose2d": lambda t, x: t.conv_transpose2d(x[None, None], x[None, None]),
    "prelu": lambda t, x: t.prelu(x, x[0, :1]),
    "attention": lambda t, x: t.nn.functional.scaled_dot_product_attention(x[None, None], x[None, None], x[None, None], x @ x.T),
    "mv": lambda t, x: t.mv(x, x[0]),
    "addmv": lambda t, x: t.addmv(x[:, 0], x, x[0]),
    "add": lambda t, x: x + x,
    "exp": lambda t, x: t.exp(x),
    "softmax": lambda t, x: t.softmax(x, -1),
    "sum": lambda t, x: x.sum(),
    "prod": lambda t, x: x.prod(1),
    "trace": lambda t, x: x.trace(),
    "layer_norm": lambda t, x: t.nn.functional.layer_norm(x, x.shape[1:]),
    "mse_loss": lambda t, x: t.nn.functional.mse_loss(x, x * 2),
    "l1_loss": lambda t, x: t.nn.functional.l1_loss(x, x * 2),
    "cross_entropy": lambda t, x: t.nn.functional.cross_entropy(x, t.tensor([0, 1, 2])),
    "nll_loss": lambda t, x: t.nn.functional.nll_loss(x, t.tensor([0, 1, 2])),
    "bce with logits": lambda t, x: t.nn.functional.binary_cross_entropy_with_logits(x, x.sigmoid()),
    "reflection": lambda t, x: t.nn.functional.pad(x[None], (1, 1), "reflect"),
    "constant padding": lambda t, x: t.nn.functional.pad(x[None], (1, 1)),
    "avg_pool3d": lambda t, x: t.nn.functional.avg_pool3d(x[None, None], (1, 2, 2)),
    "avg_pool2d": lambda t, x: t.nn.functional.avg_pool2d(x[None], 2),
    "inverse": lambda t, x: t.linalg.inv(x[:, :3] + t.eye(3, dtype=x.dtype) * 3),
    "svdvals": lambda t, x: t.linalg.svdvals(x),
    "cdist": lambda t, x: t.cdist(x, x),
    "quantile": lambda t, x: x.quantile(t.tensor([0.5])),
    "cat": lambda t, x: t.cat([x, x.double()]),
    "cat mixed": lambda t, x: t.cat([x, x.bfloat16()]),
    "stack": lambda t, x: t.stack([x, x]),
    "index_copy": lambda t, x: x.index_copy(0, t.tensor([1]), x[:1].float()),
    "rfft": lambda t, x: t.fft.rfft(x).real,
    "out": lambda t, x: t.mm(x, x.T, out=t.empty(3, 3, dtype=x.dtype)),
    "in place": lambda t, x: t.zeros(3, 3, dtype=x.dtype).addmm_(x, x.T),
    "double": lambda t, x: x.double() @ x.double().T,
}


@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.parametrize("given", ["float32", "bfloat16"])
def test_operations(name, given, both):
    def body(t):
        x = some(t, 3, 4).to(getattr(t, given))
        with t.autocast("cpu"):
            return OPERATIONS[name](t, x)

    both(body, rtol=2e-2, atol=2e-2, strides=False)


def test_float16(both):
    def body(t):
        x = some(t, 3, 4)
        with t.autocast("cpu", dtype=t.float16):
            product = x @ x.T
            return product, t.get_autocast_dtype("cpu"), product.softmax(-1), t.nn.functional.mse_loss(product, product)

    both(body, rtol=1e-3, atol=1e-3)


def test_mixed_half_precision(both):
    def body(t):
        with t.autocast("cpu"):
            t.cat([some(t, 2).half(), some(t, 2).bfloat16()])

    both(body)


def test_regions(both):
    def body(t):
        x, seen = some(t, 2, 2), []
        region = t.autocast("cpu")

        def look():
            seen.append((t.is_autocast_enabled("cpu"), t.get_autocast_dtype("cpu"), (x @ x).dtype, t.is_autocast_cache_enabled()))

        look()
        with region:
            look()
            with t.autocast("cpu", enabled=False):
                look()
                with t.autocast("cpu", dtype=t.float16, cache_enabled=False):
                    look()
            look()
        region(look)()
        look()
        t.amp.autocast(device_type="cpu", dtype=t.float16)(look)()
        t.set_autocast_enabled("cpu", True)
        look()
        t.set_autocast_enabled("cpu", False)
        with pytest.raises(ValueError), region:
            raise ValueError
        look()
        return seen

    both(body)


def test_a_region_within_itself():
    """As in torch, entering a region again within itself forgets the state before the outer one, and leaves autocast on."""
    region = mstorch.autocast("cpu")
    with region:
        with region:
            pass
        assert mstorch.is_autocast_enabled("cpu")
    assert not mstorch.is_autocast_enabled("cpu")


def test_threads():
    seen = []
    with mstorch.autocast("cpu"):
        thread = threading.Thread(target=lambda: seen.append(mstorch.is_autocast_enabled("cpu")))
        thread.start()
        thread.join()
        assert mstorch.is_autocast_enabled("cpu")
    assert seen == [False]


@pytest.mark.parametrize(
    "body",
    [
        lambda t: t.autocast("nonsense"),
        lambda t: t.autocast(3),
        lambda t: t.autocast("meta"),
        lambda t: t.autocast("cpu")(3),
        lambda t: t.is_autocast_enabled(3),
        lambda t: t.set_autocast_enabled("cpu", 3),
        lambda t: t.set_autocast_dtype("cpu", 3),
        lambda t: t.amp.custom_fwd(device_type=3),
        lambda t: [t.amp.is_autocast_available(name) for name in ("cpu", "cuda", "meta", "xla")],
        lambda t: [t.get_autocast_dtype(name) for name in ("cpu", "cuda", "xla", "mps")],
        lambda t: t.amp.is_autocast_available("nonsense"),
    ],
)
def test_arguments(body, both):
    both(body, message=None)


def test_warnings():
    for make in (
        lambda t: t.autocast("cpu", dtype=t.float32),
        lambda t: t.autocast("cuda"),
        lambda t: t.cuda.amp.autocast(),
        lambda t: t.cuda.amp.GradScaler(),
        lambda t: t.cpu.amp.autocast(),
        lambda t: t.cpu.amp.GradScaler(),
        lambda t: t.cuda.amp.custom_fwd(len),
        lambda t: t.cuda.amp.custom_bwd(len),
        lambda t: t.get_autocast_cpu_dtype(),
        lambda t: t.set_autocast_cpu_enabled(False),
        lambda t: t.is_autocast_xla_enabled(),
        lambda t: t.get_autocast_gpu_dtype(),
    ):
        seen = []
        for t in LIBRARIES:
            with pytest.warns() as caught:
                make(t)
            seen.append([(w.category, str(w.message).split(" (Triggered")[0].replace("\n", " ")) for w in caught])
        assert seen[0] == seen[1]


def _net(t):
    t.manual_seed(0)
    return t.nn.Sequential(
        t.nn.Conv2d(1, 4, 3), t.nn.BatchNorm2d(4), t.nn.ReLU(), t.nn.Flatten(), t.nn.Linear(64, 8), t.nn.LayerNorm(8),
        t.nn.Linear(8, 3),
    )  # fmt: skip


@pytest.mark.parametrize("given", ["bfloat16", "float16"])
def test_training(given, both):
    def body(t):
        net = _net(t)
        optimizer = t.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
        scaler = t.amp.GradScaler("cpu", init_scale=1024.0, growth_interval=2)
        x, target = t.randn(6, 1, 6, 6), t.arange(6) % 3
        losses, dtypes = [], []
        for _ in range(5):
            with t.autocast("cpu", dtype=getattr(t, given)):
                result = net(x)
                loss = t.nn.functional.cross_entropy(result, target)
            optimizer.zero_grad()
            scaler.scale(loss).backward()
            scaler.unscale_(optimizer)
            norm = t.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            scaler.step(optimizer)
            scaler.update()
            losses.append((loss.detach(), norm.detach()))
            dtypes.append((result.dtype, loss.dtype, [p.grad.dtype for p in net.parameters()], scaler.get_scale()))
        return losses, dtypes, scaler.state_dict(), net.state_dict()

    both(body, rtol=4e-2, atol=2e-2)


def test_casts_are_kept():
    for t in LIBRARIES:
        weight = t.ones(2, 2, requires_grad=True)
        with t.autocast("cpu"):
            # 256 gradients of 1 and one of 2**-7 are summed in bfloat16 in one cached cast, where the small one is lost.
            first = t.mm(weight, t.eye(2)).sum() * 256 + t.mm(weight, t.eye(2)).sum() * 2**-7
        first.backward()
        assert weight.grad.tolist() == [[256.0] * 2] * 2
        weight.grad = None
        with t.autocast("cpu", cache_enabled=False):
            second = t.mm(weight, t.eye(2)).sum() * 256 + t.mm(weight, t.eye(2)).sum() * 2**-7
        second.backward()
        assert weight.grad.tolist() == [[256 + 2**-7] * 2] * 2


def test_no_grad_first(both):
    def body(t):
        layer = t.nn.Linear(2, 2)
        with t.autocast("cpu"):
            with t.no_grad():
                layer(t.ones(1, 2))
            layer(t.ones(1, 2)).sum().backward()
        return layer.weight.grad

    both(body)


def test_custom_function(both):
    def body(t):
        seen = []

        class Product(t.autograd.Function):
            @staticmethod
            @t.amp.custom_fwd(device_type="cpu", cast_inputs=t.float32)
            def forward(ctx, a, b):
                seen.append((a.dtype, t.is_autocast_enabled("cpu")))
                ctx.save_for_backward(a, b)
                return a @ b

            @staticmethod
            @t.amp.custom_bwd(device_type="cpu")
            def backward(ctx, grad):
                seen.append((grad.dtype, t.is_autocast_enabled("cpu")))
                a, b = ctx.saved_tensors
                return grad @ b.T, a.T @ grad

        class Plain(Product):
            forward = staticmethod(t.amp.custom_fwd(Product.forward.__wrapped__, device_type="cpu"))

        a, b = some(t, 2, 3).requires_grad_(), some(t, 3, 2).requires_grad_()
        for kind in (Product, Plain):
            with t.autocast("cpu"):
                result = kind.apply(a.bfloat16(), b)
            result.float().sum().backward()
            seen.append(result.dtype)
        Product.apply(a, b).sum().backward()
        return seen, a.grad, b.grad

    both(body, rtol=1e-2, atol=1e-2, strides=False)


def test_layers(both):
    def body(t):
        t.manual_seed(0)
        x = t.randn(3, 2, 4)
        found = []
        for make in (
            lambda: t.nn.RNN(4, 5), lambda: t.nn.GRU(4, 5, 2), lambda: t.nn.TransformerEncoderLayer(4, 2, 8, 0.0),
            lambda: t.nn.Embedding(4, 3), lambda: t.nn.Conv1d(2, 3, 2),
        ):  # fmt: skip
            layer = make()
            with t.autocast("cpu"):
                result = layer(t.tensor([1, 2]) if isinstance(layer, t.nn.Embedding) else x)
            found.append(result)
        return found

    both(body, rtol=5e-2, atol=5e-2, strides=False)


@pytest.mark.parametrize("kind", ["LSTMCell", "GRUCell", "RNNCell"])
def test_cells(kind, both):
    def body(t):
        t.manual_seed(0)
        cell = getattr(t.nn, kind)(4, 5)
        with t.autocast("cpu"):
            return cell(t.randn(2, 4)), cell(t.randn(2, 4).bfloat16())

    both(body, rtol=5e-2, atol=5e-2, strides=False)


def test_lstm():
    # torch's kernel requires a CPU that computes in bfloat16.
    lstm = mstorch.nn.LSTM(4, 5, 2)
    with mstorch.autocast("cpu"):
        output, state = lstm(mstorch.randn(3, 2, 4))
    output.float().sum().backward()
    assert [part.dtype for part in (output, *state)] == [mstorch.bfloat16] * 3
    assert all(weight.grad.dtype is mstorch.float32 for weight in lstm.parameters())


# The scaler


def test_overflow(both):
    def body(t):
        weight = t.nn.Parameter(t.ones(2))
        other = t.nn.Parameter(t.ones(2))
        optimizers = [t.optim.SGD([weight], lr=0.5), t.optim.Adam([other], lr=0.5)]
        scaler = t.amp.GradScaler("cpu", init_scale=8.0, growth_interval=2, backoff_factor=0.25)
        seen = []
        for factor in (1.0, float("inf"), 1.0, 2.0, float("nan"), 1.0):
            for optimizer in optimizers:
                optimizer.zero_grad()
            losses = scaler.scale([(weight * factor).sum(), (other * 2).sum()])
            for loss in losses:
                loss.backward()
            stepped = [scaler.step(optimizer) for optimizer in optimizers]
            scaler.update()
            seen.append((weight.detach().clone(), other.detach().clone(), scaler.get_scale(), scaler.state_dict(), stepped))
        return seen

    both(body, atol=2e-5)


def test_state(both):
    def body(t):
        scaler = t.amp.GradScaler("cpu", 4.0)
        scaler.scale(t.ones(1))
        scaler.update(16.0)
        state = scaler.state_dict()
        other = t.amp.GradScaler("cpu")
        other.load_state_dict(state)
        other.scale(t.ones(1))
        other.update(t.tensor(2.0))
        other.set_growth_factor(3.0)
        other.set_backoff_factor(0.1)
        other.set_growth_interval(5)
        copied = pickle.loads(pickle.dumps(other))
        off = t.amp.GradScaler("cpu", enabled=False)
        off.load_state_dict({})
        return (
            state, other.state_dict(), copied.state_dict(), copied.scale((t.ones(1), [t.ones(2)])), other.get_growth_factor(),
            other.get_backoff_factor(), other.get_growth_interval(), other.is_enabled(), off.is_enabled(), off.get_scale(),
            off.state_dict(), off.scale(3),
        )  # fmt: skip

    both(body)


def test_state_across_libraries():
    states = []
    for t in LIBRARIES:
        file = io.BytesIO()
        scaler = t.amp.GradScaler("cpu", 4.0)
        scaler.scale(t.ones(1))
        t.save(scaler.state_dict(), file)
        file.seek(0)
        other = mstorch if t is torch else torch
        made = other.amp.GradScaler("cpu")
        made.load_state_dict(other.load(file))
        states.append(made.state_dict())
    assert states[0] == states[1] == scaler.state_dict()


def _prepared(t):
    weight = t.nn.Parameter(t.ones(2))
    scaler, optimizer = t.amp.GradScaler("cpu"), t.optim.SGD([weight], lr=1.0)
    scaler.scale(weight.sum()).backward()
    return scaler, optimizer, weight


def _half(t):
    scaler, _, _ = _prepared(t)
    weight = t.nn.Parameter(t.ones(2).half())
    scaler.scale(weight.float().sum()).backward()
    scaler.unscale_(t.optim.SGD([weight]))


def _twice(t, first, second):
    scaler, optimizer, _ = _prepared(t)
    getattr(scaler, first)(optimizer)
    getattr(scaler, second)(optimizer)


@pytest.mark.parametrize(
    "body",
    [
        lambda t: t.amp.GradScaler("cpu", growth_factor=1.0),
        lambda t: t.amp.GradScaler("cpu", backoff_factor=1.0),
        lambda t: t.amp.GradScaler("cpu").update(),
        lambda t: t.amp.GradScaler("cpu").step(t.optim.SGD([t.nn.Parameter(t.ones(1))])),
        lambda t: t.amp.GradScaler("cpu").scale(3),
        lambda t: t.amp.GradScaler("cpu").load_state_dict({}),
        lambda t: _prepared(t)[0].update(),
        lambda t: _prepared(t)[0].update(t.ones(2)),
        lambda t: _prepared(t)[0].step(t.optim.SGD([t.nn.Parameter(t.ones(1))])),
        lambda t: _prepared(t)[0].step(_prepared(t)[1], closure=lambda: None),
        lambda t: _twice(t, "unscale_", "unscale_"),
        lambda t: _twice(t, "step", "unscale_"),
        lambda t: _twice(t, "step", "step"),
        lambda t: _twice(t, "step", "__getstate__"),
        _half,
    ],
)
def test_refusals(body, both):
    both(body)


def test_optimizer_that_unscales(both):
    def body(t):
        seen = []

        class Own(t.optim.SGD):
            _step_supports_amp_scaling = True

            def step(self, closure=None):
                seen.append((self.grad_scale, self.found_inf))

        weight = t.nn.Parameter(t.ones(2))
        scaler, optimizer = t.amp.GradScaler("cpu", 4.0), Own([weight], lr=1.0)
        for factor in (1.0, float("inf")):
            weight.grad = None
            scaler.scale((weight * factor).sum()).backward()
            scaler.step(optimizer)
            scaler.update()
            seen.append((weight.grad, scaler.get_scale()))
        return seen

    both(body)


def test_copies():
    scaler = mstorch.amp.GradScaler("cpu", 4.0)
    same(torch.amp.GradScaler("cpu", 4.0).state_dict(), copy.deepcopy(scaler).state_dict())


def test_accelerator_lists(monkeypatch):
    from mstorch._src.ops import _autocast
    from mstorch._src.ops._operation import record_of
    from mstorch._src.ops.elementwise import math
    from mstorch._src.ops.linalg import matmul
    from mstorch._src.ops.reduce import softmax

    monkeypatch.setattr(_autocast, "PLACES", ("cpu", "npu"))
    monkeypatch.setattr(_autocast, "_place", lambda tensor: "npu")
    monkeypatch.setattr(_autocast.state, "dtypes", {})
    monkeypatch.setattr(_autocast.state, "enabled", {"npu": True})
    x = mstorch.ones(2, 2).half()
    cast = {
        function.__name__: _autocast.casting(inspect.unwrap(function), record_of(function).autocast, ("npu",))
        for function in (math.exp, math.tanh, matmul.mv, softmax.softmax)
    }
    monkeypatch.setattr(_autocast.state, "on", True)
    assert cast["exp"](x).dtype is mstorch.float32 and cast["softmax"](x, 0).dtype is mstorch.float32
    assert cast["mv"](x.float(), x[0]).dtype is mstorch.float16 and cast["tanh"](x).dtype is mstorch.float16


@pytest.mark.parametrize("kind", ["bfloat16", "float16"])
@pytest.mark.parametrize("name", ["sparse.mm", "mm", "matmul", "mv", "addmm", "sparse.addmm", "dense by sparse", "two sparse"])
def test_products_of_sparse_matrices(name, kind, both):
    def body(torch):
        dense = torch.tensor([[0, 1.5, 2.0], [0.25, 3.0, 0]])
        other, start = torch.arange(12.0).reshape(3, 4).requires_grad_(), torch.ones(2, 4)
        matrix = dense.to_sparse()
        calls = {
            "sparse.mm": lambda: torch.sparse.mm(matrix, other), "mm": lambda: torch.mm(matrix, other), "matmul": lambda: matrix @ other,
            "mv": lambda: matrix.mv(other[:, 0]), "addmm": lambda: torch.addmm(start, matrix, other), "sparse.addmm": lambda: torch.sparse.addmm(start, matrix, other),
            "dense by sparse": lambda: other.t() @ matrix.t(), "two sparse": lambda: torch.sparse.mm(matrix, matrix.t()).to_dense(),
        }  # fmt: skip
        with torch.autocast("cpu", dtype=getattr(torch, kind)):
            found = calls[name]()
        if name in ("mm", "matmul", "addmm", "dense by sparse"):  # torch's gradients of the others fail for the mixed dtypes
            found.float().sum().backward()
        return found.detach(), other.grad

    both(body)
