"""More dimensions than NumPy's arrays have (32 before NumPy 2, 64 since): torch's results, or an error that names the limit."""
from __future__ import annotations

import copy
import io
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch as real_torch

import mstorch
from mstorch._src.core.no_memory import MOST_DIMENSIONS

MANY = (1,) * (MOST_DIMENSIONS + 1)
MOST = (1,) * MOST_DIMENSIONS
HALF = (1,) * (MOST_DIMENSIONS // 2 + 1)


def _nested(depth: int) -> Any:
    found: Any = 1.0
    for _ in range(depth):
        found = [found]
    return found


def _many(torch: Any) -> Any:
    return torch.ones(1).reshape(MANY)


def _written(torch: Any) -> Any:
    x = torch.zeros(2)
    x[:1].view(MANY)[...] = 3.0
    return x


def _saved(torch: Any) -> Any:
    file = io.BytesIO()
    torch.save(_many(torch), file)
    return torch.load(io.BytesIO(file.getvalue()))


def _slope(torch: Any) -> Any:
    x = torch.ones(1, requires_grad=True)
    (x.reshape(MANY) * 2).sum().backward()
    return x.grad


CALLS: dict[str, Callable[[Any], Any]] = {
    # views, which need no array
    "reshape": _many, "view": lambda torch: torch.ones(1).view(MANY), "expand": lambda torch: torch.ones(1).expand(MANY),
    "unsqueeze": lambda torch: torch.ones(MOST).unsqueeze(0), "None": lambda torch: torch.ones(MOST)[None],
    "broadcast_to": lambda torch: torch.broadcast_to(torch.ones(1), MANY), "as_strided": lambda torch: torch.ones(1).as_strided(MANY, MANY),
    "unflatten": lambda torch: torch.ones(MOST).unflatten(0, (1, 1)), "unfold": lambda torch: torch.ones(MOST).unfold(0, 1, 1),
    "movedim": lambda torch: _many(torch).movedim(0, 1), "permute": lambda torch: _many(torch).permute(*range(len(MANY))[::-1]),
    "squeeze": lambda torch: _many(torch).squeeze(), "and back": lambda torch: _many(torch).reshape(1) * 2, "view_as_real": lambda torch: torch.view_as_real(torch.ones(MOST, dtype=torch.complex64)),
    "broadcast_tensors": lambda torch: torch.broadcast_tensors(torch.ones(1), _many(torch))[0],
    # operations that create arrays
    "zeros": lambda torch: torch.zeros(MANY), "ones": lambda torch: torch.ones(*MANY), "full": lambda torch: torch.full(MANY, 2.0),
    "empty": lambda torch: torch.empty(MANY) * 0, "rand": lambda torch: torch.rand(MANY) * 0, "randint": lambda torch: torch.randint(0, 1, MANY),
    "new_zeros": lambda torch: torch.ones(1).new_zeros(MANY), "zeros_like": lambda torch: torch.zeros_like(_many(torch)), "tensor": lambda torch: torch.tensor(_nested(len(MANY))),
    "normal": lambda torch: torch.normal(0.0, 1.0, MANY) * 0, "randn": lambda torch: torch.randn(MANY) * 0, "bernoulli": lambda torch: torch.bernoulli(_many(torch)),
    # operations that add dimensions
    "stack": lambda torch: torch.stack([torch.ones(MOST)] * 2), "repeat": lambda torch: torch.ones(1).repeat(MANY), "tile": lambda torch: torch.tile(torch.ones(1), MANY),
    "kron": lambda torch: torch.kron(torch.ones(HALF), torch.ones(HALF)), "outer": lambda torch: torch.tensordot(torch.ones(HALF), torch.ones(HALF), 0),
    "diag_embed": lambda torch: torch.ones(MOST).diag_embed(), "one_hot": lambda torch: torch.nn.functional.one_hot(torch.zeros(MOST, dtype=torch.int64), 3),
    "embedding": lambda torch: torch.nn.functional.embedding(torch.zeros(MOST, dtype=torch.int64), torch.ones(2, 3)),
    "meshgrid": lambda torch: torch.meshgrid(*[torch.ones(1)] * len(MANY), indexing="ij")[0], "index": lambda torch: torch.ones(MOST)[torch.zeros(1, 1, dtype=torch.int64)],
    "take": lambda torch: torch.ones(3).take(torch.zeros(MANY, dtype=torch.int64)), "where": lambda torch: torch.where(_many(torch) > 0, 1, 2),
    # operations that read elements
    "written": _written, "tolist of a view": lambda torch: torch.tensor(torch.ones(2)[:1].view(MANY).tolist()),
    "add": lambda torch: _many(torch) + 1, "sum": lambda torch: _many(torch).sum(), "sum of one": lambda torch: _many(torch).sum(0), "exp": lambda torch: _many(torch).exp(),
    "clone": lambda torch: _many(torch).clone(), "contiguous": lambda torch: _many(torch).contiguous(), "double": lambda torch: _many(torch).double(),
    "equal": lambda torch: torch.tensor(torch.equal(_many(torch), _many(torch))), "tolist": lambda torch: torch.tensor(_many(torch).tolist()), "item": lambda torch: torch.tensor(_many(torch).item()),
    "repr": lambda torch: torch.tensor(len(repr(_many(torch)))), "add_": lambda torch: _many(torch).add_(1), "fill_": lambda torch: _many(torch).fill_(2),
    "copy_": lambda torch: torch.ones(1).copy_(_many(torch).squeeze()), "copy from": lambda torch: torch.ones(1).view(MANY).copy_(torch.ones(1)), "setitem": lambda torch: _many(torch).__setitem__(0, 2.0) or torch.ones(1),
    "nonzero": lambda torch: _many(torch).nonzero(), "sort": lambda torch: _many(torch).sort()[0], "cat": lambda torch: torch.cat([_many(torch)] * 2), "max": lambda torch: _many(torch).max(0)[0],
    "softmax": lambda torch: _many(torch).softmax(0), "matmul": lambda torch: _many(torch) @ _many(torch), "einsum": lambda torch: torch.einsum("...->...", _many(torch)), "deepcopy": lambda torch: copy.deepcopy(_many(torch)),
    "backward": _slope, "saved": _saved, "linear": lambda torch: torch.nn.Linear(1, 1)(_many(torch)) * 0, "relu": lambda torch: torch.nn.ReLU()(_many(torch)), "parameter": lambda torch: torch.nn.Parameter(torch.ones(MANY)),
    "collate": lambda torch: torch.utils.data.default_collate([torch.ones(MOST)] * 2), "pad": lambda torch: torch.nn.functional.pad(_many(torch), (1, 1)), "iter": lambda torch: next(iter(_many(torch))),
}  # fmt: skip
VIEWS = tuple(CALLS)[: tuple(CALLS).index("zeros")]


@pytest.mark.on_the_cpu
@pytest.mark.parametrize("name", CALLS)
def test_more_dimensions_than_arrays_have(name: str) -> None:
    try:
        wanted = CALLS[name](real_torch)
    except RuntimeError as error:  # NumPy 2's limit equals that of torch's reductions
        assert MOST_DIMENSIONS == 64 and "up to 64 dims" in str(error)
        with pytest.raises(RuntimeError, match="64 dim"):
            CALLS[name](mstorch)
        return
    try:
        found = CALLS[name](mstorch)
        assert tuple(found.shape) == tuple(wanted.shape)
        if name != "repr":
            np.testing.assert_array_equal(found.detach().reshape(-1).numpy(), wanted.detach().reshape(-1).numpy())
    except RuntimeError as error:
        assert name not in VIEWS and str(error).startswith(f"mstorch: a tensor has at most {MOST_DIMENSIONS} dimensions with NumPy"), str(error)


@pytest.mark.on_the_cpu  # a device's kernels take fewer, and say so later, in another test
def test_as_many_dimensions_as_arrays_have() -> None:
    for torch in (real_torch, mstorch):
        x = torch.rand(MOST, requires_grad=True)
        (torch.stack([x.sum(0), x.sum(0)]) * x).exp().sum().backward()
        assert x.grad.shape == MOST and torch.zeros(MOST).dim() == MOST_DIMENSIONS
