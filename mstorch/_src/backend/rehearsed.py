"""Kernels of the rehearsal (MSTORCH_FAKE_DEVICE=rehearsal): they run as on the stand-in device; memory and writes into views are emulated
by NumPy.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mindspore
import numpy as np

from . import device_memory, fake, rehearsal, table
from .primitives import watchers

LENT = ("ctc_loss",)
"""Operations that MindSpore's CPU kernels compute even here, because there is no other kernel."""
loses_writes: list[bool] = []
"""If not empty, writes to a view do not reach its base, as with MindSpore's CPU kernels."""


def _new(shape: Any, value: Any, dtype: Any) -> Any:
    kind = np.float32 if dtype == mindspore.bfloat16 else mindspore.dtype_to_nptype(dtype)  # NumPy 2 has no bfloat16 of MindSpore's
    return mindspore.Tensor(np.full(shape, value, kind), dtype)


def _arange(start: Any, end: Any, step: Any, dtype: Any) -> Any:
    return mindspore.Tensor(np.arange(start, end, step), dtype)


FACTORIES: dict[str, Callable[..., Any]] = {
    "Zeros": lambda shape, dtype: _new(shape, 0, dtype), "FillScalar": _new, "Arange": _arange,
}  # fmt: skip
WRITES: dict[str, Callable[..., Any]] = {
    "InplaceCopy": lambda new: new, "InplaceFillScalar": lambda value: value, "InplaceZero": lambda: 0,
}  # fmt: skip
CHANGES: dict[str, Callable[..., tuple[str, tuple[Any, ...]]]] = {
    "InplacePut": lambda index, source, adding: ("put", (source, index, adding)),
    "InplaceIndexPut": lambda indices, source, adding: ("index_put", (source, indices, adding)),
    "InplaceIndexCopy": lambda dim, index, source: ("index_write", (source, dim, index, False)),
    "InplaceIndexAddExt": lambda dim, index, source, alpha: ("index_write", (source, dim, index, True)),
    "InplaceAddExt": lambda other, scale: ("add", (other,)) if scale == 1 else ("add_scaled", (other, scale)),
    "InplaceSubExt": lambda other, scale: ("sub", (other,)), "InplaceMul": lambda other: ("mul", (other,)),
    "InplaceDivMod": lambda other, how: (f"{how}_divide", (other,)), "InplaceRemainderTensorTensor": lambda other: ("remainder", (other,)),
    "InplaceClampTensor": lambda low, high: ("clamp", (low, high)),
    "InplaceMaskedFillTensor": lambda mask, value: ("masked_fill", (mask, value)),
    "InplaceScatterAdd": lambda dim, index, source: ("scatter", (source, dim, index, "add")),
    "InplaceScatterSrc": lambda dim, index, source: ("scatter", (source, dim, index, "none")),
    "InplaceDiv": lambda other: ("div", (other,)), "InplaceElu": lambda alpha: ("elu", (alpha, 1, 1)),
    "InplaceHardtanh": lambda low, high: ("hardtanh", (low, high)), "InplaceThreshold": lambda bound, value: ("threshold", (bound, value)),
    **{f"Inplace{name}": lambda op=name.lower(): (op, ()) for name in ("ReLU", "Exp", "Log", "Tanh", "Sigmoid", "Floor", "Erfinv", "SiLU")},
}  # fmt: skip
"""Operation and arguments of each in-place primitive, which replaces its first operand."""


def play_writes() -> None:
    """Make primitives that allocate memory or write in place run on NumPy arrays. Must be called after the stand-in device's kernels are
    registered, over which these take precedence."""
    below = watchers[-1]

    def watch(name: str, primitive: Callable[..., Any], args: tuple[Any, ...]) -> Any:
        if name in FACTORIES:
            fake.asked[name] += 1
            return FACTORIES[name](*args)
        if name in WRITES or name in CHANGES:
            fake.asked[name] += 1
            return _written(fake.StandIn, name, *args)
        return below(name, primitive, args)

    watchers.append(watch)
    rehearsal.uncounted[0] = fake.uncounted
    device_memory.stand_in.clear()
    table.lenders.append(_refused)


def _refused(op: str, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a CPU kernel of MindSpore to raise, because in a process with an Ascend it would run on the device."""

    if op in LENT:
        return function

    def refuse(*args: Any) -> Any:
        raise AssertionError(f"{op} of {name} on the CPU is MindSpore's, which computes on the Ascend")

    return refuse


def _written(played: Any, name: str, target: Any, *rest: Any) -> Any:
    """Run a write to a tensor; if the tensor is a strided view, write to the memory of its base."""
    base = device_memory.memory_of(target)
    if base.storage_offset() or not base.is_contiguous():
        raise RuntimeError(f"{name} into a view whose base nobody holds")
    if loses_writes and base is not target:
        return target
    window = tuple(target.shape), tuple(target.stride()), target.storage_offset()
    if name in WRITES:
        played.write(name, base, *window, WRITES[name](*rest))
    else:
        played.change(base, *window, *CHANGES[name](*rest))
    return target
