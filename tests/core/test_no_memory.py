"""The host runs out of memory: the error is torch's, and the next step works."""
from __future__ import annotations

import copy
import os
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch as real_torch

import mstorch

pytestmark = [pytest.mark.slow, pytest.mark.skipif("MSTORCH_FAKE_DEVICE" in os.environ, reason="the memory of the host is meant, not what plays a device's")]
LIBRARIES = (real_torch, mstorch)
MANY = 2**46


def _spread(torch: Any) -> Any:
    return torch.ones(1).expand(2**22, 2**22)


def _step(torch: Any) -> None:
    """Take a step in which the parameter's gradient needs little memory, and its optimizer state too much."""
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


# Functions written in Python, in torch and here: the error's text is ours, and some of torch's read all elements first.
WRITTEN_IN_PYTHON: dict[str, Callable[[Any], Any]] = {
    "UntypedStorage": lambda torch: torch.UntypedStorage(MANY), "storage.resize_": lambda torch: torch.UntypedStorage(1).resize_(MANY),
    "FloatStorage": lambda torch: torch.FloatStorage(MANY), "TypedStorage": lambda torch: torch.TypedStorage(MANY, dtype=torch.int8),
    "TypedStorage.resize_": lambda torch: torch.FloatStorage(1).resize_(MANY), "set_": lambda torch: torch.empty(0).set_(torch.UntypedStorage(MANY)),
    "deepcopy of a module": lambda torch: copy.deepcopy(_wide(torch)), "AveragedModel": lambda torch: torch.optim.swa_utils.AveragedModel(_wide(torch)),
    "clip_grad_norm_": lambda torch: torch.nn.utils.clip_grad_norm_(_wide(torch).parameters(), 1.0),
    "parameters_to_vector": lambda torch: torch.nn.utils.parameters_to_vector([_spread(torch)] * 2),
    "pad_sequence": lambda torch: torch.nn.utils.rnn.pad_sequence([torch.ones(1).expand(2**44)] * 2),
    "default_collate": lambda torch: torch.utils.data.default_collate([_spread(torch)] * 2),
    "DataLoader": lambda torch: next(iter(torch.utils.data.DataLoader([_spread(torch)] * 2, batch_size=2))),
    "Gamma.sample": lambda torch: torch.distributions.Gamma(1.0, 1.0).sample((MANY,)), "log_prob": lambda torch: torch.distributions.Normal(0.0, 1.0).log_prob(_spread(torch)),
    "to_sparse_csr": lambda torch: torch.sparse_coo_tensor(torch.zeros(2, 1, dtype=torch.int64), torch.ones(1), (2**45, 2)).to_sparse_csr(),
    "foreach": lambda torch: torch._foreach_add([_spread(torch)], 1), "spectral_norm": lambda torch: torch.nn.utils.parametrizations.spectral_norm(_wide(torch)),
    "hessian": lambda torch: torch.func.hessian(lambda x: (x * x).sum())(torch.ones(2**22)), "SobolEngine": lambda torch: torch.quasirandom.SobolEngine(2).draw(2**40),
    "WeightedRandomSampler": lambda torch: next(iter(torch.utils.data.WeightedRandomSampler([1.0, 1.0], 2**45))),
}  # fmt: skip


def _wide(torch: Any) -> Any:
    layer = torch.nn.Linear(2, 2)
    layer.weight = torch.nn.Parameter(_spread(torch))
    layer.weight.grad = _spread(torch)
    return layer


@pytest.mark.parametrize("name", WRITTEN_IN_PYTHON)
def test_no_memory_below_what_is_written_in_python(name: str) -> None:
    with pytest.raises(RuntimeError, match="DefaultCPUAllocator: can't allocate memory"):
        WRITTEN_IN_PYTHON[name](mstorch)


def _of_file(torch: Any, name: str, shared: bool, size: int) -> Any:
    return torch.UntypedStorage.from_file(name, shared, size)


def test_sizes_of_storages(tmp_path: Path) -> None:
    small = str(tmp_path / "small")
    Path(small).write_bytes(b"1234")
    for make in (
        lambda torch: torch.UntypedStorage(MANY), lambda torch: torch.UntypedStorage(-1), lambda torch: torch.FloatStorage(-1),
        lambda torch: torch.UntypedStorage(2**63), lambda torch: torch.FloatStorage(2**62), lambda torch: torch.UntypedStorage(3).resize_(-1),
        lambda torch: torch.UntypedStorage(3).resize_(2**63), lambda torch: torch.FloatStorage(3).resize_(2**62),
        lambda torch: _of_file(torch, small, False, 10), lambda torch: _of_file(torch, small, True, 10**18), lambda torch: _of_file(torch, small, True, -1),
        lambda torch: _of_file(torch, str(tmp_path / "absent"), False, 10), lambda torch: _of_file(torch, str(tmp_path / "no" / "such"), True, 10),
    ):  # fmt: skip
        said = []
        for torch in LIBRARIES:
            with pytest.raises((RuntimeError, ValueError)) as caught:
                make(torch)
            said.append((type(caught.value), str(caught.value).rpartition("] ")[2].rpartition(">= 0. ")[2].rpartition("== 0. ")[2]))
        assert said[0] == said[1]
    assert Path(small).read_bytes() == b"1234"


def test_count_nonzero_takes_a_byte_for_each_element() -> None:
    x = mstorch.zeros(2**24, dtype=mstorch.int8)
    x[7] = 1
    mstorch.count_nonzero(x)
    tracemalloc.start()
    try:
        assert mstorch.count_nonzero(x).item() == 1 and (x == 1).any().item()
        assert tracemalloc.get_traced_memory()[1] < 2**24 + 2**23
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("name", CALLS)
def test_no_memory_is_a_runtime_error(name: str) -> None:
    said = []
    for torch in LIBRARIES:
        with pytest.raises(RuntimeError) as caught:
            CALLS[name](torch)
        assert type(caught.value) is RuntimeError
        text = str(caught.value)
        said.append(text[text.index("DefaultCPUAllocator: can't allocate memory: you tried to allocate ") :].partition(" bytes")[0])
    if name not in ("conv", "pad", "cat", "step"):  # the order of several allocations may differ
        assert said[0] == said[1]
    x = mstorch.ones(3, requires_grad=True)
    (x * 2).sum().backward()
    assert x.grad.tolist() == [2, 2, 2]


def test_a_devices_memory_ends_in_torchs_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """A device's out-of-memory error becomes torch's error; a kernel raises MindSpore's text."""

    def full(*args: Any) -> Any:
        raise RuntimeError("#umsg#Memory not enough:#umsg#Device(id:0) memory isn't enough and alloc failed, kernel name: Add, alloc size: 400B.")

    monkeypatch.setitem(mstorch._src.backend.table.kernel("lgamma").host, "float32", full)
    with pytest.raises(mstorch.OutOfMemoryError, match=r"out of memory\. .*alloc size: 400B") as caught:
        mstorch.lgamma(mstorch.ones(3))
    monkeypatch.setitem(mstorch._src.backend.table.kernel("bitwise_and").host, "int64", full)
    with pytest.raises(mstorch.OutOfMemoryError, match="alloc size: 400B"):
        mstorch.ones(3, dtype=mstorch.int64) & mstorch.ones(3, dtype=mstorch.int64)
    assert isinstance(caught.value, RuntimeError) and mstorch.cuda.OutOfMemoryError is mstorch.OutOfMemoryError
    assert repr(mstorch.OutOfMemoryError) == repr(real_torch.OutOfMemoryError)


def test_a_batch_size_that_fits_is_found() -> None:
    """The texts by which accelerate and lightning recognize the error."""
    size = 2**30
    while True:
        try:
            mstorch.ones(size, 2**14)
            break
        except RuntimeError as error:
            assert "DefaultCPUAllocator: can't allocate memory" in error.args[0] and len(error.args) == 1
            size //= 2**20
    assert size == 2**10
