"""Jobs of openunmix."""

from __future__ import annotations

import torch
from openunmix import filtering, model, transforms


def job_separation():
    torch.manual_seed(0)
    wave = torch.randn(1, 2, 6000)
    stft, istft = transforms.make_filterbanks(n_fft=512, n_hop=128, center=True)
    spectrum = stft(wave)
    norm = transforms.ComplexNorm(mono=False)(spectrum)
    net = model.OpenUnmix(nb_bins=257, hidden_size=16, nb_layers=1)
    mask = net(norm)
    mask.square().mean().backward()
    with torch.no_grad():
        stacked = torch.stack([net(norm), norm - net(norm)], -1)[0].permute(2, 1, 0, 3)
        separated = filtering.wiener(stacked, spectrum[0].permute(2, 1, 0, 3), iterations=1)
    return [mask, net.fc1.weight.grad, istft(spectrum, length=6000), separated]
