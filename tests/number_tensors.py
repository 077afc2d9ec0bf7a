"""0-d tensors where operators take numbers: mstorch accepts those that torch accepts, with the same result.

    python -m tests.number_tensors     # the whole sweep; -k TEXT for operators whose name contains the text

Each number among the arguments of the samples of torch's operator database, those in lists too, becomes a tensor in turn.
"""
from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

import mstorch
from tests import databases
from tests.databases import _flat

SAMPLES, LARGEST = 4, 3000


def _is_number(value: Any) -> bool:
    return type(value) in (int, float)


def _exchanged(whole: Any, place: int, library: Any) -> Any:
    """Return a copy of a sample for one library with one number as a tensor."""
    count = iter(range(10**6))

    def through(value: Any) -> Any:
        if isinstance(value, (tuple, list, dict)):
            return databases._mapped(value, through)
        if _is_number(value):
            return library.tensor(value) if next(count) == place else value
        return databases.theirs(value, []) if library is torch else databases.ours(value, [])

    return through(whole)


def check_numbers(info: Any) -> None:
    """Raise unless an operator takes a tensor for a number wherever torch does, with torch's result."""
    kind = next(d for d in (torch.float32, torch.int64, torch.bool, torch.complex64) if d in info.dtypes)
    databases._seed()
    samples = [
        sample for sample in info.sample_inputs("cpu", kind, requires_grad=False)
        if any(map(_is_number, _flat((sample.args, sample.kwargs))))
        and sum(t.numel() for t in _flat((sample.input, sample.args, sample.kwargs)) if isinstance(t, torch.Tensor)) <= LARGEST
    ]  # fmt: skip
    function = databases._counterpart(info.name, info.op)
    for number, sample in enumerate(samples[:: max(1, len(samples) // SAMPLES)][:SAMPLES]):
        whole = (sample.args, sample.kwargs)
        for place in range(sum(map(_is_number, _flat(whole)))):
            what = f"sample {number}, number {place}"
            args, kwargs = _exchanged(whole, place, torch)
            databases._seed()
            try:
                want = info.op(databases.theirs(sample.input, []), *args, **kwargs)
            except (RuntimeError, TypeError, ValueError, IndexError, AttributeError, AssertionError):
                continue
            args, kwargs = _exchanged(whole, place, mstorch)
            databases._seed()
            try:
                got = function(databases.ours(sample.input, []), *args, **kwargs)
            except databases.Missing:
                raise
            except Exception as error:
                raise AssertionError(f"{what}: {type(error).__name__}: {error}") from error
            databases._compare(want, got, bool(databases._SHAPES_ONLY.match(info.name)), what)


def items() -> dict[str, Callable[[], None]]:
    """Return the checks by operator, in the database's order."""
    return {name: functools.partial(check_numbers, info) for name, info in databases.operators()}


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    databases.print_sweep("numbers", __doc__, items())
