"""Layers of a batch of nothing: shapes of results and gradients beside torch's."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch as real_torch

import mstorch

LAYERS: dict[str, tuple[Callable[[Any], Any], tuple[int, ...]]] = {
    "RNN": (lambda nn: nn.RNN(3, 4, batch_first=True), (0, 5, 3)), "LSTM": (lambda nn: nn.LSTM(3, 4, batch_first=True), (0, 5, 3)),
    "GRU": (lambda nn: nn.GRU(3, 4, batch_first=True), (0, 5, 3)), "GroupNorm": (lambda nn: nn.GroupNorm(2, 4), (0, 4, 3)),
    "LayerNorm": (lambda nn: nn.LayerNorm(4), (0, 4)), "Linear": (lambda nn: nn.Linear(3, 2), (0, 3)),
    "Encoder": (lambda nn: nn.TransformerEncoderLayer(4, 2, 8, batch_first=True), (0, 3, 4)),
}  # fmt: skip
for _rank in (1, 2, 3):
    for _name, _args in {
        "AdaptiveMaxPool": (2,), "AdaptiveAvgPool": (2,), "MaxPool": (2,), "AvgPool": (2,), "LPPool": (2, 2), "Conv": (2, 3, 2),
        "ConvTranspose": (2, 3, 2), "BatchNorm": (2,), "InstanceNorm": (2,), "ReflectionPad": (1,), "ReplicationPad": (1,), "Dropout": (0.5,),
    }.items():  # fmt: skip
        LAYERS[f"{_name}{_rank}d"] = (
            lambda nn, name=f"{_name}{_rank}d", args=_args: getattr(nn, name)(*args), (0, 2) + (5,) * _rank,
        )  # fmt: skip


@pytest.mark.parametrize("name", LAYERS)
def test_empty_batches(name: str) -> None:
    make, shape = LAYERS[name]
    found = []
    for torch in (real_torch, mstorch):
        layer, x = make(torch.nn), torch.ones(shape, requires_grad=True)
        try:
            y = layer(x)
            y = y[0] if isinstance(y, tuple) else y
            y.sum().backward()
            found.append((tuple(y.shape), tuple(x.grad.shape), [float(p.grad.sum()) for p in layer.parameters() if p.grad is not None]))
        except (RuntimeError, ValueError, IndexError) as error:
            found.append(type(error))
    assert found[0] == found[1]
