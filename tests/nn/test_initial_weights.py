"""Every module that initializes weights randomly has torch's weights, bit for bit."""
from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest
import torch as real_torch

import mstorch
from tests.against_torch import values

MODULES: dict[str, Callable[[Any], Any]] = {
    "Linear": lambda nn: nn.Linear(7, 5),
    "Linear, no bias": lambda nn: nn.Linear(7, 5, bias=False),
    "Bilinear": lambda nn: nn.Bilinear(3, 4, 5),
    "Embedding": lambda nn: nn.Embedding(11, 6, padding_idx=2),
    "EmbeddingBag": lambda nn: nn.EmbeddingBag(11, 6),
    "Conv1d": lambda nn: nn.Conv1d(4, 6, 3),
    "Conv2d": lambda nn: nn.Conv2d(4, 6, 3, groups=2),
    "Conv3d": lambda nn: nn.Conv3d(2, 3, 2),
    "ConvTranspose1d": lambda nn: nn.ConvTranspose1d(4, 6, 3),
    "ConvTranspose2d": lambda nn: nn.ConvTranspose2d(4, 6, 3),
    "ConvTranspose3d": lambda nn: nn.ConvTranspose3d(2, 3, 2),
    "BatchNorm2d": lambda nn: nn.BatchNorm2d(4),
    "PReLU": lambda nn: nn.PReLU(3),
    "RNN": lambda nn: nn.RNN(3, 5, num_layers=2, bidirectional=True),
    "LSTM": lambda nn: nn.LSTM(3, 6, num_layers=2, proj_size=4),
    "GRU": lambda nn: nn.GRU(3, 5, bidirectional=True),
    "LSTMCell": lambda nn: nn.LSTMCell(3, 5),
    "GRUCell": lambda nn: nn.GRUCell(3, 5),
    "RNNCell": lambda nn: nn.RNNCell(3, 5),
    "MultiheadAttention": lambda nn: nn.MultiheadAttention(8, 2),
    "MultiheadAttention, own dimensions": lambda nn: nn.MultiheadAttention(8, 2, kdim=5, vdim=6, add_bias_kv=True),
    "TransformerEncoderLayer": lambda nn: nn.TransformerEncoderLayer(8, 2, 16),
    "TransformerDecoderLayer": lambda nn: nn.TransformerDecoderLayer(8, 2, 16),
    "Transformer": lambda nn: nn.Transformer(8, 2, 1, 1, 16),
    "AdaptiveLogSoftmaxWithLoss": lambda nn: nn.AdaptiveLogSoftmaxWithLoss(64, 20, [5, 10]),
    "a chain": lambda nn: nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(16, 8), nn.Embedding(3, 20)),
}


@pytest.mark.filterwarnings("ignore:enable_nested_tensor:UserWarning")
@pytest.mark.parametrize(("name", "dtype"), list(itertools.product(MODULES, ["float32", "float64"])))
def test_initial_weights(name: str, dtype: str) -> None:
    states = []
    for torch in (real_torch, mstorch):
        torch.manual_seed(0)
        torch.set_default_dtype(getattr(torch, dtype))
        try:
            states.append((MODULES[name](torch.nn).state_dict(), torch.get_rng_state()))
        finally:
            torch.set_default_dtype(torch.float32)
    (want, want_rng), (got, got_rng) = states
    assert list(want) == list(got)
    for key in want:
        assert values(want[key]).tobytes() == values(got[key]).tobytes(), key
    assert want_rng.numpy().tobytes() == got_rng.numpy().tobytes()
