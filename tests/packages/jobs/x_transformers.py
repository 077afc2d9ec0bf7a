"""Jobs of x-transformers."""
from __future__ import annotations

import torch
from x_transformers import AutoregressiveWrapper, Decoder, Encoder, TransformerWrapper


def job_words():
    layers = Decoder(dim=32, depth=2, heads=4, rotary_pos_emb=True, ff_glu=True, use_rmsnorm=True, attn_qk_norm=True)
    model = AutoregressiveWrapper(TransformerWrapper(num_tokens=50, max_seq_len=32, attn_layers=layers))
    words = torch.randint(0, 50, (2, 32))
    loss = model(words)
    loss.backward()
    encoder = Encoder(dim=32, depth=2, heads=4, alibi_pos_bias=True, alibi_num_heads=2)
    read = TransformerWrapper(num_tokens=50, max_seq_len=32, attn_layers=encoder)(words)
    return loss, model.generate(words[:, :4], 8, temperature=0.0), read, [p.grad.norm() for p in model.parameters() if p.grad is not None]
