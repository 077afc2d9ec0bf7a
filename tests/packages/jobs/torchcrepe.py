"""Jobs of torchcrepe."""

from __future__ import annotations

import torch
import torchcrepe


def job_pitch():
    torch.manual_seed(0)
    net = torchcrepe.Crepe("tiny")
    net.eval()
    time = torch.arange(8000) / 16000
    wave = torch.sin(2 * torch.pi * 440 * time)[None]
    frames = next(torchcrepe.preprocess(wave, 16000, 160))
    with torch.no_grad():
        bins = net(frames)
    decoded = torchcrepe.postprocess(
        bins.reshape(1, -1, 360).transpose(1, 2), 50.0, 1000.0, decoder=torchcrepe.decode.weighted_argmax, return_periodicity=True
    )
    return [bins, *decoded, torchcrepe.filter.median(decoded[1], 3), torchcrepe.convert.bins_to_frequency(torch.tensor([10, 200])) > 0]
