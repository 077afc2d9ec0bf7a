"""Files of sparse tensors, between torch and mstorch."""
from __future__ import annotations

import io
import pickle
from typing import Any

import pytest
import torch

import mstorch
from tests.sparse.sparse_parts import Samples


def _state(library: Any) -> dict[str, Any]:
    x = Samples(library)
    return {
        "s": x.s, "coalesced": x.s.coalesce(), "hybrid": x.h, "csr": x.c, "csc": x.b.to_sparse_csc(), "bsr": x.b.to_sparse_bsr((2, 2)),
        "empty": library.zeros(2, 3, layout=library.sparse_coo), "layout": library.sparse_csr, "dense": x.d,
    }  # fmt: skip


@pytest.mark.parametrize("weights_only", [True, False])
@pytest.mark.parametrize(("writer", "reader"), [(torch, mstorch), (mstorch, torch), (mstorch, mstorch)])
@pytest.mark.filterwarnings("ignore:Sparse")
def test_files_go_both_ways(writer: Any, reader: Any, weights_only: bool) -> None:
    file = io.BytesIO()
    writer.save(_state(writer), file)
    file.seek(0)
    found, want = reader.load(file, weights_only=weights_only), _state(reader)
    assert {key: repr(value) for key, value in found.items()} == {key: repr(value) for key, value in want.items()}
    assert found["coalesced"].is_coalesced()
    assert not found["s"].is_coalesced()


class _Made:
    """An object that a file constructs by calling a function of torch."""

    def __init__(self, function: Any, *arguments: Any) -> None:
        self.made = function, arguments

    def __reduce__(self) -> Any:
        return self.made


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("torch.sparse_coo", ()), "layout"),
        ((torch.strided, (torch.zeros(1, 1).long(), torch.ones(1), (2,), False)), "no such parts"),
        ((torch.sparse_coo, (torch.zeros(1, 1).long(), 3, (2,), False)), "no such parts"),
        ((torch.sparse_coo, (torch.zeros(1, 1), torch.ones(1), (2,), False)), "no integers"),
        ((torch.sparse_coo, (torch.zeros(1, 1).long(), torch.ones(1), "2", False)), "tuple of integers"),
    ],
)
def test_parts_that_do_not_fit_are_refused(arguments: Any, message: str) -> None:
    file = io.BytesIO()
    torch.save(_Made(torch._utils._rebuild_sparse_tensor, *arguments), file)
    file.seek(0)
    with pytest.raises((RuntimeError, pickle.UnpicklingError), match=message):
        mstorch.load(file)


def test_indices_outside_are_refused_when_used() -> None:
    file = io.BytesIO()
    torch.save(_Made(torch._utils._rebuild_sparse_tensor, torch.sparse_coo, (torch.tensor([[7]]), torch.ones(1), (2,), True)), file)
    file.seek(0)
    loaded = mstorch.load(file)
    with pytest.raises(RuntimeError, match="size is inconsistent with indices"):
        loaded.to_dense()
