"""torchvision's operators against formulas element by element in double precision, without torchvision; and where torchvision looks for them."""
from __future__ import annotations

import math
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import mstorch as torch
from mstorch import companions
from mstorch._companions.torchvision import boxes

vision = torch.ops.torchvision
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True, scope="module")
def _registered():
    assert companions.torchvision.nms is not None


def _kept_one_by_one(dets: np.ndarray, scores: np.ndarray, threshold: float) -> list[int]:
    kept: list[int] = []
    for i in np.argsort(-scores, kind="stable"):
        for j in kept:
            wide, high = (max(0.0, min(dets[i, 2 + axis], dets[j, 2 + axis]) - max(dets[i, axis], dets[j, axis])) for axis in (0, 1))
            areas = [(box[2] - box[0]) * (box[3] - box[1]) for box in (dets[i], dets[j])]
            both = sum(areas) - wide * high
            if both and wide * high / both > threshold:
                break
        else:
            kept.append(int(i))
    return kept


@pytest.mark.parametrize("spread", [1, 10, 100, 1000])
def test_suppression(spread: int) -> None:
    draw = np.random.default_rng(spread)
    for count, threshold in ((0, 0.5), (1, 0.5), (70, 0.0), (150, 0.3), (300, 0.5), (300, 1.0)):
        low = draw.random((count, 2)) * spread
        dets = np.concatenate([low, low + draw.random((count, 2)) * 12], 1)
        scores = draw.random(count).round(2)
        got = vision.nms(torch.tensor(dets), torch.tensor(scores), threshold)
        assert got.dtype is torch.int64 and got.tolist() == _kept_one_by_one(dets, scores, threshold)


def test_both_ways_of_suppression_agree(monkeypatch) -> None:
    draw = np.random.default_rng(1)
    dets = (draw.random((900, 4)) * [300, 300, 20, 20]).astype(np.float32)
    dets[:, 2:] += dets[:, :2]
    dets[::50, 2:] = dets[::50, :2]  # without area
    scores = draw.random(900).astype(np.float32)
    by_pairs = boxes.kept(dets, scores, 0.3)
    monkeypatch.setattr(boxes, "_neighbours", lambda sides: None)
    assert np.array_equal(by_pairs, boxes.kept(dets, scores, 0.3))


def test_suppression_is_fast() -> None:
    draw = np.random.default_rng(2)
    places = draw.random((60, 4)) * [800, 800, 200, 200]
    dets = places[draw.integers(0, 60, 10_000)] + draw.normal(size=(10_000, 4)) * 8
    dets[:, 2:] = np.abs(dets[:, 2:]) + dets[:, :2]
    dets, scores = dets.astype(np.float32), draw.random(10_000).astype(np.float32)
    best = math.inf
    for _ in range(7):
        start = time.process_time()
        boxes.kept(dets, scores, 0.5)
        best = min(best, time.process_time() - start)
    assert best < 0.05


def _bilinear(image: np.ndarray, y: float, x: float) -> np.ndarray:
    """Return the values of (C, H, W) between pixels; zeros further than a pixel outside."""
    high, wide = image.shape[1:]
    if y < -1 or y > high or x < -1 or x > wide:
        return np.zeros(image.shape[0])
    y, x = min(max(y, 0.0), high - 1.0), min(max(x, 0.0), wide - 1.0)
    top, left = math.floor(y), math.floor(x)
    down, right = min(top + 1, high - 1), min(left + 1, wide - 1)
    a, b = y - top, x - left
    upper = (1 - b) * image[:, top, left] + b * image[:, top, right]
    return (1 - a) * upper + a * ((1 - b) * image[:, down, left] + b * image[:, down, right])


def _aligned(images, rois, scale, height, width, samples, aligned):
    out = np.zeros((len(rois), images.shape[1], height, width))
    for k, (number, *sides) in enumerate(rois):
        x1, y1, x2, y2 = (side * scale - (0.5 if aligned else 0) for side in sides)
        size_y, size_x = (y2 - y1, x2 - x1) if aligned else (max(y2 - y1, 1.0), max(x2 - x1, 1.0))
        down, across = (samples, samples) if samples > 0 else (math.ceil(size_y / height), math.ceil(size_x / width))
        for i in range(height):
            for j in range(width):
                for a in range(down):
                    for b in range(across):
                        y = y1 + (i + (a + 0.5) / down) * size_y / height
                        x = x1 + (j + (b + 0.5) / across) * size_x / width
                        out[k, :, i, j] += _bilinear(images[int(number)], y, x) / max(down * across, 1)
    return out


def _inputs(channels: int = 3) -> tuple[torch.Tensor, torch.Tensor]:
    draw = np.random.default_rng(3)
    images = torch.tensor(draw.normal(size=(2, channels, 6, 7))).requires_grad_()
    rois = torch.tensor([[0, 2.1, 3.2, 11.7, 9.4], [1, -3, 0, 6, 4], [1, 4, 4, 4.3, 4.4], [0, 9.5, 8.5, 16, 14]], dtype=torch.float64)
    return images, rois


def _slope_is_numeric(call, leaf: torch.Tensor) -> None:
    """Compare the gradient with differences."""
    weight = torch.tensor(np.random.default_rng(9).normal(size=tuple(call().shape)))
    (slope,) = torch.autograd.grad((call() * weight).sum(), leaf)
    values = leaf.detach().numpy().reshape(-1)
    for place in range(0, values.size, max(1, values.size // 25)):
        old, ends = values[place], []
        for step in (1e-6, -1e-6):
            values[place] = old + step
            ends.append(float((call().detach() * weight).sum()))
        values[place] = old
        assert math.isclose((ends[0] - ends[1]) / 2e-6, float(slope.reshape(-1)[place]), rel_tol=1e-5, abs_tol=1e-6), place


@pytest.mark.parametrize("aligned", [True, False])
@pytest.mark.parametrize("samples", [2, -1])
def test_roi_align(samples: int, aligned: bool) -> None:
    images, rois = _inputs()
    call = lambda: vision.roi_align(images, rois, 0.5, 2, 3, samples, aligned)
    want = _aligned(images.detach().numpy(), rois.numpy(), 0.5, 2, 3, samples, aligned)
    np.testing.assert_allclose(call().detach().numpy(), want, atol=1e-12)
    _slope_is_numeric(call, images)
    for dtype, tolerance in ((torch.float32, 1e-5), (torch.float16, 1e-2)):
        got = vision.roi_align(images.detach().to(dtype), rois.to(dtype), 0.5, 2, 3, 2, aligned)
        near = _aligned(images.detach().to(dtype).double().numpy(), rois.to(dtype).double().numpy(), 0.5, 2, 3, 2, aligned)
        assert got.dtype is dtype and np.allclose(got.double().numpy(), near, atol=tolerance)


def test_position_sensitive_regions() -> None:
    images, rois = _inputs(12)
    aligned, channels = vision.ps_roi_align(images, rois, 0.5, 2, 3, 2)
    whole = _aligned(images.detach().numpy(), rois.numpy(), 0.5, 2, 3, 2, True)
    pooled, _ = vision.ps_roi_pool(images, rois, 0.5, 2, 3)
    assert aligned.shape == pooled.shape == (4, 2, 2, 3) and channels.dtype is torch.int32
    for c in range(2):
        for i in range(2):
            for j in range(3):
                own = (c * 2 + i) * 3 + j
                assert channels[:, c, i, j].tolist() == [own] * 4
                np.testing.assert_allclose(aligned[:, c, i, j].detach().numpy(), whole[:, own, i, j], atol=1e-12)
    _slope_is_numeric(lambda: vision.ps_roi_align(images, rois, 0.5, 2, 3, 2)[0], images)
    with pytest.raises(RuntimeError, match="multiple of pooling"):
        vision.ps_roi_align(images[:, :5], rois, 0.5, 2, 3, 2)


def test_roi_pool() -> None:
    images, rois = _inputs()
    values, places = vision.roi_pool(images, rois, 0.5, 2, 3)
    array = images.detach().numpy()
    for k, (number, *sides) in enumerate(rois.tolist()):
        x1, y1, x2, y2 = (math.floor(abs(side) * 0.5 + 0.5) * (1 if side >= 0 else -1) for side in sides)
        for i in range(2):
            for j in range(3):
                rows = [int(min(max(edge, 0), 6)) for edge in (math.floor(i * max(y2 - y1 + 1, 1) / 2) + y1, math.ceil((i + 1) * max(y2 - y1 + 1, 1) / 2) + y1)]
                columns = [int(min(max(edge, 0), 7)) for edge in (math.floor(j * max(x2 - x1 + 1, 1) / 3) + x1, math.ceil((j + 1) * max(x2 - x1 + 1, 1) / 3) + x1)]
                window = array[int(number), :, rows[0] : rows[1], columns[0] : columns[1]].reshape(3, -1)
                want = window.max(1) if window.size else np.zeros(3)
                np.testing.assert_array_equal(values[k, :, i, j].detach().numpy(), want)
                for c in range(3):
                    place = int(places[k, c, i, j])
                    assert place == -1 if not window.size else array[int(number), c].reshape(-1)[place] == want[c]
    _slope_is_numeric(lambda: vision.roi_pool(images, rois, 0.5, 2, 3)[0], images)


@pytest.mark.parametrize("masked", [True, False])
def test_deformable_convolution(masked: bool) -> None:
    draw = np.random.default_rng(4)
    leaves = [torch.tensor(draw.normal(size=shape)).requires_grad_() for shape in
              ((1, 4, 5, 6), (2, 2, 3, 2), (1, 2 * 2 * 6, 3, 4), (1, 2 * 6, 3, 4), (2,))]  # fmt: skip
    call = lambda: vision.deform_conv2d(*leaves, 2, 1, 1, 0, 1, 2, 2, 2, masked)
    images, filters, moves, factors, shift = (leaf.detach().numpy() for leaf in leaves)
    padded = np.pad(images[0], ((0, 0), (1, 1), (1, 1)))  # between pixels and the outside, a zero is a pixel away
    want = np.zeros((1, 2, 3, 4))
    for o in range(2):
        for y in range(3):
            for x in range(4):
                want[0, o, y, x] = shift[o]
                for c in range(2):
                    channel = o * 2 + c
                    for i in range(3):
                        for j in range(2):
                            tap = channel // 2 * 6 + i * 2 + j
                            at = y * 2 - 1 + i + moves[0, 2 * tap, y, x], x - 0 + 2 * j + moves[0, 2 * tap + 1, y, x]
                            inside = -1 < at[0] < 5 and -1 < at[1] < 6
                            value = _bilinear(padded[channel : channel + 1], at[0] + 1, at[1] + 1)[0] if inside else 0.0
                            want[0, o, y, x] += filters[o, c, i, j] * value * (factors[0, tap, y, x] if masked else 1)
    np.testing.assert_allclose(call().detach().numpy(), want, atol=1e-12)
    for leaf in leaves if masked else (*leaves[:3], leaves[4]):
        _slope_is_numeric(call, leaf)


def test_absent_tensors_and_second_derivatives() -> None:
    images, rois = _inputs()
    shapes = vision.roi_align(images.detach().to("meta"), rois.to("meta"), 1.0, 2, 3, 2, True)
    assert shapes.shape == (4, 3, 2, 3) and shapes.device.type == "meta"
    assert [item.shape for item in vision.roi_pool(images.detach().to("meta"), rois.to("meta"), 1.0, 2, 3)] == [(4, 3, 2, 3)] * 2
    (slope,) = torch.autograd.grad(vision.roi_align(images, rois, 1.0, 2, 3, 2, True).square().sum(), images, create_graph=True)
    with pytest.raises(RuntimeError, match="double backwards on roi_align not supported"):
        torch.autograd.grad(slope.sum(), images)
    assert vision.roi_align(images, rois[:0], 1.0, 2, 3, 2, True).shape == (0, 3, 2, 3)


def test_autocast_computes_in_single_precision() -> None:
    images, rois = (item.detach().to(torch.bfloat16) for item in _inputs())
    with torch.autocast("cpu", dtype=torch.bfloat16):
        got = vision.roi_align(images, rois, 1.0, 2, 3, 2, True)
        assert vision.nms(rois[:, 1:], rois[:, 0], 0.5).dtype is torch.int64
    want = vision.roi_align(images.float(), rois.float(), 1.0, 2, 3, 2, True).to(torch.bfloat16)
    assert got.dtype is torch.bfloat16 and torch.equal(got, want)
    with pytest.raises(RuntimeError, match='"roi_align_forward_kernel" not implemented for \'BFloat16\''):
        vision.roi_align(images, rois, 1.0, 2, 3, 2, True)


def test_wrong_arguments_are_refused() -> None:
    images, rois = _inputs()
    one = torch.rand(3, 4)
    for call, text in (
        (lambda: vision.nms(one[0], one[:, 0], 0.5), "2d tensor"), (lambda: vision.nms(one, one[:2, 0], 0.5), "same number"),
        (lambda: vision.nms(one, one[:, 0].double(), 0.5), "same type"), (lambda: vision.nms(one.int(), one[:, 0].int(), 0.5), "for 'Int'"),
        (lambda: vision.roi_align(images, rois[:, :4], 1.0, 2, 2, 2, True), r"Tensor\[K, 5\]"),
        (lambda: vision.roi_align(images, rois.float(), 1.0, 2, 2, 2, True), "same type"),
        (lambda: vision.roi_align(images, rois + 1, 1.0, 2, 2, 2, True), "name images"),
    ):  # fmt: skip
        with pytest.raises((RuntimeError, IndexError, NotImplementedError), match=text):
            call()


# Under the hook


PACKAGE = '''
import importlib.machinery, os, torch
def _has_ops():
    return False
def _load_library(name):
    try:
        torch.ops.load_library(os.path.join(os.path.dirname(__file__), name + ".so"))
        return True
    except OSError:
        return False
if LIBRARY and _load_library("_C_stable"):
    def _has_ops():
        return True
'''
SCRIPT = '''
import importlib.metadata, sys
import torch, torchvision.extension
assert torchvision.extension._has_ops()
assert torch.ops.torchvision.nms(torch.tensor([[0.0, 0, 1, 1]]), torch.ones(1), 0.5).tolist() == [0]
try:
    torch.ops.load_library("/nowhere/libother.so")
except OSError as error:
    assert "compiled for torch" in str(error)
assert not [name for name in sys.modules if "_companions." in name and "torchvision" not in name]
import torch_scatter, torch_scatter.scatter, flash_attn.bert_padding
from torch_scatter import scatter
from torch_sparse import SparseTensor
from flash_attn.layers.rotary import apply_rotary_emb
from xformers.ops.fmha.attn_bias import BlockDiagonalMask
import torch_scatter.composite
assert callable(torch_scatter.scatter) and torch_scatter.scatter is scatter and torch_scatter is torch.companions.torch_scatter
assert torch_scatter.composite is sys.modules["mstorch._companions.torch_scatter.composite"]
assert importlib.metadata.version("flash-attn").startswith("2.8.3") and importlib.metadata.version("torch-scatter") == "2.1.2+mstorch" + torch.__version__.rpartition("mstorch")[2]
import torch_cluster
assert torch_cluster.__file__.startswith(sys.argv[1]), torch_cluster.__file__
assert importlib.metadata.packages_distributions()["xformers"] == ["xformers"]
try:
    import flash_attn.losses
except ModuleNotFoundError as error:
    assert "flash_attn.losses" in str(error)
import mstorch
mstorch.uninstall()
try:
    import torch_sparse
except ModuleNotFoundError:
    print("ends well")
'''


@pytest.mark.slow
@pytest.mark.parametrize("library", [True, False])
def test_packages_under_the_hook(tmp_path: Path, library: bool) -> None:
    (tmp_path / "torchvision").mkdir()
    (tmp_path / "torchvision" / "__init__.py").write_text("")
    (tmp_path / "torchvision" / "extension.py").write_text(PACKAGE.replace("LIBRARY", str(library)))
    (tmp_path / "torch_cluster.py").write_text("")  # what is installed comes first
    (tmp_path / "script.py").write_text(SCRIPT)
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}:{tmp_path}", "GLOG_v": "3"}
    command = [sys.executable, "-m", "mstorch", str(tmp_path / "script.py"), str(tmp_path)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.stdout.strip() == "ends well", done.stdout + done.stderr[-2000:]


def test_packages_without_the_hook() -> None:
    assert companions.torch_scatter.__version__ == "2.1.2" and "torch_scatter" not in sys.modules
    with pytest.raises(AttributeError, match="it has .*flash_attn"):
        companions.nothing  # noqa: B018


def test_deformed_taps_of_no_images() -> None:
    images, filters = torch.zeros(0, 6, 5, 5, requires_grad=True), torch.ones(4, 3, 3, 3, requires_grad=True)
    moves, factors, bias = torch.zeros(0, 36, 3, 3), torch.ones(0, 18, 3, 3), torch.zeros(4)
    found = vision.deform_conv2d(images, filters, moves, factors, bias, 1, 1, 0, 0, 1, 1, 2, 2, True)
    assert found.shape == (0, 4, 3, 3)
    slopes = torch.autograd.grad(found.sum(), (images, filters))
    assert slopes[0].shape == (0, 6, 5, 5) and not slopes[1].any()


def test_quantized_boxes_and_regions() -> None:
    draw = np.random.default_rng(3)
    low = draw.integers(0, 60, (40, 2))
    dets = torch.tensor(np.concatenate([low, low + draw.integers(1, 30, (40, 2))], 1).astype(np.uint8))
    scores = torch.tensor(draw.permutation(40).astype(np.uint8))
    assert vision.qnms(dets, scores, 0.4).tolist() == _kept_one_by_one(dets.double().numpy(), scores.double().numpy(), 0.4)
    images, rois = torch.tensor(draw.integers(0, 255, (1, 2, 9, 9)), dtype=torch.uint8), torch.tensor([[0, 2, 3, 15, 12]], dtype=torch.uint8)
    got = vision.qroi_align(images, rois, 0.5, 100, 0.5, 0, 1.0, 3, 2, 2, True)
    want = vision.roi_align((images.double() - 100) * 0.5, rois.double() * 0.5, 1.0, 3, 2, 2, True)
    assert got.dtype is torch.uint8 and torch.equal(got, (want / 0.5).round().add(100).clamp(0, 255).to(torch.uint8))
    with pytest.raises(RuntimeError, match="Only one image per batch"):
        vision.qroi_align(images.expand(2, 2, 9, 9), rois, 0.5, 100, 0.5, 0, 1.0, 3, 2, 2, True)
