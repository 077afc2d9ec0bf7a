"""Jobs of torch_pitch_shift."""

from __future__ import annotations

from fractions import Fraction

import torch
from torch_pitch_shift import get_fast_shifts, pitch_shift, semitones_to_ratio


def job_shifts():
    wave = torch.sin(torch.arange(4000) * 0.05)[None, None]
    return [pitch_shift(wave, Fraction(3, 2), 8000), pitch_shift(wave, Fraction(1, 2), 8000), len(get_fast_shifts(8000)), float(semitones_to_ratio(7.0))]
