"""TorchScript archives that mstorch writes of traced modules: real torch loads them, and computes the same."""
from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import mstorch
from mstorch import nn
from tests.against_torch import same
from tests.jit.test_torchscript_archives import loss

pytestmark = pytest.mark.filterwarnings("ignore")
R = mstorch.randn


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)

    def forward(self, x: Any, padded: Any) -> Any:
        causal = mstorch.triu(mstorch.ones(x.size(1), x.size(1)), 1).bool()
        return self.attention(x, x, x, key_padding_mask=padded, attn_mask=causal)


class Indices(nn.Module):
    def forward(self, x: Any, i: Any) -> Any:
        y = x.clone()
        y[0] = 1.0
        y[:, 1] = y[:, 2] * 2
        y[i] = 0.5
        y[y > 1] = -1.0
        return y, x[i], x[..., None, -1], x[:, None, 1 : x.size(1) - 1 : 2], x[x > 0], x.max(1), x.sum((0, 1)), mstorch.cat([x, y], 0), x.chunk(2, 1), x.data


class Sampled(nn.Module):
    def forward(self, x: Any) -> Any:
        wide = nn.functional.interpolate(x, scale_factor=2, mode="bilinear")
        small = nn.functional.interpolate(wide, size=x.shape[-2:], mode="bicubic", align_corners=True)
        grid = mstorch.zeros(x.size(0), 3, 3, 2)
        return (
            wide, small, nn.functional.interpolate(x, size=(5, 7)), nn.functional.normalize(x), nn.functional.pad(x, (1, 2), value=3.0),
            nn.functional.unfold(x, 2), nn.functional.grid_sample(x, grid),
        )  # fmt: skip


class Arithmetic(nn.Module):
    def forward(self, x: Any) -> Any:
        rows = mstorch.arange(x.size(1)).float().unsqueeze(0).expand(x.size(0), -1)
        return (
            x.float() * 2 - 1 / x + 2**x - x // 2, rows, mstorch.zeros(x.size(0), 3), x.mean(1, keepdim=True).double(), mstorch.where(x > 0, x, 0.0),
            mstorch.einsum("bi,bj->bij", x, x), x.reshape(-1), x @ x.T, -x.abs().sqrt().clamp(min=0.1), x.std(1), x.masked_fill(x > 0, float("-inf")),
            mstorch.stack([x, x]), x.topk(2)[0], x.to(mstorch.float16).float(), mstorch.full((2,), float("nan")).isnan(), x.unbind(1)[0],
            x.view(x.size(0), -1, 2).shape[1] + x.numel() * mstorch.ones(1), [x, -x], mstorch.tensor([1, 2]), x.new_zeros(len(x.shape)),
        )  # fmt: skip


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lstm, self.gru, self.rnn, self.cell = nn.LSTM(4, 5, 2, batch_first=True, bidirectional=True), nn.GRU(10, 6, batch_first=True), nn.RNN(6, 3), nn.LSTMCell(3, 3)

    def forward(self, x: Any) -> Any:
        y, (h, c) = self.lstm(x)
        y = self.rnn(self.gru(y)[0])[0]
        return y, h, c, self.cell(y[:, 0])


class Stateful(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm, self.rest = nn.BatchNorm1d(4), nn.ParameterDict({"a-b": mstorch.ones(4)})
        self.register_buffer("calls", mstorch.zeros(1))
        self.register_buffer("hidden", mstorch.ones(1), persistent=False)

    def forward(self, x: Any) -> Any:
        self.calls += 1
        return self.norm(x) * self.calls * self.rest["a-b"] + self.hidden


class Tied(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding, self.output = nn.Embedding(7, 4), nn.Linear(4, 7, bias=False)
        self.output.weight = self.embedding.weight

    def forward(self, x: Any) -> Any:
        return self.output(self.embedding(x))


class Nested(nn.Module):
    def forward(self, pair: Any, table: Any) -> Any:
        (a, b), c = pair, table["key"]
        return {"sum": a + b, "list": c[0] * c[1]}


IMAGES = nn.Sequential(
    nn.Conv2d(3, 4, 3, padding="same"), nn.BatchNorm2d(4), nn.Hardswish(), nn.MaxPool2d(2), nn.ConvTranspose2d(4, 4, 2, 2), nn.GroupNorm(2, 4),
    nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 2), nn.LogSoftmax(1),
)  # fmt: skip
POOLS = nn.Sequential(
    nn.AdaptiveMaxPool2d(4), nn.AvgPool2d(2), nn.InstanceNorm2d(3, affine=True), nn.PReLU(), nn.Upsample(scale_factor=2), nn.PixelShuffle(1), nn.Dropout(0.1), nn.Softplus()
)
HIDDEN = mstorch.tensor([[False, False, True], [False, False, False]])
CASES: dict[str, Callable[[], Any]] = {
    "attention": lambda: (Attention().eval(), (R(2, 3, 8), HIDDEN), (R(3, 4, 8), mstorch.zeros(3, 4).bool())),
    "indices": lambda: (Indices(), (R(3, 4), mstorch.tensor([0, 2])), (R(3, 6), mstorch.tensor([1]))),
    "sampled": lambda: (Sampled(), (R(2, 3, 4, 6),), (R(1, 3, 5, 6),)),
    "arithmetic": lambda: (Arithmetic(), (R(3, 4).abs() + 0.1,), (R(2, 4).abs() + 0.1,)),
    "recurrent": lambda: (Recurrent(), (R(2, 3, 4),), (R(4, 5, 4),)),
    "stateful": lambda: (Stateful(), (R(3, 4),), (R(5, 4),)),
    "tied": lambda: (Tied(), (mstorch.tensor([[1, 2]]),), (mstorch.tensor([[1, 2, 3], [4, 5, 6]]),)),
    "nested": lambda: (Nested(), ((R(2), R(2)), {"key": [R(2), R(2)]}), ((R(3), R(3)), {"key": [R(3), R(3)]})),
    "encoder": lambda: (nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).eval(), (R(2, 3, 8),), (R(3, 5, 8),)),
    "transformer": lambda: (nn.Transformer(8, 2, 1, 1, 16, batch_first=True).eval(), (R(2, 3, 8), R(2, 4, 8)), (R(3, 5, 8), R(3, 2, 8))),
    "images": lambda: (IMAGES.eval(), (R(2, 3, 8, 8),), (R(3, 3, 10, 12),)),
    "pools": lambda: (POOLS.eval(), (R(2, 3, 8, 8),), (R(1, 3, 12, 8),)),
}  # fmt: skip


def theirs(value: Any) -> Any:
    """Return a value of mstorch as one of torch."""
    if isinstance(value, mstorch.Tensor):
        return torch.tensor(value.detach().numpy())
    if isinstance(value, (list, tuple)):
        return type(value)(map(theirs, value))
    return {key: theirs(item) for key, item in value.items()} if isinstance(value, dict) else value


@pytest.mark.parametrize("name", list(CASES))
def test_torch_computes_what_mstorch_writes(name: str) -> None:
    mstorch.manual_seed(0)
    network, args, other = CASES[name]()
    file, traced = io.BytesIO(), mstorch.jit.trace(network, args, strict=False)
    before = {key: value.clone() for key, value in network.named_buffers()}
    mstorch.jit.save(traced, file)
    assert all(mstorch.equal(value, before[key]) for key, value in network.named_buffers())  # the run that is recorded leaves the state as it was
    program, own = torch.jit.load(io.BytesIO(file.getvalue())), mstorch.jit.load(io.BytesIO(file.getvalue()))
    assert list(program.named_modules())[0][1].original_name == type(network).__name__
    assert [name for name, _ in program.named_modules()] == [name for name, _ in network.named_modules()]
    for given in (args, other):
        want, got = network(*given), program(*theirs(given))
        same(got, want, rtol=1e-4, atol=1e-5, strides=False)
        same(got, own(*given), rtol=1e-4, atol=1e-5, strides=False)
    state = dict(network.named_buffers())
    for key, value in program.state_dict().items():
        if key in state:
            same(value, state[key], rtol=1e-4, atol=1e-5)  # the state that the calls have written
    number, wanted = loss(got), loss(want)
    if number is not None:
        number.backward()
        wanted.backward()
        for key, one in program.named_parameters():
            three = dict(network.named_parameters(remove_duplicate=False))[key]
            assert (one.grad is None) == (three.grad is None) or name == "tied"
            if one.grad is not None and name != "tied":
                np.testing.assert_allclose(three.grad.numpy(), one.grad.numpy(), rtol=1e-3, atol=2e-4, err_msg=key)


def test_functions_extra_files_and_frozen_sizes() -> None:
    file = io.BytesIO()
    mstorch.jit.save(mstorch.jit.trace(lambda x: x * 2 + 1, (R(2),)), file, _extra_files={"a.txt": "text"})
    extra = {"a.txt": ""}
    program = torch.jit.load(io.BytesIO(file.getvalue()), _extra_files=extra)
    assert extra == {"a.txt": b"text"} and program(torch.ones(3)).tolist() == [3.0] * 3
    file = io.BytesIO()
    mstorch.jit.save(mstorch.jit.trace(nn.LocalResponseNorm(2), (R(1, 3, 4, 4),)), file)  # its operators below autograd hold sizes
    for library in (torch, mstorch):
        program = library.jit.load(io.BytesIO(file.getvalue()))
        assert program(library.ones(1, 3, 4, 4)).shape == (1, 3, 4, 4)
        with pytest.raises(library.jit.Error, match=r"the program takes input of size \[1, 3, 4, 4\] alone"):
            program(library.ones(2, 3, 4, 4))


class Foreign(nn.Module):
    def forward(self, x: Any) -> Any:
        return nn.functional.embedding_bag(mstorch.tensor([[0, 1]]), x)


def test_what_cannot_be_written_raises_and_leaves_the_old_file(tmp_path: Any) -> None:
    path = tmp_path / "net.pt"
    path.write_bytes(b"old")
    made = mstorch.jit.trace(Foreign(), (R(2, 3),))
    with pytest.raises(RuntimeError, match=r"torch.jit.save has no form for .*test_written_archives.py:\d+"):
        mstorch.jit.save(made, path)
    assert path.read_bytes() == b"old" and [entry.name for entry in tmp_path.iterdir()] == ["net.pt"]


class Read(nn.Module):
    def forward(self, x: Any) -> Any:
        return x * 2 if x.sum() > 0 else x


@pytest.mark.filterwarnings("default")
def test_values_that_are_read_become_constants_with_a_warning() -> None:
    made = mstorch.jit.trace(Read(), (mstorch.ones(2),))
    with pytest.warns(UserWarning, match=r"A value of .* is read at .*test_written_archives.py:\d+"):
        mstorch.jit.save(made, io.BytesIO())
