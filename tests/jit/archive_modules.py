"""Networks of sound, written so that real torch can script, trace and export them."""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional


def _waves(*size: int) -> Any:
    return lambda: ((torch.randn(*size),), {})


class VoiceActivity(nn.Module):
    """A detector of speech: a Fourier transform by convolution, convolutions, and a recurrent state that is returned."""

    def __init__(self) -> None:
        super().__init__()
        self.transform = nn.Conv1d(1, 34, 32, stride=16, bias=False)
        self.encoder = nn.Sequential(nn.Conv1d(17, 16, 3, padding=1), nn.ReLU(), nn.Conv1d(16, 16, 3, stride=2, padding=1), nn.ReLU())
        self.rnn = nn.LSTMCell(16, 16)
        self.decoder = nn.Sequential(nn.Dropout(0.1), nn.ReLU(), nn.Conv1d(16, 1, 1), nn.Sigmoid())

    def forward(self, wave: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        parts = self.transform(functional.pad(wave.unsqueeze(1), [8, 8], "reflect"))
        real, imaginary = parts[:, :17], parts[:, 17:]
        x = self.encoder(torch.sqrt(real**2 + imaginary**2)).mean(-1)
        hidden, cell = self.rnn(x, (state[0], state[1]))
        return self.decoder(hidden.unsqueeze(-1)).mean(2), torch.stack([hidden, cell])


def voice_activity() -> Any:
    return VoiceActivity(), lambda: ((torch.randn(2, 256), torch.randn(2, 2, 16)), {})


class _Separated(nn.Module):
    def __init__(self, dilation: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv1d(8, 16, 1), nn.PReLU(), nn.GroupNorm(1, 16), nn.Conv1d(16, 16, 3, padding=dilation, dilation=dilation, groups=16), nn.PReLU(),
            nn.GroupNorm(1, 16), nn.Conv1d(16, 8, 1),
        )  # fmt: skip

    def forward(self, x: Tensor) -> Tensor:
        return x + self.layers(x)


class Separator(nn.Module):
    """Sources of a mixture, by masks of an encoding (as in Conv-TasNet)."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder, self.decoder = nn.Conv1d(1, 12, 8, stride=4, bias=False), nn.ConvTranspose1d(12, 1, 8, stride=4, bias=False)
        self.masks = nn.Sequential(nn.GroupNorm(1, 12), nn.Conv1d(12, 8, 1), _Separated(1), _Separated(2), _Separated(4), nn.Conv1d(8, 24, 1), nn.Sigmoid())

    def forward(self, wave: Tensor) -> Tensor:
        code = self.encoder(wave.unsqueeze(1))
        masks = self.masks(code).view(wave.size(0), 2, 12, -1)
        return self.decoder((code.unsqueeze(1) * masks).flatten(0, 1)).view(wave.size(0), 2, -1)


def separator() -> Any:
    return Separator(), _waves(2, 200)


class DeepSpeech(nn.Module):
    """Letters of a spectrogram by convolutions and bidirectional recurrent layers."""

    def __init__(self) -> None:
        super().__init__()
        self.convolutions = nn.Sequential(
            nn.Conv2d(1, 4, (11, 5), (2, 2), (5, 2)), nn.BatchNorm2d(4), nn.Hardtanh(0.0, 20.0), nn.Conv2d(4, 4, (5, 3), 1, (2, 1)), nn.BatchNorm2d(4), nn.Hardtanh(0.0, 20.0)
        )
        self.rnn = nn.GRU(4 * 10, 12, 2, bidirectional=True, batch_first=True)
        self.head = nn.Sequential(nn.LayerNorm(24), nn.Linear(24, 9), nn.LogSoftmax(-1))

    def forward(self, x: Tensor) -> Tensor:
        x = self.convolutions(x.unsqueeze(1)).flatten(1, 2).transpose(1, 2)
        return self.head(self.rnn(x)[0])


def deep_speech() -> Any:
    return DeepSpeech(), _waves(2, 20, 30)


class WaveNet(nn.Module):
    """Gated dilated convolutions that see the past alone."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Embedding(32, 8)
        self.gated = nn.ModuleList(nn.Conv1d(8, 16, 2, dilation=2**n) for n in range(4))
        self.skips = nn.ModuleList(nn.Conv1d(8, 8, 1) for _ in range(4))
        self.last = nn.Sequential(nn.ReLU(), nn.Conv1d(8, 8, 1), nn.ReLU(), nn.Conv1d(8, 32, 1))

    def forward(self, codes: Tensor) -> Tensor:
        x = self.first(codes).transpose(1, 2)
        total = torch.zeros_like(x)
        for number, (gated, skip) in enumerate(zip(self.gated, self.skips)):
            a, b = gated(functional.pad(x, [1 << number, 0])).chunk(2, 1)
            x = x + torch.tanh(a) * torch.sigmoid(b)
            total = total + skip(x)
        return self.last(total)


def wavenet() -> Any:
    return WaveNet(), lambda: ((torch.randint(0, 32, (2, 40)),), {})


class TacotronDecoder(nn.Module):
    """Frames that are decoded one by one with attention over an encoding."""

    def __init__(self) -> None:
        super().__init__()
        self.query, self.key, self.energy = nn.Linear(12, 8), nn.Linear(10, 8), nn.Linear(8, 1)
        self.rnn, self.frame = nn.GRUCell(10 + 4, 12), nn.Linear(22, 4)

    def forward(self, memory: Tensor) -> tuple[Tensor, Tensor]:
        state, frame = memory.new_zeros(memory.size(0), 12), memory.new_zeros(memory.size(0), 4)
        keys, frames, weights = self.key(memory), [], []
        for _ in range(5):
            energies = self.energy(torch.tanh(self.query(state).unsqueeze(1) + keys)).squeeze(-1)
            weight = torch.softmax(energies, -1)
            context = torch.bmm(weight.unsqueeze(1), memory).squeeze(1)
            state = self.rnn(torch.cat([context, frame], -1), state)
            frame = self.frame(torch.cat([state, context], -1))
            frames.append(frame)
            weights.append(weight)
        return torch.stack(frames, 1), torch.stack(weights, 1)


def tacotron_decoder() -> Any:
    return TacotronDecoder(), _waves(2, 7, 10)


class Conformer(nn.Module):
    """A block of feed-forward layers, attention and convolution."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Sequential(nn.LayerNorm(16), nn.Linear(16, 32), nn.SiLU(), nn.Linear(32, 16))
        self.norm, self.attention = nn.LayerNorm(16), nn.MultiheadAttention(16, 2, batch_first=True)
        self.convolution = nn.Sequential(nn.Conv1d(16, 32, 1), nn.GLU(1), nn.Conv1d(16, 16, 5, padding=2, groups=16), nn.BatchNorm1d(16), nn.SiLU(), nn.Conv1d(16, 16, 1))
        self.last = nn.LayerNorm(16)

    def forward(self, x: Tensor, lengths: Tensor) -> Tensor:
        hidden = torch.arange(x.size(1), device=x.device).unsqueeze(0) >= lengths.unsqueeze(1)
        x = x + 0.5 * self.first(x)
        y = self.norm(x)
        x = x + self.attention(y, y, y, key_padding_mask=hidden, need_weights=False)[0]
        x = x + self.convolution(x.transpose(1, 2)).transpose(1, 2)
        return self.last(x).masked_fill(hidden.unsqueeze(-1), 0.0)


def conformer() -> Any:
    return Conformer(), lambda: ((torch.randn(2, 11, 16), torch.tensor([11, 7])), {})


class Spectrogram(nn.Module):
    """A mel spectrogram by ``torch.stft``, and its inverse."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("window", torch.hann_window(32))
        self.register_buffer("bank", torch.rand(17, 6), persistent=False)

    def forward(self, wave: Tensor) -> tuple[Tensor, Tensor]:
        parts = torch.stft(wave, 32, 16, window=self.window, return_complex=True)
        mel = torch.log(torch.clamp(parts.abs().pow(2).transpose(1, 2) @ self.bank, min=1e-5))
        return mel, torch.istft(parts, 32, 16, window=self.window, length=wave.size(1))


def spectrogram() -> Any:
    return Spectrogram(), _waves(2, 160)
