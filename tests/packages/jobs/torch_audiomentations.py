"""Jobs of torch_audiomentations."""

from __future__ import annotations

import torch
import torch_audiomentations as aug


def job_augmentation():
    torch.manual_seed(0)
    wave = torch.randn(4, 1, 4000)
    chain = aug.Compose(
        [
            aug.Gain(-6, 6, p=1.0),
            aug.PolarityInversion(p=0.5),
            aug.PeakNormalization(p=0.5),
            aug.Shift(p=1.0),
            aug.LowPassFilter(min_cutoff_freq=300, max_cutoff_freq=1500, p=1.0),
            aug.AddColoredNoise(p=1.0),
        ],
        output_type="dict",
    )
    answer = chain(wave, sample_rate=8000).samples
    return [answer]
