"""A translator whose modules are called by keywords, as a script for ``python -m mstorch compare``. PLANT=name adds a fault, under mstorch only."""
from __future__ import annotations

import os
import sys
from dataclasses import dataclass

import torch
from torch import nn
from torch.nn import functional as F

PLANT = os.environ.get("PLANT", "") if hasattr(torch.version, "mstorch") else ""
WORDS, LENGTH, WIDTH = 40, 7, 16


@dataclass
class Output:
    logits: torch.Tensor
    hidden: torch.Tensor
    loss: torch.Tensor | None = None


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.q, self.k, self.v, self.out = (nn.Linear(WIDTH, WIDTH) for _ in range(4))

    def forward(self, *, queries, keys, mask=None, scale=1.0, causal=False):
        q, k, v = self.q(input=queries), self.k(input=keys), self.v(input=keys)
        scores = q @ k.mT * scale
        if causal:
            scores = scores.masked_fill(torch.ones(q.shape[1], k.shape[1], dtype=torch.bool).triu(1), float("-inf"))
        if mask is not None:
            scores = scores.masked_fill(mask[:, None, :], float("-inf"))
        return self.out(input=torch.softmax(scores, -1) @ v)


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.places = nn.Embedding(WORDS, WIDTH), nn.Embedding(LENGTH + 1, WIDTH)
        self.attention, self.norm = Attention(), nn.LayerNorm(WIDTH, eps=1e-3 if PLANT == "norm" else 1e-5)

    def forward(self, *, tokens, mask):
        places = torch.arange(tokens.shape[1]) + (1 if PLANT == "places" else 0)
        x = self.words(input=tokens) + self.places(input=places)
        if PLANT == "inner mask":
            mask = torch.zeros_like(mask)
        return self.norm(input=x + self.attention(queries=x, keys=x, mask=mask, scale=0.5 if PLANT == "scale" else 0.25))


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.own, self.cross = nn.Embedding(WORDS, WIDTH), Attention(), Attention()
        self.norm, self.drop = nn.LayerNorm(WIDTH), nn.Dropout(0.3 if PLANT == "dropout" else 0.1)

    def forward(self, *, tokens, memory, memory_mask):
        x = self.words(input=tokens)
        x = x + self.own(queries=x, keys=x, causal=PLANT != "causal", scale=0.25)
        x = x + self.cross(queries=x, keys=memory, mask=memory_mask, scale=0.25)
        return self.drop(input=self.norm(input=x))


class Translator(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder, self.decoder, self.head = Encoder(), Decoder(), nn.Linear(WIDTH, WORDS, bias=False)
        self.head.weight = self.decoder.words.weight
        if PLANT == "untied":
            self.head.weight = nn.Parameter(self.decoder.words.weight.detach().clone())

    def forward(self, *, source, target, mask=None, labels=None, hidden_too=True):
        memory = self.encoder(tokens=source, mask=mask)
        hidden = self.decoder(tokens=target, memory=memory, memory_mask=mask)
        logits = self.head(input=hidden)
        if labels is None:
            return Output(logits=logits, hidden=hidden)
        smoothing = 0.1 if PLANT == "smoothing" else 0.0
        loss = F.cross_entropy(logits.flatten(0, 1), labels.flatten(), label_smoothing=smoothing)
        return Output(logits=logits, hidden=hidden if hidden_too else logits, loss=loss)


def main() -> None:
    variant = sys.argv[1] if len(sys.argv) > 1 else "adam"
    torch.manual_seed(0)
    net = Translator()
    kinds = {"adam": torch.optim.AdamW, "sgd": torch.optim.SGD, "rmsprop": torch.optim.RMSprop}
    optimizer = kinds[variant](net.parameters(), lr=3e-3)
    for step in range(5):
        source, target = torch.randint(1, WORDS, (8, LENGTH)), torch.randint(1, WORDS, (8, LENGTH))
        labels = target.roll(-1, 1)
        labels[:, -1] = -100
        if PLANT == "labels" and step == 1:
            labels = target
        mask = torch.zeros(8, LENGTH, dtype=torch.bool)
        mask[:4, -2:] = True
        if PLANT == "mask":
            mask[4:, -1] = True
        out = net(source=source, target=target, mask=mask, labels=labels, hidden_too=PLANT != "flag")
        optimizer.zero_grad()
        out.loss.backward()
        optimizer.step()
        print(f"step {step}: {out.loss.item():.4f}")


if __name__ == "__main__":
    main()
