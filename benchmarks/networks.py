"""The seven networks that ``run_all.py`` times, each written once for whatever library is called torch.

``NETWORKS[name](torch)`` gives the model, its inputs, the targets, the loss of outputs and targets, and the optimiser.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

Job = tuple[Any, tuple[Any, ...], Any, Callable[[Any, Any], Any], Any]


def _tokens_loss(torch: Any, words: int) -> Callable[[Any, Any], Any]:
    return lambda output, target: torch.nn.functional.cross_entropy(output.reshape(-1, words), target)


def mlp(torch: Any) -> Job:
    """784-512-512-10, batch 64, SGD."""
    nn = torch.nn
    model = nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    return model, (torch.randn(64, 784),), torch.randint(0, 10, (64,)), nn.functional.cross_entropy, optimizer


def cnn(torch: Any) -> Job:
    """Two convolutions of 32 and 64 channels with BatchNorm on 28×28, batch 64, Adam."""
    nn = torch.nn
    model = nn.Sequential(
        nn.Conv2d(1, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 3, padding=1), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(64 * 49, 128), nn.ReLU(), nn.Dropout(0.25), nn.Linear(128, 10),
    )  # fmt: skip
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    return model, (torch.randn(64, 1, 28, 28),), torch.randint(0, 10, (64,)), nn.functional.cross_entropy, optimizer


def resnet18(torch: Any) -> Job:
    """ResNet-18 on 32×32, batch 16, SGD with momentum (https://arxiv.org/abs/1512.03385)."""
    nn = torch.nn

    class Block(nn.Module):
        def __init__(self, inside: int, out: int, stride: int) -> None:
            super().__init__()
            self.first, self.first_norm = nn.Conv2d(inside, out, 3, stride, 1, bias=False), nn.BatchNorm2d(out)
            self.second, self.second_norm = nn.Conv2d(out, out, 3, 1, 1, bias=False), nn.BatchNorm2d(out)
            changed = stride != 1 or inside != out
            self.short = nn.Sequential(nn.Conv2d(inside, out, 1, stride, bias=False), nn.BatchNorm2d(out)) if changed else nn.Identity()

        def forward(self, x: Any) -> Any:
            y = nn.functional.relu(self.first_norm(self.first(x)))
            return nn.functional.relu(self.second_norm(self.second(y)) + self.short(x))

    widths = [64, 64, 64, 128, 128, 256, 256, 512, 512]
    blocks = [Block(widths[i], widths[i + 1], 1 if i % 2 or i == 0 else 2) for i in range(8)]
    model = nn.Sequential(
        nn.Conv2d(3, 64, 3, 1, 1, bias=False), nn.BatchNorm2d(64), nn.ReLU(), *blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(),
        nn.Linear(512, 10),
    )  # fmt: skip
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, weight_decay=5e-4)
    return model, (torch.randn(16, 3, 32, 32),), torch.randint(0, 10, (16,)), nn.functional.cross_entropy, optimizer


def lstm(torch: Any) -> Job:
    """A language model: embedding, two LSTM layers of 200, 2,000 words; 35 steps of 20 sentences, SGD."""
    nn = torch.nn

    class LanguageModel(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.words, self.layers, self.out = nn.Embedding(2000, 200), nn.LSTM(200, 200, 2, dropout=0.2), nn.Linear(200, 2000)

        def forward(self, x: Any) -> Any:
            return self.out(self.layers(self.words(x))[0])

    model = LanguageModel()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    return model, (torch.randint(0, 2000, (35, 20)),), torch.randint(0, 2000, (700,)), _tokens_loss(torch, 2000), optimizer


def encoder(torch: Any) -> Job:
    """Four Transformer encoder layers, width 256, 4 heads, on 8 × 128 words, AdamW (https://arxiv.org/abs/1706.03762)."""
    nn = torch.nn

    class Encoder(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            layer = nn.TransformerEncoderLayer(256, 4, 1024, dropout=0.1, batch_first=True)
            self.words, self.layers = nn.Embedding(2000, 256), nn.TransformerEncoder(layer, 4, enable_nested_tensor=False)
            self.out = nn.Linear(256, 2000)

        def forward(self, x: Any) -> Any:
            return self.out(self.layers(self.words(x)))

    model = Encoder()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    return model, (torch.randint(0, 2000, (8, 128)),), torch.randint(0, 2000, (1024,)), _tokens_loss(torch, 2000), optimizer


def gpt(torch: Any) -> Job:
    """A character GPT: 6 layers, width 192, 6 heads, on 12 × 64 characters, AdamW."""
    nn = torch.nn

    class Block(nn.Module):
        def __init__(self, width: int, heads: int) -> None:
            super().__init__()
            self.heads, self.first_norm, self.second_norm = heads, nn.LayerNorm(width), nn.LayerNorm(width)
            self.inputs, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

        def forward(self, x: Any) -> Any:
            rows, length, width = x.shape
            parts = self.inputs(self.first_norm(x)).split(width, 2)
            q, k, v = (part.view(rows, length, self.heads, width // self.heads).transpose(1, 2) for part in parts)
            seen = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.out(seen.transpose(1, 2).contiguous().view(rows, length, width))
            return x + self.down(nn.functional.gelu(self.up(self.second_norm(x))))

    class GPT(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.characters, self.places = nn.Embedding(65, 192), nn.Embedding(64, 192)
            self.blocks, self.norm = nn.Sequential(*(Block(192, 6) for _ in range(6))), nn.LayerNorm(192)
            self.out = nn.Linear(192, 65, bias=False)

        def forward(self, x: Any) -> Any:
            return self.out(self.norm(self.blocks(self.characters(x) + self.places(torch.arange(x.shape[1])))))

    model = GPT()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    return model, (torch.randint(0, 65, (12, 64)),), torch.randint(0, 65, (768,)), _tokens_loss(torch, 65), optimizer


def unet(torch: Any) -> Job:
    """A U-Net of 16-32-64 channels on 4 × 64×64, Adam (https://arxiv.org/abs/1505.04597)."""
    nn = torch.nn

    def double(inside: int, out: int) -> Any:
        return nn.Sequential(
            nn.Conv2d(inside, out, 3, 1, 1), nn.BatchNorm2d(out), nn.ReLU(), nn.Conv2d(out, out, 3, 1, 1), nn.BatchNorm2d(out), nn.ReLU()
        )

    class UNet(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.high, self.middle, self.low = double(3, 16), double(16, 32), double(32, 64)
            self.to_middle, self.join_middle = nn.ConvTranspose2d(64, 32, 2, 2), double(64, 32)
            self.to_high, self.join_high = nn.ConvTranspose2d(32, 16, 2, 2), double(32, 16)
            self.out = nn.Conv2d(16, 2, 1)

        def forward(self, x: Any) -> Any:
            high = self.high(x)
            middle = self.middle(nn.functional.max_pool2d(high, 2))
            low = self.low(nn.functional.max_pool2d(middle, 2))
            middle = self.join_middle(torch.cat([self.to_middle(low), middle], 1))
            return self.out(self.join_high(torch.cat([self.to_high(middle), high], 1)))

    model = UNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    return model, (torch.randn(4, 3, 64, 64),), torch.randint(0, 2, (4, 64, 64)), nn.functional.cross_entropy, optimizer


NETWORKS: dict[str, Callable[[Any], Job]] = {
    "mlp": mlp, "cnn": cnn, "resnet18": resnet18, "lstm": lstm, "encoder": encoder, "gpt": gpt, "unet": unet,
}  # fmt: skip
