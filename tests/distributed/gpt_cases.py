"""A GPT of six layers under fully_shard: losses and memory of several processes, compared with one process."""
from __future__ import annotations

import tracemalloc
from importlib import import_module

from tests.distributed import together

WIDTH, WORDS, LENGTH = 192, 1536, 8


def gpt(torch):
    nn = torch.nn

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
            self.entry, self.exit = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
            self.mlp = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))

        def forward(self, x):
            query, key, value = (part.unflatten(-1, (4, -1)).transpose(1, 2) for part in self.entry(self.first(x)).chunk(3, -1))
            mixed = nn.functional.scaled_dot_product_attention(query, key, value, is_causal=True)
            x = x + self.exit(mixed.transpose(1, 2).flatten(2))
            return x + self.mlp(self.second(x))

    class GPT(nn.Module):
        def __init__(self):
            super().__init__()
            self.words, self.places = nn.Embedding(WORDS, WIDTH), nn.Embedding(LENGTH, WIDTH)
            self.blocks = nn.ModuleList(Block() for _ in range(6))
            self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, WORDS, bias=False)

        def forward(self, tokens):
            x = self.words(tokens) + self.places.weight[: tokens.shape[1]]
            for block in self.blocks:
                x = block(x)
            return self.head(self.norm(x))

    torch.manual_seed(0)
    return GPT()


def peak(function):
    """Return the function's result, and the peak of the memory that it allocates, in bytes."""
    tracemalloc.reset_peak()
    before, _ = tracemalloc.get_traced_memory()
    result = function()
    return result, tracemalloc.get_traced_memory()[1] - before


def held(model):
    """Return the bytes of the parameters that this process holds."""
    parts = [one.to_local() if hasattr(one, "to_local") else one for one in model.parameters()]
    return sum(part.numel() * part.element_size() for part in parts)


def train(torch, model, rank, size, group=None):
    """Return the losses of two steps, and the peak in bytes of a forward without gradients and of a training step."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    torch.manual_seed(1)
    losses = []

    def step(tokens):
        loss = torch.nn.functional.cross_entropy(model(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten())
        loss.backward()
        return loss.detach()

    for _ in range(2):
        loss, most = peak(lambda: step(torch.randint(0, WORDS, (4, 3)).chunk(size)[rank]))
        training = held(model) + most
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss if group is None else group(loss))
    with torch.no_grad():
        _, most = peak(lambda: model(torch.zeros(1, 1, dtype=torch.int64)))
    return losses, held(model) + most, training


def case_curve_and_memory(torch, dist, rank, size):
    """Return the losses of this job and of one process, and the fraction of one process's memory that parameters and training need."""
    fully_shard = import_module("torch.distributed.fsdp").fully_shard
    tracemalloc.start()
    try:
        alone = [train(torch, gpt(torch), 0, 1) if rank == 0 else None]
        dist.broadcast_object_list(alone, src=0)
        want, parameters, training = alone[0]
        model = gpt(torch)
        for part in (*model.blocks, model.words, model.head, model):
            fully_shard(part)

        def mean(loss):
            dist.all_reduce(loss)
            return loss / size

        got, mine, in_training = train(torch, model, rank, size, mean)
    finally:
        tracemalloc.stop()
    return (want, got) if together.AS_HCCL else (want, got, mine / parameters, in_training / training)  # a device's memory is unknown
