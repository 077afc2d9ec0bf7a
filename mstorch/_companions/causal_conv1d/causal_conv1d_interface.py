"""causal_conv1d.causal_conv1d_interface: whole sequences, and the next places of sequences whose last inputs are kept."""

from __future__ import annotations

import mstorch as torch

Tensor = torch.Tensor
_F = torch.nn.functional


def _activated(values: Tensor, activation: str | None, dtype: torch.dtype) -> Tensor:
    if activation not in (None, "silu", "swish"):
        raise NotImplementedError("activation must be None, silu, or swish")
    return (values if activation is None else _F.silu(values)).to(dtype)


def _convolved(values: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """Return the convolution of each channel, without padding."""
    return _F.conv1d(
        values,
        weight.unsqueeze(1).to(values.dtype),
        None if bias is None else bias.to(values.dtype),
        groups=weight.shape[0],
    )


def _convolved_within(values: Tensor, weight: Tensor, bias: Tensor | None, sequences: Tensor) -> Tensor:
    """Return the convolution in which a place sees only those of its own sequence; places of a negative sequence are zero."""
    width, length = weight.shape[1], values.shape[-1]
    total = torch.zeros_like(values) if bias is None else bias.to(values.dtype)[:, None].expand_as(values)
    for back in range(min(width, length)):
        same = sequences[:, back:] == sequences[:, : length - back]
        term = values[..., : length - back] * same.unsqueeze(1) * weight[:, width - 1 - back, None].to(values.dtype)
        total = total + _F.pad(term, (back, 0))
    return total * (sequences >= 0).unsqueeze(1)


def causal_conv1d_fn(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    seq_idx: Tensor | None = None,
    initial_states: Tensor | None = None,
    return_final_states: bool = False,
    final_states_out: Tensor | None = None,
    activation: str | None = None,
) -> Tensor | tuple[Tensor, Tensor]:
    """Return the convolution of (batch, channels, places) with weights of (channels, width), and with it the last width - 1 inputs.

    ``seq_idx`` (batch, places) numbers the sequences that share a row; ``initial_states`` are the inputs before the first.
    """
    if seq_idx is not None and (initial_states is not None or return_final_states):
        raise ValueError("seq_idx must be None if there are initial states or final states are returned")
    before = weight.shape[1] - 1
    if seq_idx is not None:
        return _activated(_convolved_within(x, weight, bias, seq_idx), activation, x.dtype)
    whole = _F.pad(x, (before, 0)) if initial_states is None else torch.cat((initial_states.to(x.dtype), x), -1)
    result = _activated(_convolved(whole, weight, bias), activation, x.dtype)
    if not return_final_states:
        return result
    last = whole[..., whole.shape[-1] - before :]
    return result, last.clone() if final_states_out is None else final_states_out.copy_(last)


def causal_conv1d_update(
    x: Tensor,
    conv_state: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    activation: str | None = None,
    cache_seqlens: Tensor | None = None,
    conv_state_indices: Tensor | None = None,
) -> Tensor:
    """Return the convolution at the next places, (batch, channels) or (batch, channels, places), and store them in ``conv_state``.

    The state, (batch or more, channels, at least width - 1), holds the last inputs; with ``cache_seqlens`` it is a ring, in which the next
    input of a row goes to that number modulo the size. ``conv_state_indices`` names the state's row of each row.
    """
    values = x.unsqueeze(-1) if x.dim() == 2 else x
    before, size, length = weight.shape[1] - 1, conv_state.shape[-1], values.shape[-1]
    if size < before:
        raise RuntimeError(f"conv_state has {size} places, and a width of {weight.shape[1]} needs {before}")
    rows = torch.arange(values.shape[0], device=x.device) if conv_state_indices is None else conv_state_indices.long()
    with torch.no_grad():
        state = conv_state[rows].to(values.dtype)
        if cache_seqlens is None:
            past = state
            conv_state[rows] = torch.cat((state, values), -1)[..., length:].to(conv_state.dtype)
        else:
            starts = cache_seqlens.long()[:, None]
            earlier = (starts + torch.arange(-before, 0, device=x.device)) % size
            past = state.gather(-1, earlier[:, None].expand(-1, state.shape[1], -1))
            later = (starts + torch.arange(length, device=x.device)) % size
            conv_state[rows] = state.scatter(-1, later[:, None].expand(-1, state.shape[1], -1), values).to(
                conv_state.dtype
            )
    past = past[..., past.shape[-1] - before :]
    result = _activated(_convolved(torch.cat((past, values), -1), weight, bias), activation, x.dtype)
    return result.squeeze(-1) if x.dim() == 2 else result


__all__ = ["causal_conv1d_fn", "causal_conv1d_update"]
