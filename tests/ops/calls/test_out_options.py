"""Factories raise torch's errors for a dtype, a layout or a device that differs from that of ``out``."""
from __future__ import annotations

import pytest

FACTORIES = {
    "zeros": "(3,)", "ones": "(3,)", "empty": "(3,)", "full": "(3,), 1.0", "arange": "3", "range": "1, 3", "linspace": "0, 1, 3",
    "logspace": "0, 1, 3", "eye": "3", "rand": "3", "randn": "3", "randint": "3, (3,)", "randperm": "3",
}  # fmt: skip
OPTIONS = {
    "dtype": "dtype=torch.complex64", "layout": "layout=torch.sparse_coo", "compressed": "layout=torch.sparse_csr", "device": "device='meta'",
    "two": "dtype=torch.complex64, layout=torch.sparse_coo", "fitting": "dtype=out.dtype, layout=torch.strided, device=out.device",
}  # fmt: skip


@pytest.mark.parametrize("option", list(OPTIONS))
@pytest.mark.parametrize("name", list(FACTORIES))
def test_options_that_are_not_those_of_out(both, name, option):
    def body(torch):
        out = torch.zeros((3, 3) if name == "eye" else (3,), dtype=torch.int64 if name == "randperm" else torch.float32)
        found = eval(f"torch.{name}({FACTORIES[name]}, out=out, {OPTIONS[option]})", {"torch": torch, "out": out})
        return found is out, out.shape, out.dtype

    both(body, message="device type meta does not match device type of out parameter" if option == "device" else None)


def test_a_sparse_out(both):
    both(lambda torch: torch.zeros((2, 2), out=torch.ones(2, 2).to_sparse(), layout=torch.strided))
