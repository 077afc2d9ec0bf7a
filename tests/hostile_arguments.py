"""The operators of torch's database with invalid arguments: errors are never NumPy's, SciPy's or MindSpore's.

    python -m tests.hostile_arguments                                  # on the host; -k TEXT for operators whose name contains the text
    MSTORCH_FAKE_DEVICE=Ascend python -m tests.hostile_arguments       # on the device that the CPU emulates
    python -m tests.cann python -m tests.hostile_arguments             # on MindSpore's Ascend plugin: no kernel of CANN refuses a call, either

Each tensor of a sample is exchanged for one of no dimension, an empty one, one of more dimensions, of another dtype, of NaN; each whole
number for one out of range. An error is foreign if its class is of another library, if it arose in another library's code, or if a kernel of the
device raised it.
``tests/ops/calls/test_hostile_arguments.py`` runs a part of this in the suite.
"""
from __future__ import annotations

import argparse
import functools
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch

import mstorch
from tests import databases
from tests.databases import _mapped

FOREIGN = ("numpy", "scipy", "mindspore", "ml_dtypes")
_DTYPES = (torch.bool, torch.int64, torch.float16, torch.complex64)


def _instead(value: Any) -> Iterator[tuple[str, Any]]:
    """Return the objects that replace a tensor, or an integer, each with its name."""
    if isinstance(value, torch.Tensor) and value.layout == torch.strided and not value.is_quantized:
        plain = value.detach()
        yield "of no dimension", torch.ones((), dtype=plain.dtype)
        yield "empty", torch.ones(0, dtype=plain.dtype)
        yield "of a dimension more", plain.unsqueeze(0)
        yield "of seven dimensions", torch.ones((1,) * 7, dtype=plain.dtype)
        yield "of other lengths", torch.ones(7, 5, dtype=plain.dtype)
        for dtype in _DTYPES:
            if dtype != plain.dtype:
                yield f"of {dtype}", plain.to(dtype)
        if plain.is_floating_point():
            yield "of NaN", torch.full_like(plain, torch.nan)
    elif isinstance(value, int) and not isinstance(value, bool):
        yield "out of range", 97
        yield "negative", -97
        yield "as a text", "a"


def calls(info: Any) -> Iterator[tuple[str, list[Any]]]:
    """Yield the calls of an operator: the first sample with each of its arguments replaced in turn."""
    dtype = next((one for one in (torch.float32, torch.int64, torch.bool, torch.complex64) if one in info.dtypes), None)
    if dtype is None:
        return
    sample = next(iter(info.sample_inputs("cpu", dtype)), None)
    if sample is None:
        return
    whole = [sample.input, *sample.args]
    for place, value in enumerate(whole):
        for name, other in _instead(value):
            yield f"argument {place} {name}", [*whole[:place], other, *whole[place + 1 :], sample.kwargs]
    for key, value in sample.kwargs.items():
        for name, other in _instead(value):
            yield f"{key} {name}", [*whole, {**sample.kwargs, key: other}]


def foreign(error: BaseException) -> str:
    """Return the description of an error that is neither torch's nor Python's own raised in mstorch; "" for these."""
    if isinstance(error, mstorch.AcceleratorError):
        return "raised by the device"
    root = type(error).__module__.partition(".")[0]
    if root in FOREIGN:
        return f"{type(error).__module__}.{type(error).__name__}"
    frames = traceback.extract_tb(error.__traceback__)
    last = frames[-1].filename.replace("\\", "/") if frames else ""
    return next((f"raised in {name}" for name in FOREIGN if f"/site-packages/{name}/" in last), "")


def check_hostile(info: Any) -> None:
    """Run the calls; raise AssertionError that lists the foreign errors."""
    function, found = databases._counterpart(info.name, info.op), []
    on_device = mstorch.accelerator.current_accelerator() is not None
    for what, (*args, kwargs) in calls(info):
        databases._seed()
        given, named = _mapped(args, lambda value: databases.ours(value, [])), _mapped(kwargs, lambda value: databases.ours(value, []))
        if on_device:
            move: Callable[[Any], Any] = lambda value: value.to("npu") if isinstance(value, mstorch.Tensor) else value
            given, named = _mapped(given, move), _mapped(named, move)
        try:
            function(*given, **named)
            if on_device:
                mstorch.accelerator.synchronize()  # an error of its kernels is this call's
        except databases.Missing:
            raise
        except Exception as error:  # noqa: BLE001  # whatever it is, it is looked at
            kind = foreign(error)
            if kind:
                found.append(f"{what}: {kind}: {type(error).__name__}: {str(error)[:120]}")
    assert not found, "\n  ".join(found)


def items() -> dict[str, Callable[[], None]]:
    """Return the checks by operator, in the database's order."""
    return {name: functools.partial(check_hostile, info) for name, info in databases.operators()}


def main() -> None:
    """Print the foreign errors."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-k", default="", help="only operators whose name contains the text")
    chosen, counts = parser.parse_args().k, Counter[str]()
    for name, check in items().items():
        if chosen not in name:
            continue
        try:
            check()
            counts["clean"] += 1
        except databases.Missing:
            counts["absent"] += 1
        except AssertionError as error:
            counts["foreign"] += 1
            print(f"{name}:\n  {error}", flush=True)
    print(dict(counts))


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    main()
