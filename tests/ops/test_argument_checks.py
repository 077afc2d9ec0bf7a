"""Arguments that torch refuses, and those of odd dtypes and shapes that it takes."""
from __future__ import annotations

import numpy as np
import pytest

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
    "use_deterministic_algorithms(False, warn_only=1)", "arange(1, 6).apply_(lambda k: 'str')", "set_default_tensor_type(torch.cuda.FloatTensor)",
    "ones(3, dtype=torch.complex64).scatter_reduce(0, i, torch.tensor([1 + 1j, 2]), 'mean')",
    "ones(3, dtype=torch.complex64).scatter_(0, i, torch.tensor([1 + 1j, 2]), reduce='multiply')",
    "ones(3, dtype=torch.complex64).scatter_reduce(0, i, torch.tensor([1 + 1j, 2]), 'amax')",
    "ones(3, dtype=torch.complex64).index_reduce(0, i, torch.tensor([1 + 1j, 2]), 'prod')",
]  # fmt: skip


@pytest.mark.parametrize("text", REDUCTIONS + HISTOGRAMS + OTHERS)
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
