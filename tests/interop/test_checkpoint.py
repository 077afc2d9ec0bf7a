"""Checkpoint files of MindSpore: a native network and its ported form read each other's."""
from __future__ import annotations

import os
import pathlib
from typing import Any

import mindspore
import numpy as np
import pytest
from mindspore import nn as msnn

import mstorch as torch
from mstorch import interop
from tests.interop.networks import NativeResNet18, ResNet18, outputs_equal, randomised

nn = torch.nn


def test_resnet18_both_ways(tmp_path: pathlib.Path) -> None:
    x = np.random.RandomState(1).uniform(-1, 1, (2, 3, 64, 64)).astype(np.float32)
    native = randomised(NativeResNet18())
    ported = ResNet18()
    mindspore.save_checkpoint(native, str(tmp_path / "native.ckpt"))
    result = interop.load_mindspore_checkpoint(ported, tmp_path / "native.ckpt")
    assert result == ([], [])
    outputs_equal(native, ported, x)

    torch.manual_seed(5)
    other = ResNet18()
    other(torch.rand(4, 3, 64, 64))  # gives the running statistics other values
    interop.save_mindspore_checkpoint(other, tmp_path / "ported.ckpt")
    fresh = NativeResNet18()
    not_loaded, _ = mindspore.load_param_into_net(fresh, mindspore.load_checkpoint(str(tmp_path / "ported.ckpt")))
    assert not_loaded == []
    outputs_equal(fresh, other, x)
    names = set(mindspore.load_checkpoint(str(tmp_path / "ported.ckpt")))
    assert {parameter.name for parameter in fresh.get_parameters()} <= names


def test_names() -> None:
    found = interop.mindspore_names(ResNet18(width=4))
    native = [parameter.name for parameter in NativeResNet18(width=4).get_parameters()]
    assert sorted(name for name in found.values() if not name.endswith("num_batches_tracked")) == sorted(native)
    assert found["layer2.0.downsample.1.running_var"] == "layer2.0.downsample.1.moving_variance"
    assert found["bn1.weight"] == "bn1.gamma" and found["fc.weight"] == "fc.weight"


class Around(msnn.Cell):
    def __init__(self, layer: Any) -> None:
        super().__init__()
        self.layer = layer

    def construct(self, *args: Any) -> Any:
        return self.layer(*args)


class AroundModule(nn.Module):
    def __init__(self, layer: Any) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, *args: Any) -> Any:
        return self.layer(*args)


# Native layer, ported layer, shape of the input (an int is the number of classes that an index input has).
LAYERS: dict[str, tuple[Any, Any, Any]] = {
    "Dense": (lambda: msnn.Dense(4, 3), lambda: nn.Linear(4, 3), (2, 4)),
    "Conv1d": (lambda: msnn.Conv1d(2, 3, 3, pad_mode="valid", has_bias=True), lambda: nn.Conv1d(2, 3, 3), (2, 2, 9)),
    "Conv2d": (lambda: msnn.Conv2d(2, 3, 3, pad_mode="valid", has_bias=True), lambda: nn.Conv2d(2, 3, 3), (2, 2, 9, 9)),
    "Conv2dTranspose": (
        lambda: msnn.Conv2dTranspose(2, 3, 3, pad_mode="valid", has_bias=True), lambda: nn.ConvTranspose2d(2, 3, 3), (2, 2, 5, 5),
    ),
    "Conv1dTranspose": (
        lambda: msnn.Conv1dTranspose(2, 3, 3, pad_mode="valid", has_bias=True), lambda: nn.ConvTranspose1d(2, 3, 3), (2, 2, 5),
    ),
    "BatchNorm1d": (lambda: msnn.BatchNorm1d(4), lambda: nn.BatchNorm1d(4), (3, 4)),
    "BatchNorm2d": (lambda: msnn.BatchNorm2d(4), lambda: nn.BatchNorm2d(4), (3, 4, 2, 2)),
    "LayerNorm": (lambda: msnn.LayerNorm((4,), epsilon=1e-5), lambda: nn.LayerNorm(4), (3, 4)),
    "GroupNorm": (lambda: msnn.GroupNorm(2, 4), lambda: nn.GroupNorm(2, 4), (3, 4, 5, 5)),
    "Embedding": (lambda: msnn.Embedding(7, 3), lambda: nn.Embedding(7, 3), 7),
    "BatchNorm3d": (lambda: msnn.BatchNorm3d(4), lambda: nn.BatchNorm3d(4), (3, 4, 2, 2, 2)),
    "TransformerEncoderLayer": (
        lambda: msnn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True),
        lambda: nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True), (2, 5, 8),
    ),
    "PReLU": (lambda: msnn.PReLU(3), lambda: nn.PReLU(3), (2, 3, 4)),
}  # fmt: skip


@pytest.mark.parametrize("inside", [False, True], ids=["alone", "inside"])
@pytest.mark.parametrize("name", list(LAYERS))
def test_layers_both_ways(name: str, inside: bool, tmp_path: pathlib.Path) -> None:
    native_layer, layer, shape = LAYERS[name]
    random = np.random.RandomState(2)
    x = random.uniform(-1, 1, shape).astype(np.float32) if isinstance(shape, tuple) else random.randint(0, shape, (2, 5)).astype(np.int32)
    make: Any = (lambda: Around(native_layer())) if inside else native_layer
    native, ported = randomised(make()), (AroundModule(layer()) if inside else layer())
    mindspore.save_checkpoint(native, str(tmp_path / "a.ckpt"))
    assert interop.load_mindspore_checkpoint(ported, tmp_path / "a.ckpt") == ([], [])
    outputs_equal(native, ported, x)
    with torch.no_grad():
        for parameter in ported.parameters():
            parameter.mul_(1.25)
    interop.save_mindspore_checkpoint(ported, tmp_path / "b.ckpt")
    fresh = make()
    assert mindspore.load_param_into_net(fresh, mindspore.load_checkpoint(str(tmp_path / "b.ckpt")))[0] == []
    outputs_equal(fresh, ported, x)


def test_names_of_instance_norm(tmp_path: pathlib.Path) -> None:
    """MindSpore has no CPU kernel for it, but the file can be read and written; statistics that torch's layer lacks are filled in."""
    native = msnn.InstanceNorm2d(4)
    for ported in (nn.InstanceNorm2d(4, affine=True), nn.InstanceNorm2d(4, affine=True, track_running_stats=True)):
        interop.save_mindspore_checkpoint(nn.Sequential(ported), tmp_path / "a.ckpt")
        assert mindspore.load_param_into_net(msnn.SequentialCell(native), mindspore.load_checkpoint(str(tmp_path / "a.ckpt")))[0] == []
        assert interop.load_mindspore_checkpoint(nn.Sequential(ported), tmp_path / "a.ckpt") == ([], [])


def test_files_of_a_module_itself(tmp_path: pathlib.Path) -> None:
    torch.manual_seed(0)
    first, second = ResNet18(width=4), ResNet18(width=4)
    mindspore.save_checkpoint(first, str(tmp_path / "a.ckpt"))  # under torch's dotted names
    assert interop.load_mindspore_checkpoint(second, tmp_path / "a.ckpt") == ([], [])
    for name, value in first.state_dict().items():
        assert torch.equal(second.state_dict()[name], value), name
    assert mindspore.load_param_into_net(ResNet18(width=4), mindspore.load_checkpoint(str(tmp_path / "a.ckpt")))[0] == []


def test_names_of_the_users_own(tmp_path: pathlib.Path) -> None:
    native = randomised(msnn.SequentialCell(msnn.Dense(4, 3), msnn.ReLU(), msnn.Dense(3, 2)))
    mindspore.save_checkpoint(native, str(tmp_path / "a.ckpt"))
    ported = nn.Sequential()
    ported.add_module("first", nn.Linear(4, 3))
    ported.add_module("act", nn.ReLU())
    ported.add_module("last", nn.Linear(3, 2))
    own = {"first.weight": "0.weight", "first.bias": "0.bias", "last.weight": "2.weight", "last.bias": "2.bias"}
    x = np.random.RandomState(0).rand(2, 4).astype(np.float32)
    for names in (own, own.get, lambda name: name.replace("first", "0").replace("last", "2")):
        interop.load_mindspore_checkpoint(ported, tmp_path / "a.ckpt", names=names)
        outputs_equal(native, ported, x)
        interop.save_mindspore_checkpoint(ported, tmp_path / "b.ckpt", names=names)
        assert sorted(mindspore.load_checkpoint(str(tmp_path / "b.ckpt"))) == ["0.bias", "0.weight", "2.bias", "2.weight"]


def test_missing_and_unexpected_keys(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "a.ckpt"
    mindspore.save_checkpoint(msnn.SequentialCell(msnn.Dense(4, 3), msnn.Dense(3, 2)), str(path))
    small = nn.Sequential(nn.Linear(4, 3))
    with pytest.raises(RuntimeError, match=r'Unexpected key\(s\) in the checkpoint: "1.weight", "1.bias"'):
        interop.load_mindspore_checkpoint(small, path)
    assert interop.load_mindspore_checkpoint(small, path, strict=False) == ([], ["1.weight", "1.bias"])
    large = nn.Sequential(nn.Linear(4, 3), nn.Linear(3, 2), nn.Linear(2, 2))
    with pytest.raises(RuntimeError, match=r'Missing key\(s\) in the checkpoint: "2.weight", "2.bias"'):
        interop.load_mindspore_checkpoint(large, path)
    with pytest.raises(RuntimeError, match="size mismatch for 0.weight"):
        interop.load_mindspore_checkpoint(nn.Sequential(nn.Linear(5, 3), nn.Linear(3, 2)), path, strict=False)
    with pytest.raises(FileNotFoundError):
        interop.load_mindspore_checkpoint(small, tmp_path / "none.ckpt")


def test_dtypes_and_buffers(tmp_path: pathlib.Path) -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.narrow = nn.Parameter(torch.tensor([1.5, -2.0]).bfloat16())
            self.wide = nn.Parameter(torch.tensor([1e-300]).double())
            self.register_buffer("steps", torch.tensor(2**40))
            self.register_buffer("mask", torch.tensor([True, False]))
            self.register_buffer("cache", torch.ones(1), persistent=False)

    net, other = Net(), Net()
    with torch.no_grad():
        for tensor in (*other.parameters(), *other.buffers()):
            tensor.zero_()
    interop.save_mindspore_checkpoint(net, tmp_path / "a.ckpt")
    assert sorted(mindspore.load_checkpoint(str(tmp_path / "a.ckpt"))) == ["mask", "narrow", "steps", "wide"]
    interop.load_mindspore_checkpoint(other, tmp_path / "a.ckpt")
    for name, value in net.state_dict().items():
        got = other.state_dict()[name]
        assert got.dtype == value.dtype and torch.equal(got, value), name


def test_writing_leaves_the_old_file_whole(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.ckpt"
    net = nn.Linear(2, 2)
    interop.save_mindspore_checkpoint(net, path)
    before = path.read_bytes()
    with torch.no_grad():
        net.weight.zero_()

    def fails(*args: Any) -> None:
        raise OSError("full")

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", fails)
        with pytest.raises(OSError, match="full"):
            interop.save_mindspore_checkpoint(net, path)
    assert path.read_bytes() == before and os.listdir(tmp_path) == ["a.ckpt"]
    interop.save_mindspore_checkpoint(net, path)
    assert path.read_bytes() != before and os.access(path, os.W_OK)
