"""Arguments that torch refuses, and unusual dtypes and shapes that it accepts."""
from __future__ import annotations

import numpy as np
import pytest

from tests.against_torch import of_cpu_build

# A torch built for GPUs accepts it, and creates every tensor there from then on.
ON_GPUS = pytest.param("set_default_tensor_type(torch.cuda.FloatTensor)", marks=of_cpu_build)
REDUCTIONS = [
    "prod(torch.tensor([[1.0, 0], [1, 1]]), 1, dtype=torch.bool)", "prod(torch.tensor([1, 2]), dtype=torch.bool)",
    "cumsum(torch.tensor([1.0, 2]), 0, dtype=torch.bool)", "all(torch.ones(2), dim=0, out=torch.ones(()))",
    "any(torch.ones(2), out=torch.ones((), dtype=torch.int32))", "all(torch.ones(2).byte(), dim=0, out=torch.ones((), dtype=torch.bool))",
    "sum(torch.ones(2).int(), 0, dtype=torch.int64, out=torch.ones((), dtype=torch.int32))",
    "cumsum(torch.ones(2).int(), 0, dtype=torch.int64, out=torch.ones(2, dtype=torch.int32))",
    "cumsum(torch.ones(2).int(), 0, out=torch.ones(2, dtype=torch.int32))", "argmax(torch.ones(2), 0, out=torch.ones((), dtype=torch.int32))",
    "max(torch.ones(2), 0, out=(torch.ones(()).double(), torch.ones((), dtype=torch.int64)))",
    "cummax(torch.ones(3), 0, out=(torch.empty(0, dtype=torch.int16), torch.empty(0, dtype=torch.int64)))",
    "logcumsumexp(torch.tensor([-inf, -inf, 1, 1, inf, inf, nan, 1]), 0)", "logcumsumexp(torch.tensor([-inf, -inf]), 0)",
]  # fmt: skip
HISTOGRAMS = [
    "histc(torch.tensor([1, 2], dtype=torch.int32), 2, 3, 1)", "histogram(torch.ones(2), torch.tensor(1.0))",
    "histogram(torch.ones(2), torch.tensor([]))", "histogram(torch.ones(2), torch.tensor([1, 2]))", "histogram(torch.ones(2), 0)",
    "histogram(torch.ones(2), 2, weight=torch.ones(3))", "histogram(torch.ones(2), 2, weight=torch.ones(2).double())",
    "histogram(torch.ones(2), 2, range=(1.0,))", "histogram(torch.ones(2), 2, range=(2.0, 1.0))", "histogram(torch.tensor([1, inf]), 2)",
    "histogram(torch.ones(2), 2, range=(nan, 1.0))", "histogramdd(torch.ones(3, 2), [2, 0])",
    "histogramdd(torch.ones(3, 2), [2, 3], weight=torch.ones(2))",
]  # fmt: skip
OTHERS = [
    "view_as_real(torch.tensor([0j, 1 + 1j, nan, inf]) / 0.0)", "view_as_real(torch.tensor([0j, 1 + 1j]) / torch.tensor([0j, 0]))", "cov(torch.tensor([[1 + 2j], [2]]))",
    "corrcoef(torch.tensor(1 + 2j))", "bernoulli(torch.full((10,), 0.5), out=torch.ones(10, dtype=torch.int64))",
    "normal(torch.zeros(120), torch.ones(2, 3, 4, 5))", "empty((3, 3), memory_format=torch.channels_last)",
    "empty((3, 3, 3, 3), memory_format=torch.preserve_format)", "use_deterministic_algorithms(1)",
    "use_deterministic_algorithms(False, warn_only=1)", "arange(1, 6).apply_(lambda k: 'str')", ON_GPUS,
    "ones(3, dtype=torch.complex64).scatter_reduce(0, i, torch.tensor([1 + 1j, 2]), 'mean')",
    "ones(3, dtype=torch.complex64).scatter_(0, i, torch.tensor([1 + 1j, 2]), reduce='multiply')",
    "ones(3, dtype=torch.complex64).scatter_reduce(0, i, torch.tensor([1 + 1j, 2]), 'amax')",
    "ones(3, dtype=torch.complex64).index_reduce(0, i, torch.tensor([1 + 1j, 2]), 'prod')",
]  # fmt: skip


INDICES = [
    "nonzero(torch.ones(2), out=torch.empty(0))", "nonzero(torch.ones(2), as_tuple=True, out=torch.empty(0, dtype=torch.int64))",
    "ones(3).unfold(0, -1, 1)", "ones(3).flip()", "ones(4).topk(4, True)", "nonzero_static(torch.ones(2), size=3, out=torch.empty(0))",
    "unique(torch.tensor([nan, 0, nan]), dim=0)", "arange(4).__setitem__(torch.tensor([1]), torch.tensor([]))",
    "unique(torch.tensor([[0.0, 1], [nan, 1], [0, 1]]), dim=0, return_inverse=True, return_counts=True)",
]  # fmt: skip
ARITHMETIC = [
    "add(True, True)", "add(1, 2.5)", "sub(1, 2)", "div(7, 2, rounding_mode='floor')", "floor_divide(7, 2)", "div(5, 0)",
    "promote_types(torch.float8_e5m2, torch.float32)", "threshold(torch.tensor([-1, 2]), 0.5, 1.5)", "threshold(torch.tensor([True]), 0, 0)",
    "frexp(torch.ones(2), out=(torch.empty(0), torch.empty(0)))", "frexp(torch.ones(2), out=(torch.empty(0).double(), torch.empty(0).int()))",
    "heaviside(torch.ones(2), torch.ones(2) + 0j)", "clamp(torch.tensor([1, 2], dtype=torch.uint8), min=-1)",
    "clamp(torch.tensor([1, 2], dtype=torch.uint8), 0, 300)", "addcmul(torch.ones(2), torch.ones(2), torch.ones(2), value=torch.ones(2))",
    "ones(2).__dlpack__(stream=object())", "fft.fftfreq(3, out=torch.empty(()))", "_segment_reduce(torch.arange(6.0), 'sum', lengths=i + 3)",
]  # fmt: skip


LEGACY = [
    "FloatTensor(torch.ones(3).int())", pytest.param("Tensor(torch.ones(3), device='cpu')", marks=pytest.mark.on_the_cpu), "ones(3).new(torch.ones(3), device='cpu')",
    "ones(3).new(torch.ones(3).int())", "arange(1.2e-38, 3.4e38)", "empty([0, 4, 2305843009213693952])", "tensor(1).expand(2.0)",
]  # fmt: skip
FACTORS = [
    "add(True, True, alpha=True)", "add(1, 1, alpha=True)", "add(torch.ones(2), torch.ones(2), alpha=True)",
    "add(torch.ones(2).bool(), torch.ones(2).bool(), alpha=2)", "add(torch.ones(2).int(), torch.ones(2).int(), alpha=1j)",
    "sub(torch.ones(2).half(), torch.ones(2).half(), alpha=True)", "logcumsumexp(torch.ones(2), 0, out=torch.empty(0).double())",
    "histogram(torch.ones(2), 2, out=(torch.empty(0), torch.empty(0).double()))", "unique(torch.ones(0, 3, 5, 0), dim=0)",
]  # fmt: skip


@pytest.mark.parametrize("text", REDUCTIONS + HISTOGRAMS + OTHERS + INDICES + ARITHMETIC + LEGACY + FACTORS)
def test_one_call(both, text):
    both(lambda torch: eval(f"torch.{text}", {"torch": torch, "inf": np.inf, "nan": np.nan, "i": torch.tensor([0, 0])}))


def test_reversed(both):
    both(lambda torch: [reversed(torch.arange(n).reshape(shape)) for n, shape in ((4, 4), (4, (2, 2)), (1, ()))])


def test_a_number_over_a_tensor_is_rounded_as_in_torch(both):
    both(lambda torch: 3 / torch.linspace(0.1, 7, 1000), rtol=0, atol=0)


def test_storages_know_their_size(both):
    both(lambda torch: [
        torch.ones(100).storage().__sizeof__() - torch.ones(0).storage().__sizeof__(),
        torch.ones(100).untyped_storage().__sizeof__() - torch.ones(0).untyped_storage().__sizeof__(),
    ])  # fmt: skip


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_neighbours_and_quotients_in_16_bits(both, dtype):
    def body(torch):
        kind = getattr(torch, dtype)
        a = torch.tensor([0, 0, 1, np.inf, -0.0, np.nan, -1, 3, 0, -0.0, 2.5]).to(kind)
        b = torch.tensor([1, -1, 1, 0, 1, 1, -2, np.inf, -0.0, 0, -7]).to(kind)
        steps = torch.arange(1, 200).to(kind)
        return torch.nextafter(a, b), torch.nextafter(a[:, None], b), torch.div(steps * 7, steps[:, None], rounding_mode="trunc")

    both(body, rtol=0, atol=0)


def test_legacy_types_share_memory(both):
    def body(torch):
        a = torch.ones(3)
        torch.FloatTensor(a)[0] = 5
        a.new(a)[1] = 6
        return a

    both(body)
