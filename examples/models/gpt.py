"""A decoder-only Transformer as a language model (Radford et al., "Language Models are Unsupervised Multitask Learners", 2019)."""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

TOKENS, LENGTH, BATCH = 40, 16, 8


class Attention(nn.Module):
    """Self-attention that looks at earlier tokens only."""

    def __init__(self, size, heads, length, dropout):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(size, 3 * size)
        self.out = nn.Linear(size, size)
        self.drop = nn.Dropout(dropout)
        self.register_buffer("seen", torch.tril(torch.ones(length, length, dtype=torch.bool)), persistent=False)

    def forward(self, x):
        batch, length, size = x.shape
        q, k, v = (t.view(batch, length, self.heads, -1).transpose(1, 2) for t in self.qkv(x).split(size, dim=2))
        scores = q @ k.transpose(-2, -1) / math.sqrt(k.size(-1))
        scores = scores.masked_fill(~self.seen[:length, :length], float("-inf"))
        mixed = self.drop(scores.softmax(-1)) @ v
        return self.out(mixed.transpose(1, 2).reshape(batch, length, size))


class Block(nn.Module):
    """Attention and a perceptron, each on normalised input and added to it."""

    def __init__(self, size, heads, length, dropout):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(size), nn.LayerNorm(size)
        self.attention = Attention(size, heads, length, dropout)
        self.perceptron = nn.Sequential(
            nn.Linear(size, 4 * size), nn.GELU(), nn.Linear(4 * size, size), nn.Dropout(dropout)
        )

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.perceptron(self.norm2(x))


class GPT(nn.Module):
    """Predicts each next token; the weights of the output layer are those of the embedding."""

    def __init__(self, tokens, length, size=32, heads=4, layers=2, dropout=0.1):
        super().__init__()
        self.length = length
        self.token = nn.Embedding(tokens, size)
        self.position = nn.Embedding(length, size)
        self.drop = nn.Dropout(dropout)
        self.blocks = nn.ModuleList(Block(size, heads, length, dropout) for _ in range(layers))
        self.norm = nn.LayerNorm(size)
        self.head = nn.Linear(size, tokens, bias=False)
        self.apply(self._start)
        self.head.weight = self.token.weight

    @staticmethod
    def _start(module):
        if isinstance(module, (nn.Linear, nn.Embedding)):
            nn.init.normal_(module.weight, std=0.02)
        if isinstance(module, nn.Linear) and module.bias is not None:
            nn.init.zeros_(module.bias)

    def forward(self, tokens):
        x = self.drop(self.token(tokens) + self.position(torch.arange(tokens.size(1), device=tokens.device)))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))

    @torch.no_grad()
    def write(self, tokens, count, choices=5):
        """The tokens (batch, length) and ``count`` more, each drawn from the likeliest ``choices``."""
        for _ in range(count):
            scores, best = self(tokens[:, -self.length :])[:, -1].topk(choices)
            drawn = torch.multinomial(scores.softmax(-1), 1)
            tokens = torch.cat((tokens, best.gather(1, drawn)), 1)
        return tokens


def build():
    model = GPT(TOKENS, LENGTH)
    decayed = [p for p in model.parameters() if p.dim() >= 2]
    others = [p for p in model.parameters() if p.dim() < 2]
    groups = [{"params": decayed, "weight_decay": 0.1}, {"params": others, "weight_decay": 0.0}]
    return model, torch.optim.AdamW(groups, lr=1e-3, betas=(0.9, 0.95))


def batch():
    """Tokens that count up from a random start, and what follows each."""
    tokens = (torch.randint(TOKENS, (BATCH, 1)) + torch.arange(LENGTH + 1)) % TOKENS
    return tokens[:, :-1], tokens[:, 1:]


def loss(model, tokens, targets):
    return F.cross_entropy(model(tokens).flatten(0, 1), targets.flatten())
