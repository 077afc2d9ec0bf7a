# ruff: noqa: UP006, UP035
"""Scripts of layers and of functions of ``nn.functional``, as those of ``script_samples``."""
from typing import Any, List, Tuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tests.jit.script_samples import R, sample


class Layers(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.circular = nn.Conv2d(2, 3, 3, padding=1, padding_mode="circular")
        self.same = nn.Conv2d(3, 4, 3, padding="same", dilation=2, bias=False)
        self.up = nn.ConvTranspose2d(4, 4, 3, stride=2, padding=1)
        self.line, self.cube = nn.Conv1d(4, 2, 3), nn.Conv3d(1, 1, 2)
        self.norms = nn.ModuleList([nn.BatchNorm2d(4, affine=False), nn.BatchNorm2d(4, track_running_stats=False), nn.BatchNorm2d(4, momentum=None), nn.InstanceNorm2d(4, affine=True), nn.InstanceNorm2d(4, track_running_stats=True)])
        self.pool, self.unpool = nn.MaxPool2d(2, return_indices=True), nn.MaxUnpool2d(2)
        self.group, self.rms = nn.GroupNorm(2, 4), nn.RMSNorm(4)

    def forward(self, x: Tensor) -> List[Tensor]:
        x = self.same(self.circular(x))
        y = self.up(x, output_size=[16, 16])
        for norm in self.norms:
            y = norm(y)
        z, where = self.pool(y)
        back = self.unpool(z, where)
        return [y, self.up(x), z, back, self.line(y.flatten(2)), self.cube(y[:, :1, None].repeat(1, 1, 3, 1, 1)), self.group(y), self.rms(y.movedim(1, -1))]


@sample
def layers() -> Any:
    return Layers(), (R(2, 2, 8, 8),)


@sample
def layers_at_rest() -> Any:
    return Layers().eval(), (R(2, 2, 8, 8),)


ACTIVATIONS = [
    nn.ReLU(), nn.ReLU6(), nn.Hardtanh(-2, 2), nn.Hardswish(), nn.Hardsigmoid(), nn.SiLU(), nn.Mish(), nn.SELU(), nn.CELU(0.5), nn.ELU(0.5), nn.LeakyReLU(0.1),
    nn.Threshold(0.1, 0.2), nn.Softplus(), nn.Softsign(), nn.Tanhshrink(), nn.Softshrink(), nn.Hardshrink(), nn.LogSigmoid(), nn.Sigmoid(), nn.Tanh(), nn.GELU(),
    nn.GELU(approximate="tanh"), nn.PReLU(4), nn.Softmax(1), nn.LogSoftmax(-1), nn.Softmin(1), nn.RReLU().eval(), nn.Dropout(0.5).eval(), nn.AlphaDropout().eval(), nn.GLU(1),
]  # fmt: skip


class Activated(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(ACTIVATIONS)

    def forward(self, x: Tensor) -> List[Tensor]:
        return [layer(x) for layer in self.layers]


@sample
def activations() -> Any:
    return Activated(), (R(3, 4),)


class Images(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([
            nn.AvgPool2d(2), nn.MaxPool2d(3, stride=2, padding=1), nn.AdaptiveAvgPool2d((2, None)), nn.AdaptiveMaxPool2d(3), nn.LPPool2d(2, 2), nn.ZeroPad2d(1), nn.ReflectionPad2d((1, 2, 1, 0)),
            nn.ReplicationPad2d(1), nn.ConstantPad2d(1, 2.5), nn.PixelShuffle(2), nn.PixelUnshuffle(2), nn.Upsample(scale_factor=2, mode="bilinear"), nn.Upsample(size=(5, 7)),
            nn.UpsamplingNearest2d(scale_factor=2), nn.ChannelShuffle(2), nn.Unfold(2), nn.Flatten(1), nn.LocalResponseNorm(3), nn.Identity(), nn.Dropout2d().eval(), nn.Softmax2d(),
        ])  # fmt: skip

    def forward(self, x: Tensor) -> List[Tensor]:
        out = [layer(x) for layer in self.layers]
        out.append(F.interpolate(x, scale_factor=1.5, mode="bicubic", align_corners=False))
        out.append(F.interpolate(x, size=3, mode="area"))
        out.append(F.pad(x, (1, 1, 1, 1), mode="circular"))
        out.append(F.normalize(x, p=2.0, dim=1) + F.max_pool2d(x, kernel_size=3, stride=1, padding=1))
        out.append(F.fold(F.unfold(x, 2), output_size=(8, 8), kernel_size=2))
        out.append(F.grid_sample(x, F.affine_grid(torch.eye(2, 3)[None].repeat(x.size(0), 1, 1), list(x.size()), align_corners=True), align_corners=True))
        return out


@sample
def images() -> Any:
    return Images(), (R(2, 4, 8, 8),)


class Losses(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.pairs = nn.ModuleList([nn.MSELoss(), nn.L1Loss(reduction="sum"), nn.SmoothL1Loss(), nn.HuberLoss(delta=0.5), nn.BCEWithLogitsLoss(), nn.PoissonNLLLoss(), nn.SoftMarginLoss(), nn.KLDivLoss(reduction="batchmean")])
        self.classes = nn.ModuleList([nn.CrossEntropyLoss(label_smoothing=0.1, weight=torch.tensor([1.0, 2.0, 3.0])), nn.MultiMarginLoss(), nn.CrossEntropyLoss(ignore_index=1)])
        self.triplet, self.cosine = nn.TripletMarginLoss(), nn.CosineEmbeddingLoss(margin=0.1)
        self.nll, self.bce, self.distance = nn.NLLLoss(), nn.BCELoss(), nn.PairwiseDistance()

    def forward(self, x: Tensor, y: Tensor, target: Tensor) -> List[Tensor]:
        out = [loss(x, y) for loss in self.pairs] + [loss(x, target) for loss in self.classes]
        out.append(self.triplet(x, y, x + 1))
        out.append(self.cosine(x, y, torch.ones(x.size(0))))
        out.append(self.nll(F.log_softmax(x, dim=1), target) + self.bce(torch.sigmoid(x), y))
        return out + [self.distance(x, y)]


@sample
def losses() -> Any:
    return Losses(), (R(4, 3), torch.rand(4, 3), torch.tensor([0, 2, 1, 1]))


class Bags(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.bag = nn.EmbeddingBag(10, 3, mode="sum")
        self.mean = nn.EmbeddingBag(10, 3)
        self.words = nn.Embedding(10, 3, padding_idx=-1)
        self.bilinear, self.cosine = nn.Bilinear(3, 3, 2), nn.CosineSimilarity(dim=1)

    def forward(self, words: Tensor, flat: Tensor, starts: Tensor, weights: Tensor) -> List[Tensor]:
        x = self.mean(words)
        return [x, self.bag(flat, starts, weights), self.words(words), self.bilinear(x, x), self.cosine(x, x + 1), F.one_hot(words, 10), F.embedding(words, self.words.weight)]


@sample
def embeddings() -> Any:
    return Bags(), (torch.tensor([[1, 2], [3, 9]]), torch.tensor([1, 2, 3]), torch.tensor([0, 2]), torch.rand(3))


class Signals(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("window", torch.hann_window(8))

    def forward(self, wave: Tensor) -> Tuple[Tensor, Tensor, complex]:
        spectrum = torch.stft(wave, 8, hop_length=4, window=self.window, return_complex=True)
        power = spectrum.abs().pow(2.0)
        again = torch.istft(spectrum, 8, 4, window=self.window, length=wave.size(-1))
        return torch.log(power + 1e-6), again, complex(1, 2) * 2


@sample
def signals() -> Any:
    return Signals(), (R(2, 32),)
