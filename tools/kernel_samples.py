"""Records one sample call of each kernel row, for the kernel map: ``python -m tools.kernel_samples`` (needs torch).

torch's test databases run through mstorch with small inputs; of the calls that reach a row, the smallest float32 one with elements is
written to ``mstorch/_src/backend/kernel_samples.json``.
"""
from __future__ import annotations

import json
import pathlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from mstorch._src.backend.samples import PATH

TRAINING = pathlib.Path(__file__).with_name("training_rows.json")
"""The rows that torch's databases of modules and optimizers reach, forward and backward, in float32."""
VIEWS = ("expand", "permute", "reshape", "select", "slice", "storage_gather", "storage_scatter")
"""The rows that serve views and in-place writes on devices; host memory has windows for them."""


def encoded(value: Any) -> Any:
    """Return a kernel argument as JSON; an array is reduced to shape and dtype unless it holds integers."""
    if isinstance(value, np.ndarray):
        made: dict[str, Any] = {"dtype": str(value.dtype), "shape": list(value.shape)}
        if value.dtype.kind in "iu":
            made["values"] = value.reshape(-1).tolist()
        return made
    if isinstance(value, (list, tuple)):
        return {type(value).__name__: [encoded(item) for item in value]}
    if isinstance(value, np.generic):
        return value.item()
    return value


def _arrays(values: Any) -> Iterator[np.ndarray]:
    for value in values:
        if isinstance(value, np.ndarray):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from _arrays(value)


def worth(args: tuple[Any, ...]) -> tuple[int, ...] | None:
    """Return a sort key for calls as samples, smaller is better; None if the arguments cannot be written as JSON."""
    arrays = list(_arrays(args))
    if not arrays or any(array.dtype.name == "bfloat16" for array in arrays):
        return None
    sizes = [array.size for array in arrays]
    return (int(0 in sizes), int(arrays[0].dtype != np.float32), int(max(sizes) < 4), int(arrays[0].ndim < 2), sum(sizes))


class Recorder:
    """Keeps the best call of each row."""

    def __init__(self) -> None:
        self.found: dict[str, tuple[tuple[int, ...], Any]] = {}
        self.training: set[str] | None = set(VIEWS)

    def watched(self, op: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return a wrapper of the function that offers each of its calls as the row's sample."""

        def call(*args: Any) -> Any:
            rank = worth(args)
            if self.training is not None:
                self.training.add(op)
            if rank is not None and (op not in self.found or rank < self.found[op][0]):
                self.found[op] = rank, [encoded(item) for item in args]
            return function(*args)

        return call

    def write(self) -> None:
        """Write the samples, one line per row."""
        lines = [f"{json.dumps(op)}: {json.dumps(self.found[op][1], default=str)}" for op in sorted(self.found)]
        PATH.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def main() -> None:
    """Run the databases and write the samples."""
    from mstorch._src.backend import table  # the import runs MindSpore, which `decoded` has no need of
    from tests import databases

    recorder = Recorder()
    resolve = table.HostKernel.__missing__

    def watching(kernel: Any, name: str) -> Any:
        function = recorder.watched(kernel.device.op, resolve(kernel, name))
        kernel[name] = function
        return function

    for kernel in table._KERNELS.values():
        kernel.host.clear()
    table.HostKernel.__missing__ = watching  # type: ignore[method-assign]
    for kind in ("modules", "optimizers", "ops"):
        if kind == "ops":
            TRAINING.write_text(json.dumps(sorted(recorder.training or ()), indent=0) + "\n")
            recorder.training = None
        for check in databases.items(kind).values():
            databases.outcome(check)
    recorder.write()
    missing = sorted(set(table.ROWS) - set(recorder.found))
    print(f"{len(recorder.found)} rows recorded; not reached: {', '.join(missing)}")


if __name__ == "__main__":
    main()
