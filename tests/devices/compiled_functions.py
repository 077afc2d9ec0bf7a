"""Small functions of device tensors for the tests of torch.compile: those that become graphs, and those that do not, with the reason."""
from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import mstorch as torch

F = torch.nn.functional
torch.manual_seed(1)
_GIVEN = {
    "x": torch.randn(4, 4).npu().requires_grad_(), "y": torch.randn(4, 4).npu(), "z": torch.rand(4, 4).npu(),
    "i": torch.tensor([0, 2, 1, 3]).npu(), "image": torch.randn(2, 4, 8, 8).npu().requires_grad_(),
    "rows": torch.randn(2, 5, 8).npu().requires_grad_(),
}  # fmt: skip
_HELD = torch.randn(4).npu()
_HERE = torch.randn(4)


def arguments(function: Callable[..., Any]) -> list[Any]:
    """Return the tensors for a function's parameters, by their names."""
    return [_GIVEN[name] for name, one in inspect.signature(function).parameters.items() if one.default is one.empty]


def _written(x: Any, y: Any) -> Any:
    y[1:3] = x[:2]
    y.add_(1)
    return y * 2


def _in_place(x: Any) -> Any:
    made = x * 2
    made[0] = 0
    made[:, 1] += 3
    return made.mul_(2)


def _parts(x: Any) -> Any:
    made = x.clone()
    made[::2, 1:] = made[1::2, :3] * 2
    return made


def _argument(y: Any) -> Any:
    y += 1
    return y.t()


def _loop(x: Any) -> Any:
    for number in range(3):
        x = x * 1.1 + number
    return x


def _gates(x: Any) -> Any:
    first, second = x.chunk(2, 1)
    return torch.stack([first.sigmoid() * second.tanh(), second], 1).flatten(1).unbind(0)[1]


def _places(x: Any) -> Any:
    made = x.new_zeros(4) + torch.full((4,), 2.0, device=x.device) + torch.ones_like(x) + torch.arange(4, device=x.device)
    return made * x if x.is_npu and made.device == x.device else made


def _conditional(x: Any) -> Any:
    return x * 2 if x.shape[0] > 3 else x


_mlp = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.GELU(), torch.nn.LayerNorm(8), torch.nn.Dropout(0.3), torch.nn.Linear(8, 2)).npu()
_attention = torch.nn.MultiheadAttention(8, 2, dropout=0.2, batch_first=True).npu()
_images = torch.nn.Sequential(torch.nn.Conv2d(4, 6, 3, padding=1), torch.nn.BatchNorm2d(6), torch.nn.ReLU(), torch.nn.MaxPool2d(2)).npu()
_lstm, _gru = torch.nn.LSTM(8, 6, batch_first=True).npu(), torch.nn.GRU(8, 6, batch_first=True).npu()
_table = torch.nn.Embedding(5, 3, padding_idx=2).npu()

FUNCTIONS: dict[str, Callable[..., Any]] = {
    "products": lambda x, y: (x * y).sin() @ y.t(),
    "views": lambda x: (x.t()[1:, :2].contiguous() + 1, x[0].expand(3, 4) * 2, x.flip(0) * 1, x.roll(1, 0) * 1),
    "written arguments": _written,
    "writes in place": _in_place,
    "parts written": _parts,
    "an argument, and a view of it": _argument,
    "keywords": lambda x, k=2, flag=True: x * k if flag else x,
    "closure": lambda x: x + _HELD,
    "a loop": _loop,
    "a condition on shapes": _conditional,
    "parts and stacks": _gates,
    "factories and devices": _places,
    "a row permuted": lambda rows: F.linear(rows.transpose(0, 1), rows[0]).transpose(0, 1),
    "dropout of a view": lambda rows: F.dropout(rows.transpose(0, 1), 0.3),
    "noise": lambda x: x + torch.randn_like(x) + torch.rand(4, device=x.device),
    "softmax": lambda x: F.softmax(x, -1).log() + F.log_softmax(x, 0),
    "losses": lambda x, y, z, i: F.cross_entropy(x, i) + F.mse_loss(x, y) + F.binary_cross_entropy_with_logits(x, z),
    "norms": lambda x, image: (F.layer_norm(x, (4,)), F.rms_norm(x, (4,)), F.group_norm(image, 2), x.norm(), x.var(1)),
    "positions": lambda x, i: (x[i], x.gather(1, i[:, None]), x.index_select(1, i), x[i, i], x[:, torch.arange(3)]),
    "put": lambda x, i: (
        torch.zeros(4, 4, device=x.device).index_add(0, i, x), torch.zeros(4, 4, device=x.device).index_put((i,), x),
        torch.zeros(4, 4, device=x.device).scatter(1, i[:, None], x),
    ),
    "masks": lambda x, y: (torch.where(x > 0, x, y), x.masked_fill(y > 0, 0.0), x.tril(), (x > y) | (x == y)),
    "reductions": lambda x, y: (x.mean(0), x.amax(1), y.argmax(1), x.logsumexp(1), x.cumsum(0), x.prod(1), x.sort(1)[0], x.max(1)[0]),
    "rounding and numbers": lambda x, z: (x.round() + x.sign(), x.clamp(-0.5, 0.5), z.sqrt() + z.log1p() + z.rsqrt(), x / (z + 1)),
    "activations": lambda x: F.gelu(x) + F.silu(x) + F.leaky_relu(x) + F.elu(x) + F.hardswish(x),
    "scaled attention": lambda rows: F.scaled_dot_product_attention(rows, rows, rows, is_causal=True),
    "images": lambda image: (F.interpolate(image, scale_factor=2), F.pad(image, (1, 1)), F.adaptive_avg_pool2d(image, 1), F.unfold(image, 2)),
    "numbers of the CPU": lambda x: x * torch.tensor(2.0),
    "half precision": lambda x: (x.half() * 2).float(),
    "detached": lambda x: x.detach() * x,
    "an mlp": lambda x: _mlp(x),
    "attention": lambda rows: _attention(rows, rows, rows, need_weights=False)[0],
    "a network of images": lambda image: _images(image),
    "an lstm": lambda rows: _lstm(rows)[0],
    "a gru": lambda rows: _gru(rows)[0],
    "an embedding with padding": lambda i: _table(i),
}  # fmt: skip


def _on_value(x: Any) -> Any:
    return x * 2 if x.sum() > 0 else x


_CPU, _READ = "MindSpore's graphs compute on the device", "the values of a tensor are read on the host"
BROKEN: dict[str, tuple[Callable[..., Any], str]] = {
    "item": (lambda x: x.sum().item() * x, _READ),
    "a condition on values": (_on_value, _READ),
    "selected by a mask": (lambda x: x[x > 0], _READ),
    "there and back": (lambda y: y.cpu().npu() * 2, f"a tensor is copied between the CPU and the device, and {_CPU}"),
    "a tensor of the CPU used": (lambda x: x * 2 + _HERE.npu(), f"a tensor is copied between the CPU and the device, and {_CPU}"),
    "a number of the CPU used": (lambda x: x * _HERE[0], f"a tensor of the CPU is used, and {_CPU}"),
    "a result on the CPU": (lambda x: (x * 2, torch.zeros(2)), f"a result is a tensor of the CPU, and {_CPU}"),
    "a kernel that graphs lack": (lambda x: F.softplus(x), "SoftplusGradExt"),
}
