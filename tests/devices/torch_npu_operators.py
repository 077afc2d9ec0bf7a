"""torch_npu's further operators beside their formulas in float64: ``python -m tests.devices.torch_npu_operators`` (MSTORCH_FAKE_DEVICE=Ascend).

Values and gradients of the three float dtypes; exact values of quantised, routed and cached ones; signatures, in-place forms and meta forms.
"""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch as oracle

import mstorch as torch
from mstorch._companions import torch_npu as torch_npu
from tests.devices.fused_operators import TOLERANCE, away, compared, formula, npu

F = oracle.nn.functional
ops: Any = torch.ops.npu
Row = tuple[Callable[..., Any], Callable[..., Any], tuple[tuple[int, ...], ...]]


def _half(x: Any, a: Any, b: Any) -> Any:
    first, second = x.chunk(2, -1)
    return a * x + b * oracle.cat([-second, first], -1)


def _norm(x: Any, w: Any, b: Any) -> Any:
    mean = x.mean(-1, keepdim=True)
    return (x - mean) / ((x - mean).square().mean(-1, keepdim=True) + 1e-5).sqrt() * w + b


def _swished(x: Any, w: Any, b: Any) -> Any:
    normal = F.group_norm(x, 2, w, b, 1e-5)
    return normal / (1 + (-normal).exp())


def _clipped(x: Any) -> Any:
    gate, linear = x[..., ::2].clamp(max=7.0), x[..., 1::2].clamp(-7.0, 7.0)
    return gate / (1 + (-1.702 * gate).exp()) * (linear + 1)


def _sunk(q: Any, k: Any, v: Any, sink: Any) -> Any:
    scores = (q @ k.transpose(-2, -1) * 0.25).exp()
    return scores / (scores.sum(-1, keepdim=True) + sink.exp().reshape(-1, 1, 1)) @ v


def _roped(q: Any, k: Any, v: Any, a: Any, b: Any) -> Any:
    return formula(oracle.cat([q, a], -1), oracle.cat([k, b], -1), v, 0.25)


def rows() -> dict[str, Row]:
    """Return operators whose gradients autograd has, their formulas, and shapes of their tensors."""
    heads, rope = (2, 4, 6, 8), (2, 4, 6, 4)
    fused = torch_npu.npu_fusion_attention_v2
    return {
        "silu of ops": (ops.npu_silu, lambda x: x / (1 + (-x).exp()), ((3, 8),)),
        "rms of ops": (
            lambda x, g: ops.npu_rms_norm(x, g)[0], lambda x, g: x / (x.square().mean(-1, True) + 1e-6).sqrt() * g, ((3, 8), (8,)),
        ),
        "gemma": (
            lambda x, g: torch_npu.npu_gemma_rms_norm(x, g)[0], lambda x, g: x / (x.square().mean(-1, True) + 1e-6).sqrt() * (1 + g),
            ((3, 8), (8,)),
        ),
        "gelu mul": (torch_npu.npu_gelu_mul, lambda x: F.gelu(x[..., :4]) * x[..., 4:], ((3, 8),)),
        "clipped": (torch_npu.npu_clipped_swiglu, _clipped, ((3, 8),)),
        "add layer norm": (
            lambda x, y, w, b: torch_npu.npu_add_layer_norm(x, y, w, b)[0], lambda x, y, w, b: _norm(x + y, w, b), ((3, 8), (3, 8), (8,), (8,)),
        ),
        "deep norm": (
            lambda x, y, w, b: torch_npu.npu_deep_norm(x, y, b, w, 0.3, 1e-5)[2], lambda x, y, w, b: _norm(0.3 * x + y, w, b),
            ((3, 8), (3, 8), (8,), (8,)),
        ),
        "group norm silu": (lambda x, w, b: torch_npu.npu_group_norm_silu(x, w, b, 2)[0], _swished, ((2, 4, 3, 3), (4,), (4,))),
        "rotary of a matrix": (
            lambda x, a, b, m: torch_npu.npu_rotary_mul(x, a, b, rotate=m), lambda x, a, b, m: a * x + b * (x @ m),
            ((2, 3, 4), (2, 3, 4), (2, 3, 4), (4, 4)),
        ),
        "query": (lambda x, a, b: torch_npu.npu_apply_rotary_pos_emb(x, x, a, b)[0], _half, ((2, 3, 2, 8), (2, 3, 1, 8), (2, 3, 1, 8))),
        "interleaved": (
            torch_npu.npu_interleave_rope, lambda x, a, b: _half(oracle.cat([x[..., ::2], x[..., 1::2]], -1), a, b),
            ((2, 3, 4, 8), (2, 1, 4, 8), (2, 1, 4, 8)),
        ),
        "sink": (lambda q, k, v, s: fused(q, k, v, 4, "BNSD", scale=0.25, sink=s)[0], _sunk, (heads, heads, heads, (4,))),
        "ropes": (
            lambda q, k, v, a, b: fused(q, k, v, 4, "BNSD", query_rope=a, key_rope=b, scale=0.25)[0], _roped, (heads, heads, heads, rope, rope),
        ),
        "pse after": (
            lambda q, k, v, p: fused(q, k, v, 4, "BNSD", pse=p, pse_type=0, scale=0.25)[0],
            lambda q, k, v, p: formula(q, k, v, 0.25, None, p, False), (heads, heads, heads, (2, 4, 6, 6)),
        ),
        "infer": (
            lambda q, k, v: torch_npu.npu_fused_infer_attention_score(q, k, v, num_heads=4, num_key_value_heads=2, input_layout="BNSD", scale=0.25)[0],
            lambda q, k, v: formula(q, k, v, 0.25), (heads, (2, 2, 5, 8), (2, 2, 5, 8)),
        ),
    }  # fmt: skip


def others() -> dict[str, Row]:
    """Return the rows of ``rows`` for products, forms, losses and routing."""
    mask = oracle.zeros(4, 4).bool().triu(1) | oracle.tensor([[False, True, False, False]])
    expert, labels = oracle.tensor([[1, 0], [2, 1], [0, 2]]), oracle.tensor([1, 0, 2])
    routes = oracle.tensor([[1, 1, 0], [0, 1, 1], [1, 0, 1]]).bool()
    order = oracle.arange(3).expand(3, -1)[routes.t()]
    back = order.sort(stable=True).indices
    return {
        "scaled softmax": (
            lambda x: torch_npu.npu_scaled_masked_softmax(x, npu(mask), 0.5), lambda x: (x * 0.5).masked_fill(mask, -1e4).softmax(-1), ((2, 3, 4, 4),),
        ),
        "bmm": (lambda x, y: torch_npu.npu_bmmV2(x, y, []), lambda x, y: x @ y, ((2, 3, 4), (2, 4, 5))),
        "moved": (
            lambda x, y: torch_npu.npu_transpose_batchmatmul(x, y, perm_x1=[1, 0, 2], perm_y=[1, 0, 2]),
            lambda x, y: (x.transpose(0, 1) @ y).transpose(0, 1), ((5, 2, 4), (2, 4, 3)),
        ),
        "slice": (lambda x: torch_npu.npu_slice(x, [1, 0], [2, -1]), lambda x: x[1:3], ((4, 5),)),
        "pad": (lambda x: torch_npu.npu_pad(x, [1, 0, 2, 1]), lambda x: F.pad(x, (2, 1, 1, 0)), ((2, 3),)),
        "entropy": (
            torch_npu.npu_softmax_cross_entropy_with_logits, lambda x, w: -(w * x.log_softmax(-1)).sum(-1), ((3, 5), (3, 5)),
        ),
        "loss": (lambda x: torch_npu.npu_cross_entropy_loss(x, npu(labels))[0], lambda x: F.cross_entropy(x, labels), ((3, 5),)),
        "gated": (
            lambda x: torch_npu.npu_moe_gating_top_k(x, 2, norm_type=1)[0],
            lambda x: (lambda top: top / top.sum(-1, True))(x.sigmoid().topk(2, -1).values), ((3, 6),),
        ),
        "routed": (
            lambda x: torch_npu.npu_moe_init_routing_v2(x, npu(expert.int()), expert_num=3, active_expert_range=[0, 3])[0],
            lambda x: x[expert.flatten().argsort(stable=True) // 2], ((3, 4),),
        ),
        "permuted by map": (
            lambda x: torch_npu.npu_moe_token_permute_with_routing_map(x, npu(routes), num_out_tokens=6)[0], lambda x: x[order], ((3, 4),),
        ),
        "restored by map": (
            lambda x, p: torch_npu.npu_moe_token_unpermute_with_routing_map(x, npu(back.int()), [3, 4], probs=p, routing_map=npu(routes)),
            lambda x, p: (x[back].reshape(3, 2, 4) * p[routes].reshape(3, 2, 1)).sum(1), ((6, 4), (3, 3)),
        ),
        "update": (
            lambda x, y: torch_npu.npu_attention_update([torch.zeros(3).npu(), torch.ones(3).npu()], [x, y], 0)[0],
            lambda x, y: (x + math.e * y) / (1 + math.e), ((3, 4), (3, 4)),
        ),
    }  # fmt: skip


BACKWARDS = {
    "npu_swiglu": ("npu_swiglu_backward", 1), "npu_fast_gelu": ("npu_fast_gelu_backward", 1), "npu_mish": ("npu_mish_backward", 1),
    "npu_gelu": ("npu_gelu_backward", 1), "npu_linear": ("npu_linear_backward", 2), "npu_rotary_mul": ("npu_rotary_mul_backward", 3),
}  # fmt: skip
"""Operators that return gradients, and how many tensors they take besides the gradient."""


def backwards() -> list[str]:
    """Return operators of gradients that differ from autograd's gradient of the operator itself."""
    wrong = []
    for name, (other, count) in BACKWARDS.items():
        shapes = [(3, 8)] * count
        leaves = [torch.randn(shape).npu().requires_grad_() for shape in shapes]
        result = getattr(torch_npu, name)(*leaves)
        slope = torch.randn_like(result)
        want = torch.autograd.grad(result, leaves, slope)
        given = getattr(torch_npu, other)(slope, *[leaf.detach() for leaf in leaves])
        for mine, theirs in zip(given if isinstance(given, tuple) else (given,), want):
            if not torch.allclose(mine, theirs, atol=1e-5):
                wrong.append(other)
    q, k, v, slope = (torch.randn(2, 4, 6, 8).npu().requires_grad_() for _ in range(4))
    want = torch.autograd.grad(torch_npu.npu_fusion_attention(q, k, v, 4, "BNSD", scale=0.3)[0], (q, k, v), slope.detach())
    given = torch_npu.npu_fusion_attention_grad(q.detach(), k.detach(), v.detach(), slope.detach(), 4, "BNSD", scale_value=0.3)
    wrong += ["attention's"] * (not all(torch.allclose(mine, theirs, atol=1e-5) for mine, theirs in zip(given, want)))
    x, g = torch.randn(3, 8).npu().requires_grad_(), torch.randn(8).npu().requires_grad_()
    result, rstd = torch_npu.npu_rms_norm(x, g)
    slope = torch.randn(3, 8).npu()
    given = torch_npu.npu_rms_norm_backward(slope, x.detach(), g.detach(), rstd)
    return wrong + ["rms'"] * (not all(torch.allclose(a, b, atol=1e-5) for a, b in zip(given, torch.autograd.grad(result, (x, g), slope))))


def _is(mine: Any, theirs: Any) -> bool:
    return mine.cpu().double().tolist() == theirs.double().tolist()


def _near(mine: Any, theirs: Any, bound: float = 1e-5) -> bool:
    return oracle.allclose(oracle.tensor(mine.cpu().double().tolist(), dtype=oracle.float64), theirs.double(), atol=bound, rtol=bound)


def numbers() -> list[str]:
    """Return operators with integers in or out whose values are not those of their formulas."""
    oracle.manual_seed(3)
    x1, x2 = oracle.randint(-128, 128, (3, 2100)).to(oracle.int8), oracle.randint(-128, 128, (2100, 4)).to(oracle.int8)
    scale, token, bias = oracle.rand(4) / 1e4, oracle.rand(3), oracle.randint(-99, 99, (4,)).int()
    exact = x1.long() @ x2.long()
    real = oracle.randn(5, 16)
    small, scales = torch_npu.npu_dynamic_quant(torch.tensor(real.tolist()).npu())
    rows_scale = real.abs().amax(-1, keepdim=True) / 127
    four = torch_npu.npu_convert_weight_to_int4pack(npu(oracle.arange(-8, 8).int().reshape(1, 16)))
    device = [torch.tensor(item.tolist()).npu() for item in (scale, token, real)]
    words = torch_npu.npu_trans_quant_param(torch.tensor([1.5, 0.25]).npu())
    cache, slots = torch.zeros(3, 2, 1, 4).npu(), npu(oracle.tensor([4, -1, 1]).int())
    key = torch.arange(12.0).reshape(3, 1, 4).npu()
    torch_npu.npu_scatter_pa_kv_cache(key, key + 100, cache, other := torch.zeros(3, 2, 1, 4).npu(), slots)
    expected = oracle.zeros(6, 4)
    expected[4], expected[1] = oracle.arange(4.0), oracle.arange(8.0, 12.0)
    taken = torch.zeros(3, 1, 4).npu()
    torch_npu.npu_gather_pa_kv_cache(cache, other, npu(oracle.tensor([[2, 0]]).int()), npu(oracle.tensor([3]).int()), taken, taken.clone())
    q, k = oracle.randn(2, 1, 16).double(), oracle.randn(2, 6, 16).double()
    pages = oracle.zeros(4, 4, 16).double()
    pages[2], pages[0, :2], pages[3], pages[1, :1] = k[0, :4], k[0, 4:], k[1, :4], k[1, 4:5]
    paged = torch_npu.npu_fused_infer_attention_score(
        *[torch.tensor(item.tolist()).npu() for item in (q, pages, pages)], num_heads=2, input_layout="BSH", scale=0.2, block_size=4,
        block_table=npu(oracle.tensor([[2, 0], [3, 1]]).int()), actual_seq_lengths_kv=[6, 5], softmax_lse_flag=True,
    )  # fmt: skip
    parts = [q.unflatten(-1, (2, 8)).transpose(1, 2), k.unflatten(-1, (2, 8)).transpose(1, 2)]
    scores = parts[0] @ parts[1].transpose(-2, -1) * 0.2
    scores[1, ..., 5] = -math.inf
    route = torch_npu.npu_moe_init_routing_v2(
        torch.eye(3).npu(), npu(oracle.tensor([[1, 2], [0, 1], [2, 0]]).int()), expert_num=3, active_expert_range=[1, 3], row_idx_type=0,
        expert_tokens_num_flag=True, expert_tokens_num_type=1,
    )  # fmt: skip
    again = torch_npu.npu_moe_re_routing(torch.arange(5.0).reshape(5, 1).npu(), npu(oracle.tensor([[2, 1], [0, 2]])))
    signs = torch_npu.npu_sign_bits_pack(torch.tensor([5, 4, 3, 2, 0, -1, -2, 4, 3, 2, 1, 0, -1, -2]).float().npu(), 2)
    mx, powers = torch_npu.npu_dynamic_mx_quant(torch.tensor([[1.0, 448.0, -3.0, 0.5] * 16]).npu(), dst_type=torch.float8_e4m3fn)
    boxes = torch.tensor([[0.0, 0, 10, 10], [1, 1, 10, 10], [20, 20, 30, 30]]).npu()
    batch = torch_npu.npu_batch_nms(boxes.reshape(1, 3, 1, 4), torch.tensor([[[0.5], [0.9], [0.4]]]).npu(), 0.1, 0.5, 3, 3)
    parameter, first, second = (torch.full((3,), value).npu() for value in (1.0, 0.5, 0.25))
    ops.npu_apply_adam_w(0.9, 0.99, 0.1, 0.01, 0.9, 0.99, 1e-8, torch.ones(3).npu(), None, False, False, out=(parameter, first, second))
    moments = 0.5 * 0.9 + 0.1, 0.25 * 0.99 + 0.01
    stepped = 1.0 * (1 - 0.1 * 0.01) - 0.1 * moments[0] / (1 - 0.81) / (math.sqrt(moments[1] / (1 - 0.99**2)) + 1e-8)
    checks = {
        "product": _is(torch_npu.npu_quant_matmul(npu(x1), npu(x2), device[0], output_dtype=torch.int32), exact),
        "scaled": _near(
            torch_npu.npu_quant_matmul(npu(x1), npu(x2), device[0], pertoken_scale=device[1], bias=npu(bias), output_dtype=torch.float32),
            (exact + bias) * scale.double() * token.double().unsqueeze(-1),
        ),
        "int8 out": _is(torch_npu.npu_quant_matmul(npu(x1), npu(x2), device[0] / 100), ((exact.double() * (scale / 100).double()).float().round().clamp(-128, 127))),
        "words": words.tolist() == [0x3FC00000 | 1 << 46, 0x3E800000 | 1 << 46],
        "rows": _is(small, (real / rows_scale).round()) and _near(scales, rows_scale.squeeze(-1)),
        "four": four.tolist() == [[0xFEDCBA98 - (1 << 32), 0x76543210]],
        "quantize": _is(
            torch_npu.npu_quantize(device[2], torch.tensor([0.1]).npu(), torch.tensor([3.0]).npu(), torch.qint8, -1), (real / 0.1 + 3).round().clamp(-128, 127),
        ),
        "cache": _is(cache.reshape(6, 4), expected) and _is(other.reshape(6, 4)[4], oracle.arange(100.0, 104.0)) and _is(other.reshape(6, 4)[0], oracle.zeros(4)),
        "taken": _is(taken.reshape(3, 4), expected[oracle.tensor([4, 5, 0])]),
        "paged": _near(paged[0], (scores.softmax(-1) @ parts[1]).transpose(1, 2).flatten(-2)) and _near(paged[1], scores.logsumexp(-1, keepdim=True)),
        "route": route[1].tolist() == [0, 2, -1, 1, 3, -1] and route[2].tolist() == [2, 2] and _is(route[0][:4], oracle.eye(3)[[0, 1, 0, 2]]),
        "again": again[0].flatten().tolist() == [0, 1, 2, 3, 4] and again[3].tolist() == [2, 3],
        "signs": signs.tolist() == [[159], [15]] and torch_npu.npu_sign_bits_unpack(signs.flatten(), 1, torch.float32).flatten().tolist()[:6] == [1, 1, 1, 1, 1, -1],
        "mx": mx.float().cpu().tolist() == [[1.0, 448.0, -3.0, 0.5] * 16] and powers.float().flatten().tolist() == [1.0, 1.0],
        "hot": torch_npu.npu_one_hot(npu(oracle.tensor([0, 2]).int()), depth=3).tolist() == [[1, 0, 0], [0, 0, 1]],
        "overlaps": _near(torch_npu.npu_iou(boxes[:2], boxes[:1]), oracle.tensor([[1.0, 0.81]])),
        "batch": batch[3].tolist() == [2] and [round(score, 3) for score in batch[1].flatten().tolist()] == [0.9, 0.4, 0.0],
        "band": _near(
            torch_npu.npu_fused_infer_attention_score(*[torch.tensor(k.tolist()).npu()] * 3, num_heads=2, pre_tokens=2, next_tokens=1,
                atten_mask=npu(oracle.zeros(6, 6).bool()))[0],
            formula(*[parts[1]] * 3, 1.0, away(6, 6, 2, 1, 0)).transpose(1, 2).flatten(-2),
        ),
        "adam": _near(parameter, oracle.full((3,), stepped)) and _near(first, oracle.full((3,), moments[0])),
    }  # fmt: skip
    return [name for name, good in checks.items() if not good]


def forms() -> list[str]:
    """Return what is wrong with signatures, in-place forms, forms with ``out=``, meta forms and refusals."""
    x = torch.randn(2, 8).npu()
    kept = x.clone()
    wrong = []
    schema = str(ops.npu_rotary_mul.default._schema)
    if schema != 'npu::npu_rotary_mul(Tensor input, Tensor r1, Tensor r2, str rotary_mode="half", Tensor? rotate=None) -> Tensor':
        wrong.append(schema)
    if torch_npu.npu_silu_(kept) is not kept or not torch.equal(kept, torch.nn.functional.silu(x)):
        wrong.append("in place")
    target = torch.empty(0).npu()
    if ops.npu_broadcast(x, [3, 2, 8], out=target) is not target or tuple(target.shape) != (3, 2, 8):
        wrong.append("out")
    meta = torch.empty(2, 8, device="meta")
    for name, call in {
        "npu_rms_norm": lambda op, x: op(x, x[0]), "npu_swiglu": lambda op, x: op(x), "npu_dynamic_quant": lambda op, x: op(x),
        "npu_moe_gating_top_k": lambda op, x: op(x, 2), "npu_gelu_mul": lambda op, x: op(x), "npu_quantize": lambda op, x: op(x, x[:1, 0], None, 1),
        "npu_apply_rotary_pos_emb": lambda op, x: op(x, x, x, x), "npu_deep_norm": lambda op, x: op(x, x, x[0], x[0]),
    }.items():  # fmt: skip
        there, here = (call(getattr(ops, name), item) for item in (x, meta))
        for mine, theirs in zip(*(item if isinstance(item, tuple) else (item,) for item in (here, there))):
            if (mine.shape, mine.dtype, mine.device.type) != (theirs.shape, theirs.dtype, "meta"):
                wrong.append(f"meta {name}: {mine.shape} {mine.dtype} for {theirs.shape} {theirs.dtype}")
    for name, refused in {
        "hifloat8": lambda: torch_npu.npu_dynamic_quant(x, dst_type=torch_npu.hifloat8), "y_scale": lambda: torch_npu.npu_quant_matmul(x, x, x, y_scale=x),
        "swapped": lambda: torch_npu.empty_with_swapped_memory([2]), "layout": lambda: torch_npu.npu_fused_infer_attention_score(x, x, x, input_layout="XYZ"),
    }.items():  # fmt: skip
        try:
            refused()
            wrong.append(f"{name} is taken")
        except NotImplementedError as error:
            if "mstorch:" not in str(error):
                wrong.append(f"{name}: {error}")
    return wrong


if __name__ == "__main__":
    table = rows() | others()
    print(len(table), "operators and forms,", len(torch_npu._OPERATORS), "in all")
    print([line for name, row in table.items() for kind in TOLERANCE for line in compared(name, *row, kind)] + backwards() + numbers() + forms())
