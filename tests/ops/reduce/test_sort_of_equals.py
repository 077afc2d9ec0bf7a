"""The order of equal elements in sorts and selections of long rows, many rows, NaN, and under transforms, compared with torch."""
from __future__ import annotations

import numpy as np
import pytest

KINDS = ("float32", "float64", "int64", "uint8", "bool", "bfloat16")


def drawn(seed, shape, kinds):
    return np.random.RandomState(seed).randint(0, kinds, shape)


@pytest.mark.parametrize("dtype", KINDS)
@pytest.mark.parametrize("shape, kinds", [((20_000,), 2), ((20_000,), 900), ((3, 9000), 1), ((2, 140_000), 50), ((300, 70), 2), ((64, 200), 1)])
def test_sorts_of_long_and_many_rows(both, dtype, shape, kinds):
    """Long segments are partitioned one by one, short ones together, segments of equal elements by a table."""
    values = drawn(0, shape, kinds)
    both(lambda torch: [torch.tensor(values).to(getattr(torch, dtype)).argsort(descending=down) for down in (False, True)])


@pytest.mark.parametrize("dtype", ["float32", "int64", "uint8", "float16"])
@pytest.mark.parametrize("shape, ks", [((7, 900), (1, 3, 14, 15, 300, 900)), ((6000,), (1, 90, 94, 3000)), ((400, 20), (1, 5, 20))])
def test_selections_of_long_and_many_rows(both, dtype, shape, ks):
    """A heap selects few of many elements; quickselect the others, in its own order if they are not to be sorted."""
    values = drawn(1, shape, 40)

    def body(torch):
        x = torch.tensor(values).to(getattr(torch, dtype))
        return [tuple(x.topk(k, largest=up, sorted=ordered)) for k in ks for up in (True, False) for ordered in (True, False)] + [
            tuple(x.kthvalue(k)) for k in ks
        ]

    both(body)


@pytest.mark.parametrize("seed", range(4))
def test_unsorted_selections_without_equals(both, seed):
    values = np.random.RandomState(seed).permutation(3000).reshape(5, 600).astype(np.float32)
    both(lambda torch: [torch.tensor(values).topk(k, sorted=False)[1] for k in (2, 9, 10, 100, 600)])


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
@pytest.mark.parametrize("length", [3, 16, 17, 40, 300, 5000])
def test_not_a_number_and_zeros(both, dtype, length):
    """Zeros of both signs are equal; NaN equals NaN and is the largest; for the mode NaN equals nothing."""
    values = np.random.RandomState(length).choice([np.nan, 0.0, -0.0, 1.0, np.inf, -np.inf, 2.0], (3, length))
    values[2] = np.nan

    def body(torch):
        x = torch.tensor(values).to(getattr(torch, dtype))
        k = length // 2 + 1
        return [
            tuple(x.sort()), tuple(x.sort(descending=True)), tuple(x.topk(k)), tuple(x.topk(k, largest=False)), tuple(x.topk(k, sorted=False)),
            tuple(x.kthvalue(k)), tuple(x.kthvalue(1)), tuple(x.median(1)), tuple(x.nanmedian(1)), tuple(x.mode(1)), tuple(x.mode(0)),
        ]  # fmt: skip

    both(body)


@pytest.mark.parametrize("length", [*range(1, 24), 60, 1000])
def test_medians_of_nan(both, length):
    both(lambda torch: tuple(torch.full((2, length), float("nan")).nanmedian(1)))


@pytest.mark.on_the_cpu
@pytest.mark.parametrize("count", [32767, 32768])
@pytest.mark.parametrize("dtype", ["uint16", "uint32", "int16"])
def test_sorts_by_digits(both, dtype, count):
    """Long vectors of integers are sorted stably in ascending order; torch has no such sort of wide unsigned integers."""
    values = drawn(2, count, 100)
    for down in (False, True):
        for stable in (False, True):
            both(lambda torch: torch.tensor(values).to(getattr(torch, dtype)).sort(descending=down, stable=stable)[1])
    both(lambda torch: tuple(torch.tensor(values).to(torch.int16).mode()))


@pytest.mark.parametrize("sort", ["sort", "argsort"])
def test_stable_sorts(both, sort):
    values = drawn(3, (30, 80), 4)
    both(lambda torch: [getattr(torch.tensor(values), sort)(dim=dim, stable=True, descending=down) for dim in (0, 1) for down in (False, True)])


def test_results_that_are_given(both):
    values = drawn(4, (5, 90), 3).astype(np.float32)

    def body(torch):
        out = torch.empty(5, 90), torch.empty(5, 90, dtype=torch.int64)
        torch.sort(torch.tensor(values), out=out)
        order = torch.argsort(torch.tensor(values), stable=False, out=torch.empty(5, 90, dtype=torch.int64))
        return out, order, torch.msort(torch.tensor(values.T.copy()))

    both(body)


def test_medians_of_single_rows_are_contiguous(both):
    values = drawn(5, (1, 9, 1), 5)
    both(lambda torch: [found for dim in range(3) for found in torch.tensor(values).median(dim, True)])


@pytest.mark.parametrize("name", ["sort", "argsort", "topk", "kthvalue", "mode", "median"])
def test_under_vmap(both, name):
    values = drawn(6, (4, 3, 40), 3).astype(np.float32)
    args = (11,) if name in ("topk", "kthvalue") else () if name in ("sort", "argsort") else (-1,)

    def body(torch):
        def function(row):
            found = getattr(row, name)(*args)
            return found if name == "argsort" else tuple(found)

        x = torch.tensor(values)
        return torch.func.vmap(function)(x), torch.func.vmap(torch.func.vmap(function))(x), torch.func.vmap(function, in_dims=1)(x)

    both(body)


@pytest.mark.parametrize("down", [False, True])
def test_compiled(both, down):
    import mstorch

    values = drawn(7, (4, 50), 3).astype(np.float32)

    def body(torch):
        def function(x):
            return x.argsort(descending=down), x.topk(9, largest=down)[1], x.kthvalue(20)[1], x.mode()[1], x.median(1)[1]

        return (torch.compile(function) if torch is mstorch else function)(torch.tensor(values))

    both(body)


@pytest.mark.parametrize("name", ["sort", "topk", "kthvalue", "median", "nanmedian", "mode"])
@pytest.mark.parametrize("dim", [0, 1])
def test_gradients(both, name, dim):
    """Gradients go to the selected elements."""
    values = drawn(8, (50, 40), 3).astype(np.float64)
    if name == "nanmedian":
        values[:, 3] = values[5] = np.nan

    def body(torch):
        x = torch.tensor(values, requires_grad=True)
        found = getattr(x, name)(*((7,) if name in ("topk", "kthvalue") else ()), dim=dim)[0]
        (found * torch.arange(1.0, found.numel() + 1, dtype=torch.float64).reshape(found.shape)).sum().backward()
        return x.grad

    both(body)


@pytest.mark.parametrize("count", [5, 17, 60])
def test_packed_sequences_of_equal_lengths(both, count):
    """They are sorted in descending order, as by ``sort``."""
    lengths = drawn(9, count, 4) + 1

    def body(torch):
        rnn = torch.nn.utils.rnn
        x = torch.arange(5.0 * count).reshape(count, 5)
        packed = rnn.pack_padded_sequence(x, torch.tensor(lengths), batch_first=True, enforce_sorted=False)
        listed = rnn.pack_sequence([x[i, :n] for i, n in enumerate(lengths.tolist())], enforce_sorted=False)
        return tuple(packed), tuple(listed), rnn.pad_packed_sequence(packed)

    both(body)


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("dim", [0, 1])
def test_expanded_tensors_stay_as_they_are(both, dim, descending):
    def body(torch):
        rows = torch.tensor([3.0, 1.0, 2.0])[:, None].expand(3, 40)
        one = torch.ones(()).expand(40)
        return rows.sort(dim, descending), rows.argsort(dim, descending), one.sort(descending=descending), one.argsort()

    both(body)
