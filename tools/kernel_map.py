"""Writes docs/kernels.md: which primitives serve each row on Ascend and on GPUs, and whether MindSpore's plugins have them.

    python -m tools.kernel_map            # write the page
    python -m tools.kernel_map --checked FILE    # the same with the results of a `mstorch check` on MindSpore's plugin (tests/cann)
    python -m tools.kernel_map --check    # print what names a kernel that its device has not, and fail if anything does

No device is needed: the plugins' files are read (``tools/plugins.py``), and each row's function runs once on the CPU under a
profile hook (``tools/kernel_trace.py``), on the sample call that ``tools/kernel_samples.py`` wrote down.
"""
from __future__ import annotations

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from mstorch._src.backend.samples import samples
from tools import plugins
from tools.kernel_calls import PATH as CALLS
from tools.kernel_samples import TRAINING

PAGE = pathlib.Path(__file__).parents[1] / "docs" / "kernels.md"
FREE = ("view",)  # kinds that run no kernel
LAUNCHES = pathlib.Path(__file__).parents[1] / "mstorch" / "_src" / "backend" / "ascend" / "launches.json"
"""Number of kernels of the Ascend rows that launch more than one. The stand-in uses it to count rows that it cannot run."""
CHECKED = pathlib.Path(__file__).with_name("plugin_rows.json")
"""By row: on how many calls MindSpore's Ascend plugin gave the host's result, ran with nothing beside it, or differed or raised."""
FEW = {  # rows whose kernels are counted, under the names that users know
    "GELU": "gelu", "SiLU": "silu", "softmax": "softmax", "layer norm": "layer_norm", "batch norm": "batch_norm_parts",
    "cross entropy": "cross_entropy", "AdamW": "adamw_step", "attention": "attention", "attention backward": "attention_grad",
    "embedding": "embedding", "SGD (twice with momentum)": "add_scaled",
}  # fmt: skip


class Entry(NamedTuple):
    """A kernel row on one device."""

    row: str
    device: str
    reason: str  # why it takes the CPU's function, or has none
    here: bool  # whether it has a kernel
    primitives: tuple[str, ...]
    kinds: dict[str, str]  # how the device serves each primitive; "" where it has none
    reads: int
    ended: str
    computed: bool  # whether every primitive has a CPU kernel too, so that the row ran
    differs: str  # where it ran: how its result differs from the CPU's row
    dtypes: str
    overloads: tuple[str, ...]
    held: str = ""  # on how many calls of torch's databases it gave what the host's row gives

    @property
    def missing(self) -> list[str]:
        """The primitives that the device lacks."""
        return [name for name, kind in self.kinds.items() if not kind]

    @property
    def kernels(self) -> int:
        """The number of kernels that a call launches."""
        return sum(self.kinds[name] not in FREE for name in self.primitives)


def kind_of(device: str, name: str) -> str:
    """Return which part of a device's plugin provides a primitive: "aclnn", "aicpu", "view" or "cuda", "docstring" if only its docstring
    names the device, "" if nothing does."""
    if device == "Ascend":
        return plugins.ascend().get(name, "")
    if name in plugins.views():
        return "view"
    if name in plugins.gpu() or f"{name}Fwd" in plugins.gpu():
        return "cuda"
    return "docstring" if "GPU" in platforms(name) else ""


def platforms(name: str) -> list[str]:
    """Return the "Supported Platforms" of a primitive's docstring."""
    from mindspore import ops  # late: with MindSpore's device chosen
    from mindspore.ops import operations
    from mindspore.ops.auto_generate import gen_ops_prim

    snake = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
    for owner in (getattr(operations, name, None), getattr(gen_ops_prim, name, None), getattr(ops, snake, None)):
        found = re.search(r"Supported Platforms:\s*\n\s*(.*)", getattr(owner, "__doc__", None) or "")
        if found:
            return re.findall(r"``(\w+)``", found[1])
    return []


def entries(device: str) -> list[Entry]:
    """Return an entry for each kernel row on a device."""
    import mstorch  # the import fills the table
    import mstorch._src.backend.ascend
    import mstorch._src.backend.gpu  # noqa: F401
    from mstorch._src.backend import device_memory
    from mstorch._src.backend.table import ALL, ROWS
    from tools.kernel_trace import trace

    found = []
    calls = samples()
    for op, row in sorted(ROWS.items()):
        function = row.functions.get(device)
        reason = row.reasons.get(device, "")
        if function is None:
            found.append(Entry(op, device, reason, False, (), {}, 0, "", False, "", "", ()))
            continue
        if op not in calls:
            found.append(Entry(op, device, reason, True, (), {}, 0, "no sample call", False, "", "", ()))
            continue
        device_memory.HAS_WRITES = device == "Ascend"  # as in a process of that device
        seen = trace(function, calls[op])
        kinds = {name: kind_of(device, name) for name in seen.primitives}
        dtypes = "all" if row.dtypes[device] == set(ALL) else " ".join(sorted(row.dtypes[device]))
        computed = not seen.absent and not seen.ended
        differs = difference(seen.result, cpu_result(op, calls[op])) if computed else ""
        found.append(Entry(op, device, reason, True, tuple(seen.primitives), kinds, seen.reads, seen.ended, computed, differs, dtypes,
                           tuple(seen.overloads), held(op) if device == "Ascend" and computed else ""))  # fmt: skip
    return found


@lru_cache
def _calls() -> dict[str, list[Any]]:
    """Return the contents of ``kernel_calls.json``."""
    return dict(json.loads(CALLS.read_text()))


def held(op: str) -> str:
    """Return the number of database calls on which a row of Ascend ran on the CPU, and its first difference from the host's row, as text.
    """
    count, differ, first = _calls().get(op, (0, 0, ""))
    if not count:
        return "no call"
    return f"{count} calls" if not differ else f"{differ} of {count} calls differ: {first}"


@lru_cache
def _checked() -> dict[str, list[int]]:
    """Return the contents of ``plugin_rows.json``."""
    return dict(json.loads(CHECKED.read_text()))


def on_plugin(op: str) -> str:
    """Return what a row's calls gave on MindSpore's Ascend plugin, as text."""
    right, alone, wrong = _checked().get(op, (0, 0, 0))
    parts = [f"{count} {word}" for count, word in ((right, "right"), (alone, "ran"), (wrong, "differ")) if count]
    return ", ".join(parts) or "no call"


def write_checked(report: pathlib.Path) -> None:
    """Count the calls of each row in a report of ``mstorch check``."""
    counts: dict[str, list[int]] = {}
    groups = json.loads(report.read_text())["groups"]
    for name, outcome in (pair for group in ("rows", "layouts", "sizes") for pair in groups[group].items()):
        place = 0 if not outcome["text"] else 1 if outcome["text"].startswith("alone") else 2
        if not outcome["text"].startswith("absent"):
            counts.setdefault(name.partition(",")[0], [0, 0, 0])[place] += 1
    CHECKED.write_text(json.dumps(dict(sorted(counts.items()))).replace("], ", "],\n") + "\n")


def cpu_result(op: str, args: list[Any]) -> Any:
    """Return the result of the CPU's row for a sample call."""
    from mstorch._src.backend.raw import NAME_OF_NP
    from mstorch._src.backend.table import kernel

    first = next(item for arg in args for item in (arg if isinstance(arg, (list, tuple)) else (arg,)) if isinstance(item, np.ndarray))
    return kernel(op).host[NAME_OF_NP[first.dtype]](*args)


def difference(device: Any, cpu: Any) -> str:
    """Return the difference of two results, in shape or by more than rounding; "" if they agree."""
    if isinstance(cpu, (tuple, list)):
        return next(filter(None, map(difference, device, cpu)), "") if len(device) == len(cpu) else f"{len(device)} results"
    mine, theirs = (item.asnumpy() if hasattr(item, "asnumpy") else np.asarray(item) for item in (device, cpu))
    if mine.shape != theirs.shape or mine.dtype != theirs.dtype:
        return f"{mine.dtype}{list(mine.shape)} for {theirs.dtype}{list(theirs.shape)}"
    if np.allclose(mine, theirs, 1e-4, 1e-5, equal_nan=True):
        return ""
    return f"by {np.nanmax(np.abs(mine.astype(np.complex128) - theirs)):.1g}"


def faults(listed: list[Entry]) -> list[str]:
    """Return a message for each entry that has neither kernel nor reason, that uses a primitive missing on its device, or that could not be
    traced."""
    found = []
    for entry in listed:
        where = f"{entry.row} on {entry.device}"
        if not entry.here and not entry.reason:
            found.append(f"{where}: no entry")
        if entry.missing:
            found.append(f"{where}: {', '.join(entry.missing)} not in the plugin")
        if entry.here and entry.device == "Ascend" and (entry.ended or entry.overloads):
            found.append(f"{where}: cannot be followed ({entry.ended or ' '.join(entry.overloads)})")
    return found


def shares(listed: list[Entry]) -> tuple[int, int]:
    """Return how many rows of float32 training use only primitives of the plugin, and the number of all such rows."""
    training = set(json.loads(TRAINING.read_text()))
    rows = [entry for entry in listed if entry.row in training]
    return sum(entry.here and not entry.missing and not entry.ended for entry in rows), len(rows)


def _line(entry: Entry) -> str:
    if not entry.here:
        return f"| {entry.row} | none | | | | | | | {entry.reason} |"
    names = ", ".join(f"{name} ({entry.kinds[name] or '**missing**'})" for name in dict.fromkeys(entry.primitives)) or "none"
    note = "; ".join(text for text in (f"as on the CPU: {entry.reason}" if entry.reason else "", entry.ended) if text)
    plugin = on_plugin(entry.row) if entry.device == "Ascend" else ""
    computed = ("computed" + (f", differs: {entry.differs}" if entry.differs else "")) if entry.computed else "by name"
    return f"| {entry.row} | {names} | {entry.kernels} | {computed} | {entry.held} | {entry.reads} | {entry.dtypes} | {plugin} | {note} |"


def page() -> str:
    """Return the text of the page."""
    import mindspore  # late: with MindSpore's device chosen

    lines = [
        "# Kernels by device", "",
        "Written by `python -m tools.kernel_map`, which needs no device. For each row of the kernel table: the primitives of",
        "MindSpore that its kernel calls, as a run on the CPU under a profile hook shows, and how the plugin that the CPU wheel ships",
        "serves each: `aclnn` (a class `pyboost::<name>Ascend` or a kernel class), `aicpu` (a kernel for the device's own CPU), `view`",
        "(strides only, no kernel), `cuda` (a kernel class of that name), `docstring` (declared for the platform, no class of that name).",
        "\"computed\": every primitive also has a CPU kernel, so that the row ran; \"by name\": only the names were checked.",
        "\"held\": the calls of torch's databases of operators and modules, in nine dtypes, on which the row ran on the CPU beside the",
        "host's row (`python -m tools.kernel_calls`), and how many differ: a fault of the CPU's kernel that says nothing of the device's.",
        "\"on the plugin\": calls of the row on MindSpore's own Ascend plugin, in all dtypes, on contiguous, transposed, strided, 0-d and",
        "empty tensors, with CANN emulated below it by torch (`tests/cann`): how many had the host's values, and how many ran with nothing",
        "beside them (`python -m tools.kernel_map --checked FILE` counts them in a report of `mstorch check`).",
        "",
        f"MindSpore {mindspore.__version__}: {len(plugins.ascend())} names for Ascend, {len(plugins.aclnn())} functions of aclnn, "
        f"{len(plugins.gpu())} kernel classes of the CUDA plugin.",
    ]  # fmt: skip
    for device in ("Ascend", "GPU"):
        listed = entries(device)
        good, count = shares(listed)
        here = [entry for entry in listed if entry.here]
        lines += [
            "", f"## {device}", "",
            f"{len(here)} of {len(listed)} rows have a kernel, {sum(bool(entry.missing) for entry in here)} of them name a primitive that "
            f"the plugin has not; {sum(entry.computed for entry in here)} are computed on the CPU by the same primitives, "
            f"{sum(entry.computed and not entry.differs for entry in here)} of those with the CPU row's result.",
            f"Of the {count} rows that training in float32 reaches (torch's databases of modules and optimizers), {good} have a kernel "
            f"whose primitives are all there ({100 * good / max(count, 1):.0f} %).",
        ]  # fmt: skip
        if device == "Ascend":
            by_row = {entry.row: entry for entry in listed}
            counts = [(count, differ) for count, differ, _ in _calls().values()]
            lines += [
                f"{len(counts)} rows ran on {sum(count for count, _ in counts)} calls of torch's databases: "
                f"{sum(not differ for _, differ in counts)} gave what the host's rows give on all of them, the others differ on "
                f"{sum(differ for _, differ in counts)} calls.",
            ]
            called = [entry for entry in here if entry.row in _checked()]
            right = sum(_checked()[entry.row][0] for entry in called)
            lines += [
                f"{len(called)} rows were called on MindSpore's plugin: {right} calls had the right values, "
                f"{sum(_checked()[entry.row][2] for entry in called)} had others.",
            ]  # fmt: skip
            few = [f"{label} {by_row[op].kernels}" for label, op in FEW.items() if op in by_row]
            lines += ["Kernels per forward call: " + ", ".join(few) + "."]
        titles = ("row", "primitives", "kernels", "proven", "held", "host reads", "dtypes", "on the plugin", "note")
        lines += ["", f"| {' | '.join(titles)} |", "|---" * len(titles) + "|"]
        lines += map(_line, listed)
    return "\n".join(lines) + "\n"


def launches(listed: list[Entry]) -> dict[str, int]:
    """Return the number of kernels for each row whose sample call launches more than one."""
    return {entry.row: entry.kernels for entry in listed if entry.here and entry.kernels > 1}


def main() -> int:
    """Write the page or, with ``--check``, print the faults."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="print faults and fail if there are any; write nothing")
    parser.add_argument("--checked", type=pathlib.Path, metavar="FILE", help="count first the calls in a report of mstorch check")
    options = parser.parse_args()
    if options.checked and not os.environ.get("MSTORCH_FAKE_DEVICE"):
        write_checked(options.checked)
    if os.environ.get("MSTORCH_FAKE_DEVICE") != "Ascend":  # rows ask whether they run on the CPU when they are loaded
        command = [sys.executable, "-m", "tools.kernel_map", *sys.argv[1:]]
        return subprocess.run(command, env={**os.environ, "MSTORCH_FAKE_DEVICE": "Ascend"}).returncode
    if options.check:
        found = [fault for device in ("Ascend", "GPU") for fault in faults(entries(device))]
        print("\n".join(found) or "every row names what its device has")
        return bool(found)
    PAGE.write_text(page())
    LAUNCHES.write_text(json.dumps(launches(entries("Ascend")), indent=0) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
