"""Where the host has no memory left, the error is torch's, and the next step works."""
from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import pytest
import torch as real_torch

import mstorch

pytestmark = pytest.mark.skipif("MSTORCH_FAKE_DEVICE" in os.environ, reason="the memory of the host is meant, not what plays a device's")
LIBRARIES = (real_torch, mstorch)
MANY = 2**46


def _spread(torch: Any) -> Any:
    return torch.ones(1).expand(2**22, 2**22)


def _step(torch: Any) -> None:
    """A gradient that takes no memory, of a parameter whose state would take too much."""
    p = torch.nn.Parameter(_spread(torch))
    p.grad = _spread(torch)
    torch.optim.Adam([p]).step()


CALLS: dict[str, Callable[[Any], Any]] = {
    "empty": lambda torch: torch.empty(MANY), "full": lambda torch: torch.full((MANY,), 1.0), "randn": lambda torch: torch.randn(2**23, 2**23),
    "arange": lambda torch: torch.arange(MANY), "eye": lambda torch: torch.eye(2**22), "new_zeros": lambda torch: torch.ones(1).new_zeros(MANY),
    "clone": lambda torch: _spread(torch).clone(memory_format=torch.contiguous_format), "contiguous": lambda torch: _spread(torch).contiguous(),
    "operator": lambda torch: torch.ones(2**21)[:, None] + torch.ones(2**21), "product": lambda torch: torch.ones(2**21)[:, None] @ torch.ones(2**21)[None],
    "number": lambda torch: _spread(torch) * 2, "exp": lambda torch: _spread(torch).exp(), "compare": lambda torch: _spread(torch) > 0,
    "double": lambda torch: _spread(torch).double(), "cat": lambda torch: torch.cat([_spread(torch)] * 2), "repeat": lambda torch: torch.ones(2**20).repeat(2**24),
    "linear": lambda torch: torch.nn.Linear(2**23, 2**23), "pad": lambda torch: torch.nn.functional.pad(torch.ones(3), (0, MANY)),
    "conv": lambda torch: torch.nn.functional.conv2d(
        torch.ones(1, 1, 1, 1), torch.ones(1, 1, 1, 1).expand(2**20, 1, 2**10, 2**10), padding=2**12
    ),
    "backward": lambda torch: (torch.ones(1, requires_grad=True).expand(2**22, 2**22).contiguous).__call__(), "resize_": lambda torch: torch.empty(0).resize_(MANY),
    "step": _step,
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_no_memory_is_a_runtime_error(name: str) -> None:
    said = []
    for torch in LIBRARIES:
        with pytest.raises(RuntimeError) as caught:
            CALLS[name](torch)
        assert type(caught.value) is RuntimeError
        text = str(caught.value)
        said.append(text[text.index("DefaultCPUAllocator: can't allocate memory: you tried to allocate ") :].partition(" bytes")[0])
    if name not in ("conv", "pad", "cat", "step"):  # where more than one piece of memory is asked for, each has its order
        assert said[0] == said[1]
    x = mstorch.ones(3, requires_grad=True)
    (x * 2).sum().backward()
    assert x.grad.tolist() == [2, 2, 2]


def test_a_devices_memory_ends_in_torchs_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """MindSpore's words, played by a kernel."""

    def full(*args: Any) -> Any:
        raise RuntimeError("#umsg#Memory not enough:#umsg#Device(id:0) memory isn't enough and alloc failed, kernel name: Add, alloc size: 400B.")

    monkeypatch.setitem(mstorch._backend.table.kernel("lgamma").host, "float32", full)
    with pytest.raises(mstorch.OutOfMemoryError, match=r"out of memory\. .*alloc size: 400B") as caught:
        mstorch.lgamma(mstorch.ones(3))
    monkeypatch.setitem(mstorch._backend.table.kernel("bitwise_and").host, "int64", full)
    with pytest.raises(mstorch.OutOfMemoryError, match="alloc size: 400B"):
        mstorch.ones(3, dtype=mstorch.int64) & mstorch.ones(3, dtype=mstorch.int64)
    assert isinstance(caught.value, RuntimeError) and mstorch.cuda.OutOfMemoryError is mstorch.OutOfMemoryError
    assert repr(mstorch.OutOfMemoryError) == repr(real_torch.OutOfMemoryError)


def test_a_batch_size_that_fits_is_found() -> None:
    """The words that accelerate and lightning look for."""
    size = 2**30
    while True:
        try:
            mstorch.ones(size, 2**14)
            break
        except RuntimeError as error:
            assert "DefaultCPUAllocator: can't allocate memory" in error.args[0] and len(error.args) == 1
            size //= 2**12
    assert size < 2**30
