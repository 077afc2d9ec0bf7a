"""Exceptions inside of Modules that MindSpore calls: what runs afterwards is as in an untouched process."""
from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import mindspore as ms
import numpy as np
import pytest
from mindspore import amp
from mindspore import nn as msnn

import mstorch as torch
from mstorch.interop import mindir

ROOT = Path(__file__).parents[2]
X = np.ones((1, 2, 5, 5), np.float32)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1])
def test_at_random_places(seed: int) -> None:
    command = [sys.executable, "-m", "tests.interop.exceptions", "100", "--seed", str(seed)]
    run = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT), "GLOG_v": "4"}, check=False)
    assert run.returncode == 0, run.stdout[-500:] + run.stderr[-500:]
    assert " 0 times training differed" in run.stdout


def test_a_kernel_that_the_device_lacks() -> None:
    net = torch.nn.Sequential(msnn.Conv2d(2, 3, 3)).to_float(ms.bfloat16)
    for call in (lambda: net(torch.from_numpy(X)), lambda: ms.value_and_grad(net, None, net.trainable_params())(ms.Tensor(X))):
        with pytest.raises(TypeError, match="Kernel select failed"):
            call()
        dense = msnn.Dense(2, 2, weight_init="ones", has_bias=False)
        loss, (weight,) = ms.value_and_grad(lambda x, dense=dense: dense(x).sum(), None, dense.trainable_params())(ms.Tensor(X[0, 0, :1, :2]))
        assert loss.dtype == ms.float32 and loss.asnumpy() == 4 and weight.asnumpy().tolist() == [[1, 1], [1, 1]]


def test_precisions_by_lists_compute() -> None:
    net = torch.nn.Sequential(torch.nn.Conv2d(2, 2, 1), torch.nn.BatchNorm2d(2))
    found = amp.custom_mixed_precision(net, black_list=[torch.nn.BatchNorm2d])
    result = found(torch.from_numpy(X))
    assert result.dtype is torch.float16 and result.shape == (1, 2, 5, 5)
    assert len(found.trainable_params()) == 4


HOOKS = {
    "parameter": lambda net: net.weight.register_hook(lambda grad: grad),
    "parameter, after accumulation": lambda net: net.weight.register_post_accumulate_grad_hook(lambda parameter: None),
    "backward": lambda net: net.register_backward_hook(lambda *given: None),
    "full backward": lambda net: net.register_full_backward_hook(lambda *given: None),
    "full backward pre": lambda net: net.register_full_backward_pre_hook(lambda *given: None),
    "tensor": lambda net: net.register_forward_hook(lambda module, args, result: result.register_hook(lambda grad: None) and None),
    "retained": lambda net: net.register_forward_hook(lambda module, args, result: result.retain_grad()),
}


@pytest.mark.parametrize("name", HOOKS)
def test_hooks_of_gradients_are_refused_not_skipped(name: str) -> None:
    net = torch.nn.Linear(2, 2)
    handle = HOOKS[name](net)
    x = ms.Tensor(X[0, 0, :1, :2])
    for function in (net, lambda x: net(x).sum()):
        with pytest.raises(RuntimeError, match="cannot be trained by MindSpore itself"):
            ms.value_and_grad(function, None, net.trainable_params())(x)
    handle.remove()
    assert ms.value_and_grad(net, None, net.trainable_params())(x)[0].shape == (1, 2)


def test_a_native_child_of_two_names_has_one_set_of_parameters() -> None:
    def names(torch: Any, child: Any) -> Any:
        net = torch.nn.Module()
        net.a = net.b = child
        return [name for name, _ in net.named_parameters()], list(net.state_dict())

    native, ours = names(torch, msnn.Dense(2, 2)), names(torch, torch.nn.Linear(2, 2))
    assert native == ours == (["a.weight", "a.bias"], ["a.weight", "a.bias", "b.weight", "b.bias"])
    net = torch.nn.Module()
    net.a = net.b = msnn.Dense(2, 2)
    assert len(net.trainable_params()) == 2


def test_a_cell_around_a_module_loads_tensors_of_mindspore() -> None:
    class Around(msnn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.inner, self.dense = torch.nn.Linear(2, 2), msnn.Dense(2, 2)

    cell = Around()
    cell.load_state_dict({name: ms.Tensor(np.full(p.shape, 3, np.float32)) for name, p in cell.parameters_dict().items()})
    assert cell.inner.weight.tolist() == [[3, 3], [3, 3]] and cell.inner.bias.tolist() == [3, 3] and cell.dense.bias.asnumpy().tolist() == [3, 3]


def test_files_of_graphs_hold_the_values_of_native_children(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    x = torch.randn(1, 2, 5, 5)
    net = torch.nn.Sequential(
        msnn.Conv2d(2, 3, 3), msnn.BatchNorm2d(3), torch.nn.ReLU(), msnn.SequentialCell(msnn.Conv2d(3, 3, 3), msnn.ReLU()), torch.nn.Conv2d(3, 2, 3)
    ).eval()  # fmt: skip
    for parameter in net.parameters():
        parameter.data.normal_()
    before = list(net.state_dict())
    path = mindir.export_mindir(net, x, path=tmp_path / "net")
    found = ms.nn.GraphCell(ms.load(path))(x.to_mindspore()).asnumpy()
    np.testing.assert_allclose(found, net(x).detach().numpy(), rtol=1e-4, atol=1e-4)
    assert list(net.state_dict()) == before
    net = torch.nn.Sequential(msnn.Conv2d(2, 3, 3), msnn.Conv2d(3, 3, 3)).eval()
    with monkeypatch.context() as patch:  # an export that fails at its end
        patch.setattr(mindir, "run_file", lambda path, raws: [1 / 0])
        with pytest.raises(ZeroDivisionError):
            mindir.export_mindir(net, x, path=tmp_path / "failed")
    assert not (tmp_path / "failed.mindir").exists()
    assert Path(mindir.export_mindir(net, x, path=tmp_path / "again")).exists()


def test_rows_of_a_dataset() -> None:
    class Rows:
        def __len__(self) -> int:
            return 4

        def __getitem__(self, index: int) -> tuple[np.ndarray, int, float]:
            return X[0] + index, index, index / 2

    rows = list(ms.dataset.GeneratorDataset(Rows(), ["x", "y", "z"], shuffle=False).batch(2).create_tuple_iterator(output_numpy=True, num_epochs=1))
    assert [row[1].tolist() for row in rows] == [[0, 1], [2, 3]] and rows[1][0].shape == (2, 2, 5, 5) and rows[1][2].tolist() == [1.0, 1.5]


def test_cell_names_by_getattr() -> None:
    net = torch.nn.Linear(2, 2)
    name = "trainable_params"
    assert len(getattr(net, "trainable_params")()) == len(getattr(net, name)()) == 2  # noqa: B009 - under test
    assert getattr(net, "trainable_params", None) is None and not hasattr(net, "trainable_params")
    assert "trainable_params" not in dir(net)
