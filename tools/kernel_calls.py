"""Compare the rows of Ascend that also run on the CPU with the host's rows, on all calls of torch's databases (needs torch).

    MSTORCH_FAKE_DEVICE=Ascend python -m tools.kernel_calls            # write tools/kernel_calls.json, which the kernel map prints
    MSTORCH_FAKE_DEVICE=Ascend python -m tools.kernel_calls -k sort    # of some operators only: print, write nothing

The host's rows are what ``tests/test_databases.py`` holds against torch. The databases run on the stand-in device, each operator in
every dtype that it takes; wherever the row of Ascend computed, the host's row computes again and the two results are compared. Kernels
of the CPU that the stand-in does not trust (``fake.WRONG``) run here too, so that the page can say what they give.
"""
from __future__ import annotations

import argparse
import copy
import json
import pathlib
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

PATH = pathlib.Path(__file__).with_name("kernel_calls.json")
"""For each row: the number of calls, the number that differ from the host's row, and the first of these."""
DTYPES = ("float32", "float64", "float16", "bfloat16", "complex64", "int64", "int32", "uint8", "bool")
CLOSE = {"float16": 2e-3, "bfloat16": 2e-2}
FREE = {"batch_norm_grad", "linalg_qr"}  # factors that are not unique


def apart(mine: Any, theirs: Any) -> str:
    """Return the difference from the host's result: in count, shape or dtype, or in values by more than rounding; "" if there is none."""
    if isinstance(theirs, (tuple, list)):
        if not isinstance(mine, (tuple, list)) or len(mine) != len(theirs):
            return "another number of results"
        return next(filter(None, map(apart, mine, theirs)), "")
    if mine.shape != theirs.shape:
        return f"shape {list(mine.shape)} for {list(theirs.shape)}"
    if mine.dtype != theirs.dtype:
        return f"{mine.dtype} for {theirs.dtype}"
    wide = np.complex128 if mine.dtype.kind == "c" else np.float64 if mine.dtype.kind not in "iub" else mine.dtype
    tolerance = CLOSE.get(mine.dtype.name, 1e-4)
    a, b = mine.astype(wide), theirs.astype(wide)
    equal = np.array_equal(a, b) if mine.dtype.kind in "iub" else np.allclose(a, b, tolerance, tolerance, equal_nan=True)
    if equal:
        return ""
    at = np.argmax(~(a == b) if mine.dtype.kind in "iub" else ~np.isclose(a, b, tolerance, tolerance, equal_nan=True))
    return f"{a.reshape(-1)[at]:.6g} for {b.reshape(-1)[at]:.6g}"


def _arrays(value: Any) -> Any:
    """Return results as a list of NumPy arrays that own their memory."""
    if isinstance(value, (tuple, list)):
        return [_arrays(item) for item in value]
    return np.array(value.asnumpy() if hasattr(value, "asnumpy") else value)


def _shown(args: Any) -> str:
    """Return a call's arguments as one line of text."""
    made = []
    for item in args:
        if isinstance(item, (tuple, list)) and any(hasattr(part, "asnumpy") for part in item):
            made.append(f"({_shown(item)})")
        elif hasattr(item, "asnumpy"):
            made.append(f"{item.asnumpy().dtype}{list(item.shape)}")
        else:
            made.append(repr(item))
    return ", ".join(made)


class Calls:
    """Counts for each row its calls and those that differ from the host's row."""

    def __init__(self) -> None:
        self.seen: dict[str, list[Any]] = {}

    def observe(self, op: str, found: Any, host: Callable[[], Callable[..., Any]], args: tuple[Any, ...]) -> None:
        """Run the host's row on the same arguments and compare its result."""
        from mstorch._src.backend import fake  # late: with the stand-in chosen

        entry = self.seen.setdefault(op, [0, 0, ""])
        entry[0] += 1
        with fake._uncounted():
            try:
                wanted = host()(*copy.deepcopy(fake._down(args)))
            except NotImplementedError:
                entry[0] -= 1
                return
            wrong = apart(_arrays(found), _arrays(wanted)) if op not in FREE else ""
            if wrong:
                entry[1] += 1
                entry[2] = entry[2] or f"{wrong}, of ({_shown(args)})"[:240]

    def write(self) -> None:
        """Write the counts, one line per row."""
        PATH.write_text("{\n" + ",\n".join(f"{json.dumps(op)}: {json.dumps(self.seen[op])}" for op in sorted(self.seen)) + "\n}\n")


def forwards(info: Any, name: str) -> Iterator[Callable[[], Any]]:
    """Yield calls of an operator on torch's samples of one dtype, without gradients."""
    import torch

    from tests import databases

    kind = getattr(torch, name)
    if kind not in info.dtypes:
        return
    function = databases._counterpart(info.name, info.op)
    for sample in databases._chosen(list(info.sample_inputs("cpu", kind, requires_grad=False))):
        whole = databases.ours(((sample.input, *sample.args), sample.kwargs), [])
        yield lambda whole=whole: function(*whole[0], **whole[1])


def sweep(text: str) -> Calls:
    """Run the databases on the stand-in device and return the counts."""
    import mstorch
    from mstorch._src.backend import fake
    from tests import databases

    mstorch.set_default_device("npu")
    fake.WRONG.clear()
    calls = Calls()
    fake.observers.append(calls.observe)
    for kind in ("modules", "ops"):
        for name, check in databases.items(kind).items():
            if text in name:
                databases.outcome(check)
    for name, info in databases.operators():
        for dtype in DTYPES if text in name else ():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    for run in forwards(info, dtype):
                        databases._seed()
                        run()
                except Exception:  # noqa: BLE001 - what a device refuses is no matter here
                    continue
    return calls


def main() -> None:
    """Run the sweep, print what differs and write the counts."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("-k", default="", help="only operators and modules whose name contains this text; print, write nothing")
    options = parser.parse_args()
    calls = sweep(options.k)
    wrong = {op: entry for op, entry in calls.seen.items() if entry[1]}
    for op, (count, differ, first) in sorted(wrong.items()):
        print(f"{op}: {differ} of {count} calls differ: {first}")
    print(f"{len(calls.seen)} rows ran, {len(wrong)} of them differ from the host's somewhere")
    if not options.k:
        calls.write()


if __name__ == "__main__":
    main()
