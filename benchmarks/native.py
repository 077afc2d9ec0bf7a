"""The first networks of ``networks.py`` written in MindSpore alone, as its guides teach: what a step costs without mstorch.

``step(name, tuned)`` gives a function that trains once. Tuned means what a user of MindSpore can set: kernels launched without a queue,
and the instruction set for which its oneDNN has fast kernels (``TUNED``, set before the process begins).
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

TUNED = {"ONEDNN_MAX_CPU_ISA": "AVX2"}


def _floats(*shape: int) -> Any:
    import mindspore

    return mindspore.Tensor(np.random.RandomState(0).randn(*shape).astype(np.float32))


def _whole(high: int, *shape: int) -> Any:
    import mindspore

    return mindspore.Tensor(np.random.RandomState(0).randint(0, high, shape).astype(np.int32))


def _mlp(nn: Any) -> tuple[Any, Any, Any, Any]:
    model = nn.SequentialCell(nn.Dense(784, 512), nn.ReLU(), nn.Dense(512, 512), nn.ReLU(), nn.Dense(512, 10))
    return model, _floats(64, 784), _whole(10, 64), nn.SGD(model.trainable_params(), learning_rate=0.01)


def _cnn(nn: Any) -> tuple[Any, Any, Any, Any]:
    def convolution(inside: int, out: int) -> Any:
        return nn.Conv2d(inside, out, 3, pad_mode="pad", padding=1, has_bias=True)

    model = nn.SequentialCell(
        convolution(1, 32), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2, 2),
        convolution(32, 64), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(2, 2),
        nn.Flatten(), nn.Dense(64 * 49, 128), nn.ReLU(), nn.Dropout(p=0.25), nn.Dense(128, 10),
    )  # fmt: skip
    return model, _floats(64, 1, 28, 28), _whole(10, 64), nn.Adam(model.trainable_params(), learning_rate=1e-3)


def _lstm(nn: Any) -> tuple[Any, Any, Any, Any]:
    class LanguageModel(nn.Cell):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.words, self.layers, self.out = nn.Embedding(2000, 200), nn.LSTM(200, 200, 2, dropout=0.2), nn.Dense(200, 2000)

        def construct(self, x: Any) -> Any:
            return self.out(self.layers(self.words(x))[0]).reshape(-1, 2000)

    model = LanguageModel()
    return model, _whole(2000, 35, 20), _whole(2000, 700), nn.SGD(model.trainable_params(), learning_rate=0.01)


def _encoder(nn: Any) -> tuple[Any, Any, Any, Any]:
    class Encoder(nn.Cell):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.words = nn.Embedding(2000, 256)
            self.layers = nn.TransformerEncoder(nn.TransformerEncoderLayer(256, 4, 1024, dropout=0.1, batch_first=True), 4)
            self.out = nn.Dense(256, 2000)

        def construct(self, x: Any) -> Any:
            return self.out(self.layers(self.words(x))).reshape(-1, 2000)

    model = Encoder()
    return model, _whole(2000, 8, 128), _whole(2000, 1024), nn.AdamWeightDecay(model.trainable_params(), learning_rate=1e-3)


NATIVE = {"mlp": _mlp, "cnn": _cnn, "lstm": _lstm, "encoder": _encoder}


def step(name: str, tuned: bool) -> Callable[[], float]:
    """A training step of the network ``name`` of ``NATIVE``."""
    import mindspore
    from mindspore import nn

    if tuned:
        mindspore.runtime.launch_blocking()
    model, inputs, targets, optimizer = NATIVE[name](nn)
    model.set_train()
    criterion = nn.CrossEntropyLoss()
    gradients = mindspore.value_and_grad(lambda x, y: criterion(model(x), y), None, optimizer.parameters)

    def train() -> float:
        loss, found = gradients(inputs, targets)
        optimizer(found)
        return float(loss.asnumpy())

    return train
