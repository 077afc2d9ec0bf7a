"""FlashAttentionScore and its gradient, by their formulas."""
import torch
from calling import kernel, put
from reading import Refused

def hidden_by(shape, mask, pre, following, sparse):
    s, t = shape[-2:]
    hidden = torch.zeros(s, t, dtype=torch.bool)
    rows, columns = torch.arange(s)[:, None], torch.arange(t)[None]
    if sparse == 2: hidden = columns > rows
    elif sparse == 3: hidden = columns > rows + t - s
    elif sparse == 4: hidden = (columns > rows + t - s + following) | (columns < rows + t - s - pre)
    elif sparse == 0 and mask is not None: hidden = mask.bool() | (columns > rows + following) | (columns < rows - pre)
    elif sparse == 1 and mask is not None: hidden = mask.bool()
    elif sparse not in (0, 1): raise Refused(f"attention: sparse mode {sparse}")
    return hidden

def attend(q, k, v, mask, scale, keep, pre, following, heads, layout, sparse, drop, shift=None):
    """Queries, keys, values as batch, heads, length, size; scores, their maximum and sum, the output."""
    def split(x, n):
        if layout == "BNSD": return x
        if layout == "BSND": return x.transpose(1, 2)
        x = x if layout == "BSH" else x.transpose(0, 1)
        return x.reshape(x.shape[0], x.shape[1], n, -1).transpose(1, 2)
    q4 = split(q, heads)
    size = q4.shape[-1]
    of = lambda x: x.shape[1] if layout == "BNSD" else x.shape[2] if layout == "BSND" else x.shape[2] // size
    k4, v4 = split(k, of(k)), split(v, of(v) if layout in ("BNSD", "BSND") else of(k))
    group = q4.shape[1] // k4.shape[1]
    scores = q4.float() @ k4.float().repeat_interleave(group, 1).mT
    scores = (scores if shift is None else scores + shift.float()) * scale  # the device adds first, then scales
    hidden = hidden_by(scores.shape, mask, pre, following, sparse)
    scores = scores.masked_fill(hidden, -3e38)
    top = scores.amax(-1, keepdim=True)
    weights = (scores - top).exp().masked_fill(hidden.expand(scores.shape), 0)
    total = weights.sum(-1, keepdim=True)
    p = weights / total.clamp(min=1e-30)
    if drop is not None and keep < 1:
        bits = ((drop.reshape(-1, 1) >> torch.arange(8, dtype=torch.uint8)) & 1).reshape(-1)[:p.numel()].reshape(p.shape)
        p = p * bits / keep
    out = p @ v4.float().repeat_interleave(group, 1)
    if layout == "BSND": out = out.transpose(1, 2)
    elif layout == "BSH": out = out.transpose(1, 2).flatten(2)
    elif layout == "SBH": out = out.permute(2, 0, 1, 3).flatten(2)
    return top, total, out

@kernel("aclnnFlashAttentionScore")
def attention(q, k, v, shift, drop, padding, mask, prefix, scale: float, keep: float, pre: int, following: int, heads: int, layout: str, inner: int, sparse: int, out_max, out_sum, out_softmax, out):
    top, total, value = attend(q, k, v, mask, scale, keep, pre, following, heads, layout, sparse, drop, shift)
    put(out_max, top.expand(out_max.shape)), put(out_sum, total.expand(out_sum.shape)), put(out, value)

def by_sums(q, k, v, dy, top, total, attended, mask, scale, pre, following, sparse, shift):
    """Returns the gradients of (batch, heads, length, size), from the maximum, the sum and the result of each row."""
    group = q.shape[1] // k.shape[1]
    Q, K, V, G = q.float(), k.float().repeat_interleave(group, 1), v.float().repeat_interleave(group, 1), dy.float()
    scores = (Q @ K.mT if shift is None else Q @ K.mT + shift.float()) * scale
    scores = scores.masked_fill(hidden_by(scores.shape, mask, pre, following, sparse), -3e38)
    P = (scores - top[..., :1]).exp() / total[..., :1]
    dS = P * (G @ V.mT - (G * attended.float()).sum(-1, keepdim=True)) * scale
    fold = lambda x: x.reshape(x.shape[0], k.shape[1], group, *x.shape[2:]).sum(2)
    return dS @ K, fold(dS.mT @ Q), fold(P.mT @ G)

@kernel("aclnnFlashAttentionScoreGrad")
def attention_grad(q, k, v, dy, shift, drop, padding, mask, top, total, soft, attended, prefix, scale: float, keep: float, pre: int, following: int, heads: int, layout: str, inner: int, sparse: int, dq, dk, dv, dpse):
    """As the device: from the maximum, the sum and the result that the forward kernel gave."""
    if layout != "BNSD" or drop is not None and keep < 1:
        qkv = [x.detach().clone().requires_grad_() for x in (q, k, v)]
        with torch.enable_grad():
            value = attend(*qkv, mask, scale, keep, pre, following, heads, layout, sparse, drop, shift)[2]
            grads = torch.autograd.grad(value, qkv, dy.to(value.dtype))
    else:
        grads = by_sums(q, k, v, dy, top, total, attended, mask, scale, pre, following, sparse, shift)
    for o, g in zip((dq, dk, dv), grads): put(o, g)

def sequences(q, k, mask, prefix, drop, shift, q_ends, k_ends, layout, sparse):
    """Yields the places of queries and keys of each sequence, of which the last ends with the tensor; refuses what CANN's page excludes, and what is not computed here."""
    if layout != "TND": raise Refused(f"attention of sequences: layout {layout}")
    if drop is not None or shift is not None or prefix: raise Refused("attention of sequences: dropout, a shift and prefixes are not emulated")
    if len(q_ends) != len(k_ends) or q_ends[-1] != q.shape[0] or k_ends[-1] != k.shape[0]: raise Refused(f"attention of sequences: {q_ends} and {k_ends} for {list(q.shape)} and {list(k.shape)}")
    if mask is not None and sparse in (2, 3, 4) and tuple(mask.shape) != (2048, 2048): raise Refused(f"attention of sequences: sparse mode {sparse} with a mask {list(mask.shape)}")
    if mask is None and sparse: raise Refused(f"attention of sequences: sparse mode {sparse} without a mask attends to all keys")
    q_start = k_start = 0
    for q_stop, k_stop in zip(q_ends, k_ends):
        if q_stop < q_start or k_stop < k_start or q_stop > q_start and k_stop == k_start: raise Refused(f"attention of sequences: {q_ends} and {k_ends}")
        if q_stop > q_start: yield slice(q_start, q_stop), slice(k_start, k_stop)
        q_start, k_start = q_stop, k_stop

def of_sequence(mask, own, theirs, sparse):
    """Returns the mask of one sequence: a mask without a sparse mode begins anew with each."""
    return mask if mask is None or sparse > 1 else mask[..., :own.stop - own.start, :theirs.stop - theirs.start]

def heads_first(x, places):
    return x[places].transpose(0, 1)[None]

@kernel("aclnnFlashAttentionVarLenScore")
def packed_attention(q, k, v, shift, drop, padding, mask, prefix, q_ends, k_ends, scale: float, keep: float, pre: int, following: int, heads: int, layout: str, inner: int, sparse: int, out_max, out_sum, out_softmax, out):
    results = [torch.zeros(q.shape[0], heads, size) for size in (1, 1, q.shape[2])]
    for own, theirs in sequences(q, k, mask, prefix, drop, shift, q_ends, k_ends, layout, sparse):
        parts = attend(heads_first(q, own), heads_first(k, theirs), heads_first(v, theirs), of_sequence(mask, own, theirs, sparse), scale, keep, pre, following, heads, "BNSD", sparse, None)
        for result, part in zip(results, parts): result[own] = part[0].transpose(0, 1)
    put(out_max, results[0].expand(out_max.shape)), put(out_sum, results[1].expand(out_sum.shape)), put(out, results[2])

@kernel("aclnnFlashAttentionUnpaddingScoreGrad")
def packed_attention_grad(q, k, v, dy, shift, drop, padding, mask, top, total, soft, attended, prefix, q_ends, k_ends, scale: float, keep: float, pre: int, following: int, heads: int, layout: str, inner: int, sparse: int, dq, dk, dv, dpse):
    grads = [torch.zeros(x.shape) for x in (q, k, v)]
    for own, theirs in sequences(q, k, mask, prefix, drop, shift, q_ends, k_ends, layout, sparse):
        rows = [heads_first(x, own) for x in (q, dy, top, total, attended)]
        keys = [heads_first(x, theirs) for x in (k, v)]
        parts = by_sums(rows[0], *keys, *rows[1:4], rows[4], of_sequence(mask, own, theirs, sparse), scale, pre, following, sparse, None)
        for result, part, places in zip(grads, parts, (own, theirs, theirs)): result[places] = part[0].transpose(0, 1)
    for o, g in zip((dq, dk, dv), grads): put(o, g)
