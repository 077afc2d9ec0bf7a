"""torchaudio::_lfilter_core_loop and _overdrive_core_loop: recurrences over samples, by SciPy's filters in host memory."""
from __future__ import annotations

import numpy as np

import mstorch as torch

from ..._src.backend.errors import TYPE_NAMES
from ..._src.core.fallback import warn_of_cpu
from ..drawing import array, tensor

Tensor = torch.Tensor


def lfilter_core_loop(input_signal_windows: Tensor, a_coeff_flipped: Tensor, padded_output_waveform: Tensor) -> Tensor:
    """Write y[n] = x[n] - a[1] y[n - 1] - a[2] y[n - 2] … after the earlier samples, which ``padded_output_waveform`` begins with.

    ``input_signal_windows`` is (batch, channels, samples), ``a_coeff_flipped`` (channels, order): the last coefficient of a channel first.
    """
    from scipy.signal import lfilter, lfiltic

    x, out = input_signal_windows, padded_output_waveform
    kinds = x.dtype, a_coeff_flipped.dtype, out.dtype
    if x.dtype not in (torch.float32, torch.float64) or len(set(kinds)) > 1:
        raise RuntimeError(f"lfilter takes float32 or float64 of one dtype, got {', '.join(map(str, kinds))}")
    if x.dim() != 3 or a_coeff_flipped.dim() != 2 or out.dim() != 3 or not (x.is_contiguous() and out.is_contiguous()):
        raise RuntimeError("lfilter takes contiguous signals (batch, channels, samples) and coefficients (channels, order)")
    order = a_coeff_flipped.shape[1]
    if out.shape[:2] != x.shape[:2] or out.shape[2] != x.shape[2] + order - 1 or a_coeff_flipped.shape[0] != x.shape[1]:
        raise RuntimeError(f"outputs {list(out.shape)}, signals {list(x.shape)} and coefficients {list(a_coeff_flipped.shape)} do not fit")
    if x.device.type != "cpu":
        warn_of_cpu("ops.torchaudio._lfilter_core_loop", str(x.dtype).removeprefix("torch."))
    signals, whole, taps = array(x), array(out), array(a_coeff_flipped)
    past, present = whole[..., : order - 1], whole[..., order - 1 :]
    if present.any():  # the loop's windows contain the sample that it is about to write
        signals = signals - present * taps[:, -1:]
    results = np.empty_like(signals)
    for channel, flipped in enumerate(taps):
        falling = flipped[::-1].copy()
        falling[0] = 1
        unit = np.ones(1, signals.dtype)
        if order == 1:
            results[:, channel] = signals[:, channel]
        elif past[:, channel].any():
            for row in range(len(signals)):
                state = lfiltic(unit, falling, past[row, channel, ::-1]).astype(signals.dtype)
                results[row, channel] = lfilter(unit, falling, signals[row, channel], zi=state)[0]
        else:
            results[:, channel] = lfilter(unit, falling, signals[:, channel])
    with torch.no_grad():
        out[..., order - 1 :] = tensor(results, out)
    return out


def overdrive_core_loop(
    waveform: Tensor, temp: Tensor, last_in: Tensor, last_out: Tensor, output_waveform: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Write half of the waveform and three quarters of the distorted one, whose slow parts a filter takes away; also its last samples."""
    from scipy.signal import lfilter

    if waveform.dtype not in (torch.float32, torch.float64):
        raise RuntimeError(f"\"overdrive_cpu\" not implemented for '{TYPE_NAMES[str(waveform.dtype).removeprefix('torch.')]}'")
    if waveform.device.type != "cpu":
        warn_of_cpu("ops.torchaudio._overdrive_core_loop", str(waveform.dtype).removeprefix("torch."))
    distorted, before, after = array(temp), array(last_in), array(last_out)
    if not distorted.shape[-1]:
        return last_in, last_out, output_waveform
    difference = np.diff(distorted, axis=-1, prepend=before[:, None])
    slow = distorted.dtype.type(0.995)
    filtered = lfilter(np.ones(1, slow.dtype), np.array([1, -slow]), difference, zi=slow * after[:, None])[0]
    with torch.no_grad():
        output_waveform.copy_(tensor(array(waveform) * distorted.dtype.type(0.5) + filtered * distorted.dtype.type(0.75), waveform))
        last_in.copy_(tensor(distorted[:, -1], last_in))
        last_out.copy_(tensor(filtered[:, -1], last_out))
    return last_in, last_out, output_waveform


__all__ = ["lfilter_core_loop", "overdrive_core_loop"]
