"""Each tensor argument of each operator of torch's database as a strided view: values and gradients are compared with torch's.

    python -m tests.windows            # the whole sweep; -k TEXT for operators whose name contains the text

A window is every second element of the rows, or of the columns, of a storage that holds NaN or 1 between.
``tests/test_windows.py`` runs a part of this in the suite, and calls that are long enough for native kernels.
"""
from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch

import mstorch
from tests import databases
from tests.databases import _flat, _mapped

SAMPLES, LARGEST = 3, 3000
_TORCH_READS_WRONG = frozenset(("native_group_norm",))  # torch 2.13 reads a strided weight as if it were row-major


def stepped(tensor: Any, library: Any) -> Any:
    """Return the same elements as every second row of a storage twice as large, with NaN or 1 between them."""
    shape = tuple(tensor.shape)
    filler = float("nan") if tensor.is_floating_point() or tensor.is_complex() else 1
    room = library.full((*shape[:-1], 2 * shape[-1] + 1), filler, dtype=tensor.dtype)
    window = room[..., 1::2]
    window.copy_(tensor)
    return window


def turned(tensor: Any, library: Any) -> Any:
    """Return the same elements with the first dimension innermost, and every second one of the storage."""
    return stepped(tensor.movedim(0, -1), library).movedim(-1, 0)


WINDOWS = {"stepped": stepped, "turned": turned}


def _is_windowed(value: Any) -> bool:
    return (
        isinstance(value, torch.Tensor) and value.layout is torch.strided and value.dim() > 0 and value.numel() > 0
        and not databases._is_part(value) and not value.is_conj() and not value.is_neg()
    )  # fmt: skip


def _places(whole: Any) -> Iterator[int]:
    for place, value in enumerate(value for value in _flat(whole) if isinstance(value, torch.Tensor)):
        if _is_windowed(value):
            yield place


def _exchanged(whole: Any, place: int, make: Callable[[Any, Any], Any], library: Any, leaves: list[Any]) -> Any:
    """Return a copy of a sample for one library with one tensor as a strided view."""
    count = iter(range(10**6))

    def change(value: Any) -> Any:
        if not isinstance(value, torch.Tensor):
            return databases.ours(value, leaves) if library is not torch else value
        one = (databases.theirs if library is torch else databases.ours)(value, [])
        if next(count) == place:
            one = make(one.detach(), library)
        if value.requires_grad:
            leaves.append(one.detach().requires_grad_())
            return leaves[-1]
        return one

    def through(value: Any) -> Any:
        return _mapped(value, through) if isinstance(value, (tuple, list, dict)) else change(value)

    return through(whole)


def _is_taken(oracle: Callable[..., Any], arguments: Any, leaves: list[Any]) -> bool:
    """Return whether torch itself computes the operator and its gradient for such a view."""
    args, kwargs = arguments
    databases._seed()
    try:
        loss = databases._loss(oracle(*args, **kwargs), torch)
        if loss is not None:
            loss.backward()
    except RuntimeError:
        return False
    for leaf in leaves:
        leaf.grad = None
    return True


def check_windows(info: Any) -> None:
    """Raise unless an operator returns torch's values and gradients with each of its tensors as a strided view."""
    kind = next(d for d in (torch.float32, torch.int64, torch.bool, torch.complex64) if d in info.dtypes)
    databases._seed()
    needs_grad = bool(info.supports_autograd) and kind is torch.float32
    samples = [
        sample for sample in info.sample_inputs("cpu", kind, requires_grad=needs_grad)
        if sum(t.numel() for t in _flat((sample.input, sample.args, sample.kwargs)) if isinstance(t, torch.Tensor)) <= LARGEST
    ]  # fmt: skip
    if info.name in _TORCH_READS_WRONG:
        return
    samples = samples[:: max(1, len(samples) // SAMPLES)][:SAMPLES]
    function = databases._counterpart(info.name, info.op)
    for number, sample in enumerate(samples):
        whole = ((sample.input, *sample.args), sample.kwargs)
        for place in _places(whole):
            for name, make in WINDOWS.items():
                leaves: tuple[list[Any], list[Any]] = ([], [])
                arguments = tuple(
                    _exchanged(whole, place, make, library, found) for library, found in zip((torch, mstorch), leaves)
                )
                if not _is_taken(info.op, arguments[0], leaves[0]):
                    continue
                shapes_only = bool(databases._SHAPES_ONLY.match(info.name))
                databases._run_both(info.op, function, arguments, leaves, shapes_only, f"sample {number}, tensor {place} {name}")


def items() -> dict[str, Callable[[], None]]:
    """Return the checks by operator, in the database's order."""
    return {name: functools.partial(check_windows, info) for name, info in databases.operators()}


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    databases.print_sweep("windows", __doc__, items())
