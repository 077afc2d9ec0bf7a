"""A Transformer encoder-decoder (Vaswani et al., "Attention Is All You Need", 2017) that learns to reverse sequences."""
import math

import torch
import torch.nn as nn

PAD, START = 0, 1


class Positions(nn.Module):
    """Adds sines and cosines of the position to a batch of embeddings."""

    def __init__(self, size, dropout, longest=64):
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        position = torch.arange(longest).unsqueeze(1)
        rate = torch.exp(torch.arange(0, size, 2) * (-math.log(10000.0) / size))
        table = torch.zeros(1, longest, size)
        table[0, :, 0::2] = torch.sin(position * rate)
        table[0, :, 1::2] = torch.cos(position * rate)
        self.register_buffer("table", table)

    def forward(self, x):
        return self.dropout(x + self.table[:, : x.size(1)])


class Seq2Seq(nn.Module):
    """Source and target tokens to the logits of each next target token."""

    def __init__(self, tokens, size=32, heads=4, layers=2, dropout=0.1):
        super().__init__()
        self.size = size
        self.source = nn.Embedding(tokens, size, padding_idx=PAD)
        self.target = nn.Embedding(tokens, size, padding_idx=PAD)
        self.positions = Positions(size, dropout)
        self.transformer = nn.Transformer(size, heads, layers, layers, 2 * size, dropout, batch_first=True)
        self.head = nn.Linear(size, tokens)

    def forward(self, source, target):
        causal = nn.Transformer.generate_square_subsequent_mask(target.size(1), device=target.device).isinf()
        hidden = self.transformer(
            self.positions(self.source(source) * math.sqrt(self.size)),
            self.positions(self.target(target) * math.sqrt(self.size)),
            tgt_mask=causal,
            src_key_padding_mask=source == PAD,
            tgt_key_padding_mask=target == PAD,
            memory_key_padding_mask=source == PAD,
        )
        return self.head(hidden)


def build():
    """A small one, and the optimizer that trains it."""
    model = Seq2Seq(20)
    return model, torch.optim.AdamW(model.parameters(), lr=2e-3, betas=(0.9, 0.98))


def batch():
    """Sequences, padded behind, and the same reversed, with a start token in front."""
    lengths = [7, 5, 6, 3]
    source = torch.full((len(lengths), max(lengths)), PAD)
    target = torch.full((len(lengths), max(lengths) + 1), PAD)
    target[:, 0] = START
    for row, length in enumerate(lengths):
        tokens = torch.randint(2, 20, (length,))
        source[row, :length] = tokens
        target[row, 1 : length + 1] = tokens.flip(0)
    return source, target


def loss(model, source, target):
    """The loss of the tokens that are not padding."""
    logits = model(source, target[:, :-1])
    return nn.functional.cross_entropy(logits.transpose(1, 2), target[:, 1:], ignore_index=PAD)
