"""More programs for TorchScript's archives: numbers, texts, and operators by the dozen."""
import math
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tests.jit.torchscript_samples import scripted


class Scalars(nn.Module):
    def forward(self, a: int, b: float, flag: bool) -> list[float]:
        out = [a / 3, a // 4 * 1.0, a % 4 * 1.0, b // 0.7, b % 0.7, a**2, b**0.5, float(-7 // 2), float(-7 % 3), math.sqrt(b), math.floor(b) * 1.0]
        out += [float(int(b)), float(round(b)), float(abs(-a)), float(max(a, 3)), min(b, 1.5), float(a << 2), float(a & 6), float(a ^ 5)]
        out += [float(not flag), float(flag and a > 3 or b < 0), math.sin(b), math.log(b), math.exp(b), math.atan2(b, 2.0), math.fmod(b, 0.4), math.pi]
        out += [float(divmod(a, 3)[0]), float(a == 7), float(a != 7), float(1 <= a < 9), float(bool(a)), float(int("12") + int(flag)), float("1e-3")]
        return out


@scripted
def scalars() -> Any:
    return Scalars(), (7, 2.3, True)


class Texts(nn.Module):
    def forward(self, text: str, n: int, x: float) -> list[str]:
        out = [text.upper(), text[1:3], text.replace("a", "b"), f"{n} and {x}", f"{n}:{text}", "-".join(["a", "b", text])]
        out += text.split(",") + [text.strip(), str(n), str(x), str([n, 2]), text + text, text[-1], str(text.startswith("a")), str(len(text)), text.title()]
        out += [text.lower().capitalize(), str(text.find(",")), str("," in text), text.center(12, "*"), text.zfill(9), str(1.0), str(1e-7), str(True), str(None)]
        return out


@scripted
def texts() -> Any:
    return Texts(), ("ab,Cd", 3, 2.5)


class Indexing(nn.Module):
    def forward(self, x: Tensor, where: Tensor, mask: Tensor) -> list[Tensor]:
        y = x.clone()
        y[0] = 1.0
        y[:, 1:3] += 2
        y[mask] = -1
        y[where, 0] = x[where, 1]
        z = x[..., None, ::2]
        return [y, z, x[1:, -1], x[where], x[mask], x[:, where], x[None, 0], x[-1].view(-1)[2:], x.masked_fill(mask, 0.0), x.index_select(0, where)]


@scripted
def indexing() -> Any:
    return Indexing(), (torch.randn(4, 5), torch.tensor([0, 2]), torch.rand(4, 5) > 0.5)


class Factories(nn.Module):
    def forward(self, x: Tensor) -> list[Tensor]:
        n = x.size(0)
        return [
            torch.zeros(n, 2), torch.ones_like(x, dtype=torch.float64), torch.arange(n), torch.arange(0, 1, 0.25), torch.linspace(0, 1, n), torch.eye(n),
            torch.full([n, 1], 3), torch.tensor(x.shape), torch.tensor([[1, n]]), torch.empty(0), x.new_zeros([2]), x.to(torch.int32), x.to(torch.bool),
            torch.zeros([n], dtype=x.dtype, device=x.device), x.double(), torch.as_tensor(n), torch.tensor(True), x.type_as(torch.ones(1).half()),
            torch.rand_like(x) * 0, x.long(), x.contiguous(memory_format=torch.contiguous_format), torch.full_like(x, 2.0),
        ]  # fmt: skip


@scripted
def factories() -> Any:
    return Factories(), (torch.randn(3, 4),)


class Reductions(nn.Module):
    def forward(self, x: Tensor) -> list[Tensor]:
        values, indices = x.max(dim=1)
        top, where = torch.topk(x, 2, dim=1)
        ordered, order = x.sort(dim=1, descending=True)
        least = torch.min(x, 0)
        return [
            x.sum(), x.mean(1, keepdim=True), x.std(0), x.var(unbiased=False), x.prod(1), values, indices, top, where, ordered, order, least[0], least.indices,
            x.argmax(), x.argmin(1), x.norm(), x.cumsum(0), torch.logsumexp(x, 1), (x > 0).any(), (x > 0).all(1), x.median(), x.amax([0, 1]), x.abs().max(),
            torch.einsum("ij,ik->jk", x, x), x @ x.t(), torch.matmul(x, x.T), torch.bmm(x[None], x.t()[None]), F.normalize(x, dim=1), x.flatten(), x.numel() * x[0],
        ]  # fmt: skip


@scripted
def reductions() -> Any:
    return Reductions(), (torch.randn(3, 4),)


class Shapes(nn.Module):
    def forward(self, x: Tensor) -> list[Tensor]:
        a, b = x.chunk(2, dim=1)
        parts = x.split([1, 3], dim=1)
        return [
            a, b, parts[1], x.view(-1, 2), x.reshape(x.shape[0], -1, 2), x.permute(1, 0), x.transpose(0, 1), x.unsqueeze(-1).expand(-1, -1, 2), x.repeat(2, 1),
            torch.cat([x, x], 1), torch.stack((a, b)), x.roll(1, 0), x.flip([0]), F.pad(x, [1, 1], value=2.0), x.tril(), torch.where(x > 0, x, -x), x.squeeze(),
            x.gather(1, torch.zeros_like(x, dtype=torch.long)), torch.meshgrid([torch.arange(2), torch.arange(3)], indexing="ij")[1], x.unfold(1, 2, 1),
            x.clamp(min=0.1), x.clamp(-1, 1), x.unflatten(1, [2, 2]), torch.broadcast_tensors(x, x[:1])[1], x.narrow(1, 0, 2), x.movedim(0, 1), x.diagonal(),
        ]  # fmt: skip


@scripted
def shapes() -> Any:
    return Shapes(), (torch.randn(3, 4),)


class Functions(nn.Module):
    def forward(self, x: Tensor, target: Tensor) -> list[Tensor]:
        image = x.view(1, 1, 4, 6)
        return [
            F.cross_entropy(x, target, label_smoothing=0.1), F.mse_loss(x, x * 2), F.nll_loss(x.log_softmax(1), target), F.smooth_l1_loss(x, x + 2),
            F.binary_cross_entropy_with_logits(x, x.sigmoid()), F.kl_div(x.log_softmax(1), x.softmax(1), reduction="batchmean"), F.dropout(x, 0.5, training=False),
            F.interpolate(image, scale_factor=[2.0, 2.0], mode="bilinear", align_corners=True), F.interpolate(image, size=[3, 3]), F.avg_pool2d(image, 2),
            F.interpolate(image, size=[7, 7], mode="bicubic", antialias=True, align_corners=False), F.unfold(image, [2, 2]), F.softplus(x), F.leaky_relu(x, 0.2),
            F.hardtanh(x), F.glu(x), F.pad(image, [1, 1, 1, 1], mode="reflect"), F.adaptive_max_pool2d(image, [2, 2]), F.cosine_similarity(x, x + 1), F.one_hot(target, 6),
            F.grid_sample(image, torch.zeros(1, 2, 2, 2), align_corners=False), F.scaled_dot_product_attention(image, image, image), F.layer_norm(x, [6]), F.mish(x),
            F.gelu(x, approximate="tanh"), F.local_response_norm(image, 2), F.pairwise_distance(x, x + 1), F.logsigmoid(x), F.celu(x), F.max_pool2d(image, [2, 2], stride=1),
        ]  # fmt: skip


@scripted
def functions() -> Any:
    return Functions(), (torch.randn(4, 6), torch.tensor([0, 2, 1, 5]))


class Divisions(nn.Module):
    def forward(self, x: Tensor, y: Tensor) -> list[Tensor]:
        return [x / y, x / 2, y / 2.0, torch.div(x, y), (x * 3) / y.float(), x.clone().div_(2) if x.is_floating_point() else x / y]


@scripted
def divisions() -> Any:
    return Divisions(), (torch.tensor([7, -7, 9]), torch.tensor([2, 2, -4]))
