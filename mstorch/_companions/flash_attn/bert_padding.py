"""flash_attn.bert_padding: sequences one after the other, without their padding, and back."""
from __future__ import annotations

import mstorch as torch

Tensor = torch.Tensor


def index_first_axis(input: Tensor, indices: Tensor) -> Tensor:
    """Return the rows of the first dimension in the order of an index."""
    return input.index_select(0, indices)


def index_put_first_axis(values: Tensor, indices: Tensor, first_axis_dim: int) -> Tensor:
    """Return so many rows of zeros with values in the places of an index."""
    return values.new_zeros(first_axis_dim, *values.shape[1:]).index_copy(0, indices, values)


def unpad_input(
    hidden_states: Tensor, attention_mask: Tensor, unused_mask: Tensor | None = None
) -> tuple[Tensor, Tensor, Tensor, int, Tensor]:  # fmt: skip
    """Return the tokens of (batch, places, …) in the mask one after the other, their places in the flat batch, the sequences' bounds, the
    longest length, and the lengths. Tokens of ``unused_mask`` are there too, but not counted in the last."""
    every = attention_mask if unused_mask is None else attention_mask + unused_mask
    lengths = every.sum(-1, dtype=torch.int32)
    indices = every.flatten().nonzero().flatten()
    bounds = torch.nn.functional.pad(lengths.cumsum(0, dtype=torch.int32), (1, 0))
    used = attention_mask.sum(-1, dtype=torch.int32)
    longest = int(lengths.max()) if lengths.numel() else 0
    return index_first_axis(hidden_states.flatten(0, 1), indices), indices, bounds, longest, used


def pad_input(hidden_states: Tensor, indices: Tensor, batch: int, seqlen: int) -> Tensor:
    """Return tokens in their places of a (batch, places, …) tensor of zeros."""
    return index_put_first_axis(hidden_states, indices, batch * seqlen).unflatten(0, (batch, seqlen))


class IndexFirstAxis:
    """The name of index_first_axis's function of autograd, whose ``apply`` programs call."""

    apply = staticmethod(index_first_axis)


class IndexPutFirstAxis:
    """The name of index_put_first_axis's function of autograd."""

    apply = staticmethod(index_put_first_axis)


def __getattr__(name: str) -> object:
    if name != "rearrange":
        raise AttributeError(f"module 'flash_attn.bert_padding' has no attribute '{name}'")
    from einops import rearrange  # einops' function, which programs import from here

    return rearrange


__all__ = ["IndexFirstAxis", "IndexPutFirstAxis", "index_first_axis", "index_put_first_axis", "pad_input", "unpad_input"]
