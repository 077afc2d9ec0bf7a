"""torch's database of operators on a GPU, forward and backward: ``python -m tests.cuda python -m tests.cuda.operators [-k NAME] [--kinds …]``.

The emulated card computes nothing, so only errors count: those that torch does not raise for the same sample. Some operators look at values,
which are whatever the memory held; what they say of values is no fault. A list of the reasons stands in ``OF_VALUES``.
"""
from __future__ import annotations

import argparse
import re
import sys
import warnings
from collections.abc import Iterator
from typing import Any

import mindspore
import torch

import mstorch
from mstorch._src.backend.runtime import device_type
from tests import databases

KINDS = (torch.float32, torch.float16, torch.bfloat16, torch.float64, torch.int64, torch.bool, torch.complex64)
# What is said of values: of indices that a card without values gave, of matrices, of probabilities, of lengths.
OF_VALUES = re.compile(
    "out of (bounds|range)|singular|positive-definite|failed to converge|probability|multinomial|invalid values|must be non-?negative|"
    "must be (in|between|greater)|negative|Could not (solve|factor)|no elements|should be ordered|monoton|inf or nan|not symmetric|contain|"
    "nonzero|NaN|exceed|did not|full rank|boundaries tensor|Expected all|must be|should be|overflow|quantile|max_val|same number|does not match"
)


told: list[str] = []
"""What operators said of values."""


def _on_device(value: Any, leaves: list[Any]) -> Any:
    """Return a torch value as mstorch's, its tensors on the device; those that require grad become new leaves."""
    if isinstance(value, torch.Tensor):
        there = databases.ours(value.detach(), []).to(device_type())
        if value.requires_grad:
            leaves.append(there.requires_grad_())
        return there
    if isinstance(value, torch.device) or value == "cpu":
        return device_type()
    if isinstance(value, (tuple, list, dict)):
        return databases._mapped(value, lambda item: _on_device(item, leaves))
    return databases.ours(value, leaves)


def _faults(info: Any, kind: torch.dtype, count: int) -> Iterator[str]:
    needs_grad = bool(info.supports_autograd) and kind.is_floating_point
    function = databases._counterpart(info.name, info.op)
    databases._seed()
    for number, sample in enumerate(info.sample_inputs("cpu", kind, requires_grad=needs_grad)):
        if number == count:
            return
        whole = ((sample.input, *sample.args), sample.kwargs)
        args, kwargs = databases.theirs(whole, [])
        try:
            loss = databases._loss(info.op(*args, **kwargs), torch) if needs_grad else info.op(*args, **kwargs) and None
            if loss is not None:
                loss.backward()
        except Exception:  # noqa: BLE001 - then torch's errors are no standard
            continue
        try:
            args, kwargs = _on_device(whole, [])
            result = function(*args, **kwargs)
            mstorch.cuda.synchronize()
            loss = databases._loss(result, _Library) if needs_grad else None
            if loss is not None:
                loss.backward()
            mstorch.cuda.synchronize()
        except Exception as error:  # noqa: BLE001
            text = " ".join(str(error).split())
            if OF_VALUES.search(text) or isinstance(error.__context__, IndexError):
                told.append(f"{info.name}, {str(kind)[6:]}: {text[:200]}")
            else:
                yield f"sample {number}: {type(error).__name__}: {text[:900]}"


class _Library:
    """mstorch, whose tensors are made on the device."""

    @staticmethod
    def tensor(weights: Any) -> Any:
        return mstorch.tensor(weights, device=device_type())


def main() -> None:
    """Print the faults, and how many operators were tried in each dtype."""
    parser = argparse.ArgumentParser()
    parser.add_argument("-k", default="")
    parser.add_argument("--kinds", nargs="+", default=[str(kind)[6:] for kind in KINDS])
    parser.add_argument("--samples", type=int, default=2)
    parser.add_argument("--verbose", action="store_true", help="print each operator before it is tried")
    parser.add_argument("--values", action="store_true", help="also print what was said of values")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    mindspore.runtime.launch_blocking()  # each error is raised by its own call
    tried, faulty = 0, 0
    for name, info in databases.operators():
        if options.k not in name or "_polynomial_" in name:  # of a degree that is a value: as many steps as the memory says
            continue
        for kind in (getattr(torch, word) for word in options.kinds):
            if kind not in info.dtypes:
                continue
            tried += 1
            if options.verbose:
                print(name, kind, file=sys.stderr, flush=True)
            try:
                faults = list(_faults(info, kind, options.samples))
            except (databases.Missing, NotImplementedError, RuntimeError, TypeError) as error:
                faults = [] if isinstance(error, databases.Missing) else [f"samples: {error}"[:200]]
            if faults:
                faulty += 1
                print(f"{name}, {str(kind)[6:]}: {faults[0]}", flush=True)
    if options.values:
        print("of values:", *told, sep="\n  ")
    print(f"{tried} operators and dtypes, {faulty} with faults")


if __name__ == "__main__":
    main()
