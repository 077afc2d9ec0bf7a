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

@kernel("aclnnFlashAttentionScoreGrad")
def attention_grad(q, k, v, dy, shift, drop, padding, mask, top, total, soft, attended, prefix, scale: float, keep: float, pre: int, following: int, heads: int, layout: str, inner: int, sparse: int, dq, dk, dv, dpse):
    """As the device: from the maximum, the sum and the result that the forward kernel gave."""
    if layout != "BNSD" or drop is not None and keep < 1:
        qkv = [x.detach().clone().requires_grad_() for x in (q, k, v)]
        with torch.enable_grad():
            value = attend(*qkv, mask, scale, keep, pre, following, heads, layout, sparse, drop, shift)[2]
            grads = torch.autograd.grad(value, qkv, dy.to(value.dtype))
    else:
        group = q.shape[1] // k.shape[1]
        Q, K, V, G = q.float(), k.float().repeat_interleave(group, 1), v.float().repeat_interleave(group, 1), dy.float()
        scores = (Q @ K.mT if shift is None else Q @ K.mT + shift.float()) * scale
        scores = scores.masked_fill(hidden_by(scores.shape, mask, pre, following, sparse), -3e38)
        P = (scores - top[..., :1]).exp() / total[..., :1]
        dS = P * (G @ V.mT - (G * attended.float()).sum(-1, keepdim=True)) * scale
        fold = lambda x: x.reshape(x.shape[0], k.shape[1], group, *x.shape[2:]).sum(2)
        grads = dS @ K, fold(dS.mT @ Q), fold(P.mT @ G)
    for o, g in zip((dq, dk, dv), grads): put(o, g)
