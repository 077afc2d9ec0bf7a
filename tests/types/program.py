"""Ordinary code whose types tests/types/test_programs.py compares, checked with torch and with mstorch."""
from __future__ import annotations

from collections.abc import Iterator

import torch
import torch.nn.functional as F
from torch import Tensor, nn, optim
from torch.optim.lr_scheduler import StepLR
from torch.utils.data import DataLoader, Dataset, TensorDataset, random_split
from typing_extensions import reveal_type


class Squares(Dataset[tuple[Tensor, Tensor]]):
    def __init__(self, count: int) -> None:
        self.inputs = torch.linspace(-1, 1, count).unsqueeze(1)
        self.targets = self.inputs**2

    def __len__(self) -> int:
        return self.inputs.size(0)

    def __getitem__(self, index: int) -> tuple[Tensor, Tensor]:
        return self.inputs[index], self.targets[index]


class Net(nn.Module):
    def __init__(self, width: int, dropout: float = 0.1) -> None:
        super().__init__()
        self.first = nn.Linear(1, width)
        self.norm = nn.LayerNorm(width)
        self.body = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Dropout(dropout))
        self.layers = nn.ModuleList([nn.Linear(width, width) for _ in range(2)])
        self.scale = nn.Parameter(torch.ones(width))
        self.register_buffer("steps", torch.zeros(1, dtype=torch.long))
        reveal_type(self.first)
        reveal_type(self.first.weight)
        reveal_type(self.first.in_features)
        reveal_type(self.body)
        reveal_type(self.body[0])
        reveal_type(self.scale)
        reveal_type(self.scale.grad)

    def forward(self, x: Tensor) -> Tensor:
        x = F.relu(self.norm(self.first(x)))
        reveal_type(x)
        for layer in self.layers:
            x = F.gelu(layer(x)) + x
        x = self.body(x) * self.scale
        return torch.sigmoid(x).mean(dim=-1, keepdim=True)

    @torch.no_grad()
    def predict(self, x: Tensor, threshold: float) -> Tensor:
        return self(x) > threshold


def arithmetic(a: Tensor, b: Tensor) -> None:
    reveal_type(a + b)
    reveal_type(a + 1)
    reveal_type(2.5 * a)
    reveal_type(1 / a)
    reveal_type(1 - a)
    reveal_type(2**a)
    reveal_type(-a)
    reveal_type(abs(a))
    reveal_type(~(a > b))
    reveal_type(a @ b)
    reveal_type(a == b)
    reveal_type(a != 0)
    reveal_type(a < 3.0)
    reveal_type((a > 0) & (b > 0))
    reveal_type(a % 2)
    reveal_type(a // 2)
    reveal_type(a.add_(b).mul_(2))
    reveal_type(torch.add(a, b, alpha=2))
    reveal_type(torch.where(a > 0, a, 0.0))
    reveal_type(torch.clamp(a, min=0.0))
    reveal_type(a.clamp(max=1))
    reveal_type(torch.matmul(a, b))
    reveal_type(torch.einsum("ij,jk->ik", a, b))
    a += 1
    reveal_type(a)


def shapes(x: Tensor) -> None:
    reveal_type(x.shape)
    reveal_type(x.shape[0])
    reveal_type(x.shape[1:])
    reveal_type(x.shape.numel())
    reveal_type(x.size())
    reveal_type(x.size(0))
    reveal_type(x.stride())
    reveal_type(x.dim())
    reveal_type(x.ndim)
    reveal_type(x.numel())
    reveal_type(x.dtype)
    reveal_type(x.device)
    reveal_type(x.requires_grad)
    reveal_type(x.grad)
    reveal_type(x.is_leaf)
    reveal_type(x.T)
    reveal_type(x.data)
    reveal_type(len(x))
    reveal_type(x.view(-1, 2))
    reveal_type(x.view((2, -1)))
    reveal_type(x.view(torch.int32))
    reveal_type(x.reshape(-1))
    reveal_type(x.permute(1, 0))
    reveal_type(x.transpose(0, 1).contiguous())
    reveal_type(x.unsqueeze(-1).squeeze(0).squeeze())
    reveal_type(x.expand(3, -1))
    reveal_type(x.flatten())
    reveal_type(torch.cat([x, x], dim=0))
    reveal_type(torch.stack((x, x)))
    first, *rest = x.split(2)
    reveal_type(first)
    reveal_type(torch.split(x, [1, 2], dim=0))
    reveal_type(torch.chunk(x, 2))
    reveal_type(x.chunk(2, dim=-1))
    reveal_type(x.unbind())
    reveal_type(torch.meshgrid(x, x, indexing="ij"))


def indexing(x: Tensor, mask: Tensor, index: list[int]) -> None:
    reveal_type(x[0])
    reveal_type(x[0, 1])
    reveal_type(x[..., None])
    reveal_type(x[1:, ::2])
    reveal_type(x[mask])
    reveal_type(x[index])
    reveal_type(x[mask > 0, :2])
    x[0] = 1.0
    x[mask] = x.new_zeros(3)
    x[:, 0] += 2
    for row in x:
        reveal_type(row)


def reductions(x: Tensor) -> None:
    reveal_type(x.sum())
    reveal_type(x.sum(dim=1, keepdim=True))
    reveal_type(x.sum(dim=(0, 1)))
    reveal_type(torch.max(x))
    reveal_type(torch.max(x, 0))
    reveal_type(x.max(dim=1))
    reveal_type(x.max(dim=1).values)
    reveal_type(x.max(dim=-1, keepdim=True)[1])
    values, indices = x.max(1)
    reveal_type(indices)
    reveal_type(torch.maximum(x, x))
    reveal_type(x.argmax(dim=1))
    reveal_type(x.topk(3))
    reveal_type(torch.topk(x, 3, dim=1).indices)
    reveal_type(x.sort(descending=True).values)
    reveal_type(x.std())
    reveal_type(x.var(dim=0, unbiased=False))
    reveal_type(x.norm())
    reveal_type(torch.all(x > 0))
    reveal_type(bool((x > 0).any()))
    reveal_type(x.item())
    reveal_type(x.numpy())
    reveal_type(float(x.sum()))
    reveal_type(int(x[0, 0]))
    reveal_type(torch.allclose(x, x))
    reveal_type(torch.equal(x, x))
    reveal_type(torch.is_tensor(x))
    reveal_type(torch.aminmax(x))
    reveal_type(torch.var_mean(x))


def creation(like: Tensor, device: torch.device) -> None:
    reveal_type(torch.tensor([1.0, 2.0], requires_grad=True))
    reveal_type(torch.ones(2))
    reveal_type(torch.zeros(2, 3, dtype=torch.float64, device="cpu"))
    reveal_type(torch.zeros((2, 3)))
    reveal_type(torch.empty(like.shape))
    reveal_type(torch.full((2,), 3.0))
    reveal_type(torch.arange(3))
    reveal_type(torch.arange(0, 1, 0.1))
    reveal_type(torch.rand(2, 3, generator=torch.Generator().manual_seed(0)))
    reveal_type(torch.randn(like.size(0), 2))
    reveal_type(torch.randint(0, 9, (2, 3)))
    reveal_type(torch.zeros_like(like))
    reveal_type(torch.from_numpy(like.numpy()))
    reveal_type(torch.as_tensor([1, 2], dtype=torch.float))
    reveal_type(like.to(device))
    reveal_type(like.to("cpu", torch.float16))
    reveal_type(like.to(dtype=torch.bfloat16, non_blocking=True))
    reveal_type(like.to(like))
    reveal_type(like.float())
    reveal_type(like.int())
    reveal_type(like.type(torch.long))
    reveal_type(like.cpu().detach().clone())
    reveal_type(like.requires_grad_())
    reveal_type(torch.float32)
    reveal_type(torch.device("cuda:0"))
    reveal_type(torch.get_default_dtype())
    reveal_type(torch.finfo(torch.float32).eps)
    reveal_type(torch.manual_seed(0))
    reveal_type(torch.is_grad_enabled())
    reveal_type(torch.cuda.is_available())


def layers(x: Tensor, target: Tensor, weight: Tensor) -> None:
    reveal_type(F.cross_entropy(x, target, weight=weight, reduction="sum"))
    reveal_type(F.mse_loss(x, target))
    reveal_type(F.softmax(x, dim=-1))
    reveal_type(F.log_softmax(x, dim=1, dtype=torch.float32))
    reveal_type(F.linear(x, weight))
    reveal_type(F.conv2d(x, weight, None, stride=2, padding=(1, 1)))
    reveal_type(F.max_pool2d(x, 2))
    reveal_type(F.avg_pool2d(x, (2, 2), stride=1))
    reveal_type(F.adaptive_avg_pool2d(x, (1, None)))
    reveal_type(F.dropout(x, 0.5, training=False))
    reveal_type(F.layer_norm(x, (3,), weight))
    reveal_type(F.batch_norm(x, None, None, training=True))
    reveal_type(F.embedding(target, weight, padding_idx=0))
    reveal_type(F.interpolate(x, scale_factor=2, mode="nearest"))
    reveal_type(F.pad(x, (1, 1), value=0.0))
    reveal_type(F.one_hot(target, num_classes=3))
    reveal_type(F.normalize(x, dim=1))
    reveal_type(F.scaled_dot_product_attention(x, x, x, is_causal=True))
    reveal_type(nn.Linear(2, 3).forward(x))
    reveal_type(nn.Conv2d(1, 2, kernel_size=3, padding=1).forward(x))
    reveal_type(nn.Conv2d(1, 2, 3).kernel_size)
    reveal_type(nn.Embedding(3, 2).embedding_dim)
    reveal_type(nn.BatchNorm2d(3).running_mean)
    reveal_type(nn.CrossEntropyLoss().forward(x, target))
    reveal_type(nn.LSTM(2, 3).hidden_size)
    reveal_type(nn.utils.clip_grad_norm_([x], 1.0))
    reveal_type(nn.init.xavier_uniform_(x))


def batches(loader: DataLoader[tuple[Tensor, Tensor]]) -> Iterator[tuple[Tensor, Tensor]]:
    for x, y in loader:
        reveal_type(x)
        yield x, y.float()


def train(epochs: int = 2) -> float:
    data = Squares(32)
    loader = DataLoader(data, batch_size=8, shuffle=True)
    reveal_type(data[0])
    reveal_type(loader.batch_size)
    reveal_type(TensorDataset(data.inputs)[0])
    reveal_type(random_split(data, [24, 8]))
    model = Net(4).to("cpu")
    reveal_type(model)
    reveal_type(model.train().eval())
    reveal_type(model.training)
    reveal_type(model.predict)
    reveal_type(model.predict(torch.ones(1, 1), 0.5))
    reveal_type(model.state_dict())
    reveal_type(list(model.parameters()))
    reveal_type(dict(model.named_parameters()))
    optimizer = optim.Adam(model.parameters(), lr=1e-2, betas=(0.9, 0.99))
    scheduler = StepLR(optimizer, step_size=1, gamma=0.5)
    reveal_type(optimizer.param_groups)
    reveal_type(optimizer.state_dict())
    reveal_type(scheduler.get_last_lr())
    total = 0.0
    for _ in range(epochs):
        for x, y in batches(loader):
            optimizer.zero_grad(set_to_none=True)
            loss = F.mse_loss(model(x), y)
            reveal_type(loss)
            reveal_type(loss.backward())
            optimizer.step()
            total += loss.item()
        scheduler.step()
    with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
        reveal_type(model(torch.ones(1, 1)))
    model.load_state_dict(model.state_dict(), strict=True)
    return total


def parts(model: Net, loss: Tensor) -> None:
    reveal_type(model.missing)
    reveal_type(model.layers[0])
    reveal_type(model.layers[:1])
    reveal_type(model.body[:1])
    reveal_type(nn.ModuleDict({"a": model})["a"])
    reveal_type(list(model.children()))
    reveal_type(dict(model.named_modules()))
    reveal_type(torch.autograd.grad(loss, list(model.parameters())))
    reveal_type(torch.func.grad(model))
    reveal_type(torch.vmap(model))
    reveal_type(torch.compile(model))
    reveal_type(torch.load("model.pt"))
    reveal_type(torch.save(model.state_dict(), "model.pt"))
    reveal_type(torch.nn.utils.parameters_to_vector(model.parameters()))
    reveal_type(torch.linalg.norm(loss))
    reveal_type(torch.fft.fft(loss))
    reveal_type(torch.special.erf(loss))


@torch.no_grad()
def evaluated(model: Net, x: Tensor) -> Tensor:
    return model.predict(x, 0.5)


@torch.inference_mode()
def counted(x: Tensor) -> int:
    return int(x.sum().item())


class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx: torch.autograd.function.FunctionCtx, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return x**3


reveal_type(evaluated)
reveal_type(counted)

if __name__ == "__main__":
    train()
