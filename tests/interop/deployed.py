"""Programs for other runtimes: MindIR that MindSpore loads, and ONNX that onnxruntime runs, of TorchScript archives, ``.pt2`` files and Modules.

    python -m tests.jit.archives --write --folder FOLDER --path SITE_PACKAGES                   # real torch writes programs and their numbers
    python -m tests.interop.deployed mindir --folder FOLDER [GROUP, NAME or KIND…]              # loaded by mstorch, and written as MindIR
    python -m tests.interop.deployed onnx --folder FOLDER --path FOLDER_OF_ONNX [--opset 18]    # … and as ONNX (several opsets in turn without --opset)

The files are run on the inputs that torch's numbers are of. ``--dynamic`` lets the first dimension of the inputs vary, and runs a batch twice as long
beside mstorch's program, too.
"""
from __future__ import annotations

import argparse
import itertools
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from tests.jit.archives import _exported, _wanted, leaves_of, said_of

NEAR = 1e-4
OPSETS = (18, 19, 20, 21)


def _program(path: Path) -> tuple[Any, Any, list[Any]]:
    """Return a program, a call, and torch's results; of an archive in training, which neither format holds, its own results in evaluation."""
    import mstorch as torch

    kept = torch.load(f"{path}.numbers", weights_only=False)
    program = _exported(path).module() if path.suffix == ".exported" else torch.jit.load(path)
    if path.suffix == ".exported" or not program.training:
        return program, kept["call"], kept["wanted"]
    module = Positional(program.eval(), kept["call"]).module
    with torch.no_grad():
        return program, kept["call"], leaves_of(module(*leaves_of(kept["call"])))


class Positional:
    """A program as a function of its tensors in order, which returns its tensors."""

    def __init__(self, program: Any, call: Any) -> None:
        import mstorch as torch

        class Module(torch.nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.program = program

            def forward(self, *tensors: Any) -> Any:
                given = iter(tensors)
                args, kwargs = _filled(call, given)
                return tuple(leaves_of(self.program(*args, **kwargs)))

        self.module = Module()
        self.module.train(False) if not hasattr(program, "_program") else None


def _filled(value: Any, given: Any) -> Any:
    if hasattr(value, "detach"):
        return next(given)
    if isinstance(value, (list, tuple)):
        return type(value)(_filled(item, given) for item in value)
    return {key: _filled(item, given) for key, item in value.items()} if isinstance(value, dict) else value


def differs(found: list[Any], wanted: list[Any]) -> str:
    """Return the difference of arrays from the expected ones; "" if there is none."""
    if len(found) != len(wanted):
        return f"{len(found)} arrays instead of {len(wanted)}"
    for number, (one, other) in enumerate(zip(found, wanted)):
        if one.shape != other.shape:
            return f"array {number}: {one.shape} instead of {other.shape}"
        largest = max(1.0, float(np.abs(other[np.isfinite(other)]).max(initial=0.0)))
        apart = np.abs(one.astype(np.float64) - other)[np.isfinite(other)].max(initial=0.0)
        if not apart <= NEAR * largest:
            return f"array {number}: {apart:.1e} apart"
    return ""


def _in_turn(program: Any, call: Any, wanted: list[Any], dynamic: bool) -> Iterator[tuple[list[Any], list[Any]]]:
    """Yield inputs and the arrays that are expected: torch's, and for a batch that is twice as long those of mstorch's program."""
    import mstorch as torch

    tensors = leaves_of(call)
    yield tensors, [one.numpy() for one in wanted]
    if dynamic:
        longer = [torch.cat([one, one.flip(0)]) for one in tensors]
        with torch.no_grad():
            yield longer, [one.numpy() for one in leaves_of(Positional(program, call).module(*longer))]


def mindir(path: Path, folder: Path, dynamic: bool) -> str:
    """Write MindIR of a program, and let MindSpore run it; return what differs."""
    import mindspore

    from mstorch import interop

    program, call, wanted = _program(path)
    module, tensors = Positional(program, call).module, leaves_of(call)
    shapes = [{0: "batch"} for _ in tensors] if dynamic else None
    file = interop.export_mindir(module, *tensors, path=str(folder / "program.mindir"), dynamic_shapes=shapes)
    graph = mindspore.nn.GraphCell(mindspore.load(file))
    for given, arrays in _in_turn(program, call, wanted, dynamic):
        results = graph(*(mindspore.Tensor(one.numpy()) for one in given))
        results = results if isinstance(results, (tuple, list)) else (results,)
        wrong = differs([one.asnumpy() for one in results], arrays)
        if wrong:
            return wrong
    return ""


def onnx(path: Path, folder: Path, opset: int, dynamic: bool) -> str:
    """Write ONNX of a program, and let onnxruntime run it; return what differs."""
    import onnxruntime

    import mstorch as torch

    program, call, wanted = _program(path)
    module, tensors = Positional(program, call).module, leaves_of(call)
    file = folder / "program.onnx"
    names = [f"input_{number}" for number in range(len(tensors))]
    axes = {name: {0: "batch"} for name in names} if dynamic else None
    torch.onnx.export(module, tuple(tensors), file, opset_version=opset, dynamic_axes=axes, input_names=names)
    session = onnxruntime.InferenceSession(file)
    for given, arrays in _in_turn(program, call, wanted, dynamic):
        wrong = differs(session.run(None, {one.name: value.numpy() for one, value in zip(session.get_inputs(), given)}), arrays)
        if wrong:
            return wrong
    return ""


def main() -> int:
    """Print a line for each file that differs, and the count; return whether any does."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("format", choices=["mindir", "onnx"])
    parser.add_argument("words", nargs="*")
    parser.add_argument("--folder", required=True)
    parser.add_argument("--path", action="append", default=[])
    parser.add_argument("--opset", type=int)
    parser.add_argument("--dynamic", action="store_true")
    parser.add_argument("--most", type=int, default=0)
    given = parser.parse_intermixed_args()
    sys.path.extend(given.path)
    warnings.simplefilter("ignore")
    suffixes = (".scripted", ".traced", ".exported")
    paths = sorted(path for path in Path(given.folder).iterdir() if path.suffix in suffixes and _wanted(given.words, *path.stem.split(", ", 1), path.suffix[1:]))
    opsets = itertools.cycle(OPSETS if given.opset is None else [given.opset])
    good, chosen = 0, paths[:: max(1, len(paths) // given.most)][: given.most] if given.most else paths
    for path in chosen:
        with tempfile.TemporaryDirectory() as folder:
            try:
                wrong = mindir(path, Path(folder), given.dynamic) if given.format == "mindir" else onnx(path, Path(folder), next(opsets), given.dynamic)
            except Exception as error:  # noqa: BLE001 - which one is what is told
                wrong = said_of(error)
        good += not wrong
        if wrong:
            print(f"{path.name}: {wrong}", flush=True)
    print(f"{given.format}: {good} of {len(chosen)} files are equal", flush=True)
    return int(good < len(chosen))


if __name__ == "__main__":
    sys.exit(main())
