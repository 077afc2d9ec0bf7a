"""torch_npu's indexers, attention to chosen keys, blocks in MX formats and products of batches, on the plugin, beside their formulas by rows."""
from __future__ import annotations

import importlib
import math
from typing import Any

import pytest

import mstorch as torch
from tests.cann.plugin import on_plugin

pytestmark = pytest.mark.slow


class _Package:
    """torch_npu, imported where a test runs: there is none beside the plugin."""

    def __getattr__(self, name: str) -> Any:
        return getattr(importlib.import_module("mstorch._companions.torch_npu"), name)


torch_npu = _Package()


def _indices_by_rows(q: Any, k: Any, w: Any, count: int, causal: bool) -> list[list[int]]:
    rows = []
    for place in range(len(q)):
        most = len(k) - len(q) + place + 1 if causal else len(k)
        scores = [sum(max(0.0, float(q[place, head] @ k[key, 0])) * float(w[place, head]) for head in range(q.shape[1])) for key in range(most)]
        best = sorted(range(most), key=lambda key: -scores[key])[:count]
        rows.append(best + [-1] * (count - len(best)))
    return rows


@on_plugin
def test_indexers() -> None:
    torch.manual_seed(0)
    q, k, w = torch.randn(2, 3, 4, 8), torch.randn(2, 7, 1, 8), torch.rand(2, 3, 4) + 0.1
    wanted = [_indices_by_rows(q[b], k[b], w[b], 6, True) for b in range(2)]
    places, scores = torch_npu.npu_lightning_indexer(q.npu(), k.npu(), w.npu(), sparse_count=6, return_value=True)
    assert places.dtype is torch.int32 and places[:, :, 0].tolist() == wanted and scores.shape == places.shape
    pages = torch.zeros(4, 4, 1, 8)
    pages[[2, 0]], pages[[3, 1]] = (torch.nn.functional.pad(k[b], (0, 0, 0, 0, 0, 1)).reshape(2, 4, 1, 8) for b in range(2))
    paged, none = torch_npu.npu_lightning_indexer(
        q.npu().flatten(0, 1), pages.npu(), w.npu().flatten(0, 1), actual_seq_lengths_query=torch.tensor([3, 6]).int().npu(),
        actual_seq_lengths_key=torch.tensor([7, 7]).int().npu(), block_table=torch.tensor([[2, 0], [3, 1]]).int().npu(), layout_query="TND",
        layout_key="PA_BSND", sparse_count=6,
    )  # fmt: skip
    assert paged[:, 0].tolist() == [*wanted[0], *wanted[1]] and not none.numel()
    small, keys = torch.randint(-9, 9, (2, 3, 4, 8)).to(torch.int8), torch.randint(-9, 9, (2, 7, 1, 8)).to(torch.int8)
    a, b = torch.rand(2, 3, 4) + 0.5, torch.rand(2, 7, 1) + 0.5
    found = torch_npu.npu_quant_lightning_indexer(
        small.npu(), keys.npu(), w.half().npu(), a.npu(), b.npu(), 0, 0, sparse_count=4, sparse_mode=0
    )  # fmt: skip
    plain = [_indices_by_rows(small[n].float() * a[n, ..., None], keys[n].float() * b[n, ..., None], w[n].half(), 4, False) for n in range(2)]
    assert found[:, :, 0].tolist() == plain


@pytest.mark.parametrize("layout", ["BSND", "TND"])
@on_plugin
def test_attention_to_chosen_keys(layout: str) -> None:
    torch.manual_seed(0)
    q, k, v, sinks = torch.randn(2, 3, 4, 8), torch.randn(2, 8, 1, 8), torch.randn(2, 8, 1, 5), torch.randn(4)
    chosen = torch.tensor([[[3, 0, -1], [1, 2, 3], [2, -1, -1]], [[0, 1, -1], [3, 2, -1], [1, 0, 3]]]).int().reshape(2, 3, 1, 3)
    want = torch.zeros(2, 3, 4, 5)
    tops, sums = torch.zeros(2, 1, 3, 4), torch.zeros(2, 1, 3, 4)
    for b in range(2):
        for place in range(3):
            keys = [block * 2 + n for block in chosen[b, place, 0].tolist() if block >= 0 for n in range(2)]
            keys = [key for key in keys if key <= 8 - 3 + place]
            for head in range(4):
                scores = [float(q[b, place, head] @ k[b, key, 0]) * 0.3 for key in keys]
                top = max([*scores, float(sinks[head])])
                powers = [math.exp(score - top) for score in scores]
                total = sum(powers) + math.exp(float(sinks[head]) - top)
                want[b, place, head] = sum(power * v[b, key, 0] for power, key in zip(powers, keys)) / total
                tops[b, 0, place, head], sums[b, 0, place, head] = top, total
    options: dict[str, Any] = {"layout_query": layout, "layout_kv": layout, "sparse_block_size": 2, "return_softmax_lse": True, "sinks": sinks.npu()}
    tensors = [x.npu() for x in (q, k, v, chosen)]
    if layout == "TND":
        tensors = [x.flatten(0, 1) for x in tensors]
        want = want.flatten(0, 1)
        tops, sums = (x.transpose(0, 1).flatten(1, 2) for x in (tops, sums))
        options.update(actual_seq_lengths_query=torch.tensor([3, 6]).int().npu(), actual_seq_lengths_kv=torch.tensor([8, 16]).int().npu())
    out, top, total = torch_npu.npu_sparse_flash_attention(*tensors, 0.3, **options)
    assert out.shape == want.shape and torch.allclose(out.cpu(), want, atol=1e-5)
    assert torch.allclose(top.cpu(), tops, atol=1e-5) and torch.allclose(total.cpu(), sums, atol=1e-5)


@on_plugin
def test_attention_to_blocks() -> None:
    torch.manual_seed(0)
    q, k, v = torch.randn(2, 4, 6, 8), torch.randn(2, 2, 10, 8), torch.randn(2, 2, 10, 8)
    mask = torch.tensor([[1, 0, 1], [0, 1, 1]]).to(torch.int8).expand(2, 4, 2, 3).contiguous()
    seen = mask.bool().repeat_interleave(3, 2).repeat_interleave(4, 3)[..., :6, :10]
    wide = [x.repeat_interleave(2, 1) for x in (k, v)]
    want = torch.nn.functional.scaled_dot_product_attention(q, *wide, attn_mask=seen, scale=0.4)
    log = (q @ wide[0].transpose(-1, -2) * 0.4).masked_fill(~seen, -math.inf).logsumexp(-1, keepdim=True)
    options: dict[str, Any] = {"num_key_value_heads": 2, "scale_value": 0.4, "softmax_lse_flag": 1}
    out, lse = torch_npu.npu_block_sparse_attention(
        q.npu(), k.npu(), v.npu(), mask.npu(), [3, 4], q_input_layout="BNSD", kv_input_layout="BNSD", **options
    )  # fmt: skip
    assert torch.allclose(out.cpu(), want, atol=1e-5) and torch.allclose(lse.cpu(), log, atol=1e-5)
    rows = [x.transpose(1, 2).flatten(0, 1).npu() for x in (q, k, v)]
    out, _ = torch_npu.npu_block_sparse_attention(*rows, mask.npu(), [3, 4], actual_seq_lengths=[6, 6], actual_seq_lengths_kv=[10, 10], **options)
    assert torch.allclose(out.cpu(), want.transpose(1, 2).flatten(0, 1), atol=1e-5)


@on_plugin
def test_gated_delta_rule() -> None:
    torch.manual_seed(0)
    q, k, v, beta, g = torch.randn(5, 2, 4), torch.randn(5, 2, 4), torch.randn(5, 4, 3), torch.rand(5, 4), -torch.rand(5, 4)
    first = torch.randn(2, 4, 3, 4)
    out, last = torch_npu.npu_chunk_gated_delta_rule(
        q.npu(), k.npu(), v.npu(), beta=beta.npu(), initial_state=first.npu(), actual_seq_lengths=torch.tensor([2, 3]).int().npu(), scale=0.5,
        g=g.npu(),
    )  # fmt: skip
    for head in range(4):
        for sequence, tokens in enumerate(([0, 1], [2, 3, 4])):
            state = first[sequence, head].double()
            for t in tokens:
                key, a, b = k[t, head // 2].double(), g[t, head].double().exp(), beta[t, head].double()
                state = state @ (a * (torch.eye(4).double() - b * torch.outer(key, key))) + b * torch.outer(v[t, head].double(), key)
                assert torch.allclose(out[t, head].cpu().double(), state @ q[t, head // 2].double() * 0.5, atol=1e-4)
            assert torch.allclose(last[sequence, head].cpu().double(), state, atol=1e-4)


@on_plugin
def test_blocks_in_an_mx_format() -> None:
    torch.manual_seed(0)
    x = torch.randn(3, 40, 70)
    small, by_row, by_column = torch_npu.npu_dynamic_block_mx_quant(x.bfloat16().npu(), dst_type=torch.float8_e4m3fn)
    assert small.shape == x.shape and by_row.shape == (3, 40, 2, 2) and by_column.shape == (3, 1, 70, 2)
    rows = by_row.float().cpu().flatten(-2).repeat_interleave(32, -1)[..., :70]
    columns = by_column.float().cpu().movedim(-1, -2).flatten(1, 2).repeat_interleave(32, 1)[:, :40]
    assert torch.equal(rows, columns)
    wide = x.bfloat16().float()
    for row, column in ((0, 0), (0, 32), (0, 64), (32, 0), (32, 32), (32, 64)):
        block = wide[:, row : row + 32, column : column + 32]
        most = block.abs().amax((1, 2))
        power = torch.tensor([2.0 ** (math.floor(math.log2(float(value))) - 8) for value in most])
        assert torch.equal(rows[:, row, column], power)
        want = (block / power[:, None, None]).clamp(-448, 448).to(torch.float8_e4m3fn).float()
        assert torch.equal(small[:, row : row + 32, column : column + 32].float().cpu(), want)
    with pytest.raises(RuntimeError, match="at least 2D"):
        torch_npu.npu_dynamic_block_mx_quant(torch.ones(4).npu())


@on_plugin
def test_products_of_quantised_batches() -> None:
    torch.manual_seed(0)
    a, b = torch.randint(-5, 5, (4, 3, 64)).float().to(torch.float8_e4m3fn), torch.randint(-5, 5, (3, 64, 8)).float().to(torch.float8_e4m3fn)
    s, t = torch.rand(4), torch.rand(8)
    found = torch_npu.npu_transpose_quant_batchmatmul(
        a.npu(), b.npu(), torch.float16, x1_scale=s.npu(), x2_scale=t.npu(), perm_x1=[1, 0, 2], perm_x2=[0, 1, 2], perm_y=[1, 0, 2]
    )  # fmt: skip
    want = torch.einsum("mbk,bkn->mbn", a.float(), b.float()) * s[:, None, None] * t
    assert found.dtype is torch.float16 and torch.allclose(found.float().cpu(), want, rtol=2e-3, atol=1e-2)
    powers = [2.0 ** torch.randint(-2, 3, shape).float() for shape in ((4, 3, 1, 2), (3, 1, 8, 2))]
    found = torch_npu.npu_transpose_quant_batchmatmul(
        a.npu(), b.npu(), torch.bfloat16, x1_scale=powers[0].to(torch.float8_e8m0fnu).npu(), x2_scale=powers[1].to(torch.float8_e8m0fnu).npu(),
        perm_x1=[1, 0, 2], perm_x2=[0, 1, 2], perm_y=[1, 0, 2],
    )  # fmt: skip
    one = a.float() * powers[0].flatten(-2).repeat_interleave(32, -1)
    other = b.float() * powers[1].movedim(-1, -2).flatten(1, 2).repeat_interleave(32, 1)
    assert torch.allclose(found.float().cpu(), torch.einsum("mbk,bkn->mbn", one, other), rtol=1e-2, atol=1e-1)


@on_plugin
def test_groups_of_rows() -> None:
    x, weight = torch.randn(5, 4).npu(), torch.randn(2, 4, 3).npu()
    with pytest.raises(RuntimeError, match="Requires manual passing group_type"):
        torch_npu.npu_grouped_matmul([x], [weight[0]])
    found = torch_npu.npu_grouped_matmul([x], [weight], group_list=[2, 4], split_item=3, group_type=0)[0]
    assert torch.allclose(found, torch.cat([x[:2] @ weight[0], x[2:4] @ weight[1], torch.zeros(1, 3).npu()]), atol=1e-6)
    eight = [torch.randint(-9, 9, shape).to(torch.int8).npu() for shape in ((4, 6), (6, 3))]
    scale, token = torch.rand(3).npu(), torch.rand(4).npu()
    found = torch_npu.npu_grouped_matmul(
        [eight[0]], [eight[1]], scale=[scale.bfloat16()], per_token_scale=[token], group_list=None, group_type=-1, output_dtype=torch.bfloat16
    )[0]  # fmt: skip
    want = (eight[0].float() @ eight[1].float()) * scale.bfloat16().float() * token[:, None]
    assert torch.allclose(found.float(), want, rtol=1e-2, atol=1e-1)


@on_plugin
def test_gradients_of_attention_to_chosen_keys_and_shapes_without_values() -> None:
    torch.manual_seed(0)
    tensors = [torch.randn(*shape).npu().requires_grad_() for shape in ((1, 2, 4, 8), (1, 6, 1, 8), (1, 6, 1, 8))]
    chosen = torch.tensor([[0, 2, -1], [1, 2, 0]]).int().reshape(1, 2, 1, 3)
    seen = torch.tensor([[1, 1, 0, 0, 1, 0], [1, 1, 1, 1, 1, 1]]).bool().npu()
    torch_npu.npu_sparse_flash_attention(*tensors, chosen.npu(), 0.3, sparse_block_size=2)[0].square().sum().backward()
    found = [tensor.grad for tensor in tensors]
    q, k, v = (tensor.detach().requires_grad_() for tensor in tensors)
    scores = (torch.einsum("bsnd,btd->bsnt", q, k[:, :, 0]) * 0.3).masked_fill(~seen[:, None], -math.inf)
    torch.einsum("bsnt,btd->bsnd", scores.softmax(-1), v[:, :, 0]).square().sum().backward()
    for mine, want in zip(found, (q.grad, k.grad, v.grad)):
        assert torch.allclose(mine, want, rtol=1e-4, atol=1e-5)
    empty = [torch.empty(shape, device="meta") for shape in ((1, 2, 4, 8), (1, 6, 1, 8), (1, 6, 1, 5))]
    out = torch_npu.npu_sparse_flash_attention(*empty, chosen.to("meta"), 0.3)[0]
    assert out.shape == (1, 2, 4, 5) and out.device.type == "meta"
    assert torch_npu.npu_lightning_indexer(*empty[:2], torch.empty(1, 2, 4, device="meta"), sparse_count=3)[0].shape == (1, 2, 1, 3)
