"""Jobs of julius."""

from __future__ import annotations

import julius
import torch


def job_filters():
    torch.manual_seed(0)
    wave = torch.randn(2, 4, 800, requires_grad=True)
    low = julius.lowpass_filter(wave, 0.1)
    bands = julius.split_bands(wave, 1000, 5)
    resampled = julius.resample_frac(wave, 3, 2)
    (low.square().sum() + bands.square().sum() + resampled.square().sum()).backward()
    weight = torch.randn(8, 4, 64)
    return [low, bands, resampled, wave.grad, julius.fft_conv1d(wave, weight, stride=2), julius.core.mel_frequencies(5, 10.0, 1000.0)]
