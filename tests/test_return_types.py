"""torch.return_types: named results, and the types of results of calls with ``out=``."""
from __future__ import annotations

import pytest
import torch as real_torch

import mstorch
from tests.against_torch import both

ALL = real_torch.return_types.all_return_types


def test_all_names():
    both(lambda torch: [
        (kind.__name__, kind.__match_args__, kind.n_fields) for kind in torch.return_types.all_return_types
        if not kind.__name__.startswith("linalg_polar")  # torch 2.14
    ])  # fmt: skip


@pytest.mark.parametrize("name", [kind.__name__ for kind in ALL])
def test_types(name):
    def body(torch):
        kind = getattr(torch.return_types, name)
        made = kind(range(kind.n_fields))
        return tuple(made), repr(made), [getattr(made, field) for field in kind.__match_args__]

    both(body)
    both(lambda torch: getattr(torch.return_types, name)([]))


CALLS = {
    "max": "torch.max(x, 0{out})", "min": "torch.min(x, 0{out})", "sort": "torch.sort(x{out})", "topk": "torch.topk(x, 2{out})",
    "median": "torch.median(x, 0{out})", "mode": "torch.mode(x, 0{out})", "kthvalue": "torch.kthvalue(x, 2{out})",
    "cummax": "torch.cummax(x, 0{out})", "aminmax": "torch.aminmax(x{out})", "slogdet": "torch.slogdet(x{out})",
    "linalg_slogdet": "torch.linalg.slogdet(x{out})", "linalg_qr": "torch.linalg.qr(x{out})", "linalg_eigh": "torch.linalg.eigh(x{out})",
    "linalg_svd": "torch.linalg.svd(x{out})", "svd": "torch.svd(x{out})", "frexp": "torch.frexp(x{out})",
    "linalg_lu": "torch.linalg.lu(x{out})", "linalg_inv_ex": "torch.linalg.inv_ex(x{out})",
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_what_calls_return(name):
    def body(torch):
        x = torch.tensor([[4.0, 1, 0.5], [1, 3, 0.25], [0.5, 0.25, 5]])
        plain = eval(CALLS[name].format(out=""), {"torch": torch, "x": x})
        out = tuple(torch.empty(0, dtype=part.dtype) for part in plain)
        with_out = eval(CALLS[name].format(out=", out=out"), {"torch": torch, "x": x, "out": out})
        return type(plain).__name__, type(with_out).__name__, isinstance(with_out, getattr(torch.return_types, f"{name}_out"))

    both(body)


def test_pickling():
    import pickle

    made = mstorch.max(mstorch.eye(2), 0, out=(mstorch.empty(0), mstorch.empty(0, dtype=mstorch.int64)))
    assert type(pickle.loads(pickle.dumps(made))) is mstorch.return_types.max_out
