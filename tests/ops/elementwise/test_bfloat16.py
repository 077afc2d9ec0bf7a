"""bfloat16 has torch's bits: conversions, arithmetic and functions of every number; products and layers are as accurate as torch's. The
tests check that native kernels run, not only the detour through single precision.

What computes it natively is watched, so that these tests are not of the way through single precision alone.
"""
from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
import torch as real_torch

import mstorch
from mstorch._src.backend.blocks import threads
from mstorch._src.backend.halves import has_zeros, smallest
from mstorch._src.backend.host import _sums, batch_norm, conv, matmul, norm, softmax
from mstorch._src.backend.host import bfloat16 as host
from mstorch._src.backend.onednn import bfloat16, library

BOTH = (real_torch, mstorch)
F = {torch: torch.nn.functional for torch in BOTH}
native = pytest.mark.skipif(not library.FOUND_HALVES, reason="the processor, or the library, has nothing for bfloat16 here")
EVERY = np.arange(1 << 16).astype(np.uint16)
SIZES = (1, 31, 511, 512, 600, 4097, 5000, (1 << 16) + 3, (1 << 18) + 77)


def of_bits(torch, bits: np.ndarray):
    """Return a bfloat16 tensor with these bits."""
    return torch.from_numpy(bits.view(np.int16).copy()).view(torch.bfloat16)


def bits_of(tensor) -> np.ndarray:
    """Return the bits of a half-precision tensor."""
    return tensor.detach().contiguous().view(mstorch.int16 if isinstance(tensor, mstorch.Tensor) else real_torch.int16).numpy().view(np.uint16)


def single(bits: np.ndarray) -> np.ndarray:
    return (bits.astype(np.uint32) << 16).view(np.float32)


def differing(want: np.ndarray, got: np.ndarray) -> int:
    """Return the number of bfloat16 results that differ in a bit, except where both are NaN."""
    lost = np.isnan(single(want))
    np.testing.assert_array_equal(lost, np.isnan(single(got)))
    return int(((want != got) & ~lost).sum())


def drawn(seed: int, *shape: int) -> np.ndarray:
    return np.asarray(np.random.RandomState(seed).randn(*shape), np.float32)


def any_bits(seed: int, size: int) -> np.ndarray:
    """Return numbers of all sizes, with zeros, infinities and NaN."""
    return np.random.RandomState(seed).randint(0, 1 << 16, size).astype(np.uint16)


@pytest.mark.parametrize("size", SIZES)
def test_conversions(size):
    bits = any_bits(0, size)
    np.testing.assert_array_equal(of_bits(mstorch, bits).float().numpy(), single(bits))
    wide = np.random.RandomState(1).randint(0, 1 << 32, size, np.int64).astype(np.uint32)
    wide[::3] &= np.uint32(0x80FFFFFF)  # with many denormal or nearly denormal numbers
    wide[1::5] = wide[1::5] & np.uint32(0xFFFF0000) | np.uint32(0x8000)  # halfway between two numbers
    values = wide.view(np.float32)
    assert not differing(*(bits_of(torch.from_numpy(values.copy()).bfloat16()) for torch in BOTH))


@pytest.mark.parametrize("kind", ["bfloat16", "float16"])
def test_conversions_of_tensors_that_are_not_row_major(kind):
    x = drawn(0, 6, 70, 90)
    ways = {
        "turned": lambda t: t.transpose(0, 2), "parts": lambda t: t[:, ::2, 1::3], "spread": lambda t: t[:1].expand(4, 70, 90), "one": lambda t: t[0, 0, 0],
        "empty": lambda t: t[:0],
    }  # fmt: skip
    for way in ways.values():
        for there, back in ((kind, "float32"), ("float32", kind), (kind, "float64"), (kind, "int32")):
            want, got = (way(torch.from_numpy(x).to(getattr(torch, there))).to(getattr(torch, back)) for torch in BOTH)
            assert got.stride() == want.stride()
            np.testing.assert_array_equal(got.double().numpy(), want.double().numpy())


def test_every_number_of_float16():
    halves = EVERY.view(np.float16)
    for part in (halves, halves[np.isfinite(halves)]):
        np.testing.assert_array_equal(mstorch.from_numpy(part).float().numpy(), part.astype(np.float32))


@pytest.mark.parametrize("name", ["add", "sub", "relu"])
def test_many_numbers_of_float16(name):
    first, second = any_bits(6, 1 << 16).view(np.float16), any_bits(7, 1 << 16).view(np.float16)
    few = np.isfinite(first) & np.isfinite(second)
    for chosen in (EVERY, few):
        found = []
        for torch in BOTH:
            a, b = (torch.from_numpy(x[chosen]) for x in (EVERY.view(np.float16) if name == "relu" else first, second))
            found.append((a.relu() if name == "relu" else getattr(torch, name)(a, b)).numpy())
        lost = np.isnan(found[0])
        np.testing.assert_array_equal(lost, np.isnan(found[1]))
        np.testing.assert_array_equal(*(item.view(np.uint16)[~lost] for item in found))


ARITHMETIC = {"add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b, "div": lambda a, b: a / b}


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("op", ARITHMETIC)
def test_arithmetic(op, size):
    first, second = any_bits(2, size), any_bits(3, size)
    tiny, zeros = first & np.uint16(0x83FF), np.where(second & 1, 0, second).astype(np.uint16)  # products of one are below 1.2e-38
    ones = (EVERY[:size] | np.uint16(0x3F00)) & np.uint16(0x3FFF)
    for a, b in ((first, second), (tiny, second), (first, zeros), (ones[: len(second)], second[: len(ones)])):
        assert not differing(*(bits_of(ARITHMETIC[op](of_bits(torch, a), of_bits(torch, b))) for torch in BOTH))


@pytest.mark.parametrize("op", ARITHMETIC)
def test_arithmetic_with_numbers_and_rows(op):
    for rows, width in ((1, 600), (40, 33), (70, 1024), (300, 1000)):
        table, row = any_bits(4, rows * width).reshape(rows, width), any_bits(5, width)
        for number in (1.5, -3, 1e-30, 1 / 3, 0.0, 3e38):
            found = [ARITHMETIC[op](of_bits(torch, table.reshape(-1)).reshape(rows, width), number) for torch in BOTH]
            assert not differing(*map(bits_of, found)), number
            found = [ARITHMETIC[op](number, of_bits(torch, table.reshape(-1))) for torch in BOTH]
            assert not differing(*map(bits_of, found)), number
        for swapped in (False, True):
            pairs = [(of_bits(torch, table.reshape(-1)).reshape(rows, width), of_bits(torch, row)) for torch in BOTH]
            assert not differing(*(bits_of(ARITHMETIC[op](*(pair[::-1] if swapped else pair))) for pair in pairs))


# The number of the 65,536 results that may differ, because the library's approximation rounds the other way near a tie.
FUNCTIONS = {
    "relu": 0, "abs": 0, "neg": 0, "sqrt": 0, "square": 0, "tanh": 0, "gelu": 0, "exp": 1, "sigmoid": 4, "silu": 4, "gelu_tanh": 20,
}  # fmt: skip


def function(torch, name):
    if name == "gelu_tanh":
        return lambda x: F[torch].gelu(x, approximate="tanh")
    return getattr(F[torch] if name in ("gelu", "silu") else torch, name)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_of_every_number(name):
    largest = 30 if library.FOUND_HALVES else 4
    moderate = EVERY[(np.abs(single(EVERY)) < largest) & (np.abs(single(EVERY)) > 1e-3)]
    every = EVERY if library.FOUND_HALVES else moderate  # beyond, NumPy's approximations have the error of single precision
    for bits in (every, moderate, moderate[: 1 << 10], moderate[5:600]):
        found = []
        for torch in BOTH:
            x = of_bits(torch, bits).requires_grad_()
            y = function(torch, name)(x)
            y.backward(torch.full_like(y, 0.7))
            found.append((bits_of(y), bits_of(x.grad)))
        (want, slope), (got, own) = found
        allowed = FUNCTIONS[name] if library.FOUND_HALVES else 256
        assert differing(want, got) <= allowed
        assert differing(slope, own) <= allowed


def test_zeros_and_the_smallest():
    for bits, zeros, low in (([0x3F80, 0x8000], True, 0x7EFF), ([0x3F80, 0], True, 0x7EFF), ([0x3F80, 0x8001], False, 1), ([0, 0x8000], True, 0xFFFF)):
        assert (has_zeros(np.array(bits, np.uint16)), smallest(np.array(bits, np.uint16))) == (zeros, low)


LAYERS = {
    "matmul": (lambda t, a, b: a @ b, [(70, 90), (90, 50)]),
    "of one row": (lambda t, a, b: a @ b, [(1, 600), (600, 300)]),
    "turned": (lambda t, a, b: a.t() @ b.t(), [(90, 70), (50, 90)]),
    "bmm": (lambda t, a, b: a @ b, [(3, 2, 40, 30), (3, 2, 30, 60)]),
    "many small": (lambda t, a, b: t.bmm(a, b), [(40, 3, 4), (40, 4, 5)]),
    "linear": (lambda t, x, w, b: F[t].linear(x, w, b), [(4, 33, 100), (60, 100), (60,)]),
    "linear without bias": (lambda t, x, w: F[t].linear(x, w), [(300, 400), (500, 400)]),
    "addmm": (lambda t, b, x, y: t.addmm(b, x, y), [(64, 40), (64, 50), (50, 40)]),
    "conv2d": (lambda t, x, w, b: F[t].conv2d(x, w, b, padding=1), [(3, 8, 20, 21), (16, 8, 3, 3), (16,)]),
    "conv2d strided, in groups": (lambda t, x, w: F[t].conv2d(x, w, None, 2, 1, 1, 4), [(2, 8, 17, 16), (16, 2, 3, 3)]),
    "depthwise": (lambda t, x, w: F[t].conv2d(x, w, None, 1, 1, 1, 8), [(1, 8, 17, 16), (8, 1, 3, 3)]),
    "of single pixels": (lambda t, x, w: F[t].conv2d(x, w), [(2, 32, 10, 10), (48, 32, 1, 1)]),
    "conv1d": (lambda t, x, w, b: F[t].conv1d(x, w, b, dilation=2), [(3, 8, 50), (12, 8, 3), (12,)]),
    "conv_transpose2d": (lambda t, x, w: F[t].conv_transpose2d(x, w, stride=2), [(2, 8, 9, 9), (8, 6, 2, 2)]),
    "softmax": (lambda t, x: x.softmax(-1), [(70, 100)]),
    "softmax with weights of 0": (lambda t, x: x.masked_fill(x > 0, -3e38).softmax(-1), [(70, 100)]),
    "layer_norm": (lambda t, x, w, b: F[t].layer_norm(x, x.shape[-1:], w, b), [(50, 200), (200,), (200,)]),
    "rms_norm": (lambda t, x, w: F[t].rms_norm(x, x.shape[-1:], w), [(50, 200), (200,)]),
    "batch_norm": (lambda t, x, w, b: F[t].batch_norm(x, None, None, w, b, True), [(6, 8, 20, 20), (8,), (8,)]),
    "batch_norm far from 0": (lambda t, x, w, b: F[t].batch_norm(x + 40, None, None, w, b, True), [(6, 8, 20, 20), (8,), (8,)]),
    "attention": (lambda t, *qkv: F[t].scaled_dot_product_attention(*qkv), [(2, 4, 40, 32)] * 3),
    "causal attention": (lambda t, *qkv: F[t].scaled_dot_product_attention(*qkv, is_causal=True), [(2, 4, 40, 32)] * 3),
    "attention of one row": (lambda t, *qkv: F[t].scaled_dot_product_attention(*qkv), [(2, 4, 1, 32), (2, 4, 70, 32), (2, 4, 70, 32)]),
    "sum": (lambda t, x: x.sum(), [(90, 100)]),
    "sums of rows": (lambda t, x: x.sum(-1), [(30, 5000)]),
    "sums of columns": (lambda t, x: x.sum((0, 1)), [(60, 70, 30)]),
    "sums of channels": (lambda t, x: x.sum((0, 2, 3)), [(6, 8, 20, 20)]),
    "means": (lambda t, x: x.mean((-1, -2), keepdim=True), [(6, 40, 50)]),
    "max_pool2d": (lambda t, x: F[t].max_pool2d(x, 2), [(3, 4, 16, 18)]),
}  # fmt: skip


def computed(torch, name, kind):
    body, shapes = LAYERS[name]
    leaves = [torch.from_numpy(drawn(i, *shape)).bfloat16().to(kind).requires_grad_() for i, shape in enumerate(shapes)]
    y = body(torch, *leaves)
    y.backward(torch.from_numpy(drawn(9, *y.shape)).bfloat16().to(kind))
    return [item.detach().double().numpy() for item in (y, *(leaf.grad for leaf in leaves))]


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("name", LAYERS)
def test_layers_are_as_exact_as_torchs(name, count, monkeypatch):
    """Results and gradients are as close to double precision's as torch's; results that are rounded once, within half a unit."""
    monkeypatch.setattr(threads, "count", count)
    exact, theirs, ours = computed(real_torch, name, real_torch.float64), computed(real_torch, name, real_torch.bfloat16), computed(mstorch, name, mstorch.bfloat16)
    for want, given, got in zip(exact, theirs, ours):
        assert want.shape == got.shape
        largest = np.abs(want).max()
        once = np.abs(real_torch.from_numpy(want).float().bfloat16().double().numpy() - want)
        assert np.abs(got - want).mean() <= max(np.abs(given - want).mean(), once.mean()) * 1.02 + 1e-7 * largest
        assert np.abs(got - want).max() <= max(np.abs(given - want).max(), once.max()) * 1.02 + 4e-3 * largest


@pytest.mark.parametrize("kind", ["bfloat16", "float16"])
@pytest.mark.filterwarnings("ignore:Mismatch dtype")
@pytest.mark.parametrize("weight", ["same", "float32", "none"])
def test_rms_norm_rounds_once_with_and_without_a_gradient(kind, weight):
    for shape, dims in (((50, 200), 1), ((1, 300), 1), ((2, 3, 8, 40), 2), ((0, 4), 1)):
        found = []
        for torch in BOTH:
            x = torch.from_numpy(drawn(0, *shape)).to(getattr(torch, kind))
            scale = torch.from_numpy(drawn(1, *shape[-dims:])).to(getattr(torch, "float32" if weight == "float32" else kind))
            parts = [F[torch].rms_norm(item, shape[-dims:], None if weight == "none" else scale) for item in (x, x.clone().requires_grad_())]
            found.append([part.detach().float().numpy() for part in parts])
            assert all(part.dtype == x.dtype for part in parts)
        for want, got in zip(*found):
            assert (want != got).mean() < 1e-3 if want.size else want.shape == got.shape


def test_gradients_are_added_up_in_bfloat16(both):
    def body(torch):
        x = of_bits(torch, (EVERY[:2000] | np.uint16(0x3C00)) & np.uint16(0x3FFF)).requires_grad_()
        for _ in range(3):
            (x * x + x * 0.3 + torch.tanh(x)).sum().backward()
        return x.grad

    both(body, rtol=0, atol=0)


def used(monkeypatch, module, name):
    """Return a list that grows with each call of a function."""
    calls, function = [], getattr(module, name)

    def told(*args):
        calls.append(args)
        return function(*args)

    monkeypatch.setattr(module, name, told)
    return calls


@native
@pytest.mark.parametrize(("name", "module", "inner"), [
    ("matmul", matmul, "gemm"), ("of one row", matmul, "gemm"), ("linear", matmul, "gemm"), ("bmm", matmul, "gemm"), ("conv2d", conv, "convolve"),
    ("depthwise", conv, "convolve"), ("softmax", softmax.rows, "softmax"), ("layer_norm", norm.rows, "layer_norm"), ("batch_norm", batch_norm, "scaled"),
    ("sum", _sums, "gemm"), ("sums of rows", _sums, "gemm"), ("sums of columns", _sums, "gemm"), ("sums of channels", _sums, "gemm"),
    ("means", _sums, "gemm"),
])  # fmt: skip
def test_layers_are_computed_in_bfloat16(name, module, inner, monkeypatch):
    calls = used(monkeypatch, module, inner)
    computed(mstorch, name, mstorch.bfloat16)
    assert any(getattr(part, "dtype", None) == np.uint16 for call in calls for item in call for part in (item if isinstance(item, tuple) else (item,)))


@native
def test_elements_are_computed_in_bfloat16(monkeypatch):
    arithmetic, functions, slopes = (used(monkeypatch, host.library, name) for name in ("binary", "function", "slope"))
    numbers, rows = used(monkeypatch, host.library, "with_number"), used(monkeypatch, host.library, "with_row")
    x = mstorch.from_numpy(np.abs(drawn(0, 40, 50)) + 1).bfloat16().requires_grad_()
    y = mstorch.nn.functional.gelu(x) + mstorch.nn.functional.silu(x) * x + mstorch.exp(x) * 1.5 + x[0].detach()
    assert (len(arithmetic), len(functions), len(numbers), len(rows)) == (3, 3, 1, 1)
    y.backward(mstorch.ones_like(y))
    assert len(slopes) == 2


@native
def test_conversions_are_the_librarys(monkeypatch):
    calls = used(monkeypatch, bfloat16, "_run")
    x = mstorch.from_numpy(drawn(0, 100, 100)).bfloat16()
    x.t().float()
    assert len(calls) == 2
    x[:5, :5].contiguous().float()
    assert len(calls) == 2  # NumPy computes short arrays


@pytest.mark.slow
@pytest.mark.parametrize("variables", [{"MSTORCH_ONEDNN": "0"}, {"ONEDNN_MAX_CPU_ISA": "AVX512_CORE"}])
def test_without_the_instructions(variables):
    """The results are the same where oneDNN has no bfloat16 kernels, by way of single precision."""
    chosen = "test_conversions or test_arithmetic or test_functions or test_layers_are_as or test_gradients or test_every"
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", __file__, "-k", f"({chosen}) and not -2"]
    run = subprocess.run(command, env={**os.environ, **variables}, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout[-3000:]
