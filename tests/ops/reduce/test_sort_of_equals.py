"""The order of equal elements in sorts and selections of long rows, many rows, NaN, and under transforms, compared with torch."""
from __future__ import annotations

import numpy as np
import pytest

from mstorch._src.backend.host import _order, _select

DTYPES = "uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64".split()
KINDS = ("float32", "float64", "int64", "uint8", "bool", "bfloat16")


def flat(found):
    """Return named tuples as plain ones."""
    return [tuple(item) if isinstance(item, tuple) else item for item in (found if isinstance(found, tuple) else (found,))]


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


def _orders(torch, x, dim):
    length = x.shape[dim]
    ks = {min(length, k) for k in (1, 2, 5, 17, length // 2, length)}
    return [
        *flat(torch.sort(x, dim)), *flat(x.sort(dim=dim, descending=True)), x.argsort(dim), x.argsort(dim=dim, descending=True, stable=True),
        *(found for k in sorted(ks) for largest in (True, False) for ordered in (True, False)
          for found in flat(x.topk(k, dim, largest, ordered))),
        *(found for k in sorted(ks) for found in flat(x.kthvalue(k, dim))), *flat(x.median(dim)), *flat(x.mode(dim)),
    ]  # fmt: skip


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("length", [4, 16, 17, 40, 130, 700])
def test_equal_elements(both, dtype, length):
    """Equal elements are in the order of torch's algorithms."""
    values = np.random.RandomState(length).randint(0, 6, (3, length))
    both(lambda torch: _orders(torch, torch.tensor(values).to(getattr(torch, dtype)), 1))


@pytest.mark.parametrize("shape, dim", [((60, 5), 0), ((4, 40, 3), 1), ((2, 3, 33), -1), ((5000,), 0), ((40, 300), 0)])
def test_equal_elements_along_dimensions(both, shape, dim):
    values = np.random.RandomState(3).randint(0, 9, shape).astype(np.float32)
    values[values == 7] = np.nan
    both(lambda torch: [
        *flat(torch.tensor(values).sort(dim)), torch.tensor(values).transpose(0, -1).argsort(-1 - dim, descending=True),
        *flat(torch.tensor(values).topk(9 if shape[dim] > 9 else 3, dim)), torch.tensor(values)[::2].argsort(dim),
    ])  # fmt: skip


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "int32", "uint8", "bool"])
def test_many_equal_elements(both, dtype):
    """Integers in one long row are sorted stably, in ascending order."""
    values = np.random.RandomState(4).randint(0, 100, 40_000)
    both(lambda torch: (
        torch.tensor(values).to(getattr(torch, dtype)).argsort(), torch.tensor(values).to(getattr(torch, dtype)).argsort(descending=True),
        torch.tensor(values).to(getattr(torch, dtype))[:32767].argsort(), torch.tensor(values).to(getattr(torch, dtype))[None].argsort(),
    ))  # fmt: skip


def test_equal_random_numbers(both):
    """Single precision has 2^24 numbers in [0, 1): 100,000 draws have duplicates, and a permutation made of them depends on their order."""
    def body(torch):
        torch.manual_seed(0)
        return torch.rand(100_000).argsort()

    both(body)


def _killer(count):
    """Return numbers for which median-of-three quicksort recurses deeply (M. D. McIlroy, A killer adversary for quicksort, 1999)."""
    values, state = [count] * count, {"solid": 0, "candidate": 0}

    def below(i, j):
        if values[i] == values[j] == count:
            values[i if i == state["candidate"] else j], state["solid"] = state["solid"], state["solid"] + 1
        if count in (values[i], values[j]):
            state["candidate"] = i if values[i] == count else j
        return values[i] < values[j]

    at, first, last = list(range(count)), 0, count
    while last - first > 16:
        a, b, c = first + 1, first + (last - first) // 2, last - 1
        chosen = (b if below(at[b], at[c]) else c if below(at[a], at[c]) else a) if below(at[a], at[b]) else (
            a if below(at[a], at[c]) else c if below(at[b], at[c]) else b
        )
        at[first], at[chosen] = at[chosen], at[first]
        i, j = first + 1, last - 1
        while True:
            while below(at[i], at[first]):
                i += 1
            while below(at[first], at[j]):
                j -= 1
            if i >= j:
                break
            at[i], at[j] = at[j], at[i]
            i, j = i + 1, j - 1
        first = i
    for i in np.flatnonzero(np.array(values) == count):
        values[i], state["solid"] = state["solid"], state["solid"] + 1
    return np.array(values) // 2


@pytest.mark.parametrize("count", [300, 9000])
def test_deep_partitions(both, monkeypatch, count):
    """Below a certain depth heapsort is used."""
    values, deep = _killer(count), []
    sort, select = _order.sort_by_heap, _select.select_by_heap
    monkeypatch.setattr(_order, "sort_by_heap", lambda *args: (deep.append("sort"), sort(*args)))
    monkeypatch.setattr(_select, "select_by_heap", lambda *args: (deep.append("select"), select(*args)))
    both(lambda torch: (torch.tensor(values).argsort(), torch.tensor(values).topk(count // 2, largest=False, sorted=False), torch.tensor(values).double().argsort()))
    assert {*deep} == {"sort", "select"}
