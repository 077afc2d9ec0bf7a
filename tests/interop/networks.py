"""Networks in MindSpore's form and in torch's, for the tests of this folder."""
from __future__ import annotations

from typing import Any

import mindspore
import numpy as np
from mindspore import nn as msnn
from mindspore import ops

import mstorch as torch


def _conv(inputs: int, outputs: int, size: int, stride: int = 1) -> msnn.Conv2d:
    return msnn.Conv2d(inputs, outputs, size, stride, pad_mode="pad", padding=size // 2, has_bias=False)


class NativeBlock(msnn.Cell):
    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.conv1, self.bn1 = _conv(inputs, outputs, 3, stride), msnn.BatchNorm2d(outputs)
        self.conv2, self.bn2 = _conv(outputs, outputs, 3), msnn.BatchNorm2d(outputs)
        self.relu = msnn.ReLU()
        self.downsample = None
        if stride != 1 or inputs != outputs:
            self.downsample = msnn.SequentialCell([_conv(inputs, outputs, 1, stride), msnn.BatchNorm2d(outputs)])

    def construct(self, x: Any) -> Any:
        out = self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x)))))
        return self.relu(out + (x if self.downsample is None else self.downsample(x)))


class NativeResNet18(msnn.Cell):
    def __init__(self, width: int = 64, classes: int = 10) -> None:
        super().__init__()
        self.conv1, self.bn1, self.relu = _conv(3, width, 7, 2), msnn.BatchNorm2d(width), msnn.ReLU()
        self.maxpool = msnn.MaxPool2d(3, 2, pad_mode="pad", padding=1)
        for i in range(4):
            inputs, outputs, stride = width * 2 ** max(i - 1, 0), width * 2**i, 1 if i == 0 else 2
            blocks = [NativeBlock(inputs, outputs, stride), NativeBlock(outputs, outputs, 1)]
            setattr(self, f"layer{i + 1}", msnn.SequentialCell(blocks))
        self.fc = msnn.Dense(width * 8, classes)

    def construct(self, x: Any) -> Any:
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(ops.mean(x, (2, 3)))


class Block(torch.nn.Module):
    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        nn = torch.nn
        self.conv1, self.bn1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False), nn.BatchNorm2d(outputs)
        self.conv2, self.bn2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False), nn.BatchNorm2d(outputs)
        self.relu = nn.ReLU()
        self.downsample = None
        if stride != 1 or inputs != outputs:
            self.downsample = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))

    def forward(self, x: Any) -> Any:
        out = self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x)))))
        return self.relu(out + (x if self.downsample is None else self.downsample(x)))


class ResNet18(torch.nn.Module):
    def __init__(self, width: int = 64, classes: int = 10) -> None:
        super().__init__()
        nn = torch.nn
        self.conv1, self.bn1 = nn.Conv2d(3, width, 7, 2, 3, bias=False), nn.BatchNorm2d(width)
        self.relu, self.maxpool = nn.ReLU(), nn.MaxPool2d(3, 2, 1)
        for i in range(4):
            inputs, outputs, stride = width * 2 ** max(i - 1, 0), width * 2**i, 1 if i == 0 else 2
            setattr(self, f"layer{i + 1}", nn.Sequential(Block(inputs, outputs, stride), Block(outputs, outputs, 1)))
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Linear(width * 8, classes)

    def forward(self, x: Any) -> Any:
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(self.avgpool(x).flatten(1))


def cnn() -> Any:
    """Return the CNN of the digits example, seeded."""
    nn = torch.nn
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 10),
    )  # fmt: skip


def randomised(net: msnn.Cell, seed: int = 0) -> msnn.Cell:
    """Return a native network with weights and statistics that differ from their defaults."""
    random = np.random.RandomState(seed)
    for parameter in net.get_parameters():
        value = random.uniform(0.5, 1.5, parameter.shape) if parameter.ndim == 1 else random.normal(0, 0.05, parameter.shape)
        parameter.set_data(mindspore.Tensor(value.astype(np.float32)))
    return net


def outputs_equal(native: msnn.Cell, ours: Any, x: np.ndarray, tolerance: float = 1e-5) -> None:
    """Assert that the outputs of both are equal, up to a fraction of the largest."""
    native.set_train(False)
    ours.eval()
    want = native(mindspore.Tensor(x)).asnumpy()
    got = ours(torch.from_numpy(x)).detach().numpy()
    assert np.abs(want).max() > 1e-3
    np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance * np.abs(want).max())
