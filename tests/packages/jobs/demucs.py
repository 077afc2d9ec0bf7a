"""Jobs of demucs."""

from __future__ import annotations

import torch
from demucs.demucs import Demucs


def job_separation():
    torch.manual_seed(0)
    wave = torch.randn(1, 2, 8192)
    flat = Demucs(["a", "b"], channels=8, depth=3, lstm_layers=1, resample=True, norm_starts=2)
    plain = Demucs(["a", "b"], channels=8, depth=2, lstm_layers=0, resample=False, dconv_mode=0, rescale=0.1)
    answers = []
    for net in (flat, plain):
        out = net(wave)
        out.square().mean().backward()
        answers += [out, next(net.parameters()).grad]
    return answers
