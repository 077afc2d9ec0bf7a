"""Networks that are written once and quantized with both libraries."""
from __future__ import annotations

from typing import Any

import numpy as np


def images(seed: int) -> np.ndarray:
    """Return four images of three channels."""
    return np.random.RandomState(seed).randn(4, 3, 16, 16).astype(np.float32)


def small_cnn(torch: Any) -> Any:
    """Return a network of convolutions with normalization and ReLU, pooling, linear layers and a sum, between stubs."""
    nn = torch.nn

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.quant, self.dequant = torch.ao.quantization.QuantStub(), torch.ao.quantization.DeQuantStub()
            self.conv1, self.bn1, self.relu1 = nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU()
            self.conv2, self.bn2 = nn.Conv2d(8, 8, 3, groups=2, bias=False), nn.BatchNorm2d(8)
            self.pool, self.fc, self.relu, self.out = nn.MaxPool2d(2), nn.Linear(8 * 7 * 7, 10), nn.ReLU(), nn.Linear(10, 4)
            self.sum = torch.ao.nn.quantized.FloatFunctional()

        def forward(self, x: Any) -> Any:
            x = self.relu1(self.bn1(self.conv1(self.quant(x))))
            x = self.pool(self.bn2(self.conv2(x)))
            x = self.relu(self.fc(x.reshape(x.shape[0], -1)))
            return self.dequant(self.out(self.sum.add(x, x)))

    torch.manual_seed(0)
    return Net()


FUSED = [["conv1", "bn1", "relu1"], ["conv2", "bn2"], ["fc", "relu"]]


def encoder(torch: Any, width: int = 32) -> Any:
    """Return a network like BERT's encoder: two blocks of attention and linear layers, and a head on the first token."""
    nn = torch.nn

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.query, self.key, self.value, self.out = (nn.Linear(width, width) for _ in range(4))
            self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.up, self.down = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)

        def forward(self, x: Any) -> Any:
            q, k, v = (layer(x).reshape(*x.shape[:2], 4, -1).transpose(1, 2) for layer in (self.query, self.key, self.value))
            shares = torch.softmax(q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5, -1)
            x = self.norm1(x + self.out((shares @ v).transpose(1, 2).reshape(x.shape)))
            return self.norm2(x + self.down(nn.functional.gelu(self.up(x))))

    class Encoder(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.tokens = nn.Embedding(50, width)
            self.blocks = nn.ModuleList([Block(), Block()])
            self.pooler, self.head = nn.Linear(width, width), nn.Linear(width, 3)

        def forward(self, ids: Any) -> Any:
            x = self.tokens(ids)
            for block in self.blocks:
                x = block(x)
            return self.head(torch.tanh(self.pooler(x[:, 0])))

    torch.manual_seed(0)
    return Encoder().eval()


TOKENS = np.random.RandomState(0).randint(0, 50, (3, 7))
STEPS = np.random.RandomState(1).randn(3, 9, 8).astype(np.float32)


def recurrent(torch: Any) -> Any:
    """Return a network that runs each kind of recurrent layer and cell in turn, and returns the outputs of all."""
    nn = torch.nn

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.lstm, self.gru = nn.LSTM(8, 12, 2, batch_first=True, bidirectional=True), nn.GRU(24, 6, batch_first=True)
            self.lstm_cell, self.gru_cell = nn.LSTMCell(6, 5), nn.GRUCell(5, 4)
            self.cell, self.out = nn.RNNCell(4, 3, nonlinearity="relu"), nn.Linear(3, 2)

        def forward(self, x: Any) -> Any:
            y, (h, c) = self.lstm(x)
            z, g = self.gru(y)
            a, b = self.lstm_cell(z[:, -1])
            d = self.gru_cell(a)
            e = self.cell(d)
            return y, h, c, z, g, a, b, d, e, self.out(e)

    torch.manual_seed(0)
    return Net().eval()
