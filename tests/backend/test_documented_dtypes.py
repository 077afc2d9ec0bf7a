"""Kernels for Ascend receive only dtypes that CANN documents; the CPU computes the others, with a warning."""
from __future__ import annotations

import os
import pathlib
import re

import pytest

import mstorch
from mstorch._src.backend.ascend.documented import DOCUMENTED, PAGE_OF
from mstorch._src.backend.table import ALL, HALVES, ROWS
from tests import warm

ROOT = pathlib.Path(__file__).parents[2]
# Composed of kernels for comparisons and sums: only integers are passed to them.
OF_INTEGERS = {"linear_index"}

FALLS_BACK = """
import warnings, mstorch as torch
F = torch.nn.functional
for kind in (torch.float64, torch.float32):
    x, w = torch.arange(18.0).reshape(1, 2, 3, 3).to(kind), torch.ones(1, 2, 2, 2).to(kind)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        leaf = x.npu().requires_grad_()
        found = F.conv2d(leaf, w.npu())
        found.sum().backward()
    assert torch.equal(found.cpu(), F.conv2d(x, w)) and leaf.grad.is_npu, kind
    print([str(warning.message).split(" has no kernel")[0] for warning in seen if "has no kernel on this device" in str(warning.message)])
"""


def test_rows_list_what_their_pages_name() -> None:
    assert mstorch.__version__ and set().union(*DOCUMENTED.values()) == set(ALL)
    assert set(PAGE_OF.values()) == set(DOCUMENTED)
    taken = {op: ROWS[op].dtypes["Ascend"] for op in PAGE_OF if "Ascend" in ROWS[op].dtypes}
    assert len(taken) > 90 and not {op: dtypes for op, dtypes in taken.items() if not dtypes or dtypes - DOCUMENTED[PAGE_OF[op]]}
    assert ROWS["conv2d"].dtypes["Ascend"] == {"float16", "bfloat16", "float32"}
    for op in taken:  # half precision that a page does not list is computed in single precision
        missing = {name for name in HALVES if name not in DOCUMENTED[PAGE_OF[op]]} if "float32" in DOCUMENTED[PAGE_OF[op]] else set()
        assert all(ROWS[op].via["Ascend"][name] == "float32" for name in missing), op


def test_pages_name_what_the_emulated_operators_take() -> None:
    """tests/cann/device/dtypes.txt is written from the pages by a command: the first tensor of an operator, on a 910B."""
    told = {}
    for line in (ROOT / "tests/cann/device/dtypes.txt").read_text().splitlines():
        name, _, rest = line.partition(": ")
        told[name] = set(rest.partition(";")[0].partition("|")[0].split()[1:])
    both = {page for page in DOCUMENTED if told.get(page, {"*"}) - {"*"}}
    assert len(both) > 80 and not {page: DOCUMENTED[page] - told[page] for page in both if DOCUMENTED[page] - told[page]}


def test_no_row_that_nobody_saw_compute_says_all_without_a_page() -> None:
    """docs/kernels.md marks rows that have primitives without a CPU kernel."""
    table = (ROOT / "docs" / "kernels.md").read_text().partition("## GPU")[0]
    named = re.findall(r"^\| (\w+) \|[^|]*\|[^|]*\| by name \|[^|]*\|[^|]*\| ([\w ]*) \|", table, re.M)
    assert len(named) > 70
    pages = {op for op, dtypes in named if dtypes.strip() == "all"} - OF_INTEGERS
    assert not {op for op in pages if op not in PAGE_OF or DOCUMENTED[PAGE_OF[op]] != set(ALL)}


@pytest.mark.slow
def test_a_dtype_without_a_kernel_is_computed_on_the_cpu_with_a_warning() -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "MSTORCH_FAKE_DEVICE": "Ascend"}
    done = warm.done("-c", FALLS_BACK, environment=environment)
    assert done.returncode == 0, done.stderr[-2000:]
    double, single = done.stdout.splitlines()
    assert "mstorch: torch.conv" in double and single == "[]"
