"""Count the kernels that a training step launches in either library: ``python -m tests.devices.launched torch|mstorch [name…]``.

torch's are the calls of its dispatcher on the CPU, with optimizers in their foreach form and without views and uninitialized memory;
mstorch's are counted on the stand-in device (MSTORCH_FAKE_DEVICE=Ascend), casts included.
"""
from __future__ import annotations

import importlib
import json
import pathlib
import sys
from collections import Counter
from collections.abc import Callable
from typing import Any

from . import models

MODELS = pathlib.Path(__file__).parents[2] / "examples" / "models"
# Operators that launch no kernel: views, uninitialized memory, Python numbers.
NO_KERNEL = set(
    "view _unsafe_view reshape _reshape_alias t transpose permute expand slice select squeeze unsqueeze as_strided detach alias split split_with_sizes unbind chunk "
    "diagonal unfold empty empty_like empty_strided new_empty new_empty_strided resize_ lift_fresh set_ view_as_real view_as_complex real imag movedim narrow "
    "is_same_size _local_scalar_dense item _record_function_enter_new _record_function_exit".split()
)
Program = tuple[Any, Any, Callable[[], tuple[Any, ...]], Callable[..., Any]]


def _torch() -> Any:
    return importlib.import_module("torch")


def _adamw(model: Any) -> Any:
    return _torch().optim.AdamW(model.parameters(), lr=1e-3, foreach=True)


def _mlp(place: str) -> Program:
    torch = _torch()
    nn = torch.nn
    net = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 4)).to(place)
    batch = lambda: (torch.randn(8, 16), torch.randint(4, (8,)))
    return net, _adamw(net), batch, lambda model, x, y: nn.functional.cross_entropy(model(x), y)


def _recurrent(kind: str) -> Callable[[str], Program]:
    def make(place: str) -> Program:
        torch = _torch()
        nn = torch.nn
        net = getattr(nn, kind)(8, 16, 2).to(place)
        optimizer = torch.optim.SGD(net.parameters(), 0.1, foreach=True)
        return net, optimizer, lambda: (torch.randn(10, 4, 8),), lambda model, x: model(x)[0].square().mean()

    return make


def _example(name: str) -> Callable[[str], Program]:
    def make(place: str) -> Program:
        if str(MODELS) not in sys.path:
            sys.path.insert(0, str(MODELS))
        example = importlib.import_module(name)
        model, optimizer = example.build()
        for group in optimizer.param_groups:
            group["foreach"] = True
        for layer in model.modules():
            if "Dropout" in type(layer).__name__:
                layer.p = 0.0  # the stand-in device copies random numbers from the host
        return model.to(place), optimizer, example.batch, example.loss

    return make


def _transformer(layers: int, causal: bool, images: bool, autocast: bool = False, clip: bool = False) -> Callable[[str], Program]:
    """Return a GPT, or a ViT, with torch's attention layers."""

    def make(place: str) -> Program:
        torch = _torch()
        nn, F = torch.nn, torch.nn.functional

        class Block(nn.Module):  # type: ignore[name-defined, misc]
            def __init__(self, size: int, heads: int) -> None:
                super().__init__()
                self.heads = heads
                self.norm1, self.norm2 = nn.LayerNorm(size), nn.LayerNorm(size)
                self.qkv, self.out = nn.Linear(size, 3 * size), nn.Linear(size, size)
                self.mlp = nn.Sequential(nn.Linear(size, 4 * size), nn.GELU(), nn.Linear(4 * size, size))

            def forward(self, x: Any) -> Any:
                n, length, size = x.shape
                q, k, v = (part.view(n, length, self.heads, -1).transpose(1, 2) for part in self.qkv(self.norm1(x)).split(size, 2))
                mixed = F.scaled_dot_product_attention(q, k, v, is_causal=causal)
                x = x + self.out(mixed.transpose(1, 2).reshape(n, length, size))
                return x + self.mlp(self.norm2(x))

        class Net(nn.Module):  # type: ignore[name-defined, misc]
            def __init__(self, size: int = 64, heads: int = 4) -> None:
                super().__init__()
                if images:
                    self.patches, self.first = nn.Conv2d(3, size, 4, 4), nn.Parameter(torch.zeros(1, 1, size))
                    self.position = nn.Parameter(torch.zeros(1, 17, size))
                else:
                    self.token, self.position = nn.Embedding(40, size), nn.Embedding(16, size)
                self.blocks = nn.ModuleList(Block(size, heads) for _ in range(layers))
                self.norm, self.head = nn.LayerNorm(size), nn.Linear(size, 40)

            def forward(self, x: Any) -> Any:
                if images:
                    x = self.patches(x).flatten(2).transpose(1, 2)
                    x = torch.cat((self.first.expand(len(x), -1, -1), x), 1) + self.position
                else:
                    x = self.token(x) + self.position(torch.arange(x.size(1), device=x.device))
                for block in self.blocks:
                    x = block(x)
                return self.head(self.norm(x[:, 0] if images else x))

        def loss(model: Any, x: Any, y: Any) -> Any:
            with torch.autocast(place, torch.bfloat16, enabled=autocast):
                found = model(x)
                return F.cross_entropy(found.flatten(0, -2) if not images else found, y.flatten())

        def batch() -> Any:
            if images:
                return torch.randn(2, 3, 16, 16), torch.randint(40, (2,))
            return torch.randint(40, (2, 16)), torch.randint(40, (2, 16))

        net = Net().to(place)
        optimizer = _adamw(net)
        if clip:

            def before(*_: Any) -> None:
                nn.utils.clip_grad_norm_(net.parameters(), 1.0, foreach=True)

            optimizer.register_step_pre_hook(before)
        return net, optimizer, batch, loss

    return make


def _bert(place: str) -> Program:
    torch = _torch()
    transformers = importlib.import_module("transformers")
    config = transformers.BertConfig(
        vocab_size=50, hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=128, max_position_embeddings=32,
        hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
    )  # fmt: skip
    model = transformers.BertForSequenceClassification(config).to(place).train()
    mask = torch.ones(4, 12, dtype=torch.int64)
    mask[1, 8:] = 0
    batch = lambda: (torch.randint(50, (4, 12)), mask, torch.randint(2, (4,)))
    return model, _adamw(model), batch, lambda m, x, a, y: m(input_ids=x, attention_mask=a, labels=y).loss


def _llama(place: str) -> Program:
    torch = _torch()
    transformers = importlib.import_module("transformers")
    config = transformers.LlamaConfig(
        vocab_size=50, hidden_size=64, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, intermediate_size=128,
        max_position_embeddings=64,
    )  # fmt: skip
    model = transformers.LlamaForCausalLM(config).to(place).train()
    return model, _adamw(model), lambda: (torch.randint(50, (2, 12)),), lambda m, x: m(input_ids=x, labels=x, use_cache=False).loss


STEPS: dict[str, Callable[[str], Program]] = {
    "MLP": _mlp, "ResNet-18": _example("resnet"), "ViT": _transformer(4, False, True), "GPT": _transformer(4, True, False),
    "GPT, autocast": _transformer(4, True, False, True), "GPT, clipped": _transformer(4, True, False, clip=True), "GPT of single operations": _example("gpt"), "UNet": _example("unet"),
    "GPT, padded": models.padded, "adapters": models.adapted, "translation": models.translation,
    "LSTM": _recurrent("LSTM"), "GRU": _recurrent("GRU"), "BERT": _bert, "Llama": _llama,
}  # fmt: skip


def _once(model: Any, optimizer: Any, parts: Any, loss: Callable[..., Any]) -> None:
    optimizer.zero_grad()
    loss(model, *parts).backward()
    optimizer.step()


def by_torch(name: str) -> Counter[str]:
    """Return the operators that torch's dispatcher receives in a step, without those that launch no kernel."""
    torch = _torch()
    from torch.utils._python_dispatch import TorchDispatchMode

    counts: Counter[str] = Counter()

    class Counting(TorchDispatchMode):
        def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            word = function.name().partition("::")[2].partition(".")[0]
            if word not in NO_KERNEL:
                counts[word] += 1
            return function(*args, **(kwargs or {}))

    torch.manual_seed(0)
    model, optimizer, batch, loss = STEPS[name]("cpu")
    for _ in range(2):
        _once(model, optimizer, batch(), loss)
    parts = batch()
    with torch.backends.mkldnn.flags(enabled=name != "LSTM"), Counting():  # its LSTM is one kernel a layer, where others go step by step
        _once(model, optimizer, parts, loss)
    return counts


def by_mstorch(name: str) -> Any:
    """Return the cost of a step on the stand-in device."""
    torch = _torch()
    from mstorch._src.backend import cost

    torch.manual_seed(0)
    model, optimizer, batch, loss = STEPS[name]("npu")
    for _ in range(2):
        _once(model, optimizer, [part.npu() for part in batch()], loss)
    parts = batch()
    with cost.counted() as found:
        _once(model, optimizer, [part.npu() for part in parts], loss)
    return found


def main(library: str, *names: str) -> None:
    """Print a line of JSON: the kernels of each step by name; for mstorch also copies and reads by their cause."""
    if library == "show":
        importlib.import_module("mstorch").install()
        for name in names:
            print(name, by_mstorch(name).text(60))
        return
    found: dict[str, Any] = {}
    if library == "mstorch":
        importlib.import_module("mstorch").install()
        for name in names or STEPS:
            counted = by_mstorch(name)
            found[name] = {**counted.numbers(), "parts": len(STEPS[name]("npu")[2]())}
    else:
        found = {name: by_torch(name) for name in names or STEPS}
    print(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
