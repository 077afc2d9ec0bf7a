"""causal_conv1d against a sum over places in float64, with gradients by torch's own convolution."""

from __future__ import annotations

import numpy as np
import pytest
import torch as real_torch

import mstorch as torch
from mstorch import companions

conv = companions.causal_conv1d
TOLERANCE = {"float64": 1e-10, "float32": 1e-5, "bfloat16": 4e-2}


def _draw(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape)


def _formula(
    x: np.ndarray,
    weight: np.ndarray,
    bias: np.ndarray | None,
    activation: str | None,
    sequences: np.ndarray | None = None,
) -> np.ndarray:
    out, width = np.zeros_like(x), weight.shape[1]
    for b, t in np.ndindex(x.shape[0], x.shape[2]):
        if sequences is not None and sequences[b, t] < 0:
            continue
        out[b, :, t] = 0 if bias is None else bias
        for k in range(min(width, t + 1)):
            if sequences is None or sequences[b, t - k] == sequences[b, t]:
                out[b, :, t] += x[b, :, t - k] * weight[:, width - 1 - k]
    live = np.ones(x.shape, bool) if sequences is None else np.broadcast_to((sequences >= 0)[:, None], x.shape)
    return np.where(live, out / (1 + np.exp(-out)) if activation else out, 0)


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("width, length", [(2, 6), (3, 6), (4, 6), (4, 2)])
@pytest.mark.parametrize("has_bias, activation", [(True, None), (False, "silu"), (True, "swish")])
def test_whole_sequences(dtype: str, width: int, length: int, has_bias: bool, activation: str | None) -> None:
    tensors = [
        torch.tensor(_draw(*shape, seed=n)).to(getattr(torch, dtype)).requires_grad_()
        for n, shape in enumerate([(2, 3, length), (3, width), (3,)])
    ]
    arrays = [tensor.detach().double().numpy() for tensor in tensors]
    got = conv.causal_conv1d_fn(tensors[0], tensors[1], tensors[2] if has_bias else None, activation=activation)
    assert got.dtype is getattr(torch, dtype)
    want = _formula(arrays[0], arrays[1], arrays[2] if has_bias else None, activation)
    np.testing.assert_allclose(got.detach().double().numpy(), want, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype])
    weights = _draw(2, 3, length, seed=5)
    (got.double() * torch.tensor(weights)).sum().backward()
    leaves = [real_torch.tensor(array, requires_grad=True) for array in arrays]
    out = real_torch.nn.functional.conv1d(
        real_torch.nn.functional.pad(leaves[0], (width - 1, 0)),
        leaves[1][:, None],
        leaves[2] if has_bias else None,
        groups=3,
    )
    ((real_torch.nn.functional.silu(out) if activation else out) * real_torch.tensor(weights)).sum().backward()
    for tensor, leaf in list(zip(tensors, leaves))[: 2 + has_bias]:
        np.testing.assert_allclose(
            tensor.grad.double().numpy(), leaf.grad.numpy(), rtol=2 * TOLERANCE[dtype], atol=4 * TOLERANCE[dtype]
        )


@pytest.mark.parametrize("activation", [None, "silu"])
def test_sequences_in_one_row(activation: str | None) -> None:
    x, weight, bias = _draw(2, 3, 7), _draw(3, 4, seed=1), _draw(3, seed=2)
    sequences = np.array([[0, 0, 1, 1, 1, 1, 1], [0, 1, 1, 2, 2, -1, -1]], np.int32)
    got = conv.causal_conv1d_fn(
        *map(torch.tensor, (x, weight, bias)), seq_idx=torch.tensor(sequences), activation=activation
    )
    np.testing.assert_allclose(got.numpy(), _formula(x, weight, bias, activation, sequences), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("parts", [(3, 4), (1, 6), (5, 2)])
def test_states_between_parts(parts: tuple[int, int]) -> None:
    """A sequence in parts gives what the whole does: with initial and final states, and place by place."""
    x, weight, bias = map(torch.tensor, (_draw(2, 3, 7), _draw(3, 4, seed=1), _draw(3, seed=2)))
    want = conv.causal_conv1d_fn(x, weight, bias, activation="silu")
    first, state = conv.causal_conv1d_fn(x[..., : parts[0]], weight, bias, return_final_states=True, activation="silu")
    out = torch.empty(2, 3, 3, dtype=torch.float64)
    second, last = conv.causal_conv1d_fn(
        x[..., parts[0] :],
        weight,
        bias,
        initial_states=state,
        return_final_states=True,
        final_states_out=out,
        activation="silu",
    )
    torch.testing.assert_close(torch.cat((first, second), -1), want)
    assert last is out and torch.equal(out, x[..., -3:])
    kept = torch.zeros(5, 3, 3, dtype=torch.float64)
    rows = torch.tensor([4, 1], dtype=torch.int32)
    kept[rows.long()] = state
    torch.testing.assert_close(
        conv.causal_conv1d_update(x[..., parts[0] :], kept, weight, bias, "silu", conv_state_indices=rows), second
    )
    assert torch.equal(kept[rows.long()], out) and not kept[[0, 2, 3]].any()


@pytest.mark.parametrize("size", [3, 4, 6])
@pytest.mark.parametrize("ring", [False, True])
def test_place_by_place(size: int, ring: bool) -> None:
    x, weight, bias = map(torch.tensor, (_draw(2, 3, 7), _draw(3, 4, seed=1), _draw(3, seed=2)))
    want, state = conv.causal_conv1d_fn(x, weight, bias), torch.zeros(2, 3, size, dtype=torch.float64)
    for t in range(7):
        seen = torch.full((2,), t, dtype=torch.int32) if ring else None
        torch.testing.assert_close(
            conv.causal_conv1d_update(x[..., t], state, weight, bias, cache_seqlens=seen), want[..., t]
        )


def test_refused() -> None:
    x, weight = torch.ones(1, 2, 3), torch.ones(2, 4)
    with pytest.raises(NotImplementedError, match="activation must be None, silu, or swish"):
        conv.causal_conv1d_fn(x, weight, activation="gelu")
    with pytest.raises(ValueError, match="seq_idx must be None"):
        conv.causal_conv1d_fn(x, weight, seq_idx=torch.zeros(1, 3, dtype=torch.int32), return_final_states=True)
    with pytest.raises(RuntimeError, match="conv_state has 2 places"):
        conv.causal_conv1d_update(x, torch.zeros(1, 2, 2), weight)


def test_last_inputs_of_sequences_in_a_row() -> None:
    x = torch.arange(14.0).view(7, 2)
    states = conv.causal_conv1d_varlen.causal_conv1d_varlen_states(x, torch.tensor([0, 2, 7], dtype=torch.int32), 3)
    assert states.tolist() == [[[0, 0, 2], [0, 1, 3]], [[8, 10, 12], [9, 11, 13]]]
