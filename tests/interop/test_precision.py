"""MindSpore's mixed precision on a Module: Cell.to_float, mindspore.amp, Model's amp_level."""
from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import mindspore
import numpy as np
import pytest
from mindspore import amp
from mindspore import nn as msnn
from mindspore.train import Model

import mstorch as torch
from tests.interop.networks import cnn
from tests.interop.test_training import IMAGES, LABELS, Losses, batches, dataset, torch_losses

nn = torch.nn


def test_to_float_computes_in_half_precision() -> None:
    net, plain = cnn(), cnn()
    net.to_float(mindspore.float16)
    x = torch.tensor(IMAGES[:8])
    for out in (net(x), torch.from_mindspore(net(x.to_mindspore()))):
        assert out.dtype is torch.float16
        np.testing.assert_allclose(out.float().numpy(force=True), plain(x).numpy(force=True), rtol=2e-2, atol=5e-3)
    assert all(p.dtype is torch.float32 for p in net.parameters()), "weights stay as they are"
    net(x).float().sum().backward()
    assert all(p.grad is not None and p.grad.dtype is torch.float32 for p in net.parameters())


def test_to_float_of_a_part() -> None:
    net = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Linear(4, 2))
    net.to_float(mindspore.float16)
    net[1].to_float(mindspore.float32)
    seen = []
    for layer in net:
        layer.register_forward_hook(lambda module, args, output: seen.append(output.dtype))
    net(torch.rand(3, 4))
    assert seen == [torch.float16, torch.float32, torch.float16]


@pytest.mark.parametrize("level", ["O0", "O2", "O3", "auto"])
def test_auto_mixed_precision(level: str) -> None:
    plain = cnn()
    net = amp.auto_mixed_precision(cnn(), level, mindspore.float16)
    x = mindspore.Tensor(IMAGES[:8])
    got = net(x).asnumpy().astype(np.float32)
    np.testing.assert_allclose(got, plain(torch.tensor(IMAGES[:8])).numpy(force=True), rtol=2e-2, atol=5e-3)


def test_loss_scaling() -> None:
    net = cnn()
    scaler, optimizer = amp.DynamicLossScaler(2.0**10, 2, 50), msnn.SGD(net.trainable_params(), 0.05)
    loss_of = msnn.CrossEntropyLoss()
    step = mindspore.value_and_grad(lambda x, y: scaler.scale(loss_of(net(x), y)), None, optimizer.parameters)
    found = []
    for images, labels in batches(6):
        loss, grads = step(mindspore.Tensor(images), mindspore.Tensor(labels.astype(np.int32)))
        grads = scaler.unscale(grads)
        finite = amp.all_finite(grads)
        scaler.adjust(finite)
        assert bool(finite)
        optimizer(grads)
        found.append(float(scaler.unscale((loss,))[0].asnumpy()))
    other = cnn()
    np.testing.assert_allclose(found, torch_losses(other, torch.optim.SGD(other.parameters(), 0.05), 6), rtol=1e-4)


@pytest.mark.parametrize("level", ["O0", "O2"])
def test_models_amp_level(level: str) -> None:
    net, losses = cnn(), Losses()
    options: dict[str, Any] = {} if level == "O0" else {"loss_scale_manager": amp.FixedLossScaleManager(128.0, False)}
    model = Model(net, msnn.CrossEntropyLoss(), msnn.SGD(net.trainable_params(), 0.05, loss_scale=1.0 if level == "O0" else 128.0), amp_level=level, **options)
    model.train(1, dataset(IMAGES[:256], LABELS[:256], 32, False), callbacks=[losses], dataset_sink_mode=False)
    other = cnn()
    want = torch_losses(other, torch.optim.SGD(other.parameters(), 0.05), 8)
    np.testing.assert_allclose(losses.values, want, rtol=1e-4 if level == "O0" else 1e-2)


def test_levels_keep_the_parameters_of_modules_in_cells() -> None:
    """MindSpore writes the sources of Cells anew for O1, and lost those of Modules.

    In a process of its own: in two of a dozen runs of all tests MindSpore said at level "auto" that a graph was run backward twice, and never
    in hundreds of runs beside fewer tests. What the others leave in the process is not known.
    """
    done = subprocess.run([sys.executable, "-m", "tests.interop.levels"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    levels = json.loads(done.stdout.splitlines()[-1])
    assert list(levels) == ["O0", "O1", "O3", "auto"]
    for losses, plain in levels.values():
        np.testing.assert_allclose(losses, plain, rtol=2e-2)
        assert losses[2] < losses[0]
