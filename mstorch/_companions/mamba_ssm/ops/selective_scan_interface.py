"""mamba_ssm.ops.selective_scan_interface: state spaces whose steps and matrices depend on the input (Mamba, section 3.2).

With steps dt and a state h of N numbers for each channel: h[t] = exp(dt[t] A) h[t - 1] + dt[t] B[t] u[t], y[t] = C[t] h[t] + D u[t].
"""
from __future__ import annotations

import mstorch as torch

from ... import causal_conv1d
from .recurrence import recurrence

Tensor = torch.Tensor
_F = torch.nn.functional


def wide(values: Tensor) -> Tensor:
    """Return values in single precision, or in double precision if they are in it: the dtypes of states."""
    return values if values.dtype in (torch.float64, torch.complex128, torch.complex64) else values.float()


def _check(u: Tensor, delta: Tensor, A: Tensor, B: Tensor, C: Tensor) -> None:
    if u.dim() != 3 or delta.shape != u.shape:
        raise RuntimeError(f"u and delta must both be (batch, dim, seqlen), got {list(u.shape)} and {list(delta.shape)}")
    if A.dim() != 2 or A.shape[0] != u.shape[1]:
        raise RuntimeError(f"A must be (dim, dstate) with a dim of {u.shape[1]}, got {list(A.shape)}")
    length = u.shape[2] * (2 if A.is_complex() else 1)
    for name, matrix in (("B", B), ("C", C)):
        if matrix.dim() == 2:
            fits = matrix.shape == A.shape
        elif matrix.dim() == 4:
            fits = u.shape[1] % max(matrix.shape[1], 1) == 0 and matrix.shape[::2] == (u.shape[0], A.shape[1])
        else:
            fits = matrix.dim() == 3 and matrix.shape[:2] == (u.shape[0], A.shape[1])
        if not fits or matrix.dim() > 2 and matrix.shape[-1] != length:
            shapes = "(dim, dstate), (batch, dstate, seqlen) or (batch, groups, dstate, seqlen)"
            raise RuntimeError(f"{name} must be {shapes}, got {list(matrix.shape)}")


def _matrix(matrix: Tensor, channels: int, is_complex: bool) -> Tensor:
    """Return B or C, which may be the same for places or for channels, as (places or 1, batch or 1, channels or 1, states)."""
    if matrix.dim() == 2:
        return wide(matrix)[None, None]
    values = wide(matrix)
    if is_complex:
        values = torch.view_as_complex(values.unflatten(-1, (-1, 2)).contiguous())
    if values.dim() == 3:
        return values.permute(2, 0, 1).unsqueeze(2)
    return values.permute(3, 0, 1, 2).repeat_interleave(channels // values.shape[1], 2)


def selective_scan_fn(
    u: Tensor, delta: Tensor, A: Tensor, B: Tensor, C: Tensor, D: Tensor | None = None, z: Tensor | None = None,
    delta_bias: Tensor | None = None, delta_softplus: bool = False, return_last_state: bool = False,
) -> Tensor | tuple[Tensor, Tensor]:  # fmt: skip
    """Return the outputs (batch, dim, seqlen), and with ``return_last_state`` the states (batch, dim, dstate) after the last place.

    ``A`` is (dim, dstate); ``B`` and ``C`` are (dim, dstate), (batch, dstate, seqlen) or (batch, groups, dstate, seqlen), with pairs of
    numbers at each place if ``A`` is complex; ``D`` and ``delta_bias`` are (dim,). ``z`` gates the outputs by its silu.
    """
    _check(u, delta, A, B, C)
    inputs, steps = wide(u), wide(delta)
    if delta_bias is not None:
        steps = steps + wide(delta_bias)[:, None]
    if delta_softplus:
        steps = _F.softplus(steps)
    by_place, steps = inputs.permute(2, 0, 1), steps.permute(2, 0, 1)  # (places, batch, channels)
    rates, channels = wide(A), u.shape[1]
    factors = torch.exp(steps.unsqueeze(-1) * rates)
    states = recurrence(factors, (steps * by_place).unsqueeze(-1) * _matrix(B, channels, A.is_complex()))
    outputs = (states * _matrix(C, channels, A.is_complex())).sum(-1)
    if outputs.is_complex():
        outputs = outputs.real * 2  # states come in conjugate pairs, of which one is computed
    outputs = outputs.permute(1, 2, 0)
    if D is not None:
        outputs = outputs + inputs * wide(D)[:, None]
    if z is not None:
        outputs = outputs * _F.silu(wide(z))
    outputs = outputs.to(u.dtype)
    if not return_last_state:
        return outputs
    return outputs, states[-1] if len(states) else states.new_zeros(states.shape[1:])


def mamba_inner_fn(
    xz: Tensor, conv1d_weight: Tensor, conv1d_bias: Tensor | None, x_proj_weight: Tensor, delta_proj_weight: Tensor,
    out_proj_weight: Tensor, out_proj_bias: Tensor | None, A: Tensor, B: Tensor | None = None, C: Tensor | None = None,
    D: Tensor | None = None, delta_bias: Tensor | None = None, B_proj_bias: Tensor | None = None, C_proj_bias: Tensor | None = None,
    delta_softplus: bool = True, checkpoint_lvl: int = 1, b_rms_weight: Tensor | None = None, c_rms_weight: Tensor | None = None,
    dt_rms_weight: Tensor | None = None, b_c_dt_rms_eps: float = 1e-6,
) -> Tensor:  # fmt: skip
    """Return Mamba's block between its two projections, and the second: convolution, steps and matrices from its result, scan, gate.

    ``checkpoint_lvl`` (what backward computes once more) is of no effect: autograd keeps what it needs.
    """
    if checkpoint_lvl not in (0, 1):
        raise AssertionError("checkpoint_lvl must be 0 or 1")
    x, z = xz.chunk(2, 1)
    convolved = causal_conv1d.causal_conv1d_fn(x, conv1d_weight.flatten(1), conv1d_bias, activation="silu")
    assert isinstance(convolved, Tensor)
    x = convolved
    rank, states = delta_proj_weight.shape[1], A.shape[-1] * (2 if A.is_complex() else 1)
    parts = _F.linear(x.transpose(1, 2), x_proj_weight)

    def normalized(values: Tensor, weight: Tensor | None) -> Tensor:
        return values if weight is None else _F.rms_norm(values, weight.shape, weight, b_c_dt_rms_eps)

    def matrix(values: Tensor, bias: Tensor | None, weight: Tensor | None) -> Tensor:
        values = normalized(values if bias is None else values + bias.to(values.dtype), weight)
        if A.is_complex():  # states and pairs of numbers lie in one row
            return values.unflatten(-1, (-1, 2)).permute(0, 2, 1, 3).flatten(-2)
        return values.transpose(1, 2)

    delta = _F.linear(normalized(parts[..., :rank], dt_rms_weight), delta_proj_weight).transpose(1, 2)
    if B is None:
        B = matrix(parts[..., rank : rank + states], B_proj_bias, b_rms_weight)
    if C is None:
        C = matrix(parts[..., -states:], C_proj_bias, c_rms_weight)
    scanned = selective_scan_fn(x, delta, A, B, C, D, z, delta_bias, delta_softplus)
    assert isinstance(scanned, Tensor)
    return _F.linear(scanned.transpose(1, 2), out_proj_weight, out_proj_bias)


selective_scan_ref = selective_scan_fn
mamba_inner_ref = mamba_inner_fn

__all__ = ["mamba_inner_fn", "mamba_inner_ref", "selective_scan_fn", "selective_scan_ref"]
