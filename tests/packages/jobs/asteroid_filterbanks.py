"""Jobs of asteroid_filterbanks."""

from __future__ import annotations

import torch
from asteroid_filterbanks import STFTFB, Decoder, Encoder, FreeFB, ParamSincFB, make_enc_dec, transforms


def job_banks():
    torch.manual_seed(0)
    wave = torch.randn(2, 1, 600)
    answers = []
    for bank in (FreeFB(32, 16, 8), ParamSincFB(32, 17, 8), STFTFB(32, 32, 16)):
        encoder, decoder = Encoder(bank), Decoder(bank)
        spectrum = encoder(wave)
        back = decoder(spectrum, length=600)
        if back.requires_grad:
            back.square().mean().backward()
        answers += [spectrum, back, *[p.grad for p in encoder.parameters()]]
    encoder, decoder = make_enc_dec("stft", n_filters=32, kernel_size=32, stride=16)
    spectrum = encoder(wave)
    return [
        *answers,
        transforms.mag(spectrum),
        transforms.to_torch_complex(spectrum),
        transforms.from_magphase(transforms.mag(spectrum), transforms.angle(spectrum)),
    ]
