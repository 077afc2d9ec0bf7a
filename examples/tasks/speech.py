"""Which of four words is said? Spectrograms of made-up sounds and a recurrent network: python -m mstorch speech.py [--device npu]"""
import argparse
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

RATE, WORDS = 8000, ((300, 900), (900, 300), (500, 500), (300, 1500))


def sounds(count):
    """Sounds (count, 4000) of two tones one after the other, with noise, and the number of the word."""
    labels = torch.randint(len(WORDS), (count,))
    time = torch.arange(2000) / RATE
    tones = torch.tensor(WORDS, dtype=torch.float32)[labels] * (1 + 0.05 * torch.randn(count, 1))
    waves = torch.sin(2 * math.pi * tones[:, :, None] * time).reshape(count, -1)
    return waves + 0.3 * torch.randn(waves.shape), labels


def spectrogram(waves):
    """Logarithms of power (count, frames, 65)."""
    window = torch.hann_window(128, device=waves.device)
    found = torch.stft(waves, 128, hop_length=64, window=window, return_complex=True)
    return found.abs().square().clamp_min(1e-6).log().transpose(1, 2)


class Listener(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(65)
        self.memory = nn.GRU(65, 32, batch_first=True, bidirectional=True)
        self.head = nn.Linear(64, len(WORDS))

    def forward(self, frames):
        return self.head(self.memory(self.norm(frames))[0].mean(1))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--steps", type=int, default=20)
    options = parser.parse_args()
    torch.manual_seed(0)
    model = Listener().to(options.device)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for step in range(options.steps):
        waves, labels = sounds(16)
        loss = F.cross_entropy(model(spectrogram(waves).to(options.device)), labels.to(options.device))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"step {step + 1}: loss {loss.item():.4f}")
    waves, labels = sounds(64)
    with torch.no_grad():
        found = model(spectrogram(waves).to(options.device)).argmax(1).cpu()
    print(f"understood {(found == labels).float().mean().item():.0%}")


if __name__ == "__main__":
    main()
