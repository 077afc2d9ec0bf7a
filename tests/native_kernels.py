"""Calls that reach all compiled code that mstorch runs on the host: oneDNN, SciPy's BLAS and LAPACK, FFT, MindSpore's kernels, and its
thread pool.

``reached()`` says which functions of ``_src/backend/onednn`` and which kernels of the table a list of calls comes by; ``test_signals.py`` holds
that no function of oneDNN's and no kernel of LAPACK's or MindSpore's is missing.
"""
from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import mstorch as torch
from mstorch import nn
from mstorch.nn import functional as F


def _backward(output: Any, *leaves: Any) -> list[Any]:
    return [output.detach(), *torch.autograd.grad(output, leaves, torch.ones_like(output))]


def _layer(module: Any, x: Any) -> Callable[[], list[Any]]:
    return lambda: _backward(module(x), x, *module.parameters())


def _recurrent(kind: Any, n: int) -> Callable[[], list[Any]]:
    module, x = kind(64, n // 2), torch.rand(6, 8, 64, requires_grad=True)
    return lambda: _backward(module(x)[0], x, *module.parameters())


def _halves(n: int) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Return the bfloat16 kernels."""
    x, row = (torch.rand(*shape).bfloat16().requires_grad_() for shape in ((n, n), (n,)))
    images = torch.rand(2, 16, n // 12, n // 12).bfloat16().requires_grad_()
    few = torch.rand(3, n, n).bfloat16()
    yield "conversions of bfloat16", lambda: [x.detach().float(), x.detach().float().bfloat16()]
    yield "arithmetic of bfloat16", lambda: _backward(x * x + row - 0.5 * x, x, row)
    yield "functions of bfloat16", lambda: _backward(F.gelu(x) + F.silu(x) + torch.exp(x), x)
    yield "linear in bfloat16", _layer(nn.Linear(n, n).bfloat16(), x)
    yield "products of a batch in bfloat16", lambda: few @ few
    yield "sums of bfloat16", lambda: [few.sum(), few.sum(0), few.mean(-1)]
    yield "convolution in bfloat16", _layer(nn.Conv2d(16, 32, 3, padding=1).bfloat16(), images)
    yield "batch_norm in bfloat16", _layer(nn.BatchNorm2d(16).bfloat16(), images)
    yield "layer_norm in bfloat16", _layer(nn.LayerNorm(n).bfloat16(), x)
    yield "softmax in bfloat16", lambda: _backward(F.softmax(x, 1), x)
    yield "attention in bfloat16", lambda: _backward(F.scaled_dot_product_attention(few[None], few[None], few[None] + x), x)


def _factors(n: int) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Return the LAPACK kernels, in single and double precision, real and complex."""
    linalg = torch.linalg
    a, b = torch.rand(n, n), torch.rand(n, n)
    symmetric = a + a.t() + n * torch.eye(n)
    small = symmetric[:96, :96].contiguous()
    few, right = torch.rand(4, 48, 48) + 48 * torch.eye(48), torch.rand(4, 48, 5)
    tracked = (symmetric[:96, :96] + 0).requires_grad_()
    yield "solve", lambda: linalg.solve(symmetric, b)
    yield "solve, a batch", lambda: linalg.solve(few, right)
    yield "solve, with its gradient", lambda: _backward(linalg.solve(tracked, small), tracked)
    yield "solve of complex numbers", lambda: torch.view_as_real(linalg.solve(torch.complex(small, small / 9), small + 0j))
    yield "triangular solve", lambda: linalg.solve_triangular(symmetric.triu(), b, upper=True)
    yield "lu_factor and lu_solve", lambda: [*linalg.lu_factor(symmetric), linalg.lu_solve(*linalg.lu_factor(small), small)]
    yield "inverse and determinant", lambda: [linalg.inv(small), linalg.det(few), *linalg.slogdet(small)]
    yield "lstsq", lambda: linalg.lstsq(b[:, :48], b[:, 48:96])[0]
    yield "cholesky", lambda: linalg.cholesky(symmetric)
    yield "cholesky_solve and cholesky_inverse", lambda: [torch.cholesky_solve(small, small), torch.cholesky_inverse(small)]
    yield "ldl_factor and ldl_solve", lambda: linalg.ldl_solve(*linalg.ldl_factor(small), small)
    yield "qr", lambda: [*linalg.qr(symmetric)]
    yield "geqrf and ormqr", lambda: torch.ormqr(*torch.geqrf(small), small)
    yield "svd", lambda: [*linalg.svd(small)]
    yield "svdvals", lambda: linalg.svdvals(small)
    yield "eigh", lambda: [*linalg.eigh(small)]
    yield "eig", lambda: torch.view_as_real(linalg.eig(small + small.triu())[0])
    yield "matrix_exp", lambda: linalg.matrix_exp(few / 48)
    yield "lobpcg", lambda: linalg.eigvalsh(small.double())


def _others(n: int) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Return calls of sums of products in other dtypes, layers of other ranks, special functions, random numbers, optimizers, compiled
    steps."""
    a, x = torch.rand(n, n), torch.rand(n, n, requires_grad=True)
    line = torch.rand(2, 16, n, requires_grad=True)
    solid = torch.rand(1, 4, 10, n // 24, n // 24, requires_grad=True)
    wide = torch.complex(a, a / 2)
    sparse = (a * (a > 0.9)).to_sparse_csr()
    numbers = torch.arange(n).repeat(3) % 97
    net = nn.Linear(n, n)
    net(a).sum().backward()
    steps = [torch.optim.SGD(net.parameters(), 1e-30), torch.optim.SGD(net.parameters(), 1e-30, momentum=0.0), torch.optim.Adam(net.parameters(), 0.0)]
    images = torch.rand(2, 16, n // 12, n // 12)
    grid = torch.rand(1, 50, 50, 2) * 2 - 1
    step = torch.compile(lambda x: torch.softmax(x @ x, 1).sum(0), backend="mindspore")
    yield "matrix product of complex numbers", lambda: torch.view_as_real(wide @ wide)
    yield "matrix product of integers", lambda: (a * 9).int() @ (a * 9).int()
    yield "einsum", lambda: torch.einsum("ij,kj,j->ik", a, a, a[0])
    yield "convolution, of channels each", _layer(nn.Conv2d(16, 16, 7, padding=3, groups=16), images.clone().requires_grad_())
    yield "convolution, of lines", _layer(nn.Conv1d(16, 24, 5, padding=2), line)
    yield "convolution, of solids", _layer(nn.Conv3d(4, 6, 3, padding=1), solid)
    yield "convolution, transposed, of lines", _layer(nn.ConvTranspose1d(16, 8, 4, stride=2), line)
    yield "convolution, transposed, of solids", lambda: F.conv_transpose3d(solid.detach(), torch.ones(4, 3, 2, 2, 2), stride=2)
    yield "convolution, transposed, in groups", lambda: F.conv_transpose2d(images, torch.ones(16, 2, 3, 3), stride=2, groups=4)
    yield "convolution, transposed, in double precision", lambda: F.conv_transpose2d(images[:, :4].double(), torch.ones(4, 2, 3, 3).double())
    yield "convolution, in double precision", lambda: F.conv2d(a.double()[None, None], a.double()[None, None, :3, :3])
    yield "convolution, dilated", lambda: F.conv2d(a[None, None], a[None, None, :3, :3], dilation=2)
    yield "pools of lines and solids", lambda: [F.max_pool1d(line, 3).detach(), F.avg_pool3d(solid, 2).detach(), *_backward(F.max_pool3d(solid, 2), solid)]
    yield "instance_norm and interpolate", lambda: [F.instance_norm(line).detach(), F.interpolate(a[None, None], scale_factor=1.5, mode="bilinear")]
    yield "grid_sample", lambda: F.grid_sample(a[None, None], grid, align_corners=False)
    yield "ctc_loss", lambda: F.ctc_loss(F.log_softmax(a[:60, :40].reshape(20, 3, 40), 2), numbers[:12].reshape(3, 4) % 30 + 1, (20,) * 3, (4,) * 3)
    yield "cross_entropy", lambda: _backward(F.cross_entropy(x, numbers[:n] % n), x)
    yield "embedding_bag", lambda: F.embedding_bag(numbers[: n // 4 * 4].reshape(-1, 4), a)
    yield "special functions", lambda: [torch.erf(a), torch.lgamma(a), torch.special.zeta(a + 2, a + 1), torch.special.i0e(a), torch.xlogy(a, a), torch.erfinv(a)]
    yield "sparse product", lambda: sparse @ a
    yield "sparse sums", lambda: torch.sparse.mm(sparse, a).sum(0)
    yield "cdist", lambda: torch.cdist(a[:90], a[:80])
    yield "random numbers", lambda: [_seeded(torch.rand, n), _seeded(torch.randn, n), _seeded(torch.randperm, n)]
    yield "steps of optimisers", lambda: [(one.step(), net.weight.detach().sum())[1] for one in steps]
    yield "compiled by MindSpore", lambda: step(a)
    yield "products of small matrices", lambda: torch.linalg.matrix_exp(a[:96].reshape(-1, 4, 4)[:500] / 9)
    yield "quantile and median", lambda: [a.quantile(0.3), a.median(), *a.kthvalue(5, 0)]
    yield "unique and histogram", lambda: [torch.unique(numbers), torch.histc(a, 20), torch.bincount(numbers)]
    yield "scatter and gather", lambda: [a.gather(1, a.argsort(1)), a.scatter_reduce(0, a.argsort(0), a, "amax")]


def _seeded(draw: Callable[..., Any], n: int) -> Any:
    return draw(n, generator=torch.Generator().manual_seed(n))


def kernels(n: int) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Return all kernels by name, for matrices of n rows, or images of about as many elements."""
    torch.manual_seed(n)
    a, b, few = torch.rand(n, n), torch.rand(n, n), torch.rand(3, n, n)
    x, row = torch.rand(n, n, requires_grad=True), torch.rand(n, requires_grad=True)
    images = torch.rand(2, 16, n // 12, n // 12, requires_grad=True)
    yield "matrix product", lambda: a @ b
    yield "matrix product, left transposed", lambda: a.t() @ b
    yield "matrix product, right transposed", lambda: a @ b.t()
    yield "matrix product, in double precision", lambda: a[:200].double() @ b.double()
    yield "products of a batch", lambda: few @ few
    yield "products of a batch with gaps", lambda: few[:, :, ::2] @ few[:, ::2]
    yield "products of a batch, transposed", lambda: few.mT @ few
    yield "linear", _layer(nn.Linear(n, n), x)
    yield "addition of a multiple", lambda: a.clone().add_(b, alpha=-0.1)
    yield "convolution", _layer(nn.Conv2d(16, 32, 3, padding=1), images)
    yield "convolution, strided", _layer(nn.Conv2d(16, 32, 3, stride=2), images)
    yield "convolution, depthwise", _layer(nn.Conv2d(16, 16, 3, groups=16), images)
    yield "convolution, of single pixels", _layer(nn.Conv2d(16, 64, 1), images)
    yield "convolution, transposed", _layer(nn.ConvTranspose2d(16, 16, 2, stride=2), images)
    yield "max_pool2d", lambda: _backward(F.max_pool2d(images, 2), images)
    yield "avg_pool2d", lambda: _backward(F.avg_pool2d(images, 2), images)
    yield "batch_norm", _layer(nn.BatchNorm2d(16), images)
    yield "batch_norm of vectors", _layer(nn.BatchNorm1d(n), x)
    yield "group_norm", _layer(nn.GroupNorm(4, 16), images)
    yield "layer_norm", _layer(nn.LayerNorm(n), x)
    yield "softmax", lambda: _backward(F.softmax(x, 1), x)
    yield "log_softmax", lambda: _backward(F.log_softmax(x, 1), x)
    yield "relu", lambda: _backward(F.relu(x), x)
    yield "gelu", lambda: _backward(F.gelu(x), x)
    yield "silu", lambda: _backward(F.silu(x), x)
    yield "sigmoid", lambda: _backward(torch.sigmoid(x), x)
    yield "exp and tanh", lambda: _backward(torch.exp(x) * torch.tanh(x) + row, x, row)
    yield "attention", lambda: _backward(F.scaled_dot_product_attention(few, few, few + x), x)
    yield from _halves(n)
    yield from _factors(n)
    yield from _others(n)
    yield "LSTM", _recurrent(nn.LSTM, n)
    yield "GRU", _recurrent(nn.GRU, n)
    yield "sort", lambda: [*torch.sort(a)]
    yield "topk", lambda: [*torch.topk(a, 7)]
    yield "sum, mean, cumsum", lambda: [a.sum(), a.mean(0), a.cumsum(1)]
    yield "index_add", lambda: torch.zeros(n, n).index_add_(0, torch.arange(n).flip(0), a)
    yield "fft", lambda: torch.view_as_real(torch.fft.fft2(a))


def reached(n: int) -> set[tuple[str, str]]:
    """Return the functions of mstorch's files that the calls reach, as (file, name)."""
    found: set[tuple[str, str]] = set()

    def look(frame: Any, event: str, argument: Any) -> None:
        if event == "call" and "_src/backend" in frame.f_code.co_filename:
            found.add((frame.f_code.co_filename.rpartition("backend/")[2], frame.f_code.co_name))

    calls = list(kernels(n))
    sys.setprofile(look)
    threading.setprofile(look)
    try:
        for _, call in calls:
            call()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return found
