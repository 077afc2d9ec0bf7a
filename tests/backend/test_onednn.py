"""oneDNN's kernels compared with torch: strides, NaN and infinity, several blocks, threads, forks; and the same without oneDNN."""
from __future__ import annotations

import multiprocessing
import os
import random
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
import torch as real_torch

import mstorch
from mstorch._src.backend import blocks
from mstorch._src.backend.host import conv as host_conv
from mstorch._src.backend.host.matmul import two_products
from mstorch._src.backend.onednn import elementwise, library, primitive
from mstorch._src.backend.onednn.gemm import products
from tests import warm
from tests.against_torch import both

needed = pytest.mark.skipif(not library.FOUND, reason="MindSpore's package holds no oneDNN here")


def values(seed: int, *shape: int) -> np.ndarray:
    """Return normal numbers of single precision."""
    return np.random.RandomState(seed).randn(*shape).astype(np.float32)


LAYOUTS = {
    "rows": lambda x: x,
    "columns": lambda x: x.transpose(-1, -2).contiguous().transpose(-1, -2),
    "parts of rows": lambda x: x.repeat_interleave(2, -1)[..., ::2],
    "a slice": lambda x: x.repeat_interleave(2, -1)[..., : x.shape[-1]],
    "a repeated row": lambda x: x[..., :1, :].expand_as(x),
}


@pytest.mark.parametrize("right", LAYOUTS)
@pytest.mark.parametrize("left", LAYOUTS)
def test_products_of_operands_with_their_own_strides(left, right):
    for lead in ((), (3,), (1, 2), (2, 1, 1, 1, 2)):
        a, b = values(0, *lead, 70, 90), values(1, *lead, 90, 65)

        def body(torch, a=a, b=b):
            x, y = LAYOUTS[left](torch.from_numpy(a)), LAYOUTS[right](torch.from_numpy(b))
            return x @ y, torch.nn.functional.linear(x, y.mT.contiguous().mT.mT)

        both(body, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("seed", range(12))
def test_convolutions_and_their_gradients(seed):
    pick = random.Random(seed)
    rank, groups = pick.choice((1, 2, 2, 3)), pick.choice((1, 1, 2, 4))
    channels, out = groups * pick.choice((1, 3, 8)), groups * pick.choice((1, 5, 16))
    kernel, stride, padding, dilation = ([pick.choice(few) for _ in range(rank)] for few in ((1, 2, 3, 5), (1, 2, 3), (0, 1, 2), (1, 1, 2)))
    sizes = [pick.choice((9, 12, 17)) for _ in range(rank)]
    transposed = seed % 3 == 0
    beyond = [pick.randrange(max(s, d)) for s, d in zip(stride, dilation)]
    name = ("conv_transpose" if transposed else "conv") + f"{rank}d"
    x, w = values(seed, pick.choice((1, 2, 5)), channels, *sizes), values(seed + 1, *((channels, out // groups) if transposed else (out, channels // groups)), *kernel)
    bias = values(seed + 2, out) if seed % 2 else None

    def body(torch):
        data = torch.from_numpy(x)
        if rank == 2 and seed % 4 == 1:
            data = data.contiguous(memory_format=torch.channels_last)
        leaves = [data.requires_grad_(), torch.from_numpy(w).requires_grad_()]
        settings = (stride, padding, beyond, groups, dilation) if transposed else (stride, padding, dilation, groups)
        y = getattr(torch.nn.functional, name)(*leaves, None if bias is None else torch.from_numpy(bias), *settings)
        return y, torch.autograd.grad((y * y).sum(), leaves)

    both(body, rtol=1e-4, atol=1e-3, strides=not (rank == 2 and seed % 4 == 1))


NOT_FINITE = np.array(
    [[0, -np.inf, 1, 2], [np.nan, 0, 1, 2], [np.inf, 0, 1, 2], [-np.inf] * 4, [np.inf, np.nan, -np.inf, 0], [0, 1, 2, 3]], np.float32
)


@pytest.mark.parametrize("call", ["F.softmax(x, 1)", "F.log_softmax(x, 1)", "F.gelu(x)", "F.gelu(x, approximate='tanh')", "F.silu(x)",
                                  "x.sigmoid()", "x.relu()", "F.max_pool1d(x, 2)", "F.max_pool1d(x, 3, 2, 1)",
                                  "F.max_pool2d(x[None], (3, 2), (2, 1), (1, 1), ceil_mode=True)"])  # fmt: skip
@pytest.mark.parametrize("times", [1, 400])
def test_what_is_not_finite(call, times):
    def body(torch):
        x = torch.from_numpy(np.tile(NOT_FINITE, (times, 2))).requires_grad_()
        y = eval(call, {"F": torch.nn.functional, "x": x})
        return y, torch.autograd.grad(y, x, torch.full_like(y, 0.5))[0]

    both(body)


@pytest.mark.parametrize("size", [1, 17, elementwise.BLOCK, elementwise.BLOCK + 1, 5 * elementwise.BLOCK + 77])
@pytest.mark.parametrize("name", ["gelu", "silu", "relu", "sigmoid", "relu6", "leaky_relu"])
def test_long_arrays_in_blocks(name, size):
    x, g = values(3, size), values(4, size)

    def body(torch):
        leaf = torch.from_numpy(x).requires_grad_()
        y = getattr(torch.nn.functional, name)(leaf)
        return y, torch.autograd.grad(y, leaf, torch.from_numpy(g))[0]

    both(body)


def test_windows_of_padding_alone_and_of_equals():
    x = np.round(values(5, 2, 3, 9))

    def body(torch):
        found = []
        for settings in ((2, 2, 1, 2), (3, 1, 1, 3), (2, 3, 1, 1)):
            leaf = torch.from_numpy(x).requires_grad_()
            y = torch.nn.functional.max_pool1d(leaf, *settings, ceil_mode=True)
            found += [y, torch.autograd.grad(y, leaf, torch.ones_like(y))[0]]
        return found

    both(body)


def step(torch, seed):
    """Return the gradients of a small network whose shapes depend on the seed."""
    nn = torch.nn
    torch.manual_seed(0)
    net = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.LazyLinear(33), nn.LayerNorm(33), nn.GELU())
    x = torch.from_numpy(values(seed, 2 + seed % 3, 3, 16, 16))
    loss = nn.functional.cross_entropy(net(x), torch.arange(len(x)))
    return torch.autograd.grad(loss, list(net.parameters()))


def test_threads_have_kernels_of_their_own():
    wrong = []
    weights = [values(seed, 8, 3, 3, 3) for seed in range(6)]
    images = [values(seed, 2 + seed % 3, 3, 16, 16) for seed in range(6)]
    want = [real_torch.nn.functional.conv2d(real_torch.from_numpy(x), real_torch.from_numpy(w)).numpy() for x, w in zip(images, weights)]

    def convolve(seed):
        for _ in range(50):
            y = mstorch.nn.functional.conv2d(mstorch.from_numpy(images[seed]), mstorch.from_numpy(weights[seed]))
            y = mstorch.nn.functional.softmax(y, 3).log() @ mstorch.ones(14, 14)
            expected = np.log(np.exp(want[seed] - want[seed].max(3, keepdims=True)))
            expected = expected - np.log(np.exp(expected).sum(3, keepdims=True))
            if not np.allclose(y.numpy(), expected.sum(3, keepdims=True).repeat(14, 3), rtol=1e-3, atol=1e-3):
                wrong.append(seed)

    threads = [threading.Thread(target=convolve, args=(seed,)) for seed in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def _in_a_fork(queue):
    x, w = mstorch.from_numpy(values(0, 2, 4, 9, 9)), mstorch.from_numpy(values(1, 6, 2, 3, 3)).requires_grad_()
    y = mstorch.nn.functional.conv2d(x, w, groups=2)
    y.square().sum().backward()
    queue.put((y.detach().numpy(), w.grad.numpy()))


def test_a_forked_process_computes():
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    process = context.Process(target=_in_a_fork, args=(queue,))
    process.start()
    y, slope = queue.get(timeout=60)
    process.join()
    x, w = real_torch.from_numpy(values(0, 2, 4, 9, 9)), real_torch.from_numpy(values(1, 6, 2, 3, 3)).requires_grad_()
    want = real_torch.nn.functional.conv2d(x, w, groups=2)
    want.square().sum().backward()
    np.testing.assert_allclose(y, want.detach().numpy(), rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(slope, w.grad.numpy(), rtol=1e-4, atol=1e-3)


@needed
def test_kernels_are_kept_and_given_up(monkeypatch):
    monkeypatch.setattr(primitive, "_MOST", 3)
    for size in range(1, 12):
        x = values(size, size + 4)
        got = mstorch.nn.functional.gelu(mstorch.from_numpy(x)).numpy()
        np.testing.assert_allclose(got, real_torch.nn.functional.gelu(real_torch.from_numpy(x)).numpy(), rtol=1e-5, atol=1e-6)
        assert len(primitive._own.kept) <= 3


@needed
def test_common_convolutions_reach_the_library(monkeypatch):
    answers = []
    convolve = host_conv.convolve
    monkeypatch.setattr(host_conv, "convolve", lambda *args: answers.append(convolve(*args)) or answers[-1])
    x = mstorch.rand(2, 4, 8, 8, requires_grad=True)
    for settings in ({}, {"groups": 2}, {"stride": 2, "padding": 1}, {"dilation": 2}):
        mstorch.nn.Conv2d(4, 6, 3, **settings)(x).sum().backward()
    mstorch.nn.Conv3d(4, 6, 3)(mstorch.rand(2, 4, 5, 5, 5))
    assert len(answers) >= 13 and all(answers)


@pytest.mark.slow
def test_without_the_library():
    program = (
        "import sys; sys.path.insert(0, '.')\n"
        "import mstorch, torch\n"
        "from mstorch._src.backend.onednn import library\n"
        "from tests.backend.test_onednn import step\n"
        "assert not library.FOUND\n"
        "for seed in range(3):\n"
        "    for a, b in zip(step(mstorch, seed), step(torch, seed)):\n"
        "        assert torch.allclose(torch.from_numpy(a.numpy()), b, rtol=1e-3, atol=1e-5), (a, b)\n"
    )
    warm.said("-c", program, environment={**os.environ, "MSTORCH_ONEDNN": "0"}, library="mindspore")


def test_a_network_as_in_torch():
    both(lambda torch: step(torch, 1), rtol=1e-3, atol=1e-5)


@needed
@pytest.mark.parametrize("repeated", ["left", "right", "both", "columns"])
def test_products_of_matrices_that_repeat(repeated):
    """Matrices that are expanded (with stride 0) are not copied; results equal those of copies."""
    numbers = np.random.RandomState(0)

    def some(rows, columns, repeat):
        one = numbers.randn(2, 1 if repeat else 3, rows, columns).astype(np.float32)
        return np.broadcast_to(one, (2, 3, rows, columns))

    a = some(40, 64, repeated in ("left", "both"))
    b = some(50, 64, repeated != "left").swapaxes(-1, -2) if repeated == "columns" else some(64, 50, repeated in ("right", "both"))
    found = (mstorch.tensor(a) @ mstorch.tensor(b)).numpy()
    out = np.empty(found.shape, np.float32)
    products(a, b, out)
    np.testing.assert_allclose(out, np.matmul(a.astype(np.float64), b.astype(np.float64)), rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(found, out, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("sizes", [(64, 784, 512), (300, 40, 900), (33, 1001, 47), (5, 3000, 100), (1, 70, 3000)])
def test_two_products_on_threads(sizes, threads, monkeypatch):
    n, k, m = sizes
    a, b, c = values(6, n, k), values(7, k, m), values(8, n, m)
    monkeypatch.setattr(blocks, "WORTH", 1000)
    monkeypatch.setattr(blocks.threads, "count", threads)
    for first, second in (((c, b.T), (a.T, c)), ((a.T, c), (c, b.T)), ((a, b), (a.astype(np.float64), b.astype(np.float64)))):
        for found, factors in zip(two_products(*first, *second), (first, second)):
            assert found.dtype == factors[0].dtype
            np.testing.assert_allclose(found, factors[0].astype(np.float64) @ factors[1], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", ["relu6", "leaky_relu"])
def test_numbers_that_are_not_finite_and_bounds(name):
    x, g = values(5, 5000), values(6, 5000)
    x[:8] = 0 if name == "relu6" else np.nan, np.inf, -np.inf, 0, -0.0, 6, 3, -3  # of NaN torch's vectors and single numbers differ

    def body(torch):
        leaf = torch.from_numpy(x).requires_grad_()
        y = getattr(torch.nn.functional, name)(leaf)
        return y, torch.autograd.grad(y, leaf, torch.from_numpy(g))[0]

    both(body)


@pytest.mark.parametrize("channels, side, kernel, stride", [(32, 16, 7, 1), (20, 9, 5, 2), (33, 11, 7, 1), (128, 4, 7, 1), (16, 20, 9, 1)])
def test_depthwise_kernels_of_any_size(channels, side, kernel, stride):
    x, w = values(7, 4, channels, side, side) / 16, values(8, channels, 1, kernel, kernel) / 16

    def body(torch):
        images, weights = (torch.from_numpy(item.copy()).requires_grad_() for item in (x, w))
        y = torch.nn.functional.conv2d(images, weights, None, stride, kernel // 2, groups=channels)
        return y, *torch.autograd.grad(y, (images, weights), torch.ones_like(y))

    both(body)


SIZES = """
import mstorch as torch
from mstorch import nn

def resident():
    return int(open("/proc/self/statm").read().split()[1]) * 4 // 1024

layers = [(nn.MaxPool2d(2), lambda n: torch.randn(2, 32, n, n)), (nn.LSTM(64, 128), lambda n: torch.randn(n, 8, 64))]
for layer, example in layers:  # the libraries' own memory
    found = layer(example(90).requires_grad_())
    (found[0] if isinstance(found, tuple) else found).sum().backward()
before = resident()
for n in range(50, 90):
    for layer, example in layers:
        found = layer(example(n).requires_grad_())
        (found[0] if isinstance(found, tuple) else found).sum().backward()
print(resident() - before)
"""


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="Linux tells the resident memory there")
def test_kernels_of_many_sizes_share_their_scratch_memory():
    """Kernels with memory of their own took 400 MB for these eighty."""
    done = subprocess.run([sys.executable, "-c", SIZES], capture_output=True, check=True, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"})
    assert int(done.stdout.split()[-1]) < 150
