"""The short-time Fourier transform and its inverse (D. W. Griffin, J. S. Lim, IEEE Trans. ASSP 32 (1984) 236)."""
from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...backend.arrays import Number
from ...core.tensor_base import TensorBase, tensor_of
from ...core.warned import warn, warn_once
from ...tape.moving import beside
from ...tape.windows import no_view
from .._autocast import FLOAT32_ON_CPU
from .._dispatch import type_word
from .._operation import operation
from ..elementwise.complex_views import view_as_complex, view_as_real
from ..indexing.scatter import index_add
from ..layers.padding import constant_pad_nd, pad
from ..memory.creation import ones, zeros
from ..shape import views
from ..shape.join import stack
from . import fft

_RETURN_COMPLEX = (
    "stft requires the return_complex parameter be given for real inputs, and will further require that "
    "return_complex=True in a future PyTorch release."
)
_ONESIDED = "Cannot have onesided output if window or input is complex"


def _window_text(window: TensorBase | None) -> str:
    if window is None:
        return "None"
    return f"torch.{type_word(window._ms_dtype)}Tensor{{{list(window._ms_shape)}}}"


def _flag(value: float | None) -> int | None:
    return None if value is None else int(value)


def _centred(window: TensorBase, n_fft: int) -> Any:
    """Return the window padded with zeros on both sides to ``n_fft`` elements."""
    length = window._ms_shape[0]
    if length == n_fft:
        return window
    left = (n_fft - length) // 2
    return constant_pad_nd(window, (left, n_fft - length - left))


def _warn_no_window(what: str) -> None:
    warn_once(
        "A window was not provided. A rectangular window will be applied" + what + "To suppress this warning and use a "
        "rectangular window, explicitly set `window=torch.ones(n_fft, device=<device>)`.",
    )


def _number(value: TensorBase | Number | None) -> Any:
    """Return the value of a 0-d tensor as a number; other values unchanged."""
    return value.item() if isinstance(value, TensorBase) and not value._ms_shape else value


def _padded_on_both_sides(signal: TensorBase, side: int, mode: str) -> TensorBase:
    rank = len(signal._ms_shape)
    padded = pad(views.view(signal, (*([1] * (3 - rank)), *signal._ms_shape)), (side, side), mode)
    return views.view(padded, padded._ms_shape[max(3 - rank, 0) :])


def _warn_of_old_uses(window: TensorBase | None, return_complex: bool | None) -> None:
    if window is None:
        _warn_no_window(
            ",which is known to cause spectral leakage. Other windows such as torch.hann_window or torch.hamming_window are "
            "recommended to reduce spectral leakage."
        )
    if return_complex is False:
        warn_once(
            "stft with return_complex=False is deprecated. In a future pytorch release, stft will return complex tensors for "
            "all inputs, and return_complex=False will raise an error.\nNote: you can still call "
            "torch.view_as_real on the complex output to recover the old return format.",
        )


@operation(autocast=FLOAT32_ON_CPU)
def stft(
    input: TensorBase, n_fft: int, hop_length: int | None = None, win_length: int | None = None, window: TensorBase | None = None,
    center: bool = True, pad_mode: str = "reflect", normalized: bool = False, onesided: bool | None = None,
    return_complex: bool | None = None, align_to_window: bool | None = None,
) -> TensorBase:  # fmt: skip
    """Return the Fourier transforms of windows of the signal, with stride ``hop_length``: (*, T) → (*, F, frames), complex."""
    n_fft, hop_length, win_length = map(_number, (n_fft, hop_length, win_length))
    if center:
        if align_to_window is not None:
            raise RuntimeError("stft align_to_window should only be set when center = false")
        input = _padded_on_both_sides(input, n_fft // 2, pad_mode)
    hop = n_fft // 4 if hop_length is None else hop_length
    length = n_fft if win_length is None else win_length
    _check_stft(input, n_fft, hop, length, window, normalized, onesided, return_complex, align_to_window)
    complex_data = input.is_complex() or (window is not None and window.is_complex())
    if return_complex is None and not complex_data:
        raise RuntimeError(_RETURN_COMPLEX)
    _warn_of_old_uses(window, return_complex)
    single = len(input._ms_shape) == 1
    signal = views.unsqueeze(input, 0) if single else input
    if window is None and length < n_fft:
        window = ones(length, dtype=signal._ms_dtype, device=signal.device)
    if align_to_window and length < n_fft:
        # Frames are counted by the window's length; the rest of the transform's length is padded with zeros.
        left = (n_fft - length) // 2
        signal = constant_pad_nd(signal, (left, n_fft - length - left))
    frames = views.unfold(signal, -1, n_fft, hop)
    if window is not None:
        frames = frames * _centred(window, n_fft)
    if onesided is None:
        onesided = not complex_data
    if onesided and complex_data:
        raise RuntimeError(_ONESIDED)
    norm = "ortho" if normalized else "backward"
    found = (fft.rfft if onesided else fft.fft)(frames, dim=-1, norm=norm)
    found = views.transpose(found, 1, 2)
    if single:
        found = views.squeeze(found, 0)
    no_view(found)  # torch transposes in place
    return found if return_complex is not False else view_as_real(found)


def _check_stft(
    input: TensorBase, n_fft: int, hop: int, length: int, window: TensorBase | None, normalized: bool, onesided: bool | None,
    return_complex: bool | None, align: Any
) -> None:
    shape = input._ms_shape
    problem = ""
    if input._ms_dtype.is_integral:
        problem = "expected a tensor of floating point or complex values"
    elif len(shape) not in (1, 2):
        problem = "expected a 1D or 2D tensor"
    elif not 0 < n_fft <= shape[-1]:
        problem = f"expected 0 < n_fft < {shape[-1]}, but got n_fft={length}"
    elif hop <= 0:
        problem = f"expected hop_length > 0, but got hop_length={hop}"
    elif not 0 < length <= n_fft:
        problem = f"expected 0 < win_length <= n_fft, but got win_length={length}"
    elif window is not None and window._ms_shape != (length,):
        problem = (
            f"expected a 1D window tensor of size equal to win_length={length}, but got window with size {list(window._ms_shape)}"
        )
    if problem:
        raise RuntimeError(
            f"stft(torch.{type_word(input._ms_dtype)}Tensor{list(shape)}, n_fft={n_fft}, hop_length={hop}, win_length={length}, "
            f"window={_window_text(window)}, normalized={int(normalized)}, onesided={_flag(onesided)}, "
            f"return_complex={_flag(return_complex)}, align_to_window={_flag(align)}) : {problem}"
        )


def _overlapped(frames: TensorBase, hop: int) -> TensorBase:
    """Overlap-add frames: (B, frames, n) → (B, T)."""
    if frames.is_complex():
        parts = view_as_real(frames)
        pair = [_overlapped(views.select(parts, -1, i), hop) for i in (0, 1)]
        return view_as_complex(stack(pair, -1))
    batch, count, size = frames._ms_shape
    places = (np.arange(count)[:, None] * hop + np.arange(size)).reshape(-1).astype(np.int64)
    whole = zeros((batch, size + hop * (count - 1)), dtype=frames._ms_dtype, device=frames.device)
    return index_add(whole, 1, beside(tensor_of(places), frames), views.reshape(frames, (batch, count * size)))


def istft(
    input: TensorBase, n_fft: int, hop_length: int | None = None, win_length: int | None = None, window: TensorBase | None = None,
    center: bool = True, normalized: bool = False, onesided: bool | None = None, length: int | None = None, return_complex: bool = False,
) -> TensorBase:  # fmt: skip
    """Return the signal of a short-time Fourier transform, by least squares: (*, F, frames) → (*, T)."""
    n_fft, hop_length, win_length, length = map(_number, (n_fft, hop_length, win_length, length))
    hop = n_fft // 4 if hop_length is None else hop_length
    size = n_fft if win_length is None else win_length
    if window is None:
        _warn_no_window(".Please provide the same window used by stft to make the inversion lossless.")
    if not input.is_complex():
        raise RuntimeError(
            "istft requires a complex-valued input tensor matching the output from stft with return_complex=True."
        )
    call = (
        f"istft(CPU{type_word(input._ms_dtype)}Type{list(input._ms_shape)}, n_fft={n_fft}, hop_length={hop}, win_length={size}, "
        f"window={_window_text(window)}, center={int(center)}, normalized={int(normalized)}, onesided={_flag(onesided)}, "
        f"length={length}, return_complex={int(return_complex)}) "
    )
    _check_istft(call, input, n_fft, hop, size, window, onesided)
    complex_window = window is not None and window.is_complex()
    if onesided is None:
        onesided = n_fft != input._ms_shape[-2]
    if return_complex and onesided:
        raise RuntimeError(_ONESIDED)
    if not return_complex and complex_window:
        raise RuntimeError("Complex windows are incompatible with return_complex=False")
    single = len(input._ms_shape) == 2
    spectrum = views.transpose(views.unsqueeze(input, 0) if single else input, 1, 2)
    norm = "ortho" if normalized else "backward"
    if return_complex:
        frames = fft.ifft(spectrum, dim=-1, norm=norm)
    else:
        frames = fft.irfft(views.slice_dim(spectrum, 2, 0, n_fft // 2 + 1, 1), n=n_fft, dim=-1, norm=norm)
    weights = _centred(ones(size, dtype=input._ms_dtype.to_real(), device=input.device) if window is None else window, n_fft)
    count = frames._ms_shape[1]
    signal = _overlapped(frames * weights, hop)
    envelope = _overlapped(views.unsqueeze(views.expand(weights * weights, (count, n_fft)), 0), hop)
    whole = n_fft + hop * (count - 1)
    start = n_fft // 2 if center else 0
    end = start + length if length is not None else whole - n_fft // 2 if center else whole
    stop = max(start, min(end, whole))
    signal, envelope = (views.slice_dim(part, 1, start, stop, 1) for part in (signal, envelope))
    if stop > start and float(envelope.abs().min().item()) < 1e-11:
        raise RuntimeError(call + "window overlap add min: 1\n[ CPUBoolType{} ]")
    signal = signal / envelope
    if end > whole:
        warn(
            "The length of signal is shorter than the length parameter. Result is being padded with zeros in the tail. Please "
            "check your center and hop_length settings.",
        )
        signal = constant_pad_nd(signal, (0, end - whole))
    return views.squeeze(signal, 0) if single else signal


def _check_istft(call: str, input: TensorBase, n_fft: int, hop: int, size: int, window: TensorBase | None, onesided: bool | None) -> None:
    shape = input._ms_shape
    problem = ""
    if not math.prod(shape):
        problem = "input tensor cannot be empty."
    elif len(shape) not in (2, 3):
        problem = f"expected a tensor with 3 or 4 dimensions, but got {len(shape) + 1}"
    elif onesided is False and shape[-2] != n_fft:
        problem = (
            "expected the frequency dimension (3rd to the last) of the input tensor to match n_fft when onesided=False, but got "
            f"{shape[-2]}"
        )
    elif onesided is not False and shape[-2] != n_fft // 2 + 1 and not (onesided is None and shape[-2] == n_fft):
        problem = (
            "expected the frequency dimension (3rd to the last) of the input tensor to match n_fft / 2 + 1 when onesided=True, "
            f"but got {shape[-2]}"
        )
    elif not 0 < hop <= size:
        problem = "expected 0 < hop_length <= win_length"
    elif not 0 < size <= n_fft:
        problem = "expected 0 < win_length <= n_fft"
    elif window is not None and window._ms_shape != (size,):
        problem = "Invalid window shape. window has to be 1D and length of `win_length`"
    if problem:
        raise RuntimeError(f"{call}: {problem}")
