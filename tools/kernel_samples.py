"""Records one sample call of each kernel row, for the kernel map: ``python -m tools.kernel_samples`` (needs torch).

torch's test databases run through mstorch with small inputs; of the calls that reach a row, the smallest float32 one with elements is
written to ``tools/kernel_samples.json``.
"""
from __future__ import annotations

import json
import pathlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

PATH = pathlib.Path(__file__).with_name("kernel_samples.json")
TRAINING = pathlib.Path(__file__).with_name("training_rows.json")
"""The rows that torch's databases of modules and optimizers reach, forward and backward, in float32."""
VIEWS = ("expand", "permute", "reshape", "select", "slice", "storage_gather", "storage_scatter")
"""The rows that serve views and in-place writes on devices; host memory has windows for them."""


def encoded(value: Any) -> Any:
    """An argument of a kernel as JSON; of arrays that hold no integers only shape and dtype are kept."""
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


def decoded(value: Any) -> Any:
    """The argument that ``encoded`` wrote down; other numbers lie between 0.1 and 0.9, which most functions take."""
    if not isinstance(value, dict):
        return value
    if "dtype" not in value:
        ((kind, items),) = value.items()
        made = [decoded(item) for item in items]
        return made if kind == "list" else tuple(made)
    kind, shape = np.dtype(value["dtype"]), tuple(value["shape"])
    if "values" in value:
        return np.asarray(value["values"], kind).reshape(shape)
    numbers = np.random.RandomState(len(shape)).uniform(0.1, 0.9, shape)
    return np.asarray(numbers < 0.5 if kind.kind == "b" else numbers.astype(kind))


def samples() -> dict[str, list[Any]]:
    """The arguments of one call of each row."""
    return {op: [decoded(item) for item in args] for op, args in {**json.loads(PATH.read_text()), **BY_HAND}.items()}


def _floats(*shape: int, dtype: str = "float32") -> dict[str, Any]:
    return {"dtype": dtype, "shape": list(shape)}


def _indices(*values: int) -> dict[str, Any]:
    return {"dtype": "int64", "shape": [len(values)], "values": list(values)}


def _pair(*items: Any) -> dict[str, Any]:
    return {"tuple": list(items)}


# What host memory never asks the table for: windows are views there, and matrices go to LAPACK.
_SQUARE = _floats(3, 3)
BY_HAND: dict[str, list[Any]] = {
    "argsort_double": [_floats(3, 4, dtype="float64"), 1, False],
    "col2im": [_floats(1, 4, 9), _pair(4, 4), _pair(2, 2), _pair(1, 1), _pair(0, 0), _pair(1, 1), _pair(3, 3)],
    "expand": [_floats(2, 1), _pair(2, 3)],
    "gru_cell": [_floats(2, 9), _floats(2, 9), _floats(2, 3)],
    "integer_power": [_indices(1, 2, 3), _indices(2, 2, 2)],
    "lexicographic_order": [_floats(4, 2)],
    "linear_index": [_pair(3, 4), _pair(0), _pair(_indices(0, 2)), _pair(2), True],
    "max_pool": [_floats(1, 2, 4, 4), _pair(2, 2), _pair(2, 2), _pair(0, 0), _pair(1, 1), _pair(2, 2)],
    "max_pool_indices": [_floats(1, 2, 4, 4), _pair(2, 2), _pair(2, 2), _pair(0, 0), _pair(1, 1), _pair(2, 2)],
    "where": [_floats(2, 3, dtype="bool"), _floats(2, 3), _floats(2, 3)],
    "permute": [_floats(2, 3), _pair(1, 0)],
    "searchsorted": [_indices(1, 3, 5, 7), _indices(0, 3, 9), False],
    "reshape": [_floats(2, 3), _pair(3, 2)],
    "select": [_floats(2, 3), 0, 1],
    "slice": [_floats(4, 3), 0, 1, 3, 1],
    "storage_gather": [_floats(2, 3), _indices(0, 4)],
    "storage_scatter": [_floats(2, 3), _indices(0, 4), _floats(2)],
    "view_dtype": [_floats(4), "complex64"],
    "linalg_qr": [_SQUARE, "reduced"],
    "linalg_solve_triangular": [_SQUARE, _floats(3, 2), True, True, False],
}


def _arrays(values: Any) -> Iterator[np.ndarray]:
    for value in values:
        if isinstance(value, np.ndarray):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from _arrays(value)


def worth(args: tuple[Any, ...]) -> tuple[int, ...] | None:
    """How well a call serves as a sample, less is better; None if it cannot be written down."""
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
        """The function, whose calls are looked at."""

        def call(*args: Any) -> Any:
            rank = worth(args)
            if self.training is not None:
                self.training.add(op)
            if rank is not None and (op not in self.found or rank < self.found[op][0]):
                self.found[op] = rank, [encoded(item) for item in args]
            return function(*args)

        return call

    def write(self) -> None:
        """Write what was found, a line for each row."""
        lines = [f"{json.dumps(op)}: {json.dumps(self.found[op][1], default=str)}" for op in sorted(self.found)]
        PATH.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def main() -> None:
    """Run the databases and write the samples."""
    from mstorch._backend import table  # the import runs MindSpore, which `decoded` has no need of
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
