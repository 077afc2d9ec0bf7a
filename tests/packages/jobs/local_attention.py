"""Jobs of local_attention."""

from __future__ import annotations

import torch
from local_attention import LocalAttention
from local_attention.transformer import LocalTransformer


def job_windows():
    torch.manual_seed(0)
    attention = LocalAttention(dim=8, window_size=4, causal=True, look_backward=1, dropout=0.0, exact_windowsize=False)
    query, key, value = (torch.randn(2, 16, 8, requires_grad=True) for _ in range(3))
    mask = torch.arange(16)[None] < torch.tensor([[16], [11]])
    found = attention(query, key, value, mask=mask)
    found.square().sum().backward()
    return [found, query.grad, key.grad]


def job_words():
    torch.manual_seed(0)
    net = LocalTransformer(num_tokens=20, dim=16, depth=2, causal=True, local_attn_window_size=4, max_seq_len=32, dim_head=8, heads=2)
    words = torch.randint(0, 20, (2, 16))
    optimizer = torch.optim.Adam(net.parameters(), 1e-3)
    losses = []
    for _ in range(3):
        loss = net(words, return_loss=True)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss)
    return [losses, net.eval()(words)]
