"""xformers beside its attention: rotated caches, lengths of masks, products."""
from __future__ import annotations

import math

import numpy as np
import pytest

import mstorch as torch
from mstorch import companions

ops = companions.xformers.ops
Padded = ops.fmha.attn_bias.BlockDiagonalCausalWithOffsetPaddedKeysMask
NEW, HELD, ROOM = [2, 1, 3], [5, 1, 7], 8


def _t(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.tensor(np.random.default_rng([seed, *shape]).normal(size=shape))


def _turn(row: torch.Tensor, place: float, theta: float, adjacents: bool) -> torch.Tensor:
    """Return (heads, size) turned for a place, a pair after the other."""
    result, size = row.clone(), row.shape[-1]
    for pair in range(size // 2):
        one, other = (2 * pair, 2 * pair + 1) if adjacents else (pair, pair + size // 2)
        angle = place * theta ** (-2 * pair / size)
        result[..., one] = row[..., one] * math.cos(angle) - row[..., other] * math.sin(angle)
        result[..., other] = row[..., other] * math.cos(angle) + row[..., one] * math.sin(angle)
    return result


@pytest.mark.parametrize("groups", [(), (2,)])
@pytest.mark.parametrize("adjacents", [True, False])
@pytest.mark.parametrize("places", ["cache", "first", "own"])
def test_rotated_cache(groups, adjacents, places) -> None:
    q, k, v = _t(1, 6, *groups, 4, 6), _t(1, 6, *groups, 2, 6, seed=1), _t(1, 6, *groups, 2, 6, seed=2)
    caches = _t(1, 24, *groups, 2, 6, seed=3), _t(1, 24, *groups, 2, 6, seed=4)
    mask = Padded.from_seqlens(NEW, ROOM, HELD)
    told = {"first": {"first_seqpos": torch.tensor([3, 0, 10])}, "own": {"seqpos": torch.tensor([4, 4, 0, 9, 1, 2])}}.get(places, {})
    want = [item.clone() for item in caches]
    queries, number = [], 0
    for sequence, (new, held) in enumerate(zip(NEW, HELD)):
        for step in range(new):
            own = held - new + step
            place = own + (3, 0, 10)[sequence] if places == "first" else (4, 4, 0, 9, 1, 2)[number] if places == "own" else own
            want[0][0, sequence * ROOM + own] = _turn(k[0, number], place / 2, 50.0, adjacents)
            want[1][0, sequence * ROOM + own] = v[0, number]
            queries.append(_turn(q[0, number], place / 2, 50.0, adjacents))
            number += 1
    got = ops.rope_padded(q, k, v, *caches, mask, theta=50.0, linear_scale=2.0, adjacents=adjacents, internal_dtype="f64", **told)
    torch.testing.assert_close(got[0], torch.stack(queries), rtol=1e-10, atol=1e-10)
    for one, other in zip(caches, want):
        torch.testing.assert_close(one, other, rtol=1e-10, atol=1e-10)


def test_slower_pairs_and_what_is_refused() -> None:
    q, caches, mask = _t(1, 6, 1, 8), (torch.zeros(1, 24, 1, 8).double(), torch.zeros(1, 24, 1, 8).double()), Padded.from_seqlens(NEW, ROOM, HELD)
    numbers = {"dynamic_old_context_len": 64.0, "dynamic_scale_factor": 4.0, "dynamic_low_freq_factor": 1.0, "dynamic_high_freq_factor": 4.0}
    got = ops.rope_padded(q, q, q, *caches, mask, use_dynamic_scaling=True, internal_dtype="f64", theta=100.0, **numbers)
    rates = []
    for pair in range(4):
        rate = 100.0 ** (-2 * pair / 8)
        length = 2 * math.pi / rate
        smooth = (64 / length - 1) / 3
        rates.append(rate / 4 if length > 64 else rate if length < 16 else (1 - smooth) * rate / 4 + smooth * rate)
    row = torch.view_as_complex(q[0, 4, 0].view(4, 2)) * torch.polar(torch.ones(4).double(), 5.0 * torch.tensor(rates, dtype=torch.float64))
    torch.testing.assert_close(got[0, 4, 0], torch.view_as_real(row).flatten(), rtol=1e-9, atol=1e-9)
    with torch.no_grad():
        assert ops.rope_padded(q, q, q, *caches, mask, out_q=(out := torch.empty_like(q))) is out
    for wrong in ({"first_seqpos": torch.zeros(3), "seqpos": torch.zeros(6)}, {"out_q": torch.empty_like(q)}):
        with pytest.raises(ValueError):
            ops.rope_padded(q, q, q, *caches, mask, **wrong)
    with pytest.raises(ValueError, match="unexpected shape of xk"):
        ops.rope_padded(q, q[:, :5], q, *caches, mask)


def test_lengths_of_masks() -> None:
    mask = Padded.from_seqlens(NEW, ROOM, HELD)
    assert mask.q_seqinfo.seqstart_py == [0, 2, 3, 6] and mask.q_seqinfo.seqstart.dtype is torch.int32 and mask.q_seqinfo.max_seqlen == 3
    assert mask.k_seqinfo.seqstart_py == [0, 8, 16, 24] and mask.k_seqinfo.seqlen.tolist() == HELD and list(mask.k_seqinfo.intervals())[2] == (16, 23)
    q, keys = _t(1, 6, 2, 4), _t(1, 24, 2, 4)
    before = ops.memory_efficient_attention(q, keys, keys, attn_bias=mask)
    mask.k_seqinfo.to("cpu").seqlen.copy_(torch.tensor([6, 2, 3]))
    after = ops.memory_efficient_attention(q, keys, keys, attn_bias=mask)
    assert not torch.equal(before, after)
    fresh = Padded.from_seqlens(NEW, ROOM, [6, 2, 3])
    torch.testing.assert_close(after, ops.memory_efficient_attention(q, keys, keys, attn_bias=fresh))


def test_products() -> None:
    a, b, seen = _t(2, 3, 4), _t(2, 4, 5), torch.arange(15).view(3, 5) % 2 == 0
    assert torch.equal(ops.masked_matmul(a, b), a @ b)
    assert torch.equal(ops.masked_matmul(a, b, seen).isinf(), ~seen.expand(2, 3, 5))
    torch.testing.assert_close(ops.masked_matmul(a, b, _t(3, 5)), a @ b + _t(3, 5))
    tiles = ops.tiled_matmul([[a[0, :2, :3], a[0, :2, 3:]], [a[0, 2:, :3], a[0, 2:, 3:]]], [[b[0, :3]], [b[0, 3:]]])
    torch.testing.assert_close(torch.cat([row[0] for row in tiles]), a[0] @ b[0])
    with pytest.raises(ValueError):
        ops.tiled_matmul([[a[0]]], [[b[0]], [b[0]]])
