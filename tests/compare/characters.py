"""A character-level GPT in a usual training loop: gradient accumulation, a hand-written schedule, clipping, evaluation, a checkpoint."""
import argparse
import math
from contextlib import nullcontext

import torch
from torch import nn
from torch.nn import functional as F

TEXT = "the quick brown fox jumps over the lazy dog while seven wizards box and the five gods frown. " * 8
CHARACTERS = sorted(set(TEXT))
BLOCK, BATCH, WIDTH, HEADS, LAYERS, DROPOUT = 24, 8, 32, 4, 2, 0.1


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(WIDTH, 3 * WIDTH, bias=False)
        self.outer = nn.Linear(WIDTH, WIDTH, bias=False)
        self.drop = nn.Dropout(DROPOUT)

    def forward(self, x):
        b, t, c = x.size()
        q, k, v = (y.view(b, t, HEADS, c // HEADS).transpose(1, 2) for y in self.inner(x).split(WIDTH, dim=2))
        y = F.scaled_dot_product_attention(q, k, v, dropout_p=DROPOUT if self.training else 0, is_causal=True)
        return self.drop(self.outer(y.transpose(1, 2).contiguous().view(b, t, c)))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.attention, self.norm2 = nn.LayerNorm(WIDTH, bias=False), Attention(), nn.LayerNorm(WIDTH, bias=False)
        self.perceptron = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH), nn.Dropout(DROPOUT))

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.perceptron(self.norm2(x))


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.parts = nn.ModuleDict({
            "tokens": nn.Embedding(len(CHARACTERS), WIDTH), "places": nn.Embedding(BLOCK, WIDTH), "drop": nn.Dropout(DROPOUT),
            "blocks": nn.ModuleList([Block() for _ in range(LAYERS)]), "norm": nn.LayerNorm(WIDTH),
        })  # fmt: skip
        self.head = nn.Linear(WIDTH, len(CHARACTERS), bias=False)
        self.parts.tokens.weight = self.head.weight
        self.apply(self.begin)
        for name, param in self.named_parameters():
            if name.endswith("outer.weight"):
                nn.init.normal_(param, mean=0.0, std=0.02 / math.sqrt(2 * LAYERS))

    def begin(self, module):
        if isinstance(module, (nn.Linear, nn.Embedding)):
            nn.init.normal_(module.weight, mean=0.0, std=0.02)
            if getattr(module, "bias", None) is not None:
                nn.init.zeros_(module.bias)

    def forward(self, index, targets=None):
        places = torch.arange(0, index.size(1), dtype=torch.long, device=index.device)
        x = self.parts.drop(self.parts.tokens(index) + self.parts.places(places))
        for block in self.parts.blocks:
            x = block(x)
        x = self.parts.norm(x)
        if targets is None:
            return self.head(x[:, [-1], :]), None
        logits = self.head(x)
        return logits, F.cross_entropy(logits.view(-1, logits.size(-1)), targets.view(-1), ignore_index=-1)

    @torch.no_grad()
    def generate(self, index, count, top=5):
        for _ in range(count):
            logits = self(index[:, -BLOCK:])[0][:, -1, :] / 0.8
            best, _ = torch.topk(logits, top)
            logits[logits < best[:, [-1]]] = -float("inf")
            index = torch.cat((index, torch.multinomial(F.softmax(logits, dim=-1), num_samples=1)), dim=1)
        return index


def rate(step, most=1e-2, least=1e-3, warmup=3, end=20):
    if step < warmup:
        return most * (step + 1) / (warmup + 1)
    return least + 0.5 * (1.0 + math.cos(math.pi * min(1.0, (step - warmup) / (end - warmup)))) * (most - least)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=12)
    parser.add_argument("--device", default="cpu")
    options = parser.parse_args()
    torch.manual_seed(1337)
    data = torch.tensor([CHARACTERS.index(one) for one in TEXT])
    parts = {"train": data[: int(0.9 * len(data))], "val": data[int(0.9 * len(data)) :]}
    context = nullcontext() if options.device == "cpu" else torch.amp.autocast(device_type=options.device, enabled=False)

    def batch(part):
        starts = torch.randint(len(parts[part]) - BLOCK, (BATCH,))
        x = torch.stack([parts[part][i : i + BLOCK] for i in starts])
        y = torch.stack([parts[part][i + 1 : i + 1 + BLOCK] for i in starts])
        return x.to(options.device), y.to(options.device)

    @torch.no_grad()
    def estimated():
        model.eval()
        losses = {part: torch.stack([model(*batch(part))[1] for _ in range(2)]).mean().item() for part in parts}
        model.train()
        return losses

    model = GPT().to(options.device)
    named = [param for param in model.parameters() if param.requires_grad]
    groups = [{"params": [p for p in named if p.dim() >= 2], "weight_decay": 0.1}, {"params": [p for p in named if p.dim() < 2], "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=1e-2, betas=(0.9, 0.99))
    scaler = torch.amp.GradScaler(options.device, enabled=False)
    x, y = batch("train")
    for step in range(options.steps):
        for group in optimizer.param_groups:
            group["lr"] = rate(step)
        if step % 5 == 0:
            print(f"step {step}: {estimated()}")
        for _ in range(2):
            with context:
                loss = model(x, y)[1] / 2
            x, y = batch("train")
            scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad(set_to_none=True)
        print(f"step {step}: loss {2 * loss.item():.5f}")
    model.eval()
    print("".join(CHARACTERS[i] for i in model.generate(x[:1, :1], 20)[0].tolist()))


if __name__ == "__main__":
    main()
