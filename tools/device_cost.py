"""Counts what each step of a training script asks of a device, on the stand-in device that the CPU emulates.

    MSTORCH_FAKE_DEVICE=Ascend python -m tools.device_cost examples/digits_mlp.py --device npu      # a step ends where an optimizer steps
    MSTORCH_FAKE_DEVICE=Ascend python -m tools.device_cost --calls model.generate script.py         # or where a named function returns

``import torch`` means mstorch in the script. For each step it prints kernels by name (in brackets: rows whose primitives have no
kernel on the CPU, counted as on a sample call), conversions, copies from the host, their bytes and the lines that ask for them, reads
of values with their lines, and the time that the host spends outside of kernels. Steps that ask for the same are printed once.
"""
from __future__ import annotations

import argparse
import os
import runpy
import sys
from collections.abc import Callable
from typing import Any


def _each_return_of(name: str, step: Callable[[], None]) -> Callable[..., None]:
    """Return a profile hook that ends a step whenever the function ``name`` returns."""

    def profile(frame: Any, event: str, _: Any) -> None:
        if event == "return" and frame.f_code.co_qualname.endswith(name):
            step()

    return profile


def main(arguments: list[str]) -> int:
    """Run a script and print the cost of its steps."""
    parser = argparse.ArgumentParser(prog="tools.device_cost", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", metavar="FUNCTION", help="a step ends where this function returns, not where an optimizer steps")
    parser.add_argument("--lines", type=int, default=12, help="how many names of each count to print")
    parser.add_argument("script")
    parser.add_argument("args", nargs=argparse.REMAINDER)
    options = parser.parse_args(arguments)
    if os.environ.get("MSTORCH_FAKE_DEVICE") != "Ascend":
        parser.error("set MSTORCH_FAKE_DEVICE=Ascend: the counts are those of the stand-in device")
    import mstorch
    from mstorch._src.backend import cost

    seen: list[Any] = []
    steps = [0]

    def report(found: Any) -> None:
        steps[0] += 1
        counts = [found.kernels, found.casts, found.copies, found.reads]
        if counts not in seen:
            seen.append(counts)
            print(f"step {steps[0]}: {found.text(options.lines)}", file=sys.stderr)

    mstorch.install()
    step = cost.stepwise(report)
    if options.calls:
        sys.setprofile(_each_return_of(options.calls, step))
    else:
        mstorch.optim.optimizer.register_optimizer_step_post_hook(lambda *_: step())
    sys.argv = [options.script, *options.args]
    sys.path.insert(0, os.path.dirname(os.path.abspath(options.script)))
    runpy.run_path(options.script, run_name="__main__")
    print(f"{steps[0]} steps, of {len(seen)} kinds", file=sys.stderr)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
