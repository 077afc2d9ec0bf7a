"""mamba_ssm.ops.triton.ssd_combined: state space duality (Mamba-2, section 6), by products of matrices within chunks.

Each head has one decay: h[t] = exp(dt[t] A) h[t - 1] + dt[t] x[t] B[t]ᵀ (head size × states), y[t] = h[t] C[t] + D x[t].
"""
from __future__ import annotations

from typing import Any, NamedTuple

import mstorch as torch

from .... import causal_conv1d
from ..recurrence import recurrence
from ..selective_scan_interface import wide
from .layernorm_gated import rmsnorm_fn

Tensor = torch.Tensor
_F = torch.nn.functional
_INFINITE = float("inf")


class _Chunks(NamedTuple):
    """Inputs times steps (batch, chunks, places, heads, size), logarithms of decays summed within each chunk (batch, chunks, heads,
    places), B and C (batch, chunks, places, heads, states), the sequences' numbers (batch, chunks, places) or None."""

    inputs: Tensor
    decay: Tensor
    into: Tensor
    out_of: Tensor
    sequences: Tensor | None

    @property
    def previous(self) -> Tensor:
        """The number of the sequence that each chunk's first state belongs to: (batch, chunks)."""
        assert self.sequences is not None
        last = self.sequences[:, :, -1]
        return torch.cat((torch.zeros_like(last[:, :1]), last[:, :-1]), 1)  # that of the initial states is zero


def _check(x: Tensor, dt: Tensor, A: Tensor, B: Tensor, C: Tensor) -> None:
    if x.dim() != 4 or dt.shape != x.shape[:3] or A.shape != x.shape[2:3]:
        raise RuntimeError(
            "x must be (batch, seqlen, nheads, headdim), dt (batch, seqlen, nheads) and A (nheads,), got "
            f"{list(x.shape)}, {list(dt.shape)} and {list(A.shape)}"
        )
    if B.dim() != 4 or B.shape != C.shape or B.shape[:2] != x.shape[:2] or x.shape[2] % max(B.shape[2], 1):
        raise RuntimeError(f"B and C must be (batch, seqlen, ngroups, dstate) got {list(B.shape)} and {list(C.shape)}")


def _within(chunks: _Chunks) -> Tensor:
    """Return what places get from earlier ones of their chunk."""
    size = chunks.decay.shape[-1]
    apart = chunks.decay.unsqueeze(-1) - chunks.decay.unsqueeze(-2)
    seen = torch.ones(size, size, dtype=torch.bool, device=apart.device).tril()
    if chunks.sequences is not None:
        numbers = chunks.sequences.unsqueeze(2)
        seen = seen & (numbers.unsqueeze(-1) == numbers.unsqueeze(-2))
    weights = torch.exp(apart.masked_fill(~seen, -_INFINITE))
    products = torch.einsum("bclhn,bcshn->bchls", chunks.out_of, chunks.into)
    return torch.einsum("bchls,bcshp->bclhp", products * weights, chunks.inputs)


def _added(chunks: _Chunks, upto: Tensor | None = None) -> Tensor:
    """Return what each chunk adds to the states after it: (batch, chunks, heads, size, states). With ``upto`` (chunks,) those after
    that place of each chunk."""
    if upto is None:
        last, own = chunks.decay[..., -1:], None if chunks.sequences is None else chunks.sequences[:, :, -1:]
    else:
        place = upto.view(1, -1, 1, 1).expand(*chunks.decay.shape[:3], 1)
        last = chunks.decay.gather(-1, place)
        own = None if chunks.sequences is None else chunks.sequences.gather(-1, place[:, :, 0])
    weights = last - chunks.decay
    if upto is not None:
        later = torch.arange(weights.shape[-1], device=weights.device) > upto.view(1, -1, 1, 1)
        weights = weights.masked_fill(later, -_INFINITE)
    if own is not None and chunks.sequences is not None:
        weights = weights.masked_fill((chunks.sequences != own).unsqueeze(2), -_INFINITE)
    return torch.einsum("bclhn,bchl,bclhp->bchpn", chunks.into, torch.exp(weights), chunks.inputs)


def _passed(chunks: _Chunks, added: Tensor, initial: Tensor | None) -> tuple[Tensor, Tensor]:
    """Return the states before each chunk, and those after the last."""
    factors = torch.exp(chunks.decay[..., -1])
    if chunks.sequences is not None:
        factors = factors * (chunks.sequences[:, :, -1] == chunks.previous).unsqueeze(-1)
    first = torch.zeros_like(added[:, 0]) if initial is None else initial
    terms = torch.cat((first.unsqueeze(1), added), 1).transpose(0, 1)
    steps = torch.cat((torch.ones_like(factors[:, :1]), factors), 1).transpose(0, 1)[..., None, None]
    states = recurrence(steps, terms).transpose(0, 1)
    return states[:, :-1], states[:, -1]


def _from_before(chunks: _Chunks, states: Tensor) -> Tensor:
    """Return what places get from the states before their chunk."""
    weights = torch.exp(chunks.decay)
    if chunks.sequences is not None:
        weights = weights * (chunks.sequences == chunks.previous.unsqueeze(-1)).unsqueeze(2)
    return torch.einsum("bclhn,bchpn,bchl->bclhp", chunks.out_of, states, weights)


def _at_ends(chunks: _Chunks, states: Tensor, ends: Tensor) -> Tensor:
    """Return the states after places of the only row: (places, heads, size, states)."""
    size = chunks.decay.shape[-1]
    number, place = ends // size, ends % size
    part = _Chunks(*(None if item is None else item[:, number] for item in chunks))  # type: ignore[arg-type]
    found = _added(part, place)[0]
    weights = part.decay.gather(-1, place.view(1, -1, 1, 1).expand(*part.decay.shape[:3], 1))[0, ..., 0].exp()
    if chunks.sequences is not None:
        own = chunks.sequences[0, number, place]
        weights = weights * (own == chunks.previous[0, number]).unsqueeze(-1)
    return found + states[0, number] * weights[..., None, None]


def chunked(
    inputs: Tensor, decay: Tensor, into: Tensor, out_of: Tensor, chunk_size: int, sequences: Tensor | None, initial: Tensor | None
) -> tuple[Tensor, Tensor, Tensor, _Chunks]:
    """Return outputs, the states before each chunk and after the last, and the chunks, for inputs and logarithms of decays."""
    length = inputs.shape[1]
    size = max(min(chunk_size, length), 1)
    lacking = -length % size

    def parted(item: Tensor) -> Tensor:
        padding = (0, 0) * (item.dim() - 2) + (0, lacking)
        return (_F.pad(item, padding) if lacking else item).unflatten(1, (-1, size))

    if sequences is not None and lacking:  # what is added belongs to the last sequence, whose states are the final ones
        sequences = torch.cat((sequences, sequences[:, -1:].expand(-1, lacking)), 1)
    numbers = None if sequences is None else sequences.unflatten(1, (-1, size))
    chunks = _Chunks(parted(inputs), parted(decay).transpose(2, 3).cumsum(-1), parted(into), parted(out_of), numbers)
    before, final = _passed(chunks, _added(chunks), initial)
    outputs = (_within(chunks) + _from_before(chunks, before)).flatten(1, 2)[:, :length]
    return outputs, before, final, chunks


def mamba_chunk_scan_combined(
    x: Tensor, dt: Tensor, A: Tensor, B: Tensor, C: Tensor, chunk_size: int, D: Tensor | None = None, z: Tensor | None = None,
    dt_bias: Tensor | None = None, initial_states: Tensor | None = None, seq_idx: Tensor | None = None, cu_seqlens: Tensor | None = None,
    dt_softplus: bool = False, dt_limit: tuple[float, float] = (0.0, _INFINITE), return_final_states: bool = False,
    return_varlen_states: bool = False, state_dtype: torch.dtype | None = None,
) -> Any:  # fmt: skip
    """Return the outputs (batch, seqlen, heads, size), and if asked for the states after the last place, and after each sequence.

    ``x`` is (batch, seqlen, heads, size), ``dt`` (batch, seqlen, heads), ``A`` and ``dt_bias`` (heads,), ``B`` and ``C`` (batch, seqlen,
    groups, states), ``D`` (heads,) or (heads, size). ``seq_idx`` (batch, seqlen) numbers the sequences that share a row.
    """
    _check(x, dt, A, B, C)
    if return_varlen_states and (cu_seqlens is None or seq_idx is None or x.shape[0] != 1):
        raise AssertionError("cu_seqlens and seq_idx, and a batch of one row, are needed for return_varlen_states")
    steps = wide(dt)
    if dt_bias is not None:
        steps = steps + wide(dt_bias)
    if dt_softplus:
        steps = _F.softplus(steps)
    if not dt_softplus or dt_limit != (0.0, _INFINITE):  # softplus is positive as it is
        steps = steps.clamp(*dt_limit)
    inputs, share = wide(x), x.shape[2] // B.shape[2]
    into, out_of = (wide(item).repeat_interleave(share, 2) for item in (B, C))
    initial = None if initial_states is None else wide(initial_states)
    outputs, before, final, chunks = chunked(inputs * steps.unsqueeze(-1), steps * wide(A), into, out_of, chunk_size, seq_idx, initial)
    if D is not None:
        outputs = outputs + inputs * wide(D if D.dim() == 2 else D.unsqueeze(-1))
    if z is not None:
        outputs = outputs * _F.silu(wide(z))
    results = [outputs.to(x.dtype)]
    kind = final.dtype if state_dtype is None else state_dtype
    if return_final_states:
        results.append(final.to(kind))
    if return_varlen_states:
        assert cu_seqlens is not None
        results.append(_at_ends(chunks, before, cu_seqlens[1:].long() - 1).to(kind))
    return results[0] if len(results) == 1 else tuple(results)


def mamba_chunk_scan(
    x: Tensor, dt: Tensor, A: Tensor, B: Tensor, C: Tensor, chunk_size: int, D: Tensor | None = None, z: Tensor | None = None,
    dt_bias: Tensor | None = None, dt_softplus: bool = False,
) -> Tensor:  # fmt: skip
    """Return the outputs of mamba_chunk_scan_combined."""
    outputs: Tensor = mamba_chunk_scan_combined(x, dt, A, B, C, chunk_size, D, z, dt_bias, dt_softplus=dt_softplus)
    return outputs


def mamba_split_conv1d_scan_combined(
    zxbcdt: Tensor, conv1d_weight: Tensor, conv1d_bias: Tensor | None, dt_bias: Tensor, A: Tensor, D: Tensor, chunk_size: int,
    initial_states: Tensor | None = None, seq_idx: Tensor | None = None, dt_limit: tuple[float, float] = (0.0, _INFINITE),
    return_final_states: bool = False, activation: str | None = "silu", rmsnorm_weight: Tensor | None = None, rmsnorm_eps: float = 1e-6,
    outproj_weight: Tensor | None = None, outproj_bias: Tensor | None = None, headdim: int | None = None, ngroups: int = 1,
    norm_before_gate: bool = True, state_dtype: torch.dtype | None = None,
) -> Any:  # fmt: skip
    """Return Mamba-2's block between its two projections, and if given the second: convolution, scan, gate, normalization.

    The channels of ``zxbcdt`` are two of a gated product (none, if there are as many as the others need), z, x, B, C and dt.
    """
    heads = D.shape[0]
    size = D.shape[1] if D.dim() == 2 else headdim
    if size is None:
        raise AssertionError("headdim is needed if D is (nheads,)")
    inner = heads * size
    states = (conv1d_weight.shape[0] - inner) // ngroups // 2
    mixed = (zxbcdt.shape[-1] - 2 * inner - 2 * ngroups * states - heads) // 2
    if mixed < 0 or zxbcdt.shape[-1] != 2 * mixed + 2 * inner + 2 * ngroups * states + heads:
        raise AssertionError(f"{zxbcdt.shape[-1]} channels are not those of z, x, B, C and dt")
    gate0, value0, z, convolved, dt = zxbcdt.split([mixed, mixed, inner, inner + 2 * ngroups * states, heads], -1)
    mixture = causal_conv1d.causal_conv1d_fn(convolved.transpose(1, 2), conv1d_weight, conv1d_bias, seq_idx, activation=activation)
    assert isinstance(mixture, Tensor)
    x, into, out_of = mixture.transpose(1, 2).split([inner, ngroups * states, ngroups * states], -1)
    plain = rmsnorm_weight is None
    result = mamba_chunk_scan_combined(
        x.unflatten(-1, (heads, size)), dt, A, into.unflatten(-1, (ngroups, states)), out_of.unflatten(-1, (ngroups, states)), chunk_size,
        D, z.unflatten(-1, (heads, size)) if plain else None, dt_bias, initial_states, seq_idx, None, True, dt_limit, return_final_states,
        state_dtype=state_dtype,
    )  # fmt: skip
    outputs, *final = result if return_final_states else (result,)
    outputs = outputs.flatten(-2)
    if rmsnorm_weight is not None:
        outputs = rmsnorm_fn(outputs, rmsnorm_weight, None, z, rmsnorm_eps, inner // ngroups, norm_before_gate)
    if mixed:
        outputs = torch.cat((value0 * _F.silu(gate0), outputs), -1)
    if outproj_weight is not None:
        outputs = _F.linear(outputs.to(outproj_weight.dtype), outproj_weight, outproj_bias)
    return (outputs, *final) if final else outputs


__all__ = ["mamba_chunk_scan", "mamba_chunk_scan_combined", "mamba_split_conv1d_scan_combined"]
