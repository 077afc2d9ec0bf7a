"""Dtypes that CANN's pages do not name for an operator are refused, of a 910B or of a 910A; the library does not ask for them."""
from __future__ import annotations

import mindspore
import pytest
from mindspore import mint

import mstorch as torch
from mstorch.nn import functional as F
from tests.cann.plugin import on_plugin

pytestmark = pytest.mark.slow
D = "npu"


def _refused(call) -> str:
    try:
        call().asnumpy()
    except RuntimeError as error:
        return str(error)
    raise AssertionError("nothing was refused")


@on_plugin(EMULATED_CANN_DTYPES="910B")
def test_a_910b_refuses_what_its_pages_do_not_name():
    x = torch.randn(3, 3, device=D, dtype=torch.float64)
    assert "support list" in _refused(lambda: mint.matmul(mindspore.Tensor([[1.0]], mindspore.float64), mindspore.Tensor([[1.0]], mindspore.float64)))
    assert torch.allclose((x @ x).cpu(), x.cpu() @ x.cpu())


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@on_plugin(EMULATED_CANN_DTYPES="910B")
def test_steps_of_training_are_not_refused(dtype):
    kind = getattr(torch, dtype)
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Conv2d(1, 4, 3, padding=1), torch.nn.BatchNorm2d(4), torch.nn.GELU(), torch.nn.MaxPool2d(2), torch.nn.Flatten(),
                              torch.nn.Linear(64, 16), torch.nn.LayerNorm(16), torch.nn.Linear(16, 3)).to(D, kind)  # fmt: skip
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-2, momentum=0.9)
    x, y = torch.randn(4, 1, 8, 8, device=D).to(kind), torch.tensor([0, 1, 2, 1], device=D)
    losses = []
    for _ in range(3):
        loss = F.cross_entropy(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
    assert losses[2] < losses[0]
    rows = torch.randn(2, 4, 32, 16, device=D).to(kind)
    assert torch.isfinite(F.scaled_dot_product_attention(rows, rows, rows, is_causal=True)).all()


@on_plugin(EMULATED_CANN_DTYPES="910A")
def test_a_910a_has_no_bfloat16():
    one = mindspore.Tensor([1.0], mindspore.bfloat16)
    assert "support list" in _refused(lambda: mint.neg(one).astype(mindspore.float32))
    assert (torch.ones(3, device=D) + 1).tolist() == [2, 2, 2]


@on_plugin(ASCEND_LAUNCH_BLOCKING=1)
def test_complex_numbers_have_no_order():
    """Calls that CANN's kernels would refuse raise the CPU's error before a kernel is launched."""
    x, y = torch.ones(2, dtype=torch.complex64), torch.ones(2)
    calls = [
        lambda x, y: x < y, lambda x, y: y <= x, lambda x, y: x > 1, lambda x, y: x >= y, lambda x, y: torch.fmax(x, y), lambda x, y: torch.fmin(y, x),
        lambda x, y: torch.maximum(x, y), lambda x, y: torch.minimum(x, y), lambda x, y: y.clamp(x), lambda x, y: y.clamp(max=x), lambda x, y: x // y,
        lambda x, y: x.copysign(y), lambda x, y: torch.xlogy(x, y), lambda x, y: torch.special.xlog1py(y, x), lambda x, y: torch.special.entr(x),
        lambda x, y: torch.searchsorted(x, y), lambda x, y: torch.bucketize(y, x),
    ]  # fmt: skip
    for number, call in enumerate(calls):
        told = []
        for place in ("cpu", D):
            with pytest.raises((NotImplementedError, RuntimeError)) as raised:
                call(x.to(place), y.to(place))
            told.append((type(raised.value), str(raised.value)))
        assert told[0] == told[1], (number, told)
    assert torch.searchsorted(torch.arange(4, device=D).bfloat16(), torch.tensor([2.0, 3.5], device=D).bfloat16()).tolist() == [2, 4]
    assert [part.shape for part in torch.linalg.qr(torch.ones((1,) * 7, device=D))] == [(1,) * 7] * 2  # MindSpore's kernel takes six dimensions


SEEN = {
    "avg_pool": lambda x: F.avg_pool2d(x[None], 2), "isinf": torch.isinf, "square": torch.square, "unfold": lambda x: F.unfold(x[None], 2),
    "linspace": lambda x: torch.linspace(0, 1, 5, device=x.device), "var": torch.var, "std": torch.std, "norm": lambda x: F.instance_norm(x) * x,
    "nearest": lambda x: F.interpolate(x, scale_factor=2), "einsum": lambda x: torch.einsum("bij,bkj->bik", x, x), "number": lambda x: x - 1.5,
    "silu": lambda x: F.silu(x[..., ::2]), "neg": lambda x: -x.transpose(0, 1), "cat": lambda x: torch.cat((x[..., :2], -x[..., 2:]), -1),
    "matmul": lambda x: x @ x.transpose(1, 2), "softmax": lambda x: x.softmax(-1), "log_softmax": lambda x: x.log_softmax(-1),
}  # fmt: skip


@on_plugin(EMULATED_CANN_SEEN=1)
def test_what_failed_on_a_910b_is_not_called():
    for name, function in SEEN.items():
        results = []
        for place in ("cpu", D):
            x = (torch.arange(24.0).reshape(2, 3, 4) / 7 - 1).to(place).requires_grad_()
            result = function(x)
            if result.requires_grad:
                result.square().sum().backward() if name != "square" else result.sum().backward()
            results.append((result.detach().cpu(), None if x.grad is None else x.grad.cpu()))
        for want, got in zip(*results):
            assert (want is None and got is None) or torch.allclose(want.double(), got.double(), 1e-4, 1e-5), name


@on_plugin(EMULATED_CANN_SEEN=1)
def test_what_failed_on_a_910b_is_refused():
    assert "seen to fail" in _refused(lambda: mint.linspace(0, 1, 5))
