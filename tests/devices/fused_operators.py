"""torch_npu's operators compared with their formulas in torch, in float64: ``python -m tests.devices.fused_operators``.
MSTORCH_FAKE_DEVICE=Ascend must be set. Values and gradients of float32, float16 and bfloat16 are compared.

MSTORCH_FAKE_DEVICE=Ascend must be set. Values and gradients of float32, float16 and bfloat16 are compared.
"""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch as oracle

import mstorch as torch
from mstorch._companions import torch_npu as torch_npu
from mstorch._src.backend import fake, runtime

F = oracle.nn.functional
Shapes = tuple[tuple[int, ...], ...]
TOLERANCE = {"float32": 2e-5, "float16": 4e-3, "bfloat16": 3e-2}
TRIANGLE = oracle.ones(2048, 2048).triu(1).bool()
ENDS = ([3, 5, 9], [3, 7, 11])
# Keys (columns) to which each query (a row) attends (x), with pre_tockens=2 and next_tockens=1, as Ascend's documentation draws it: in mode 0 the
# first query is aligned with the first key, in mode 4 the last query with the last key.
BANDS = {
    "of mode 0": """
xx.......
xxx......
xxxx.....
.xxxx....
..xxxx...
...xxxx..""",
    "of few queries": """
.xxxx....
..xxxx...
...xxxx..
....xxxx.
.....xxxx
......xxx""",
    "of few keys": """
......
......
x.....
xx....
xxx...
xxxx..
.xxxx.
..xxxx
...xxx""",
}
ROWS = oracle.tensor([[1, 2], [0, 1], [0, 2], [2, 1], [1, 0]])  # of five tokens, the experts


def npu(value: Any) -> Any:
    """Return an integer or boolean tensor of torch on the device."""
    return torch.tensor(value.tolist(), dtype=getattr(torch, str(value.dtype).partition(".")[2])).npu()


def formula(q: Any, k: Any, v: Any, scale: float, hidden: Any = None, pse: Any = None, inside: bool = True) -> Any:
    """Return attention of (B, N, S, D) by its definition; rows that are masked completely are zeros."""
    k, v = (item.repeat_interleave(q.shape[1] // item.shape[1], 1) for item in (k, v))
    scores = q @ k.transpose(-2, -1)
    scores = scores * scale if pse is None else (scores + pse) * scale if inside else scores * scale + pse
    if hidden is not None:
        scores = scores + oracle.zeros(hidden.shape, dtype=scores.dtype).masked_fill(hidden, -1e30)
    weights = scores.softmax(-1)
    if hidden is not None:
        weights = weights * ~hidden.expand(weights.shape)
    return weights @ v


def away(queries: int, keys: int, before: int, after: int, shift: int) -> Any:
    return oracle.tensor([[not i + shift - before <= j <= i + shift + after for j in range(keys)] for i in range(queries)])


def drawn(name: str) -> Any:
    """Return the band mask of a mode, True where a key is masked."""
    return oracle.tensor([[sign == "." for sign in row] for row in BANDS[name].split()])


def _attention() -> dict[str, tuple[Callable[..., Any], Callable[..., Any], Shapes]]:
    four, kept = (2, 4, 6, 16), (2, 2, 6, 16)
    oracle.manual_seed(3)
    mask = oracle.rand(2, 1, 6, 6) > 0.6
    square = oracle.rand(6, 6) > 0.6
    square[2] = True
    wide = (2, 4, 6, 16), (2, 4, 9, 16), (2, 4, 9, 16)
    fusion = torch_npu.npu_fusion_attention

    def case(hidden: Any, shapes: Shapes = (four, four, four), given: Any = None, **rest: Any) -> Any:
        given = npu(given) if given is not None else None
        return (
            lambda q, k, v: fusion(q, k, v, 4, "BNSD", scale=0.3, atten_mask=given, **rest)[0],
            lambda q, k, v: formula(q, k, v, 0.3, hidden), shapes,
        )  # fmt: skip

    cases: dict[str, Any] = {
        "plain": case(None), "grouped": case(None, (four, kept, kept)), "mask": case(mask, given=mask), "square mask": case(square, given=square),
        "all mask": case(mask, given=mask, sparse_mode=1, pre_tockens=0, next_tockens=0), "wide": case(None, wide),
        "integer mask": case(square, given=square.to(oracle.uint8)),
        "mask in a band": case(square | away(6, 6, 2, 1, 0), given=square, pre_tockens=2, next_tockens=1),
        "causal": case(away(6, 6, 99, 0, 0), given=TRIANGLE, sparse_mode=2), "causal wide": case(away(6, 9, 99, 0, 0), wide, TRIANGLE, sparse_mode=2),
        "bottom right": case(away(6, 9, 99, 0, 3), wide, TRIANGLE, sparse_mode=3),
        "bottom right, few keys": case(away(9, 6, 99, 0, -3), ((2, 4, 9, 16), four, four), TRIANGLE, sparse_mode=3),
        "band of mode 0": case(drawn("of mode 0"), wide, oracle.zeros(6, 9).bool(), pre_tockens=2, next_tockens=1),
        "band of few queries": case(drawn("of few queries"), wide, TRIANGLE, sparse_mode=4, pre_tockens=2, next_tockens=1),
        "band of few keys": case(
            drawn("of few keys"), ((2, 4, 9, 16), four, four), TRIANGLE, sparse_mode=4, pre_tockens=2, next_tockens=1
        ),
        "pse": (
            lambda q, k, v, p: fusion(q, k, v, 4, "BNSD", pse=p, scale=0.3)[0],
            lambda q, k, v, p: formula(q, k, v, 0.3, None, p), (four, four, four, (1, 4, 6, 6)),
        ),
    }  # fmt: skip
    orders: dict[str, tuple[Any, Any, Shapes]] = {
        "BSND": (lambda t: t.transpose(1, 2), lambda t: t.transpose(1, 2), ((2, 6, 4, 16), (2, 6, 2, 16), (2, 6, 2, 16))),
        "BSH": (
            lambda t: t.unflatten(-1, (-1, 16)).transpose(1, 2), lambda t: t.transpose(1, 2).flatten(-2), ((2, 6, 64), (2, 9, 32), (2, 9, 32)),
        ),
        "SBH": (
            lambda t: t.unflatten(-1, (-1, 16)).permute(1, 2, 0, 3), lambda t: t.permute(2, 0, 1, 3).flatten(-2),
            ((6, 2, 64), (9, 2, 64), (9, 2, 64)),
        ),
    }  # fmt: skip
    for layout, (first, last, shapes) in orders.items():
        cases[layout] = (
            lambda q, k, v, layout=layout: fusion(q, k, v, 4, layout, scale=0.25)[0],
            lambda q, k, v, first=first, last=last: last(formula(first(q), first(k), first(v), 0.25)), shapes,
        )  # fmt: skip

    def packed(q: Any, k: Any, v: Any, hidden: Any = None) -> Any:
        rows, starts = [], (0, 0)
        for ends in zip(*ENDS):
            one = q[starts[0] : ends[0]].transpose(0, 1)[None]
            two, three = (item[starts[1] : ends[1]].transpose(0, 1)[None] for item in (k, v))
            rows.append(formula(one, two, three, 0.25, hidden and hidden(one.shape[2], two.shape[2]))[0].transpose(0, 1))
            starts = ends
        return oracle.cat(rows)

    for name, mode, rule in (
        ("TND", 0, None), ("TND causal", 2, lambda s, t: away(s, t, 99, 0, 0)), ("TND bottom right", 3, lambda s, t: away(s, t, 99, 0, t - s)),
        ("TND band", 4, lambda s, t: away(s, t, 1, 0, t - s)),
    ):  # fmt: skip
        cases[name] = (
            lambda q, k, v, mode=mode: fusion(
                q, k, v, 4, "TND", scale=0.25, actual_seq_qlen=ENDS[0], actual_seq_kvlen=ENDS[1], sparse_mode=mode, pre_tockens=1, next_tockens=0,
                atten_mask=npu(TRIANGLE) if mode else None,
            )[0],
            lambda q, k, v, rule=rule: packed(q, k, v, rule), ((9, 4, 16), (11, 2, 16), (11, 2, 16)),
        )  # fmt: skip
    return cases | _inference(square)


def _inference(square: Any) -> dict[str, Any]:
    prompt, incre = torch_npu.npu_prompt_flash_attention, torch_npu.npu_incre_flash_attention
    four, one, kept = (2, 4, 6, 16), (2, 4, 1, 16), (2, 2, 9, 16)
    upto = oracle.tensor([[[[j >= n for j in range(9)]]] for n in (4, 9)])
    two = [3, 6], [2, 6]

    def cut(q: Any, k: Any, v: Any) -> Any:
        hidden = oracle.tensor([[[[j >= n for j in range(6)]]] for n in two[1]])
        used = oracle.tensor([[[[i < n] for i in range(6)]] for n in two[0]])
        return formula(q, k, v, 0.25, hidden) * used

    heads_last = (lambda t: t.unflatten(-1, (-1, 16)).transpose(1, 2)), (lambda t: t.transpose(1, 2).flatten(-2))
    return {
        "prompt": (lambda q, k, v: prompt(q, k, v, num_heads=4, scale_value=0.25, input_layout="BNSD"), lambda q, k, v: formula(q, k, v, 0.25), (four,) * 3),
        "prompt BSH": (
            lambda q, k, v: prompt(q, k, v, num_heads=4, num_key_value_heads=2, scale_value=0.25),
            lambda q, k, v: heads_last[1](formula(*map(heads_last[0], (q, k, v)), 0.25)), ((2, 6, 64), (2, 9, 32), (2, 9, 32)),
        ),
        "prompt BNSD_BSND": (
            lambda q, k, v: prompt(q, k, v, num_heads=4, scale_value=0.25, input_layout="BNSD_BSND"),
            lambda q, k, v: formula(q, k, v, 0.25).transpose(1, 2), (four,) * 3,
        ),
        "prompt mask": (
            lambda q, k, v: prompt(q, k, v, num_heads=4, scale_value=0.25, input_layout="BNSD", atten_mask=npu(square), next_tokens=99),
            lambda q, k, v: formula(q, k, v, 0.25, square), (four,) * 3,
        ),
        "prompt causal": (
            lambda q, k, v: prompt(q, k, v, num_heads=4, scale_value=0.25, input_layout="BNSD", atten_mask=npu(TRIANGLE), sparse_mode=2),
            lambda q, k, v: formula(q, k, v, 0.25, away(6, 6, 99, 0, 0)), (four,) * 3,
        ),
        "prompt lengths": (
            lambda q, k, v: prompt(
                q, k, v, num_heads=4, scale_value=0.25, input_layout="BNSD", actual_seq_lengths=two[0], actual_seq_lengths_kv=two[1]
            ),
            cut, (four,) * 3,
        ),
        "prompt shift": (
            lambda q, k, v, p: prompt(q, k, v, num_heads=4, scale_value=0.25, input_layout="BNSD", pse_shift=p),
            lambda q, k, v, p: formula(q, k, v, 0.25, None, p, False), (four, four, four, (2, 4, 6, 6)),
        ),
        "incre": (
            lambda q, k, v: incre(
                q, k, v, num_heads=4, num_key_value_heads=2, scale_value=0.25, input_layout="BNSD", actual_seq_lengths=[4, 9]
            ),
            lambda q, k, v: formula(q, k, v, 0.25, upto), (one, kept, kept),
        ),
        "incre mask": (
            lambda q, k, v: incre(
                q, k, v, num_heads=4, num_key_value_heads=2, scale_value=0.25, input_layout="BNSD", atten_mask=npu(upto[:, 0, 0])
            ),
            lambda q, k, v: formula(q, k, v, 0.25, upto), (one, kept, kept),
        ),
    }  # fmt: skip


def _rms(x: Any, g: Any) -> Any:
    return x / (x.square().mean(tuple(range(-g.dim(), 0)), keepdim=True) + 1e-6).sqrt() * g


def _rotated(x: Any, r1: Any, r2: Any, step: bool) -> Any:
    size = x.shape[-1]
    pairs = [(i, i ^ 1) for i in range(size)] if step else [(i, (i + size // 2) % size) for i in range(size)]
    signs = [-1 if (i % 2 == 0 if step else i < size // 2) else 1 for i in range(size)]
    return r1 * x + r2 * oracle.stack([sign * x[..., j] for (_, j), sign in zip(pairs, signs)], -1)


def _layers() -> dict[str, tuple[Callable[..., Any], Callable[..., Any], Shapes]]:
    angles = (2, 3, 4, 8), (1, 1, 4, 8), (1, 1, 4, 8)
    where = oracle.tensor([[0, 1], [2, 0], [1, 3]])
    return {
        "rms": (lambda x, g: torch_npu.npu_rms_norm(x, g)[0], _rms, ((3, 4, 8), (8,))),
        "rms of two": (lambda x, g: torch_npu.npu_rms_norm(x, g)[0], _rms, ((3, 4, 8), (4, 8))),
        "add rms": (lambda x, y, g: torch_npu.npu_add_rms_norm(x, y, g)[0], lambda x, y, g: _rms(x + y, g), ((3, 8), (3, 8), (8,))),
        "add": (lambda x, y: torch_npu.npu_add_rms_norm(x, y, x[0])[2], lambda x, y: x + y, ((3, 8), (3, 8))),
        "layer norm": (
            lambda x, w, b: torch_npu.npu_layer_norm_eval(x, (8,), w, b), lambda x, w, b: F.layer_norm(x, (8,), w, b), ((3, 8), (8,), (8,)),
        ),
        "swiglu": (torch_npu.npu_swiglu, lambda x: x[..., :4] * x[..., :4].sigmoid() * x[..., 4:], ((3, 8),)),
        "geglu": (lambda x: torch_npu.npu_geglu(x)[0], lambda x: x[..., :4] * F.gelu(x[..., 4:], approximate="tanh"), ((3, 8),)),
        "geglu of 1": (lambda x: torch_npu.npu_geglu(x, 0, 0, True)[0], lambda x: F.gelu(x[:2]) * x[2:], ((4, 3),)),
        "opened": (lambda x: torch_npu.npu_geglu(x)[1], lambda x: F.gelu(x[..., 4:], approximate="tanh"), ((3, 8),)),
        "swiglu of 1": (lambda x: torch_npu.npu_swiglu(x, 0), lambda x: x[:2] * x[:2].sigmoid() * x[2:], ((4, 3),)),
        "gelu": (torch_npu.npu_gelu, lambda x: x * 0.5 * (1 + (x / math.sqrt(2)).erf()), ((3, 8),)),
        "gelu tanh": (lambda x: torch_npu.npu_gelu(x, approximate="tanh"), lambda x: F.gelu(x, approximate="tanh"), ((3, 8),)),
        "fast gelu": (
            torch_npu.fast_gelu, lambda x: x * (0.851 * (x - x.abs())).exp() / (1 + (-1.702 * x.abs()).exp()), ((3, 8),),
        ),
        "npu_fast_gelu": (
            torch_npu.npu_fast_gelu, lambda x: x * (0.851 * (x - x.abs())).exp() / (1 + (-1.702 * x.abs()).exp()), ((2, 5),),
        ),
        "silu": (torch_npu.npu_silu, lambda x: x / (1 + (-x).exp()), ((3, 8),)),
        "mish": (torch_npu.npu_mish, lambda x: x * (1 + x.exp()).log().tanh(), ((3, 8),)),
        "linear": (torch_npu.npu_linear, lambda x, w, b: x @ w.T + b, ((3, 8), (5, 8), (5,))),
        "rotary": (torch_npu.npu_rotary_mul, lambda x, a, b: _rotated(x, a, b, False), angles),
        "rotary interleave": (lambda x, a, b: torch_npu.npu_rotary_mul(x, a, b, "interleave"), lambda x, a, b: _rotated(x, a, b, True), angles),
        "format": (lambda x: torch_npu.npu_format_cast(x, 29), lambda x: x, ((3, 8),)),
        "transpose": (lambda x: torch_npu.npu_transpose(x, (2, 0, 1)), lambda x: x.permute(2, 0, 1), ((2, 3, 4),)),
        "confusion": (
            lambda x: torch_npu.npu_confusion_transpose(x, (0, 2, 1, 3), (2, 4, 18), True),
            lambda x: x.permute(0, 2, 1, 3).reshape(2, 4, 18), ((2, 3, 4, 6),),
        ),
        "confusion last": (
            lambda x: torch_npu.npu_confusion_transpose(x, (0, 2, 1), (2, 12, 6), False),
            lambda x: x.reshape(2, 12, 6).permute(0, 2, 1), ((2, 3, 4, 6),),
        ),
        "broadcast": (lambda x: torch_npu.npu_broadcast(x, (2, 3, 4)), lambda x: x.expand(2, 3, 4), ((3, 1),)),
        "scatter": (
            lambda x, u: torch_npu.npu_scatter_nd_update(x, npu(where), u), lambda x, u: x.index_put(tuple(where.T), u), ((3, 4, 2), (3, 2)),
        ),
        "scatter in place": (
            lambda x, u: torch_npu.npu_scatter_nd_update_(x.clone(), npu(where[:, :1]), u), lambda x, u: x.index_put((where[:, 0],), u), ((3, 4), (3, 4)),
        ),
    }  # fmt: skip


def _experts() -> dict[str, tuple[Callable[..., Any], Callable[..., Any], Shapes]]:
    grouped, weights = torch_npu.npu_grouped_matmul, ((4, 5), (4, 5), (4, 5))
    order = ROWS.flatten().argsort(stable=True)

    def cut(x: Any, *matrices: Any) -> Any:
        return oracle.cat([x[:2] @ matrices[0], x[2:2] @ matrices[1], x[2:7] @ matrices[2]])

    def routed(x: Any) -> Any:
        places = npu(oracle.arange(10).reshape(2, 5).T.int())
        return torch_npu.npu_moe_init_routing(x, places, npu(ROWS.int()), 5)[0]

    def finished(rows: Any, skip: Any, bias: Any, scales: Any) -> Any:
        found = [
            skip[i] + sum(scales[i, j] * (rows[(3 * (j * 5 + i)) % 10] + bias[ROWS[i, j]]) for j in range(2)) for i in range(5)
        ]
        return oracle.stack(found)

    return {
        "groups": (
            lambda a, b, v, w: torch.cat([item.flatten() for item in grouped([a, b], [v, w], group_type=-1)]),
            lambda a, b, v, w: oracle.cat([(a @ v).flatten(), (b @ w).flatten()]), ((3, 4), (2, 6), (4, 5), (6, 2)),
        ),
        "ends": (lambda x, *w: grouped([x], list(w), group_list=[2, 2, 7], split_item=3, group_type=0)[0], cut, ((7, 4), *weights)),
        "sizes": (
            lambda x, w: grouped([x], [w], group_list=npu(oracle.tensor([2, 0, 5])), split_item=2, group_type=0, group_list_type=1)[0],
            lambda x, w: cut(x, *w), ((7, 4), (3, 4, 5)),
        ),
        "biases": (
            lambda x, w, b: torch.cat(grouped([x], [w], bias=[b], group_list=[2, 3, 7], split_item=1, group_type=0)),
            lambda x, w, b: oracle.cat([x[:2] @ w[0] + b[0], x[2:3] @ w[1] + b[1], x[3:] @ w[2] + b[2]]), ((7, 4), (3, 4, 5), (3, 5)),
        ),
        "sums": (
            lambda x, w: grouped([x.t()], [w], group_list=[2, 7], split_item=3, group_type=2)[0],
            lambda x, w: oracle.stack([x[:2].T @ w[:2], x[2:].T @ w[2:]]), ((7, 4), (7, 5)),
        ),
        "gate": (
            lambda x: torch_npu.npu_moe_gating_top_k_softmax(x, None, 2)[0], lambda x: (x.exp() / x.exp().sum(-1, True)).topk(2)[0], ((5, 4),),
        ),
        "routing": (routed, lambda x: x[order // 2], ((5, 3),)),
        "finalize": (
            lambda rows, skip, bias, scales: torch_npu.npu_moe_finalize_routing(
                rows, skip, None, bias, scales, npu(oracle.tensor([(3 * i) % 10 for i in range(10)]).int()), npu(ROWS.int())
            ),
            finished, ((10, 3), (5, 3), (3, 3), (5, 2)),
        ),
        "permute": (lambda x: torch_npu.npu_moe_token_permute(x, npu(ROWS))[0], lambda x: x[order // 2], ((5, 3),)),
        "permute some": (lambda x: torch_npu.npu_moe_token_permute(x, npu(ROWS), 7)[0], lambda x: x[order[:7] // 2], ((5, 3),)),
        "there and back": (
            lambda x, p: torch_npu.npu_moe_token_unpermute(*torch_npu.npu_moe_token_permute(x, npu(ROWS)), p),
            lambda x, p: x * p.sum(1, True), ((5, 3), (5, 2)),
        ),
        "some come back": (
            lambda x, p: torch_npu.npu_moe_token_unpermute(*torch_npu.npu_moe_token_permute(x, npu(ROWS), 7), p),
            lambda x, p: x * (p * oracle.tensor([[float(2 * i + j in order[:7].tolist()) for j in range(2)] for i in range(5)])).sum(1, True),
            ((5, 3), (5, 2)),
        ),
    }  # fmt: skip


def compared(name: str, function: Any, plain: Any, shapes: Shapes, kind: str) -> list[str]:
    """Return the difference of a call's values or gradients from those of its formula."""
    oracle.manual_seed(11)
    exact = [oracle.randn(shape).to(getattr(oracle, kind)).double().requires_grad_() for shape in shapes]
    leaves = [torch.tensor(item.tolist()).to(getattr(torch, kind)).npu().requires_grad_() for item in exact]
    want = plain(*exact)
    slope = oracle.randn(want.shape).to(getattr(oracle, kind)).double()
    want.backward(slope)
    found = function(*leaves)
    if found.dtype is not leaves[0].dtype or found.device.type != "npu" or tuple(found.shape) != tuple(want.shape):
        return [f"{name} {kind}: {found.dtype} {found.device} {tuple(found.shape)} for {tuple(want.shape)}"]
    found.backward(torch.tensor(slope.tolist()).to(getattr(torch, kind)).npu())
    wrong = []
    pairs = [("value", found.detach(), want.detach()), *((f"gradient {i}", a.grad, b.grad) for i, (a, b) in enumerate(zip(leaves, exact)))]
    for what, mine, theirs in pairs:
        if mine is None or theirs is None:
            wrong.append(f"{name} {kind}, {what}: {mine} {theirs}")
            continue
        off = float((oracle.tensor(mine.double().cpu().tolist(), dtype=oracle.float64) - theirs).abs().max())
        if not off <= TOLERANCE[kind] * max(1.0, float(theirs.abs().max())):
            wrong.append(f"{name} {kind}, {what}: off by {off}")
    return wrong


def _eight(found: Any, want: Any) -> bool:
    """Return whether a tensor holds each row's value 8 times."""
    return oracle.allclose(oracle.tensor(found.cpu().tolist()).double(), want.unsqueeze(-1).expand(*want.shape, 8), atol=1e-5)


def results() -> list[str]:
    """Return errors of the other results (values per row, positions, integers), of refusals, and of the number of kernels."""
    oracle.manual_seed(2)
    query = oracle.randn(2, 4, 6, 16).double()
    found = torch_npu.npu_fusion_attention(*[torch.tensor(query.tolist()).npu()] * 3, 4, "BNSD", scale=0.25)
    scores = (query @ query.transpose(-2, -1)) * 0.25
    top, total = scores.amax(-1), (scores - scores.amax(-1, True)).exp().sum(-1)
    experts = torch_npu.npu_moe_gating_top_k_softmax(torch.tensor([[3.0, 1, 2], [1, 2, 3]]).npu(), torch.tensor([False, True]).npu(), 2)
    example = torch_npu.npu_moe_init_routing(
        torch.eye(3).npu(), npu(oracle.tensor([[0, 3], [1, 4], [2, 5]]).int()), npu(oracle.tensor([[1, 2], [0, 1], [0, 2]]).int()), 3
    )
    permuted = torch_npu.npu_moe_token_permute(torch.eye(5).npu(), npu(ROWS))[1]
    halves = torch.randn(2, 4, 6, 16).half().npu()
    fake.replaced.clear()
    torch_npu.npu_fusion_attention(halves, halves, halves, 4, "BNSD", atten_mask=npu(TRIANGLE), sparse_mode=3)
    kernels = fake.replaced["attention"]
    torch.manual_seed(0)
    dropped = torch_npu.npu_fusion_attention(*[torch.ones(1, 2, 64, 16).npu()] * 3, 2, "BNSD", keep_prob=0.5)
    checks = {
        "top": _eight(found[1], top), "total": _eight(found[2], total), "the rest": found[3].numel() == 0 and found[4:] == (0, 0, 0) and len(found) == 7,
        "packed": torch_npu.npu_fusion_attention(
            *[torch.randn(9, 4, 16).npu()] * 3, 4, "TND", actual_seq_qlen=[4, 9], actual_seq_kvlen=[4, 9]
        )[1].shape == (9, 4, 8),
        "experts": experts[1].tolist() == [[0, 2], [3, 3]] and experts[2].tolist() == [[0, 2], [1, 3]] and experts[1].dtype is torch.int32,
        "routing": example[1].tolist() == [2, 0, 1, 4, 3, 5] and example[2].tolist() == [0, 0, 1, 1, 2, 2],
        "counts": torch_npu.npu_moe_compute_expert_tokens(example[2], 4).tolist() == [2, 4, 6, 6],
        "permuted": permuted.tolist() == ROWS.flatten().argsort(stable=True).argsort().tolist() and permuted.dtype is torch.int32,
        "one kernel": kernels == 1 or not runtime.FAKE_DEVICE,  # counted on the stand-in
        "dropout": dropped[6] == 2 * 64 * 64 and dropped[0].std() > 0 and abs(float(dropped[0].mean()) - 1) < 0.1,
        "format": torch_npu.get_npu_format(halves) == 2 and torch_npu.npu_format_cast(halves, 2) is halves,
        "cast": torch_npu.npu_dtype_cast(halves, torch.float32).dtype is torch.float32,
        "rstd": torch_npu.npu_rms_norm(halves, torch.ones(16).half().npu())[1].shape == (2, 4, 6, 1),
    }  # fmt: skip
    return [name for name, good in checks.items() if not good] + _refused(halves)


def _refused(x: Any) -> list[str]:
    fusion = torch_npu.npu_fusion_attention
    calls: dict[str, tuple[type[Exception], Callable[[], Any]]] = {
        "layout": (RuntimeError, lambda: fusion(x, x, x, 4, "NBSD")), "heads": (RuntimeError, lambda: fusion(x, x, x, 3, "BNSD")),
        "mode 5": (NotImplementedError, lambda: fusion(x, x, x, 4, "BNSD", sparse_mode=5)),
        "no mask": (RuntimeError, lambda: fusion(x, x, x, 4, "BNSD", sparse_mode=2)),
        "prefix": (NotImplementedError, lambda: fusion(x, x, x, 4, "BNSD", prefix=[1, 2])),
        "keep": (RuntimeError, lambda: fusion(x, x, x, 4, "BNSD", keep_prob=0.0)),
        "ends": (RuntimeError, lambda: fusion(x[0], x[0], x[0], 6, "TND")),
        "dimensions": (RuntimeError, lambda: fusion(x, x, x, 4, "BSH")),
        "blocks": (NotImplementedError, lambda: torch_npu.npu_incre_flash_attention(x, x, x, num_heads=4, block_table=x, input_layout="BNSD")),
        "queries": (RuntimeError, lambda: torch_npu.npu_incre_flash_attention(x, x, x, num_heads=4, input_layout="BNSD")),
        "offset": (NotImplementedError, lambda: torch_npu.npu_grouped_matmul([x], [x], offset=[x])),
        "padded": (NotImplementedError, lambda: torch_npu.npu_moe_token_permute(x, x, padded_mode=True)),
        "rotary": (RuntimeError, lambda: torch_npu.npu_rotary_mul(x, x, x, "quarter")),
        "gamma": (RuntimeError, lambda: torch_npu.npu_rms_norm(x, x[0, 0, 0, :3])), "odd": (RuntimeError, lambda: torch_npu.npu_swiglu(x[..., :3])),
        "odd geglu": (RuntimeError, lambda: torch_npu.npu_geglu(x[..., :3])), "geglu": (RuntimeError, lambda: torch_npu.npu_geglu(x, approximate=2)),
        "unknown": (AttributeError, lambda: torch_npu.npu_no_such_operator),
    }  # fmt: skip
    wrong = []
    for name, (kind, call) in calls.items():
        try:
            call()
            wrong.append(f"{name} is taken")
        except (RuntimeError, AttributeError) as error:  # NotImplementedError is a RuntimeError
            if type(error) is not kind:
                wrong.append(f"{name}: {type(error).__name__}: {error}")
    return wrong


if __name__ == "__main__":
    table = _attention() | _layers() | _experts()
    print(len(table), "operators and forms")
    print([line for name, row in table.items() for kind in TOLERANCE for line in compared(name, *row, kind)] + results())
