"""mamba_ssm.ops.triton.selective_state_update: one step of the scan from states that are kept."""
from __future__ import annotations

import mstorch as torch

from ..selective_scan_interface import wide

Tensor = torch.Tensor
_F = torch.nn.functional


def _check(kept: Tensor, x: Tensor, dt: Tensor, A: Tensor, B: Tensor, C: Tensor) -> None:
    _, heads, dim, states = kept.shape
    batch = x.shape[0]
    for name, item, shape in (
        ("x", x, (batch, heads, dim)), ("dt", dt, (batch, heads, dim)), ("A", A, (heads, dim, states)),
        ("B", B, (batch, B.shape[1], states)), ("C", C, tuple(B.shape)),
    ):  # fmt: skip
        if tuple(item.shape) != shape:
            raise RuntimeError(f"{name} must be {list(shape)} for states of {list(kept.shape)}, got {list(item.shape)}")
    if heads % B.shape[1]:
        raise RuntimeError("nheads must be divisible by ngroups")


def selective_state_update(
    state: Tensor, x: Tensor, dt: Tensor, A: Tensor, B: Tensor, C: Tensor, D: Tensor | None = None, z: Tensor | None = None,
    dt_bias: Tensor | None = None, dt_softplus: bool = False, state_batch_indices: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """Return the output at the next place, and write the states after it into ``state``.

    ``state`` is (batch, dim, dstate) or (batch, heads, dim, dstate); ``x``, ``dt`` and ``z`` lack its last dimension, ``A`` its first,
    ``D`` and ``dt_bias`` both; ``B`` and ``C`` are (batch, dstate) or (batch, groups, dstate). ``state_batch_indices`` names the row
    of ``state`` of each row.
    """
    kept, inputs, steps, rates, skip, bias = state, x, dt, A, D, dt_bias
    if state.dim() == 3:  # as one head
        kept, inputs, steps, rates = state.unsqueeze(1), x.unsqueeze(1), dt.unsqueeze(1), A.unsqueeze(0)
        skip, bias = (None if item is None else item.unsqueeze(0) for item in (D, dt_bias))
    into, out_of = (item.unsqueeze(1) if item.dim() == 2 else item for item in (B, C))
    _check(kept, inputs, steps, rates, into, out_of)
    with torch.no_grad():
        rows = None if state_batch_indices is None else state_batch_indices.long()
        before = wide(kept if rows is None else kept[rows])
        steps = wide(steps)
        if bias is not None:
            steps = steps + wide(bias)
        if dt_softplus:
            steps = _F.softplus(steps)
        share = kept.shape[1] // into.shape[1]
        into, out_of = (wide(item).repeat_interleave(share, 1) for item in (into, out_of))
        after = before * torch.exp(steps.unsqueeze(-1) * wide(rates)) + (steps * wide(inputs)).unsqueeze(-1) * into.unsqueeze(2)
        if rows is None:
            kept.copy_(after)
        else:
            kept[rows] = after.to(kept.dtype)
        result = (after * out_of.unsqueeze(2)).sum(-1)
        if skip is not None:
            result = result + wide(inputs) * wide(skip)
        if z is not None:
            result = result * _F.silu(wide(z.reshape(result.shape)))
        return result.to(x.dtype).reshape(x.shape)


selective_state_update_ref = selective_state_update

__all__ = ["selective_state_update", "selective_state_update_ref"]
