"""Companions on the emulated Ascend, beside double precision on the host, with the kernels and reads of each call counted:

    python -m tests.cann python -m tests.cann.companions
"""
from __future__ import annotations

import collections
import os
import sys
import tempfile
import warnings
from pathlib import Path

_CALLS = os.environ.setdefault("EMULATED_CANN_CALLS", os.path.join(tempfile.mkdtemp(), "calls"))  # before MindSpore starts the device

import numpy as np  # noqa: E402

import mstorch as torch  # noqa: E402
from mstorch import companions  # noqa: E402
from mstorch._companions.mamba_ssm.ops.triton import ssd_combined  # noqa: E402

TOLERANCE = {"float32": 2e-4, "float16": 2e-2, "bfloat16": 8e-2}
flash, xformers, mamba = companions.flash_attn, companions.xformers.ops, companions.mamba_ssm
mask = xformers.LowerTriangularMask


def _ends(device) -> torch.Tensor:
    return torch.tensor([0, 3, 4, 10], dtype=torch.int32, device=device)


def _other_ends(device) -> torch.Tensor:
    return torch.tensor([0, 3, 6, 14], dtype=torch.int32, device=device)


def _calls() -> dict:
    whole, packed, longer = (2, 6, 4, 16), (10, 4, 16), (14, 4, 16)
    blocks = xformers.fmha.attn_bias.BlockDiagonalMask.from_seqlens([3, 1, 6])
    return {
        "flash_attn_func": (lambda q, k, v: flash.flash_attn_func(q, k, v), whole, whole, whole),
        "causal": (lambda q, k, v: flash.flash_attn_func(q, k, v, causal=True), whole, whole, whole),
        "heads that share keys": (lambda q, k, v: flash.flash_attn_func(q, k, v, causal=True), whole, (2, 6, 2, 16), (2, 6, 2, 16)),
        "window": (lambda q, k, v: flash.flash_attn_func(q, k, v, window_size=(2, 1)), whole, whole, whole),
        "scale": (lambda q, k, v: flash.flash_attn_func(q, k, v, softmax_scale=0.3), whole, whole, whole),
        "qkvpacked": (lambda x: flash.flash_attn_qkvpacked_func(x, causal=True), (2, 6, 3, 4, 16)),
        "varlen": (lambda q, k, v: flash.flash_attn_varlen_func(q, k, v, _ends(q.device), _ends(q.device), 6, 6, causal=True), packed, packed, packed),
        "varlen, other lengths of keys": (lambda q, k, v: flash.flash_attn_varlen_func(q, k, v, _ends(q.device), _other_ends(q.device), 6, 8, causal=True), packed, longer, longer),
        "varlen, all keys": (lambda q, k, v: flash.flash_attn_varlen_func(q, k, v, _ends(q.device), _other_ends(q.device), 6, 8), packed, longer, longer),
        "varlen, window": (lambda q, k, v: flash.flash_attn_varlen_func(q, k, v, _ends(q.device), _other_ends(q.device), 6, 8, window_size=(2, 1)), packed, longer, longer),
        "varlen, shared keys": (lambda q, k: flash.flash_attn_varlen_func(q, k, k * 2, _ends(q.device), _ends(q.device), 6, 6, causal=True), packed, (10, 2, 16)),
        "xformers, sequences": (lambda q, k, v: xformers.memory_efficient_attention(q[None], k[None], v[None], blocks), packed, packed, packed),
        "xformers, sequences, causal": (lambda q, k, v: xformers.memory_efficient_attention(q[None], k[None], v[None], blocks.make_causal()), packed, packed, packed),
        "softcap": (lambda q, k, v: flash.flash_attn_func(q, k, v, softcap=0.7), whole, whole, whole),
        "alibi": (lambda q, k, v: flash.flash_attn_func(q, k, v, causal=True, alibi_slopes=torch.linspace(0.1, 0.4, 4, device=q.device)), whole, whole, whole),
        "xformers": (lambda q, k, v: xformers.memory_efficient_attention(q, k, v), whole, whole, whole),
        "xformers, causal": (lambda q, k, v: xformers.memory_efficient_attention(q, k, v, mask()), whole, whole, whole),
        "selective scan": (lambda u, B: mamba.selective_scan_fn(u, u.abs(), -torch.ones(6, 4, device=u.device), B, B, delta_softplus=True), (2, 6, 64), (2, 4, 64)),
        "scan by chunks": (lambda x, B: ssd_combined.mamba_chunk_scan_combined(x, x[..., 0].abs(), -torch.ones(3, device=x.device), B, B, 16),
                           (2, 64, 3, 4), (2, 64, 1, 5)),
    }  # fmt: skip


def _lines() -> list[str]:
    torch.npu.synchronize()
    path = Path(_CALLS)
    return path.read_text().splitlines() if path.exists() else []


def _kernels(lines: list[str]) -> collections.Counter:
    return collections.Counter(line.split("(")[0].split()[0] for line in lines if line.strip())


def main() -> list[str]:
    """Print the kernels of each call, forward and backward; return the calls whose values or gradients differ."""
    warnings.simplefilter("error", UserWarning)  # what the CPU computes, or a read of the device, is said by one
    device, wrong = torch.accelerator.current_accelerator(), []
    for name, (call, *shapes) in _calls().items():
        arrays = [np.random.default_rng(i).normal(size=shape) for i, shape in enumerate(shapes)]
        for dtype in TOLERANCE:
            exact = [torch.tensor(item).to(getattr(torch, dtype)).double().requires_grad_() for item in arrays]
            want = call(*exact)
            slopes = torch.autograd.grad((want * want).sum(), exact)
            leaves = [item.detach().to(getattr(torch, dtype)).to(device).requires_grad_() for item in exact]
            before = len(_lines())
            result = call(*leaves)
            middle = len(_lines())
            found = torch.autograd.grad(result, leaves, (2 * want.detach()).to(result.dtype).to(device))
            lines = _lines()
            forward, backward = _kernels(lines[before:middle]), _kernels(lines[middle:])
            far = max(float((one.double().cpu() - other).abs().max() / (1 + other.abs().max()))
                      for one, other in zip((result.detach(), *found), (want.detach(), *slopes)))  # fmt: skip
            if far > TOLERANCE[dtype]:
                wrong.append(f"{name}, {dtype}: {far:.1e}")
            attention = [f"{key} {count}" for part in (forward, backward) for key, count in part.items() if "FlashAttention" in key]
            print(f"{name}, {dtype}: {sum(forward.values())} + {sum(backward.values())} kernels, {', '.join(attention) or 'composed'}, off by {far:.0e}", flush=True)
    return wrong


if __name__ == "__main__":
    print(differing := main())
    sys.exit(bool(differing))
