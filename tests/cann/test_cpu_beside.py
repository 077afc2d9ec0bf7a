"""Tensors of the CPU stay there in a process with a device: MindSpore's kernels, which compute on the device then, have NumPy's in their place."""
from __future__ import annotations

import pytest
import torch as real_torch

import mstorch as torch
from mstorch._src.backend import table
from tests.cann.plugin import on_plugin

pytestmark = pytest.mark.slow
LENT = {"ctc_loss": ["float32", "float64"]}
"""Operations that are computed on the device nevertheless, because they have no other kernel."""
REFUSED = {
    "mm": ["bool"], "bmm": ["bool"], "scatter": ["uint16", "uint32", "uint64"], "searchsorted": ["uint16", "uint32"],
    "conv_transpose2d": ["complex128", "complex64", "int16", "int32", "int64", "int8", "uint8"],
}  # fmt: skip
"""Dtypes that torch refuses, and those that another kernel computes: conv_transpose2d's is called for floating-point numbers alone."""


@on_plugin
def test_every_operation_has_a_kernel_of_the_host():
    lent: dict[str, set[str]] = {}

    def note(op, name, kernel):
        lent.setdefault(op, set()).add(name)
        return kernel

    table.lenders.append(note)
    try:
        for op, row in table.ROWS.items():
            for name in {*row.dtypes.get("CPU", ()), *row.via.get("CPU", ())}:
                try:
                    table.HostKernel(table.kernel(op))[name]
                except NotImplementedError:
                    pass
    finally:
        table.lenders.remove(note)
    assert {op: sorted(names) for op, names in lent.items()} == {**LENT, **REFUSED}


@pytest.mark.parametrize("name", ["uint8", "int8", "int16", "int32", "int64"])
@on_plugin
def test_linear_maps_of_integers(name):
    def results(library):
        x = library.arange(12).reshape(2, 2, 3).to(getattr(library, name))
        weight = library.arange(6).reshape(2, 3).to(getattr(library, name))
        return [library.nn.functional.linear(one, weight, *bias).tolist() for one in (x, x[0], x[0, 0]) for bias in ((), (weight[:, 0],))]

    assert results(torch) == results(real_torch)
