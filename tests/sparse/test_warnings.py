"""torch's warnings about sparse tensors, which appear once in a process: each case in a process of its own."""
from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests import warm

pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parents[2]
HEAD = """
import json, sys, warnings
if sys.argv[1] == "mstorch":
    import mstorch
    mstorch.install()
import torch
torch.set_warn_always(sys.argv[2] == "always")
i, v = torch.tensor([[0, 1], [1, 0]]), torch.tensor([1.0, 2.0])
rows, columns = torch.tensor([0, 1, 2]), torch.tensor([0, 1])
asked = torch.sparse.check_sparse_tensor_invariants
coo = torch.sparse_coo_tensor(i, v, (2, 2), check_invariants=False).coalesce()
said = {}
def look(name, function):
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        function()
    said[name] = [[each.category.__name__, str(each.message).split(" (Triggered internally")[0].strip()] for each in seen]
def inside(enable):
    with asked(enable):
        torch.sparse_coo_tensor(i, v)
"""
CALLS = {
    "coo": "torch.sparse_coo_tensor(i, v, (2, 2))", "coo, asked": "torch.sparse_coo_tensor(i, v, (2, 2), check_invariants=True)",
    "coo, refused": "torch.sparse_coo_tensor(i, v, (2, 2), check_invariants=False)", "coo of a size": "torch.sparse_coo_tensor((2, 2))",
    "indices, values, shape": "torch.sparse.FloatTensor(i, v, torch.Size([2, 2]))", "indices, values": "torch.sparse.FloatTensor(i, v)",
    "lengths": "torch.sparse.LongTensor(2, 3)", "a size": "torch.sparse.FloatTensor(torch.Size([2]))", "nothing": "torch.sparse.HalfTensor()",
    "csr": "torch.sparse_csr_tensor(rows, columns, v)", "csr, refused": "torch.sparse_csr_tensor(rows, columns, v, check_invariants=False)",
    "csc": "torch.sparse_csc_tensor(rows, columns, v)", "bsr": "torch.sparse_bsr_tensor(rows, columns, v.view(2, 1, 1))",
    "bsc": "torch.sparse_bsc_tensor(rows, columns, v.view(2, 1, 1))", "to_sparse": "torch.eye(2).to_sparse()",
    "to_sparse_csr": "torch.eye(2).to_sparse_csr()", "to_sparse_bsc": "torch.eye(2).to_sparse_bsc((1, 1))", "to rows": "coo.to_sparse_csr()",
    "product": "coo @ torch.eye(2)", "sum": "coo + coo", "t": "coo.t()", "new": "coo.new(i, v, (2, 2))", "double": "coo.double()",
    "spdiags": "torch.sparse.spdiags(torch.ones(1, 3), torch.tensor([0]), (3, 3))", "zeros": "torch.zeros(2, 2, layout=torch.sparse_coo)",
    "zeros in rows": "torch.zeros(2, 2, layout=torch.sparse_csr)", "mask": "torch.eye(2).sparse_mask(coo)",
    "embedding": "torch.nn.functional.embedding(columns, torch.eye(2).requires_grad_(), sparse=True).sum().backward()",
    "copy": "v.new_tensor(v)", "copy of numbers": "v.new_tensor([1.0])", "tensor": "torch.tensor(v)", "after": "torch.sparse_coo_tensor(i, v)",
    "inside": "inside(False)", "since": "torch.sparse_coo_tensor(i, v)",
}  # fmt: skip


def _said(library: str, always: str, calls: dict[str, str]) -> Any:
    body = HEAD + "".join(f"look({name!r}, lambda: {call})\n" for name, call in calls.items()) + "print(json.dumps(said))\n"
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "GLOG_v": "3"}
    environment.pop("MSTORCH_FAKE_DEVICE", None)
    command = ("-c", body, library, always)
    return json.loads(warm.said(*command, environment=environment, library=library))


@pytest.mark.parametrize("always", ["always", "once"])
def test_of_all_calls(always: str) -> None:
    assert _said("mstorch", always, CALLS) == _said("torch", always, CALLS)


@pytest.mark.parametrize("first", ["csc", "lengths", "to_sparse_bsc", "coo of a size"])
def test_only_the_first_layout_is_named(first: str) -> None:
    calls = {name: CALLS[name] for name in (first, "csr", "a size", "bsr", "coo")}
    assert _said("mstorch", "once", calls) == _said("torch", "once", calls)


@pytest.mark.parametrize("way", ["asked.enable()", "asked.disable()", "inside(True)"])
def test_who_has_chosen_hears_nothing(way: str) -> None:
    calls = {"before": way, "coo": CALLS["coo"], "csr": CALLS["csr, refused"]}
    assert _said("mstorch", "always", calls) == _said("torch", "always", calls)
