"""Jobs of rotary_embedding_torch."""

from __future__ import annotations

import torch
from rotary_embedding_torch import RotaryEmbedding, apply_rotary_emb


def job_embeddings():
    torch.manual_seed(0)
    rotary = RotaryEmbedding(dim=8, learned_freq=True)
    q, k = torch.randn(1, 2, 10, 16, requires_grad=True), torch.randn(1, 2, 10, 16)
    turned = rotary.rotate_queries_or_keys(q)
    turned.square().sum().backward()
    scaled = RotaryEmbedding(dim=8, use_xpos=True).rotate_queries_and_keys(q.detach(), k)
    pixels = RotaryEmbedding(dim=4, freqs_for="pixel", max_freq=64)
    axial = apply_rotary_emb(pixels.get_axial_freqs(3, 4), torch.randn(1, 3, 4, 16))
    return [turned, q.grad, rotary.freqs.grad, scaled, axial, rotary.rotate_queries_with_cached_keys(q[:, :, -1:].detach(), k)]
