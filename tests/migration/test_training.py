"""Pairs of code from MindSpore's migration guides: losses, selections, custom gradients, steps of training.

Each pair is written here in both forms; they get the same values and must give the same results.
"""
from __future__ import annotations

from typing import Any

import mindspore as ms
import numpy as np
import pytest
import torch as real_torch
from mindspore import nn as msnn
from mindspore import ops

import mstorch as torch
import mstorch.nn.functional as F
from tests.migration.test_networks import close, same_weights

nn = torch.nn


class NativeSampler(msnn.Cell):
    """Draws ``count`` entries over 0.5 of each row with NumPy; its ``bprop`` passes the gradient around the draw."""

    def __init__(self, count: int) -> None:
        super().__init__()
        self.count = count

    def construct(self, x: Any) -> Any:
        values, indices = [], []
        for i in range(x.shape[0]):
            row = x[i].asnumpy()
            drawn = np.random.choice(np.where(row > 0.5)[0], self.count)
            values.append(ms.Tensor(row[drawn], ms.float32))
            indices.append(ms.Tensor(drawn, ms.int32))
        return ops.stack(values, axis=0), ops.stack(indices, axis=0)

    def bprop(self, x: Any, out: Any, dout: Any) -> Any:
        rows = [ops.UnsortedSegmentSum()(dout[0][i], out[1][i], x.shape[1]) for i in range(x.shape[0])]
        return ops.stack(rows, axis=0)


def sampler(torch: Any) -> Any:
    """Return the same sampler as an autograd Function."""

    class Sampler(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, count: int) -> Any:
            rows = x.detach().numpy()
            drawn = np.stack([np.random.choice(np.where(row > 0.5)[0], count) for row in rows])
            indices = torch.from_numpy(drawn)
            ctx.save_for_backward(indices)
            ctx.mark_non_differentiable(indices)
            ctx.width = rows.shape[1]
            return torch.from_numpy(np.take_along_axis(rows, drawn, 1)), indices

        @staticmethod
        def backward(ctx: Any, grad: Any, _: Any) -> Any:
            (indices,) = ctx.saved_tensors
            return torch.zeros(grad.shape[0], ctx.width).scatter_add(1, indices, grad), None

    return Sampler.apply


def test_a_custom_backward_with_numpy_inside() -> None:
    x = np.random.RandomState(0).uniform(0, 3, (2, 5)).astype(np.float32)
    np.random.seed(1)
    cell = NativeSampler(3).set_grad()
    values, indices = cell(ms.Tensor(x))
    grad = ms.grad(cell, grad_position=0)(ms.Tensor(x))
    for library in (torch, real_torch):
        np.random.seed(1)
        leaf = library.from_numpy(x.copy()).requires_grad_()
        got, drawn = sampler(library)(leaf, 3)
        got.sum().backward()
        np.testing.assert_array_equal(got.detach().numpy(), values.asnumpy())
        np.testing.assert_array_equal(drawn.numpy(), indices.asnumpy())
        assert leaf.grad.sum() == 6
        np.testing.assert_array_equal(leaf.grad.numpy(), np.stack([np.bincount(row, minlength=5) for row in indices.asnumpy()]))
    assert grad.asnumpy().sum() == 6  # MindSpore may run the forward a second time, with other draws


def test_numpy_without_a_backward_cuts_the_gradient() -> None:
    x = torch.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="Can't call numpy\\(\\) on Tensor that requires grad"):
        np.sin(x.numpy())
    assert not torch.from_numpy(np.sin(x.detach().numpy())).requires_grad


BOX = np.array([[0.417, 0.72, 0.0001, 0.302], [0.1468, 0.0923, 0.1863, 0.3456], [0.397, 0.539, 0.419, 0.685]], np.float32)
SCORE = np.array([0.2, 0.88, 0.03], np.float32)


def test_a_masked_select() -> None:
    def ours(box: Any, score: Any) -> Any:
        return box[score > 0.3]

    native = ops.masked_select(ms.Tensor(BOX), (ms.Tensor(SCORE) > 0.3).expand_dims(1))
    got = ours(torch.from_numpy(BOX), torch.from_numpy(SCORE))
    assert str(got) == "tensor([[0.1468, 0.0923, 0.1863, 0.3456]])"
    close(native, got.flatten(), rtol=0, atol=0)
    mask = (ms.Tensor(SCORE) > 0.3).expand_dims(1)
    masked = torch.from_numpy(BOX) * (torch.from_numpy(SCORE) > 0.3).unsqueeze(1)
    close(ms.Tensor(BOX) * mask, masked, rtol=0, atol=0)


class NativeTopLoss(msnn.Cell):
    """The mean of the largest 70 % of the losses of positive samples, without a TopK of variable k."""

    def __init__(self) -> None:
        super().__init__()
        self.con_loss = msnn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="none")
        self.sort_descending = ops.Sort(descending=True)

    def construct(self, pred: Any, label: Any) -> Any:
        mask = label > 0
        count = ops.maximum(mask.sum() * 0.7, 1).astype(ms.int32)
        con = self.con_loss(pred, (label * mask).astype(ms.int32)) * mask
        limit = self.sort_descending(con)[0][count - 1]
        con_mask = (con >= limit).astype(con.dtype)
        return (con * con_mask).sum() / con_mask.sum()


def top_loss(torch: Any, pred: Any, label: Any) -> Any:
    """Return the same with torch.topk, whose k is a tensor."""
    mask = label > 0
    count = torch.clamp(mask.sum() * 0.7, 1).int()
    con = torch.nn.CrossEntropyLoss(reduction="none")(pred, (label * mask).long()) * mask
    loss, _ = torch.topk(con, k=count)
    return loss.mean()


@pytest.mark.parametrize("labels", [[-1, 0, 1, 1, 0], [1, 1, 1, 1, 1], [0, 0, 0, 0, 1]])
def test_top_k_with_a_tensor(labels: list[int]) -> None:
    pred = np.random.RandomState(1).uniform(0, 1, (5, 2)).astype(np.float32)
    label = np.array(labels, np.int32)
    native, native_grad = ms.value_and_grad(NativeTopLoss())(ms.Tensor(pred), ms.Tensor(label))
    for library in (torch, real_torch):
        leaf = library.from_numpy(pred.copy()).requires_grad_()
        loss = top_loss(library, leaf, library.from_numpy(label))
        loss.backward()
        np.testing.assert_allclose(loss.item(), float(native.asnumpy()), rtol=1e-5)
        np.testing.assert_allclose(leaf.grad.numpy(), native_grad.asnumpy(), rtol=1e-4, atol=1e-6)


def test_control_flow_on_values_and_slices_by_tensors() -> None:
    x = np.random.RandomState(1).uniform(0, 1, 10).astype(np.float32)
    ours, native = torch.from_numpy(x), ms.Tensor(x)
    chosen = ours[ours > 0.5] if (ours > 0.5).any() else torch.zeros_like(ours)
    close(ops.masked_select(native, native > 0.5), chosen, rtol=0, atol=0)
    mask = (ours > 0.5).to(ours.dtype) if (ours > 0.5).any() else torch.zeros_like(ours)
    close(native * (native > 0.5).astype(native.dtype), ours * mask, rtol=0, atol=0)
    assert ours[: torch.tensor(6)].shape == native[: ms.Tensor(6, ms.int64)].shape == (6,)


class NativeFocalLoss(msnn.Cell):
    def __init__(self, weight: Any, gamma: float, alpha: float, reduction: str, avg_factor: float | None) -> None:
        super().__init__()
        self.weight, self.gamma, self.alpha = ms.Tensor(weight), gamma, alpha
        self.reduction, self.avg_factor = reduction, avg_factor
        self.cross_entropy = msnn.BCEWithLogitsLoss(reduction="none")

    def construct(self, pred: Any, target: Any) -> Any:
        chance = ops.sigmoid(pred)
        pt = (1 - chance) * target + chance * (1 - target)
        focal = (self.alpha * target + (1 - self.alpha) * (1 - target)) * ops.pow(pt, self.gamma)
        loss = self.cross_entropy(pred, target) * focal * self.weight.view(-1, 1)
        if self.reduction == "none":
            return loss
        if self.avg_factor is not None:
            return loss.sum() / self.avg_factor
        return loss.mean() if self.reduction == "mean" else loss.sum()


def focal_loss(pred: Any, target: Any, weight: Any, gamma: float, alpha: float, reduction: str, avg_factor: float | None) -> Any:
    chance = pred.sigmoid()
    target = target.type_as(pred)
    pt = (1 - chance) * target + chance * (1 - target)
    focal = (alpha * target + (1 - alpha) * (1 - target)) * pt.pow(gamma)
    loss = F.binary_cross_entropy_with_logits(pred, target, reduction="none") * focal
    if weight.shape != loss.shape:
        weight = weight.view(-1, 1) if weight.size(0) == loss.size(0) else weight.view(loss.size(0), -1)
    assert weight.ndim == loss.ndim
    loss = loss * weight
    kind = F._Reduction.get_enum(reduction)
    if avg_factor is not None and reduction == "mean":
        return loss.sum() / avg_factor
    return loss if kind == 0 else loss.mean() if kind == 1 else loss.sum()


@pytest.mark.parametrize(
    "gamma, alpha, reduction, avg_factor",
    [(2.0, 0.25, "mean", None), (1.0, 0.5, "sum", None), (2.0, 0.25, "mean", 0.3), (2.0, 0.25, "none", None)],
)
def test_a_focal_loss(gamma: float, alpha: float, reduction: str, avg_factor: float | None) -> None:
    random = np.random.RandomState(1)
    pred, target = (random.uniform(-1, 1, (3, 4)).astype(np.float32) for _ in range(2))
    weight = random.uniform(0, 1, (3,)).astype(np.float32)
    cell = NativeFocalLoss(weight, gamma, alpha, reduction, avg_factor)
    native, grad = ms.value_and_grad(lambda p, t: (lambda loss: (loss.sum(), loss))(cell(p, t)), 0, has_aux=True)(ms.Tensor(pred), ms.Tensor(target))
    leaf = torch.from_numpy(pred).requires_grad_()
    loss = focal_loss(leaf, torch.from_numpy(target), torch.from_numpy(weight), gamma, alpha, reduction, avg_factor)
    loss.sum().backward()
    close(native[1], loss, rtol=1e-5, atol=1e-6)
    close(grad, leaf.grad, rtol=1e-4, atol=1e-6)


def data(count: int) -> list[tuple[np.ndarray, np.ndarray]]:
    random = np.random.RandomState(2)
    return [(random.rand(4, 3).astype(np.float32), random.randint(0, 2, 4).astype(np.int32)) for _ in range(count)]


def test_gradient_accumulation(tmp_path: Any) -> None:
    """Four batches per step: torch accumulates in ``.grad``, MindSpore's form in additional parameters."""
    torch.manual_seed(0)
    module = nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Linear(5, 2))
    cell = msnn.SequentialCell(msnn.Dense(3, 5), msnn.Tanh(), msnn.Dense(5, 2))
    same_weights(module, cell, tmp_path)
    optimizer = torch.optim.SGD(module.parameters(), lr=0.5, momentum=0.9)
    for number, (x, y) in enumerate(data(12), 1):
        loss = F.cross_entropy(module(torch.from_numpy(x)), torch.from_numpy(y).long()) / 4
        loss.backward()
        if number % 4 == 0:
            optimizer.step()
            optimizer.zero_grad()

    native = msnn.Momentum(cell.trainable_params(), 0.5, 0.9)
    sums = native.parameters.clone(prefix="accum_", init="zeros")
    step = ms.value_and_grad(lambda x, y: ops.cross_entropy(cell(x), y) / 4, None, native.parameters)
    for number, (x, y) in enumerate(data(12), 1):
        _, grads = step(ms.Tensor(x), ms.Tensor(y))
        for total, grad in zip(sums, grads):
            ops.assign_add(total, grad)
        if number % 4 == 0:
            native(tuple(sums))
            for total in sums:
                ops.assign(total, ops.zeros_like(total))
    for ours, theirs in zip(module.parameters(), cell.trainable_params()):
        close(theirs, ours, rtol=1e-4, atol=1e-5)


def test_one_step_of_training(tmp_path: Any) -> None:
    """backward and step in torch's form, value_and_grad with an auxiliary output in MindSpore's, on both kinds of network."""
    torch.manual_seed(0)
    module, cell, other = nn.Linear(3, 2), msnn.Dense(3, 2), nn.Linear(3, 2)
    same_weights(module, cell, tmp_path)
    other.load_state_dict(module.state_dict())
    x, y = data(1)[0]
    optimizer = torch.optim.SGD(module.parameters(), lr=0.5)
    logits = module(torch.from_numpy(x))
    loss = F.cross_entropy(logits, torch.from_numpy(y).long())
    loss.backward()
    optimizer.step()
    for net in (cell, other):
        native = msnn.SGD(net.trainable_params(), 0.5)

        def forward(x: Any, y: Any, net: Any = net) -> Any:
            out = net(x)
            return ops.cross_entropy(out, y), out

        (value, out), grads = ms.value_and_grad(forward, None, native.parameters, has_aux=True)(ms.Tensor(x), ms.Tensor(y))
        native(grads)
        close(value, loss)
        close(out, logits)
        close(net.trainable_params()[0], module.weight)


def test_a_network_with_its_loss(tmp_path: Any) -> None:
    torch.manual_seed(0)
    module, cell = nn.Linear(3, 2), msnn.Dense(3, 2)
    same_weights(module, cell, tmp_path)
    x, y = data(1)[0]
    found = []
    for net in (module, cell):
        with_loss = msnn.WithLossCell(net.to_float(ms.float16), msnn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean").to_float(ms.float32))
        with_loss.set_train()
        with_loss.set_grad()
        found.append(float(with_loss(ms.Tensor(x), ms.Tensor(y)).asnumpy()))
        ms.grad(with_loss, None, net.trainable_params())(ms.Tensor(x), ms.Tensor(y))
    np.testing.assert_allclose(found[0], found[1], rtol=2e-3)
    np.testing.assert_allclose(found[0], F.cross_entropy(module(torch.from_numpy(x)).float(), torch.from_numpy(y).long()).item(), rtol=2e-3)


def test_equal_replacements() -> None:
    x = np.random.RandomState(3).randn(2, 3, 4, 4).astype(np.float32)
    ours, native = torch.from_numpy(x), ms.Tensor(x)
    close(ops.reshape(native, (2, 48)), ours.flatten(1), rtol=0, atol=0)
    close(native.mean((2, 3), keep_dims=True), nn.AdaptiveAvgPool2d(1)(ours), atol=1e-6)
    close(native.max((2, 3), keepdims=True), nn.AdaptiveMaxPool2d(1)(ours), rtol=0, atol=0)
    close(msnn.MaxPool2d(2, 2)(native), F.max_pool2d(ours, 2, return_indices=True)[0], rtol=0, atol=0)
    values, indices = ops.sort(native.reshape(-1), descending=True)
    got, places = torch.topk(ours.flatten(), 96)
    close(values, got, rtol=0, atol=0)
    np.testing.assert_array_equal(places.numpy(), indices.asnumpy())


def test_generators() -> None:
    for library in (torch, real_torch):
        first, second = library.Generator(), library.Generator()
        first.manual_seed(1)
        assert first.get_state().shape == (5056,) and first.get_state().dtype is library.uint8
        library.rand(3, generator=first)
        second.set_state(first.get_state())
        assert library.equal(library.rand(4, generator=first), library.rand(4, generator=second))
        library.manual_seed(1)
        assert library.equal(library.rand(2), library.rand(2, generator=library.Generator().manual_seed(1)))
    x = torch.zeros(4).random_(5)
    assert ((x >= 0) & (x < 5)).all()
