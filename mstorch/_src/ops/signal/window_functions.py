"""Window functions: torch.signal.windows (symmetric by default) and the torch namespace's (periodic by default)."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from ...backend.arrays import Array
from ...core import device as devices
from ...core.call_forms import kind_of
from ...core.device import device
from ...core.dtype import dtype, float32, float64, get_default_dtype
from ...core.formats import layout, strided
from ...core.tensor_base import TensorBase, tensor_of
from ..elementwise.special import i0


def _kind(name: str, M: int, dtype: dtype | None, layout: layout | None = None) -> dtype:
    kind = get_default_dtype() if dtype is None else dtype
    if M < 0:
        raise ValueError(f"{name} requires non-negative window length, got M={M}")
    if layout is not None and layout is not strided:
        raise ValueError(f"{name} is implemented for strided tensors only, got: {layout}")
    if kind is not float32 and kind is not float64:
        raise ValueError(f"{name} expects float32 or float64 dtypes, got: {kind}")
    return kind


def _tensor(values: Any, kind: dtype, device: device | str | int | None, requires_grad: bool) -> TensorBase:
    if requires_grad is not None and not isinstance(requires_grad, bool):
        raise TypeError(f"empty(): argument 'requires_grad' must be bool, not {kind_of(requires_grad)}")
    place = devices.resolve(device)
    if isinstance(values, np.ndarray):
        values = tensor_of(np.ascontiguousarray(values.astype(kind.np)))
    elif values._ms_dtype is not kind:
        values = values.to(kind)
    values = values.to(place)
    return values.requires_grad_() if requires_grad else values


def _sum_of_cosines(M: int, weights: list[float], sym: bool) -> Array:
    if M == 1:
        return np.ones(1)
    angle = np.arange(M) * (2 * math.pi / max(M - 1 if sym else M, 1))
    found = np.zeros(M)
    for order, weight in enumerate(weights):
        found += (-1) ** order * weight * np.cos(order * angle)
    return found


def general_cosine(
    M: int, *, a: Iterable[float], sym: bool = True, dtype: dtype | None = None, layout: layout | None = None,
    device: device | str | int | None = None, requires_grad: bool = False,
) -> TensorBase:  # fmt: skip
    """Return the sum of cosines with the coefficients ``a``, alternating in sign."""
    kind = _kind("general_cosine", M, dtype, layout)
    if M and not isinstance(a, Iterable):
        raise TypeError("Coefficients must be a list/tuple")
    if M and not list(a):
        raise ValueError("Coefficients cannot be empty")
    return _tensor(_sum_of_cosines(M, list(a) if M else [], sym), kind, device, requires_grad)


def general_hamming(
    M: int, *, alpha: float = 0.54, sym: bool = True, dtype: dtype | None = None, layout: layout | None = None,
    device: device | str | int | None = None, requires_grad: bool = False,
) -> TensorBase:  # fmt: skip
    """Return the generalized Hamming window ``alpha - (1 - alpha) * cos(2π n / (M - 1))``; with ``sym=False`` the divisor is M."""
    return general_cosine(M, a=[alpha, 1.0 - alpha], sym=sym, dtype=dtype, layout=layout, device=device, requires_grad=requires_grad)


def hamming(
    M: int, *, sym: bool = True, dtype: dtype | None = None, layout: layout | None = None, device: device | str | int | None = None,
    requires_grad: bool = False
) -> TensorBase:
    """Return the Hamming window."""
    return general_hamming(M, sym=sym, dtype=dtype, layout=layout, device=device, requires_grad=requires_grad)


def hann(
    M: int, *, sym: bool = True, dtype: dtype | None = None, layout: layout | None = None, device: device | str | int | None = None,
    requires_grad: bool = False
) -> TensorBase:
    """Return the Hann window: a raised cosine."""
    return general_hamming(M, alpha=0.5, sym=sym, dtype=dtype, layout=layout, device=device, requires_grad=requires_grad)


def blackman(
    M: int, *, sym: bool = True, dtype: dtype | None = None, layout: layout | None = None, device: device | str | int | None = None,
    requires_grad: bool = False
) -> TensorBase:
    """Return the Blackman window."""
    _kind("blackman", M, dtype, layout)
    return general_cosine(M, a=[0.42, 0.5, 0.08], sym=sym, dtype=dtype, layout=layout, device=device, requires_grad=requires_grad)


def nuttall(
    M: int, *, sym: bool = True, dtype: dtype | None = None, layout: layout | None = None, device: device | str | int | None = None,
    requires_grad: bool = False
) -> TensorBase:
    """Return the Nuttall window with minimal side lobes."""
    weights = [0.3635819, 0.4891775, 0.1365995, 0.0106411]
    return general_cosine(M, a=weights, sym=sym, dtype=dtype, layout=layout, device=device, requires_grad=requires_grad)


def bartlett(
    M: int, *, sym: bool = True, dtype: dtype | None = None, layout: layout | None = None, device: device | str | int | None = None,
    requires_grad: bool = False
) -> TensorBase:
    """Return the Bartlett window: a triangle."""
    kind = _kind("bartlett", M, dtype, layout)
    found = np.ones(M) if M <= 1 else 1 - np.abs(np.arange(M) * (2 / (M - 1 if sym else M)) - 1)
    return _tensor(found, kind, device, requires_grad)


def cosine(
    M: int, *, sym: bool = True, dtype: dtype | None = None, layout: layout | None = None, device: device | str | int | None = None,
    requires_grad: bool = False
) -> TensorBase:
    """Return half a period of a sine."""
    kind = _kind("cosine", M, dtype, layout)
    found = np.sin((np.arange(M) + 0.5) * (math.pi / max(M if sym or M <= 1 else M + 1, 1)))
    return _tensor(found, kind, device, requires_grad)


def exponential(
    M: int, *, center: float | None = None, tau: float = 1.0, sym: bool = True, dtype: dtype | None = None, layout: layout | None = None,
    device: device | str | int | None = None, requires_grad: bool = False,
) -> TensorBase:  # fmt: skip
    """Return exponential decay to both sides of ``center``, with time constant ``tau``."""
    kind = _kind("exponential", M, dtype, layout)
    tau = tau.item() if isinstance(tau, TensorBase) else tau
    if tau <= 0:
        raise ValueError(f"Tau must be positive, got: {tau} instead.")
    if sym and center is not None:
        raise ValueError("Center must be None for symmetric windows")
    middle = ((M - 1 if sym or M <= 1 else M) / 2.0) if center is None else center
    found = np.exp(-np.abs(np.arange(M) - middle) / tau)
    return _tensor(found, kind, device, requires_grad)


def gaussian(
    M: int, *, std: float = 1.0, sym: bool = True, dtype: dtype | None = None, layout: layout | None = None,
    device: device | str | int | None = None, requires_grad: bool = False,
) -> TensorBase:  # fmt: skip
    """Return a Gaussian with standard deviation ``std``."""
    kind = _kind("gaussian", M, dtype, layout)
    std = std.item() if isinstance(std, TensorBase) else std
    if std <= 0:
        raise ValueError(f"Standard deviation must be positive, got: {std} instead.")
    found = np.exp(-(((np.arange(M) - (M - 1 if sym or M <= 1 else M) / 2.0) / (std * math.sqrt(2))) ** 2))
    return _tensor(found, kind, device, requires_grad)


def _kaiser(M: int, beta: float, sym: bool) -> TensorBase | Array:
    if M <= 1:
        return np.ones(M)
    place = np.arange(M) * (2.0 / (M - 1 if sym else M)) - 1
    height = tensor_of(beta * np.sqrt(np.maximum(0.0, 1 - place * place)))
    return i0(height) / i0(tensor_of(np.array(float(beta))))


def kaiser(
    M: int, *, beta: float = 12.0, sym: bool = True, dtype: dtype | None = None, layout: layout | None = None,
    device: device | str | int | None = None, requires_grad: bool = False,
) -> TensorBase:  # fmt: skip
    """Return the Kaiser window with shape parameter ``beta``."""
    kind = _kind("kaiser", M, dtype, layout)
    if beta < 0:
        raise ValueError(f"beta must be non-negative, got: {beta} instead.")
    return _tensor(_kaiser(M, float(beta), sym), kind, device, requires_grad)


def _old_kind(name: str, length: int, dtype: dtype | None, pin_memory: bool, device: device | str | int | None) -> dtype:
    devices.refuse_pinning(pin_memory, device)
    kind = dtype or get_default_dtype()
    if not kind.is_floating_point:
        raise RuntimeError(f"{name} expects floating point dtypes, got: {kind}")
    if length < 0:
        raise RuntimeError(f"{name} requires non-negative window_length, got window_length={length}")
    return kind


def hamming_window(
    window_length: int, periodic: bool = True, alpha: float = 0.54, beta: float = 0.46, *, dtype: dtype | None = None,
    layout: layout | None = None, device: device | str | int | None = None, pin_memory: bool = False, requires_grad: bool = False,
) -> TensorBase:  # fmt: skip
    """Return the Hamming window ``alpha - beta * cos(2π n / N)`` for n < N; unless ``periodic``, the divisor is N - 1."""
    kind = _old_kind("hamming_window", window_length, dtype, pin_memory, device)
    return _tensor(_sum_of_cosines(window_length, [alpha, beta], not periodic), kind, device, requires_grad)


def hann_window(
    window_length: int, periodic: bool = True, *, dtype: dtype | None = None, layout: layout | None = None,
    device: device | str | int | None = None, pin_memory: bool = False, requires_grad: bool = False,
) -> TensorBase:  # fmt: skip
    """Return the Hann window: a raised cosine."""
    kind = _old_kind("hann_window", window_length, dtype, pin_memory, device)
    return _tensor(_sum_of_cosines(window_length, [0.5, 0.5], not periodic), kind, device, requires_grad)


def blackman_window(
    window_length: int, periodic: bool = True, *, dtype: dtype | None = None, layout: layout | None = None,
    device: device | str | int | None = None, pin_memory: bool = False, requires_grad: bool = False,
) -> TensorBase:  # fmt: skip
    """Return the Blackman window."""
    kind = _old_kind("blackman_window", window_length, dtype, pin_memory, device)
    return _tensor(_sum_of_cosines(window_length, [0.42, 0.5, 0.08], not periodic), kind, device, requires_grad)


def bartlett_window(
    window_length: int, periodic: bool = True, *, dtype: dtype | None = None, layout: layout | None = None,
    device: device | str | int | None = None, pin_memory: bool = False, requires_grad: bool = False,
) -> TensorBase:  # fmt: skip
    """Return the Bartlett window: a triangle."""
    kind = _old_kind("bartlett_window", window_length, dtype, pin_memory, device)
    window = bartlett(window_length, sym=not periodic, dtype=float64, device="cpu")
    return _tensor(window, kind, device, requires_grad)


def kaiser_window(
    window_length: int, periodic: bool = True, beta: float = 12.0, *, dtype: dtype | None = None, layout: layout | None = None,
    device: device | str | int | None = None, pin_memory: bool = False, requires_grad: bool = False,
) -> TensorBase:  # fmt: skip
    """Return the Kaiser window with shape parameter ``beta``."""
    kind = _old_kind("kaiser_window", window_length, dtype, pin_memory, device)
    return _tensor(_kaiser(window_length, beta, not periodic), kind, device, requires_grad)
