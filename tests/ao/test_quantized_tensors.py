"""Quantized tensors: properties, data movement, arithmetic, files, and the errors of everything else, which contain the operation's name.
"""
from __future__ import annotations

import copy
import io
import pickle
import warnings
from typing import Any

import numpy as np
import pytest
import torch as real_torch

import mstorch
from mstorch._src.serialization import adapter

pytestmark = pytest.mark.on_the_cpu  # bits, texts and files of a device's tensors are tested in tests/ao/test_anywhere.py

NUMBERS = np.random.RandomState(0).randn(2, 3).astype(np.float32)


def names(torch: Any) -> dict[str, Any]:
    """Return the variables of the expressions below."""
    x = torch.tensor(NUMBERS)
    return {
        "torch": torch, "copy": copy, "x": x, "q": torch.quantize_per_tensor(x, 0.1, 3, torch.quint8),
        "q8": torch.quantize_per_tensor(x, 0.1, 0, torch.qint8), "q32": torch.quantize_per_tensor(x, 0.1, 0, torch.qint32),
        "c": torch.quantize_per_channel(x, torch.tensor([0.1, 0.2, 0.3]), torch.tensor([0, 1, 2]), 1, torch.qint8),
        "cf": torch.quantize_per_channel(x, torch.tensor([0.1, 0.2]), torch.tensor([0.0, 1.5]), 0, torch.quint8),
        "e": torch.quantize_per_tensor(torch.tensor([]), 0.1, 0, torch.qint8),
        "s": torch.quantize_per_tensor(torch.tensor(1.5), 0.1, 0, torch.qint8),
    }  # fmt: skip


SAID = """
q | q8 | q32 | c | cf | e | s | torch.quantize_per_tensor(torch.ones(20, 20), .1, 0, torch.qint8) | torch.quantize_per_tensor(x, 0., 0, torch.qint8)
torch.quantize_per_tensor_dynamic(x, torch.quint8, False) | torch.quantize_per_tensor_dynamic(x, torch.qint8, True)
torch.quantize_per_tensor_dynamic(x, torch.float16, True) | torch.quantize_per_tensor(x, torch.tensor(.1), torch.tensor(3), torch.quint8)
torch.quantize_per_tensor([x, x], torch.tensor([.1, .2]), torch.tensor([3, 4]), torch.quint8) | torch.quantize_per_tensor(x, -1., 0, torch.qint8)
c.qscheme(), cf.qscheme(), q.qscheme() | c.q_per_channel_scales(), c.q_per_channel_zero_points(), c.q_per_channel_axis()
cf.q_per_channel_scales(), cf.q_per_channel_zero_points() | q.q_scale(), q.q_zero_point() | q.int_repr(), q8.int_repr(), q32.int_repr()
torch.int_repr(q) | q.dequantize(), c.dequantize(), cf.dequantize() | torch.dequantize(q) | torch.dequantize([q, c])
q.dtype, q.shape, q.stride(), q.is_quantized, q.device, q.layout, q.requires_grad, q.numel(), q.element_size(), q.is_contiguous()
q.storage_offset(), q.itemsize, q.nbytes, q.is_floating_point(), q.is_complex(), q.type(), q.untyped_storage().nbytes(), len(q), q.dim()
q.mean() | q.max() | q.min() | torch.relu(q8) | q.relu() | q.relu_() | torch.sigmoid(q) | torch.tanh(q) | torch.sigmoid(q8) | torch.tanh(q8)
q == q | q == 1.0 | q < 0.5 | q.equal(q) | torch.equal(q, q8) | torch.equal(q, q.clone()) | q[0] | c[0] | c[:, 0] | q[0, 1] | q[0, 1].item()
q.t() | q.permute(1, 0) | q.transpose(0, 1) | q.view(6) | q.reshape(3, 2) | q.flatten() | q.unsqueeze(0) | c.unsqueeze(0) | q.squeeze()
q.expand(2, 2, 3) | q.contiguous() is q | c.clone() | q.detach() | q.cpu() is q | q.to('cpu') is q | q.copy_(x) | q.fill_(1.0) | c.fill_(1.0)
torch.cat([q, q]) | torch.stack([q, q]) | torch.chunk(q, 2) | torch.split(q, 1) | q.select(0, 1) | q.narrow(1, 0, 2) | list(q) | bool(q[0, 0])
q.index_select(0, torch.tensor([1, 0])) | q[torch.tensor([1, 0])] | q.masked_fill(torch.tensor(True), 0.) | q.clamp(0., 1.)
torch.nn.functional.relu(q) | torch.nn.functional.max_pool2d(q.view(1, 1, 2, 3), 2) | torch.nn.functional.avg_pool2d(q.view(1, 1, 2, 3), 2)
torch.nn.functional.adaptive_avg_pool2d(q.view(1, 1, 2, 3), 1) | torch.nn.functional.interpolate(q.view(1, 1, 2, 3), scale_factor=2)
torch.nn.functional.pad(q, (1, 1)) | torch.topk(q, 1) | torch.sort(q) | torch.empty_like(q).q_scale() | torch.ones_like(q) | copy.copy(q)
copy.deepcopy(c) | q.new_empty(2).dtype | torch._empty_affine_quantized([2], scale=.1, zero_point=0, dtype=torch.qint8).shape
torch._make_per_tensor_quantized_tensor(torch.tensor([1, 2], dtype=torch.int8), .1, 0) | x.dequantize() | torch.empty_quantized((2,), q).shape
torch._make_per_channel_quantized_tensor(torch.tensor([1, 2], dtype=torch.int8), torch.tensor([.1, .2]), torch.tensor([0, 1]), 0)
[(torch.iinfo(k).min, torch.iinfo(k).max, torch.iinfo(k).bits) for k in (torch.qint8, torch.quint8, torch.qint32)]
torch.quantize_per_tensor(torch.tensor([.05, .15, .25, float('nan'), float('inf'), -float('inf'), 1e30]), .1, 0, torch.qint8).int_repr()
torch.quantize_per_tensor(torch.tensor([.05, .15, .25, float('nan'), float('inf'), -float('inf'), 1e30]), .1, 0, torch.qint32).int_repr()
"""
REFUSED = """
torch.quantize_per_tensor_dynamic(x, torch.qint32, True) | torch.quantize_per_tensor(x.double(), .1, 0, torch.qint8) | q.is_signed()
torch.quantize_per_tensor(x.long(), .1, 0, torch.qint8) | torch.quantize_per_tensor(x, .1, 0, torch.int8) | q.requires_grad_()
torch.quantize_per_tensor(x, .1, 0.5, torch.qint8) | torch.quantize_per_tensor(x, .1, 300, torch.qint8) | q.__bool__() | q.to(torch.qint8)
torch.quantize_per_channel(x, torch.tensor([.1, .2]), torch.tensor([0, 1, 2]), 1, torch.qint8) | c.q_scale() | c.q_zero_point()
torch.quantize_per_channel(x, torch.tensor([.1, .2, .3]), torch.tensor([0, 1, 2]), 3, torch.qint8) | q.q_per_channel_scales()
torch.quantize_per_channel(x, torch.tensor([.1, .2]), torch.tensor([0, 1]), 1, torch.qint8) | torch.allclose(q, q) | q.item() | q.tolist()
q.numpy() | c.t() | c.permute(1, 0) | c.transpose(0, 1) | q.to(torch.float32) | q.float() | q.copy_(q8) | x.clone().copy_(q)
torch.cat([q, q8]) | x + q | x * q | torch._empty_affine_quantized([2], scale=.1, zero_point=0)
torch._make_per_tensor_quantized_tensor(torch.tensor([1, 2]), .1, 0) | x.int_repr() | x.q_scale() | x.qscheme()
"""
ABSENT = (
    "q+q|q*q|-q|q@q.t()|q.sum()|q.abs()|torch.exp(q)|torch.zeros_like(q)|torch.rand_like(q)|q.new_zeros(2)|q.zero_()|q.add_(q)|q.storage()|"
    "torch.quantize_per_tensor(q, .1, 0, torch.qint8)|q.sub(1)|torch.matmul(x, q8)|torch.nn.functional.linear(x, q8)|q.std()|q.cumsum(0)"
).split("|")


def expressions(text: str) -> list[str]:
    return [part.strip() for line in text.strip().split("\n") for part in line.split(" | ")]


def text_of(value: Any) -> str:
    return repr(value).replace("mstorch", "torch")


@pytest.mark.parametrize("expression", expressions(SAID))
def test_is_torchs(expression: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        want, got = (text_of(eval(expression, names(torch))) for torch in (real_torch, mstorch))
    assert want == got


@pytest.mark.parametrize("expression", expressions(REFUSED))
def test_is_refused_as_in_torch(expression: str) -> None:
    found = []
    for torch in (real_torch, mstorch):
        with pytest.raises(Exception) as caught:
            eval(expression, names(torch))
        found.append((caught.type.__name__, str(caught.value).split("\n")[0][:50]))
    assert found[0] == found[1]


@pytest.mark.parametrize("expression", ABSENT)
def test_is_absent_by_name(expression: str) -> None:
    with pytest.raises(NotImplementedError, match="Could not run 'aten::"):
        eval(expression, names(mstorch))


def test_packed_bits_are_not_built() -> None:
    with pytest.raises(NotImplementedError, match="quint4x2"):
        mstorch.quantize_per_tensor(mstorch.ones(2), 0.1, 0, mstorch.quint4x2)


def _same_integers(make: Any, word: str) -> None:
    want, got = make(real_torch), make(mstorch)
    for part in ("int_repr", "dequantize"):
        a, b = (getattr(item, part)().numpy() for item in (want, got))
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a, b, err_msg=f"{word} {part}")


@pytest.mark.parametrize(("kind", "low", "high"), [("qint8", -128, 127), ("quint8", 0, 255), ("qint32", -1000, 1000)])
def test_integers(kind: str, low: int, high: int) -> None:
    draw = np.random.RandomState(0)
    for seed in range(60):
        x = np.concatenate([draw.randn(100) * 10, (draw.randint(-300, 300, 100) + 0.5) * 0.1]).astype(np.float32).reshape(4, 50)
        scale, point = float(draw.choice([0.1, 0.05, draw.rand() + 0.001])), int(draw.randint(low, high + 1))
        _same_integers(lambda t: t.quantize_per_tensor(t.tensor(x), scale, point, getattr(t, kind)), f"{scale} {point}")
        axis = seed % 2
        scales = (draw.rand(x.shape[axis]) + 0.01).astype([np.float32, np.float64][seed % 2])
        points = draw.randint(low, high + 1, x.shape[axis])
        _same_integers(
            lambda t: t.quantize_per_channel(t.tensor(x), t.tensor(scales), t.tensor(points), axis, getattr(t, kind)), "channels"
        )
        if kind != "qint32":
            floating = (points + 0.3).astype(np.float32)
            _same_integers(
                lambda t: t.quantize_per_channel(t.tensor(x), t.tensor(scales), t.tensor(floating), axis, getattr(t, kind)), "floating"
            )
            for reduced in (False, True):
                _same_integers(lambda t: t.quantize_per_tensor_dynamic(t.tensor(x), getattr(t, kind), reduced), "dynamic")


def test_views_show_the_same_memory() -> None:
    q = names(mstorch)["q"]
    q[0].fill_(1.0)
    q.view(6)[5:].fill_(0.5)
    want = names(real_torch)["q"]
    want[0].fill_(1.0)
    want.view(6)[5:].fill_(0.5)
    assert text_of(q) == text_of(want)


MAKERS = {
    "tensor": lambda t: names(t)["q"], "channels": lambda t: names(t)["c"], "floating": lambda t: names(t)["cf"],
    "window": lambda t: names(t)["q32"][1:], "turned": lambda t: names(t)["q"].t(), "single": lambda t: names(t)["s"],
}  # fmt: skip


@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize("zipped", [True, False])
@pytest.mark.parametrize("weights_only", [True, False])
def test_files_both_ways(name: str, zipped: bool, weights_only: bool) -> None:
    for writer, reader in ((real_torch, mstorch), (mstorch, real_torch), (mstorch, mstorch)):
        file = io.BytesIO()
        writer.save({"q": MAKERS[name](writer), "kind": writer.qint8, "scheme": writer.per_tensor_affine}, file,
                    _use_new_zipfile_serialization=zipped)  # fmt: skip
        file.seek(0)
        found = reader.load(file, weights_only=weights_only)
        assert text_of(found["q"]) == text_of(MAKERS[name](reader))
        assert found["q"].stride() == MAKERS[name](reader).stride()
        assert found["kind"] is reader.qint8 and found["scheme"] is reader.per_tensor_affine


def test_pickles_and_copies() -> None:
    for make in MAKERS.values():
        q = make(mstorch)
        assert text_of(pickle.loads(pickle.dumps(q))) == text_of(q)
        copied = copy.deepcopy(q)
        assert text_of(copied) == text_of(q) and copied.data_ptr() != q.data_ptr()
    for scheme in (mstorch.per_tensor_affine, mstorch.per_channel_symmetric):
        assert copy.deepcopy(scheme) is scheme and pickle.loads(pickle.dumps(scheme)) is scheme


@pytest.mark.parametrize("parts", ["(1.0,)", "(s, 'x', 0)", "(s, 0.1, 2.5)", "(c, [0.1], [0], 5)", "(c, [0.1], [0], 0)", "(m, 0.1, 0)", "()"])
def test_files_that_say_wrong_things_are_refused(parts: str) -> None:
    schemes = {"s": mstorch.per_tensor_affine, "c": mstorch.per_channel_affine, "m": mstorch.per_tensor_symmetric}
    with pytest.raises(RuntimeError, match="quantized tensor"):
        adapter.build_quantized(mstorch.zeros(2, 3, dtype=mstorch.int8), "qint8", eval(parts, schemes), False)


@pytest.mark.parametrize("view", [
    "q.ravel()", "q.view(-1)", "q.t()", "q[0]", "q[1:]", "q.reshape(6)", "q.unsqueeze(0)", "q.select(0, 1)", "q.chunk(2)[1]", "q[0][1:]",
    "q.as_strided((2, 2), (1, 1))", "q.detach()", "q.clone()", "q.int_repr()", "q.contiguous()", "q.t().contiguous()", "q.expand(2, 2, 3)",
])  # fmt: skip
def test_views_know_their_base(view: str) -> None:
    found = []
    for torch in (real_torch, mstorch):
        q = torch.quantize_per_tensor(torch.arange(6.0).view(2, 3), 0.5, 3, torch.quint8)
        shown = eval(view, {"q": q})
        found.append((shown._is_view(), shown._base is q, shown._base is None))
    assert found[0] == found[1]
