"""Jobs of torchaudio."""
from __future__ import annotations

import torch
import torchaudio
from torchaudio import functional as F
from torchaudio import models, transforms


def _wave():
    steps = torch.arange(4000) / 8000
    return torch.stack([torch.sin(6.2831853 * 440 * steps), 0.3 * torch.sin(6.2831853 * 880 * steps)])


def job_features():
    wave = _wave().requires_grad_()
    found = [
        transforms.Spectrogram(n_fft=200)(wave), transforms.MelSpectrogram(8000, n_fft=200, n_mels=20)(wave), transforms.MFCC(8000, n_mfcc=10, melkwargs={
            "n_fft": 200, "n_mels": 20})(wave), transforms.AmplitudeToDB()(transforms.Spectrogram(n_fft=200)(torch.randn(2, 4000))), transforms.Resample(8000, 4000)(wave),
        transforms.LFCC(8000, n_filter=16, n_lfcc=10, speckwargs={"n_fft": 200})(wave), F.preemphasis(wave), F.gain(wave, 3.0),
        torchaudio.compliance.kaldi.fbank(wave[:1], sample_frequency=8000, num_mel_bins=20, dither=0.0),
    ]  # fmt: skip
    found[1].log1p().mean().backward()
    return found, wave.grad


def job_models():
    found = []
    for make, inputs in (
        (lambda: models.Conformer(16, 4, 32, 2, 3), (torch.randn(2, 12, 16), torch.tensor([12, 9]))),
        (lambda: models.ConvTasNet(num_sources=2, enc_num_feats=16, msk_num_feats=8, msk_num_hidden_feats=16, msk_num_layers=2, msk_num_stacks=1),
         (torch.randn(1, 1, 400),)),
        (lambda: models.DeepSpeech(16, 8, 5), (torch.randn(2, 1, 10, 16),)),
        (lambda: models.Wav2Letter(num_classes=5, input_type="mfcc", num_features=16), (torch.randn(1, 16, 60),)),
    ):  # fmt: skip
        torch.manual_seed(0)
        model = make().eval()
        out = model(*inputs)
        out = out[0] if isinstance(out, tuple) else out
        out.square().mean().backward()
        found.append((out, sum(float(p.grad.abs().sum()) for p in model.parameters() if p.grad is not None)))
    return found
