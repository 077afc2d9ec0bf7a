"""Jobs of nnAudio."""

from __future__ import annotations

import torch
from nnAudio import features


def job_spectra():
    torch.manual_seed(0)
    wave = torch.randn(2, 8192, requires_grad=True)
    spectra = [
        features.STFT(n_fft=256, hop_length=64, output_format="Magnitude", trainable=True, verbose=False)(wave),
        features.MelSpectrogram(sr=8000, n_fft=256, hop_length=64, n_mels=16, trainable_mel=True, verbose=False)(wave),
        features.MFCC(sr=8000, n_mfcc=8, n_fft=256, hop_length=64, n_mels=16, verbose=False)(wave),
        features.CQT1992v2(sr=8000, hop_length=64, fmin=220, n_bins=12, verbose=False)(wave),
        features.Gammatonegram(sr=8000, n_fft=256, n_bins=8, verbose=False)(wave),
    ]
    sum(x.mean() for x in spectra).backward()
    return [*spectra, wave.grad]
