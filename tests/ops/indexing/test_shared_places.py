"""In-place writes to some elements of tensors whose elements share memory: expanded ones, and windows of ``unfold`` and ``as_strided``."""
from __future__ import annotations

import pytest

WINDOWS = {
    "expand": lambda x: x[:3].expand(2, 3), "expand of one": lambda x: x[:1].expand(4), "expand in the middle": lambda x: x[:6].view(2, 1, 3).expand(2, 2, 3),
    "expand of columns": lambda x: x[:3].view(3, 1).expand(3, 4), "unfold": lambda x: x.unfold(0, 3, 1), "unfold of two": lambda x: x.view(2, 4).unfold(1, 2, 1),
    "as_strided": lambda x: x.as_strided((2, 3), (2, 1)), "rows that begin inside others": lambda x: x.as_strided((2, 3), (1, 1), 1),
}  # fmt: skip
MASKS = {"first": lambda i, n: i == 0, "last": lambda i, n: i == n - 1, "even": lambda i, n: i % 2 == 0, "third": lambda i, n: i % 3 == 1, "none": lambda i, n: i < 0}
DTYPES = ["float32", "int64", "bool", "bfloat16", "complex64"]


def window(torch, name, dtype="float32", whole=None):
    """Return a window, and the tensor whose memory it shows: 0, 1, 0, 1 …"""
    whole = (torch.arange(8) % 2).to(getattr(torch, dtype)) if whole is None else whole
    return WINDOWS[name](whole), whole


def mask_of(torch, shape, name):
    count = 1
    for length in shape:
        count *= length
    return MASKS[name](torch.arange(count), count).reshape(shape)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("name", WINDOWS)
def test_writes_by_a_mask(both, name, mask, dtype):
    """They touch the places where the mask is True, whatever it is at other places that share their memory."""

    def body(torch):
        results = []
        one = torch.ones((), dtype=getattr(torch, dtype))
        for number in (0, 1):
            for form in range(8):
                x, whole = window(torch, name, dtype)
                flags = mask_of(torch, x.shape, mask)
                value = one.clone().fill_(number)
                if form == 0:
                    x.masked_fill_(flags, number)
                elif form == 1:
                    x.masked_fill_(flags, value)
                elif form == 2:
                    x[flags] = number
                elif form == 3:
                    x[flags] = value
                elif form == 4:
                    x.index_put_((flags,), value)
                elif form == 5:
                    x.masked_fill_(flags[:1], number)
                elif form == 6:
                    x[flags] = value.expand(int(flags.sum())).clone()
                elif "expand" not in name:
                    x.masked_scatter_(flags, value.expand(x.numel()).clone())
                results += [whole, x.clone()]
        return results

    both(body)


@pytest.mark.parametrize("index", [[0], [1], [0, 1], [1, 0], []])
@pytest.mark.parametrize("name", WINDOWS)
def test_writes_by_an_index(both, name, index):
    def body(torch):
        results = []
        places = torch.tensor(index, dtype=torch.int64)
        for dim in range(window(torch, name)[0].dim()):
            for form in range(5):
                x, whole = window(torch, name)
                lengths = [len(index) if d == dim else length for d, length in enumerate(x.shape)]
                source = torch.arange(1.0, 1 + torch.ones(lengths).numel()).reshape(lengths) % 3
                if form == 0:
                    x.index_fill_(dim, places, 2)
                elif form == 1:
                    x.index_fill_(dim, places, torch.tensor(0.0))
                elif form == 2 and "expand" not in name and index != [1, 0]:  # torch writes in the order of the index
                    x.index_copy_(dim, places, source)
                elif form == 3:
                    x.put_(places, torch.arange(len(index), dtype=torch.float32))
                elif form == 4 and "expand" not in name and index not in ([], [1, 0]):
                    x.scatter_(dim, (places + torch.zeros(lengths, dtype=torch.int64).movedim(dim, -1)).movedim(-1, dim), source)
                results += [whole, x.clone()]
        return results

    both(body)


@pytest.mark.parametrize("name", ["expand", "unfold"])
@pytest.mark.parametrize("form", ["index_copy_", "scatter_", "masked_scatter_", "add_", "copy_"])
def test_refusals(both, name, form):
    def body(torch):
        x, _ = window(torch, name)
        if name == "unfold" and form in ("add_", "copy_"):
            return None
        flags = mask_of(torch, x.shape, "first")
        source = torch.ones(x.shape)
        arguments = {"index_copy_": (0, torch.arange(x.shape[0]), source), "scatter_": (0, flags.to(torch.int64), source),
                     "masked_scatter_": (flags, source), "add_": (source,), "copy_": (source,)}[form]  # fmt: skip
        getattr(x, form)(*arguments)
        return None

    both(body)


@pytest.mark.parametrize("target", ["bool", "int64", "float32"])
@pytest.mark.parametrize("kind", ["int64", "float32", "bool", "complex64"])
@pytest.mark.parametrize("shape", [(), (1,), (2,)])
def test_values_of_another_dtype(both, target, kind, shape):
    """One value at the places of one mask is converted, as in a masked fill."""

    def body(torch):
        results = []
        for mask in ([[True, False], [False, False]], [[True, True], [False, False]]):
            for form in range(2):
                x = torch.zeros(2, 2, dtype=getattr(torch, target))
                flags, value = torch.tensor(mask), torch.ones(shape, dtype=getattr(torch, kind))
                try:
                    x.index_put_((flags,), value) if form == 0 else x.__setitem__(flags, value)
                except RuntimeError as error:
                    results.append(type(error).__name__)
                results.append(x)
        return results

    both(body)
