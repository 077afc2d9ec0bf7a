"""flash_attn and xformers against formulas in double precision, with gradients, in three dtypes."""
from __future__ import annotations

import math

import numpy as np
import pytest

import mstorch as torch
from mstorch import companions
from mstorch._companions.flash_attn import bert_padding as padding

flash, xformers = companions.flash_attn, companions.xformers
bias = xformers.ops.fmha.attn_bias

TOLERANCE = {"float64": 1e-10, "float32": 2e-5, "bfloat16": 4e-2, "float16": 5e-3}
DTYPES = ["float64", "float32", "bfloat16", "float16"]


def _tensors(dtype: str, *shapes: tuple[int, ...], seed: int = 0) -> list[torch.Tensor]:
    draw = np.random.default_rng(seed)
    return [torch.tensor(draw.normal(size=shape)).to(getattr(torch, dtype)).requires_grad_() for shape in shapes]


def _formula(q, k, v, seen=None, scale=None, softcap=0.0, added=None):
    """Return attention of (batch, places, heads, size) in float64, and the logarithms of sums of exponentials; a row without keys is zero."""
    q, k, v = (item.detach().double().requires_grad_() for item in (q, k, v))
    shared = q.shape[2] // k.shape[2]
    wide = [item.repeat_interleave(shared, 2) for item in (k, v)]
    scores = torch.einsum("bqhd,bkhd->bhqk", q, wide[0]) * (q.shape[-1] ** -0.5 if scale is None else scale)
    if softcap:
        scores = softcap * torch.tanh(scores / softcap)
    if added is not None:
        scores = scores + added
    if seen is not None:
        scores = scores.masked_fill(~seen, -math.inf)
    empty = (scores == -math.inf).all(-1, keepdim=True)
    weights = torch.softmax(scores.masked_fill(empty, 0), -1).masked_fill(empty, 0)
    return torch.einsum("bhqk,bkhd->bqhd", weights, wide[1]), torch.logsumexp(scores, -1), (q, k, v)


def _compare(got, tensors, want, leaves, dtype):
    tolerance = TOLERANCE[dtype]
    torch.testing.assert_close(got.double(), want, rtol=tolerance, atol=tolerance)
    assert got.dtype is getattr(torch, dtype)
    weight = torch.linspace(-1, 1, want.numel(), dtype=torch.float64).view(want.shape)
    slopes = torch.autograd.grad((got.double() * weight).sum(), tensors)
    wanted = torch.autograd.grad((want * weight).sum(), leaves)
    for one, other in zip(slopes, wanted):
        torch.testing.assert_close(one.double(), other, rtol=4 * tolerance, atol=4 * tolerance)


def _band(queries: int, keys: int, left: int = -1, right: int = -1) -> torch.Tensor:
    """Return where a query sees a key, element by element; the last of both are at one place."""
    seen = [[(left < 0 or j >= i + keys - queries - left) and (right < 0 or j <= i + keys - queries + right) for j in range(keys)] for i in range(queries)]
    return torch.tensor(seen)


CALLS = {
    "plain": ({}, (-1, -1)),
    "causal": ({"causal": True}, (-1, 0)),
    "window": ({"window_size": (2, 1)}, (2, 1)),
    "causal window": ({"causal": True, "window_size": (3, 5)}, (3, 0)),
    "softcap": ({"softcap": 0.7}, (-1, -1)),
    "softcap, causal": ({"softcap": 0.7, "causal": True, "softmax_scale": 0.9}, (-1, 0)),
    "scale": ({"softmax_scale": 0.3}, (-1, -1)),
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("lengths", [(6, 6), (4, 7), (7, 4)])
@pytest.mark.parametrize("call", CALLS)
def test_flash_attention(dtype: str, lengths: tuple[int, int], call: str) -> None:
    options, reach = CALLS[call]
    tensors = _tensors(dtype, (2, lengths[0], 4, 8), (2, lengths[1], 2, 8), (2, lengths[1], 2, 8))
    want, sums, leaves = _formula(
        *tensors, seen=_band(*lengths, *reach), scale=options.get("softmax_scale"), softcap=options.get("softcap", 0.0)
    )
    _compare(flash.flash_attn_func(*tensors, **options), tensors, want, leaves, dtype)
    out, found, probabilities = flash.flash_attn_func(*tensors, **options, return_attn_probs=True)
    torch.testing.assert_close(out.double(), want, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype])
    sums = torch.where(sums == -math.inf, math.inf, sums)
    torch.testing.assert_close(found.double(), sums, rtol=1e-4, atol=TOLERANCE[dtype])
    assert probabilities is None


@pytest.mark.parametrize("shape", [(4,), (2, 4)])
def test_slopes_of_alibi(shape: tuple[int, ...]) -> None:
    tensors = _tensors("float64", (2, 4, 4, 8), (2, 7, 4, 8), (2, 7, 4, 8))
    slopes = torch.tensor(np.random.default_rng(1).random(shape))
    far = torch.tensor([[abs(i + 3 - j) for j in range(7)] for i in range(4)])
    added = -slopes.view(-1, 4, 1, 1) * far
    want, _, leaves = _formula(*tensors, added=added, seen=_band(4, 7, -1, 0))
    _compare(flash.flash_attn_func(*tensors, causal=True, alibi_slopes=slopes), tensors, want, leaves, "float64")


def test_packed_tensors() -> None:
    qkv, kv, q = _tensors("float64", (2, 5, 3, 4, 8), (2, 6, 2, 4, 8), (2, 5, 4, 8))
    assert torch.equal(flash.flash_attn_qkvpacked_func(qkv, causal=True), flash.flash_attn_func(*qkv.unbind(2), causal=True))
    assert torch.equal(flash.flash_attn_kvpacked_func(q, kv, causal=True), flash.flash_attn_func(q, *kv.unbind(2), causal=True))


@pytest.mark.parametrize("dtype", DTYPES)
def test_sequences_of_several_lengths(dtype: str) -> None:
    lengths, own = (3, 0, 5, 1), (4, 2, 5, 0)
    tensors = _tensors(dtype, (9, 4, 8), (11, 2, 8), (11, 2, 8))
    q_ends, k_ends = (torch.tensor([0, *np.cumsum(sizes)], dtype=torch.int32) for sizes in (lengths, own))
    got = flash.flash_attn_varlen_func(*tensors, q_ends, k_ends, 5, 5, causal=True)
    parts, leaves = [], [item.detach().double().requires_grad_() for item in tensors]
    for i, (queries, keys) in enumerate(zip(lengths, own)):
        q = leaves[0][q_ends[i] : q_ends[i + 1]]
        k, v = (leaf[k_ends[i] : k_ends[i + 1]].repeat_interleave(2, 1) for leaf in leaves[1:])
        scores = torch.einsum("qhd,khd->hqk", q, k) * 8**-0.5
        seen = _band(queries, keys, -1, 0) if queries and keys else torch.zeros(queries, keys, dtype=torch.bool)
        scores = scores.masked_fill(~seen, -1e300)
        weights = torch.softmax(scores, -1) * seen if keys else scores
        parts.append(torch.einsum("hqk,khd->qhd", weights, v))
    _compare(got, tensors, torch.cat(parts), leaves, dtype)
    qkv = _tensors("float64", (9, 3, 4, 8))[0]
    packed = flash.flash_attn_varlen_qkvpacked_func(qkv, q_ends, 5, causal=True)
    assert torch.equal(packed, flash.flash_attn_varlen_func(*qkv.unbind(1), q_ends, q_ends, 5, 5, causal=True))
    with pytest.raises(RuntimeError, match="end at"):
        flash.flash_attn_varlen_func(*tensors, q_ends, q_ends, 5, 5)


@pytest.mark.parametrize("paged", [False, True])
@pytest.mark.parametrize("causal", [False, True])
def test_caches(paged: bool, causal: bool) -> None:
    q, k, v, keys, values = (item.detach() for item in _tensors("float64", (2, 3, 4, 8), (2, 3, 2, 8), (2, 3, 2, 8), (2, 12, 2, 8), (2, 12, 2, 8)))
    lengths = torch.tensor([4, 7], dtype=torch.int32)
    want = []
    for i, length in enumerate(lengths.tolist()):
        whole = [torch.cat([old[i : i + 1, :length], new[i : i + 1]], 1) for old, new in ((keys, k), (values, v))]
        want.append(_formula(q[i : i + 1], *whole, seen=_band(3, length + 3, -1, 0 if causal else -1))[0])
    table = None
    k_cache, v_cache = keys.clone(), values.clone()
    if paged:
        table = torch.tensor([[5, 0, 2], [1, 4, 3]], dtype=torch.int32)
        k_cache, v_cache = (torch.zeros(6, 4, 2, 8, dtype=torch.float64) for _ in range(2))
        for cache, old in ((k_cache, keys), (v_cache, values)):
            cache[table.long().view(-1)] = old.reshape(6, 4, 2, 8)
    got = flash.flash_attn_with_kvcache(q, k_cache, v_cache, k, v, cache_seqlens=lengths, block_table=table, causal=causal)
    torch.testing.assert_close(got, torch.cat(want), rtol=1e-10, atol=1e-10)
    written = k_cache if table is None else k_cache[table.long()].flatten(1, 2)
    for i, length in enumerate(lengths.tolist()):
        assert torch.equal(written[i, length : length + 3], k[i]) and torch.equal(written[i, :length], keys[i, :length])


def test_caches_rotate_and_pad() -> None:
    q, k, v, keys, values = (item.detach() for item in _tensors("float64", (2, 1, 2, 8), (2, 1, 2, 8), (2, 1, 2, 8), (3, 9, 2, 8), (3, 9, 2, 8)))
    angles = torch.tensor(np.random.default_rng(2).random((9, 3)))
    chosen, lengths = torch.tensor([2, 0]), torch.tensor([5, 3])
    turned = []
    for i, length in enumerate(lengths.tolist()):
        for item in (q, k):
            pair = item[i : i + 1].clone()
            first, second = pair[..., 0:6:2].clone(), pair[..., 1:6:2].clone()
            c, s = torch.cos(angles[length]), torch.sin(angles[length])
            pair[..., 0:6:2], pair[..., 1:6:2] = first * c - second * s, first * s + second * c
            turned.append(pair)
    k_cache, v_cache = keys.clone(), values.clone()
    got, sums = flash.flash_attn_with_kvcache(
        q, k_cache, v_cache, k, v, angles.cos(), angles.sin(), lengths, chosen, torch.tensor([1, 0]), causal=True, return_softmax_lse=True
    )
    for i, (length, place, start) in enumerate(((5, 2, 1), (3, 0, 0))):
        own = torch.cat([keys[place : place + 1, start:length], turned[2 * i + 1]], 1)
        other = torch.cat([values[place : place + 1, start:length], v[i : i + 1]], 1)
        want, total, _ = _formula(turned[2 * i], own, other)
        torch.testing.assert_close(got[i : i + 1], want, rtol=1e-10, atol=1e-10)
        torch.testing.assert_close(sums[i : i + 1], total, rtol=1e-10, atol=1e-10)


def test_padding_is_left_out_and_put_back() -> None:
    (hidden,) = _tensors("float64", (2, 4, 3))
    mask = torch.tensor([[1, 1, 0, 0], [0, 1, 1, 1]])
    flat, places, ends, longest, used = padding.unpad_input(hidden, mask)
    assert places.tolist() == [0, 1, 5, 6, 7] and ends.tolist() == [0, 2, 5] and longest == 3 and used.tolist() == [2, 3]
    assert ends.dtype is used.dtype is torch.int32
    back = padding.pad_input(flat, places, 2, 4)
    assert torch.equal(back, hidden * mask.unsqueeze(-1))
    (slope,) = torch.autograd.grad(back.sum(), hidden)
    assert torch.equal(slope, mask.unsqueeze(-1).expand(2, 4, 3).double())


def test_wrong_tensors_are_refused() -> None:
    q, k = _tensors("float32", (1, 4, 3, 8), (1, 4, 2, 8))
    for call in (lambda: flash.flash_attn_func(q, k, k), lambda: flash.flash_attn_func(q, q.double(), q), lambda: flash.flash_attn_func(q[0], q, q),
                 lambda: flash.flash_attn_func(q, q, q, dropout_p=1.0)):
        with pytest.raises(RuntimeError):
            call()


# xformers


MASKS = {
    "none": (lambda: None, None),
    "lower": (bias.LowerTriangularMask, lambda i, j: j <= i),
    "lower from the end": (bias.LowerTriangularFromBottomRightMask, lambda i, j: j <= i + 2),
    "local lower": (lambda: bias.LowerTriangularFromBottomRightLocalAttentionMask(3), lambda i, j: i + 2 - 3 < j <= i + 2),
    "local": (lambda: bias.LocalAttentionFromBottomRightMask(1, 2), lambda i, j: i + 1 <= j <= i + 4),
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", MASKS)
def test_memory_efficient_attention(dtype: str, name: str) -> None:
    make, rule = MASKS[name]
    tensors = _tensors(dtype, (2, 5, 3, 8), (2, 7, 3, 8), (2, 7, 3, 4))
    seen = None if rule is None else torch.tensor([[rule(i, j) for j in range(7)] for i in range(5)])
    want, _, leaves = _formula(*tensors, seen=seen)
    _compare(xformers.ops.memory_efficient_attention(*tensors, attn_bias=make()), tensors, want, leaves, dtype)
    if rule is not None:
        shown = make().materialize((2, 3, 5, 7))
        assert torch.equal(shown == 0, seen.expand(2, 3, 5, 7)) and torch.equal(shown == -math.inf, ~seen.expand(2, 3, 5, 7))


def test_biases_of_tensors_and_shapes() -> None:
    attention = xformers.ops.memory_efficient_attention
    q, k, v, added = _tensors("float64", (2, 5, 3, 8), (2, 7, 3, 8), (2, 7, 3, 4), (2, 3, 5, 7))
    want, _, leaves = _formula(q, k, v, added=added.detach(), scale=0.2)
    _compare(attention(q, k, v, added.detach(), scale=0.2), (q, k, v), want, leaves, "float64")
    square = _tensors("float64", (2, 5, 3, 8), (2, 5, 3, 8), (2, 5, 3, 8), (2, 3, 5, 5))
    both = bias.LowerTriangularMask().add_bias(square[3].detach())
    want, _, leaves = _formula(*square[:3], added=square[3].detach(), seen=_band(5, 5, -1, 0))
    _compare(attention(*square[:3], attn_bias=both), square[:3], want, leaves, "float64")
    single = attention(q[:, :, 0], k[:, :, 0], v[:, :, 0])
    torch.testing.assert_close(single, attention(q[:, :, :1], k[:, :, :1], v[:, :, :1])[:, :, 0])
    grouped = attention(*(item.detach().reshape(item.shape[0], item.shape[1], 1, 3, -1) for item in (q, k, v)))
    torch.testing.assert_close(grouped[:, :, 0], attention(q, k, v))
    (slope,) = torch.autograd.grad(attention(q, k, v, added).sum(), added)
    assert slope.shape == added.shape and bool(slope.abs().sum() > 0)


BLOCKS = {
    "whole": (lambda made: made, lambda i, j, q, k: True),
    "causal": (lambda made: made.make_causal(), lambda i, j, q, k: j <= i),
    "causal from the end": (lambda made: made.make_causal_from_bottomright(), lambda i, j, q, k: j <= i + k - q),
}


@pytest.mark.parametrize("name", BLOCKS)
def test_blocks_of_sequences(name: str) -> None:
    change, rule = BLOCKS[name]
    lengths, own = (2, 4, 3), (3, 4, 5)
    mask = change(bias.BlockDiagonalMask.from_seqlens(lengths, own))
    tensors = _tensors("float64", (1, 9, 2, 8), (1, 12, 2, 8), (1, 12, 2, 8))
    seen = torch.zeros(9, 12, dtype=torch.bool)
    for number, (queries, keys) in enumerate(zip(lengths, own)):
        for i in range(queries):
            for j in range(keys):
                seen[sum(lengths[:number]) + i, sum(own[:number]) + j] = rule(i, j, queries, keys)
    want, _, leaves = _formula(*tensors, seen=seen)
    _compare(xformers.ops.memory_efficient_attention(*tensors, attn_bias=mask), tensors, want, leaves, "float64")
    assert torch.equal(mask.materialize((1, 2, 9, 12))[0, 0] == 0, seen)
    with pytest.raises(ValueError, match="the bias is for"):
        xformers.ops.memory_efficient_attention(tensors[0][:, :5], tensors[1], tensors[2], attn_bias=mask)


def test_blocks_of_tensors_padded_keys_and_windows() -> None:
    first, second = (item.detach() for item in _tensors("float64", (2, 3, 2, 8), (1, 4, 2, 8)))
    mask, whole = bias.BlockDiagonalMask.from_tensor_list([first, second])
    assert whole.shape == (1, 10, 2, 8)
    found = mask.split(xformers.ops.memory_efficient_attention(whole, whole, whole, attn_bias=mask))
    for got, item in zip(found, (first, second)):
        torch.testing.assert_close(got, _formula(item, item, item)[0].detach(), rtol=1e-10, atol=1e-10)
    local = bias.BlockDiagonalMask.from_seqlens([3, 5]).make_local_attention(2)
    seen = torch.tensor([[i // 3 == 0 and j < 3 and 0 <= i - j < 2 or i > 2 and j > 2 and 0 <= i - j < 2 for j in range(8)] for i in range(8)])
    assert torch.equal(local.materialize((8, 8)) == 0, seen)
    q, k = (item.detach() for item in _tensors("float64", (1, 3, 2, 8), (1, 12, 2, 8)))
    padded = bias.BlockDiagonalCausalWithOffsetPaddedKeysMask.from_seqlens([1, 2], 6, [4, 5])
    seen = torch.zeros(3, 12, dtype=torch.bool)
    seen[0, :4] = seen[1, 6:10] = seen[2, 6:11] = True
    got = xformers.ops.memory_efficient_attention(q, k, k, attn_bias=padded)
    torch.testing.assert_close(got, _formula(q, k, k, seen=seen)[0].detach(), rtol=1e-10, atol=1e-10)


def test_absent_names_say_what_to_write_instead() -> None:
    with pytest.raises(NotImplementedError, match="distributed"):
        xformers.ops.fused_allgather_and_linear(1)
    with pytest.raises(NotImplementedError, match="write a tensor"):
        bias.PagedBlockDiagonalPaddedKeysMask(1)
    for name in ("_wrapped_flash_attn_forward", "_flash_attn_varlen_backward"):  # diffusers imports such names with the functions
        with pytest.raises(NotImplementedError, match=r"flash_attn\.flash_attn_interface.*write flash_attn"):
            getattr(flash.flash_attn_interface, name)(1)
    assert not hasattr(xformers.ops, "nothing")
    assert "cutlass" in repr(xformers.ops.MemoryEfficientAttentionCutlassOp).lower()
