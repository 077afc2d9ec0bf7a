"""Writes that torch's version check refuses, over torch's operator database.

    python -m tests.writes             # the whole sweep
    python -m tests.writes -k norm

Between forward and backward each input and each result of an operator is written in place, one at a time. Backward raises
where torch saved what was written, and must raise here for the same ones.
"""
from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

import torch

import mstorch
from tests import databases

SAMPLES = 3
_REFUSED = "modified by an inplace operation"


def _followed(library: Any, value: Any, only: int | None, found: list[Any]) -> Any:
    """Return the value with tensors that require grad (all, or one) replaced by results of an operation, which are added to ``found``."""
    if isinstance(value, library.Tensor):
        if value.requires_grad:
            number = len(found)
            plain = value.detach()
            value = plain if only not in (None, number) else plain.requires_grad_() * 1
        found.append(value)
        return value
    return databases._mapped(value, lambda item: _followed(library, item, only, found))


def _refuses(library: Any, function: Callable[..., Any], whole: Any, only: int | None, place: int) -> Any:
    """Return whether backward raises after a write to input ``place`` (or, if negative, to a result); None if there is no such tensor."""
    inputs: list[Any] = []
    args, kwargs = _followed(library, whole, only, inputs)
    databases._seed()
    results = [item for item in databases._flat(function(*args, **kwargs)) if isinstance(item, library.Tensor)]
    followed = [item for item in results if item.requires_grad]
    if not followed or not -len(results) <= place < len(inputs):
        return None
    written = inputs[place] if place >= 0 else results[place]
    likes = [library.ones_like(item) for item in followed]
    with library.no_grad():
        written.copy_(written.detach().clone())
    try:
        library.autograd.backward(followed, likes)
    except RuntimeError as error:
        if _REFUSED not in str(error):
            raise
        return True
    return False


def _asked(library: Any, function: Callable[..., Any], whole: Any, only: int | None, place: int) -> Any:
    try:
        return _refuses(library, function, whole, only, place)
    except Exception as error:  # noqa: BLE001 - a write that fails in both libraries says nothing
        return type(error).__name__


def check(info: Any) -> None:
    """Raise unless writes to inputs and results of samples are refused as in torch."""
    databases._seed()
    samples = []
    for sample in info.sample_inputs("cpu", torch.float32, requires_grad=True):
        samples.append(sample)
        if len(samples) == 4 * SAMPLES:
            break
    function = databases._counterpart(info.name, info.op)
    wrong = []
    for number, sample in enumerate(samples[:: max(1, len(samples) // SAMPLES)][:SAMPLES]):
        whole = ((sample.input, *sample.args), sample.kwargs)
        tensors = [item for item in databases._flat(whole) if isinstance(item, torch.Tensor)]
        grown = [i for i, item in enumerate(tensors) if item.requires_grad]
        for only in (None, *(grown if len(grown) > 1 else ())):
            for place in range(-2, len(tensors)):
                want = _asked(torch, info.op, databases.theirs(whole, []), only, place)
                got = _asked(mstorch, function, databases.ours(whole, []), only, place)
                if want != got and isinstance(want, (bool, type(None))):
                    written = f"input {place}" if place >= 0 else f"result {place}"
                    wrong.append(f"sample {number}, {'all' if only is None else only} followed, {written}: {want} expected, {got}")
    assert not wrong, "; ".join(wrong)


def items() -> dict[str, Callable[[], None]]:
    """Return the checks by operator, in the database's order."""
    return {
        name: functools.partial(check, info) for name, info in databases.operators()
        if info.supports_autograd and torch.float32 in info.backward_dtypes
    }  # fmt: skip


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    databases.print_sweep("writes", __doc__, items())
