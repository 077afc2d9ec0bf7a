"""Jobs of torchlibrosa."""

from __future__ import annotations

import torch
from torchlibrosa.augmentation import SpecAugmentation
from torchlibrosa.stft import ISTFT, STFT, LogmelFilterBank, Spectrogram


def job_spectra():
    torch.manual_seed(0)
    wave = torch.randn(2, 4096)
    spectrogram = Spectrogram(n_fft=256, hop_length=64)(wave)
    mel = LogmelFilterBank(sr=8000, n_fft=256, n_mels=16)(spectrogram)
    real, imag = STFT(n_fft=256, hop_length=64)(wave)
    back = ISTFT(n_fft=256, hop_length=64)(real, imag, 4096)
    return [spectrogram, mel, back, SpecAugmentation(8, 2, 4, 2).train()(mel)]
