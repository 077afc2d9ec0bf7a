"""Operators of torch's database that read a device's values, there or back, though no warning says that the host computes them.

    MSTORCH_FAKE_DEVICE=Ascend python -m tests.devices.silent_reads [TEXT]    # those whose name contains TEXT

Each waits for the device, as torch does where a result's size or a Python number depends on values. The sweep takes two minutes.
"""
from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable
from typing import Any

import torch
from torch.testing._internal.common_methods_invocations import op_db

import mstorch
from mstorch._src.backend import fake
from mstorch._src.backend.table import on_fallback
from tests import databases
from tests.databases import _mapped

_announced: list[str] = []
_reads: list[None] = []


def _there(value: Any, leaves: list[Any]) -> Any:
    """Return a sample with its tensors on the device; those that require grad are new leaves."""
    if isinstance(value, torch.Tensor):
        made = databases.ours(value.detach(), []).to("npu")
        if value.requires_grad:
            leaves.append(made.requires_grad_())
        return made
    if isinstance(value, (tuple, list, dict)):
        return _mapped(value, lambda item: _there(item, leaves))
    return databases.ours(value, [])


def _reads_in_silence(call: Callable[[], Any]) -> tuple[bool, Any]:
    """Return whether a call reads values without a warning, and its result. A call that the device refuses counts as no read."""
    _announced.clear()
    _reads.clear()
    try:
        result = call()
    except (NotImplementedError, RuntimeError, TypeError, ValueError, IndexError):
        return False, None
    return bool(_reads) and not _announced, result


def found(text: str = "") -> dict[str, str]:
    """Return the operators that read, each with "there" (forward), "back" (backward) or both."""
    fake.on_transfer.append(lambda: _reads.append(None))
    on_fallback.append(_announced.append)
    told = {}
    for info in op_db:
        name = f"{info.name}.{info.variant_test_name}" if info.variant_test_name else info.name
        if torch.float32 not in info.dtypes or text not in name:
            continue
        try:
            databases._seed()
            samples = databases._chosen(list(info.sample_inputs("cpu", torch.float32, requires_grad=bool(info.supports_autograd))))
            function = databases._counterpart(info.name, info.op)
        except (databases.Missing, RuntimeError):
            continue  # operators that mstorch, or torch's CPU build, lacks
        ways = set()
        for sample in samples[:6]:
            try:
                args, kwargs = _there(((sample.input, *sample.args), sample.kwargs), [])
            except (NotImplementedError, RuntimeError, TypeError):
                continue
            there, result = _reads_in_silence(lambda: function(*args, **kwargs))
            back, _ = _reads_in_silence(lambda: databases.backward(result))
            ways |= {"there"} if there else set()
            ways |= {"back"} if back else set()
        if ways:
            told[name] = " and ".join(sorted(ways, reverse=True))
    return told


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    assert mstorch.ones(1, device="npu").is_npu, "MSTORCH_FAKE_DEVICE=Ascend"
    print(json.dumps(found(*sys.argv[1:]), indent=0))
