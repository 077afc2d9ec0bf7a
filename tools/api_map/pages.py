"""The text of docs/api: one page per group of torch's modules, one table per module."""
from __future__ import annotations

import functools
import json
import pathlib
import re
from collections import Counter
from typing import Any

from tools.api_map.calls import PATH as CALLS
from tools.api_map.names import PAGES, Name, names

FORMS = pathlib.Path(__file__).parents[2] / "docs" / "call_forms.md"
_LONGEST = 180
_STUBBED = frozenset(("torch", "torch.Tensor", "torch.nn.functional", "torch.linalg", "torch.fft", "torch.special"))
_IN_DATABASES = _STUBBED | {"torch.sparse", "torch.nn", "torch.optim"}
_TITLES = {
    "torch": "torch", "tensor": "torch.Tensor", "nn": "torch.nn", "functional": "torch.nn.functional",
    "mathematics": "torch.linalg, torch.fft, torch.special", "optim": "torch.optim", "autograd": "torch.autograd, torch.func",
    "distributions": "torch.distributions", "data": "torch.utils", "distributed": "torch.distributed",
    "devices": "torch.amp, torch.cuda, torch.random",
    "more": "torch.sparse, torch.jit, torch.fx, torch.export and others",
}  # fmt: skip
_HEAD = """\
Written by `python -m tools.api_map`; not to be edited. {count}

- **State**: `there`; `raises`: it can be imported, and raises by name when it is used; `absent`.
- **Ascend**: `kernels`: all that torch's database of operators asks of it, forward and backward, runs by kernels of the device, on the
  stand-in the CPU emulates (never on hardware). `CPU:` names the rows of the [kernel table](../kernels.md) that are computed on the CPU
  instead, with one warning each. Where nothing stands, the database has no entry: it calls other functions, or computes nothing.
- **GPU**: `by name`: MindSpore documents a kernel for each row. It was never run.
- **Proven**: `database`: torch's samples of it give torch's results and gradients on the CPU. `forms`: each form of a call that torch's
  stubs give computes what torch computes ([the others](../call_forms.md)).
"""


class Seen:
    """The contents of ``calls.json``: for each name, its entries in torch's databases."""

    def __init__(self) -> None:
        self._entries: dict[str, list[dict[str, Any]]] = {}
        for key, entry in json.loads(CALLS.read_text()).items():
            kind, _, name = key.partition(" ")
            prefix = "optim." if kind == "optimizers" else ""
            self._entries.setdefault(prefix + name, []).append(entry)
            base = name.rpartition(".")[0]  # of a variant: ``norm.fro``
            if kind == "ops" and base and base not in ("nn.functional", "linalg", "fft", "special", "masked", "signal.windows", "sparse"):
                self._entries.setdefault(base, []).append(entry)

    def of(self, name: Name) -> list[dict[str, Any]]:
        """Return the entries of a name; a method or an in-place form has those of its function."""
        if name.space not in _IN_DATABASES:
            return []
        full = name.full.removeprefix("torch.").removeprefix("Tensor.")
        function = f"nn.functional.{name.name}" if name.space == "torch" else name.name if name.space == "torch.nn.functional" else full
        return next((self._entries[text] for text in (full, full.removesuffix("_"), function) if text in self._entries), [])


@functools.cache
def _forms_apart() -> frozenset[str]:
    """Return the names that have a call form different from torch's."""
    text = FORMS.read_text("utf-8").partition("## The stubs say so")[0]
    return frozenset(f"torch.{name}" if name.startswith("Tensor.") else name for name in re.findall(r"^\| `([\w.]+)\(", text, re.MULTILINE))



def _proven(name: Name, entries: list[dict[str, Any]]) -> str:
    parts = []
    if entries:
        wrong = next((entry["cpu"][0] for entry in entries if entry["cpu"][0]), "")
        parts.append(f"database, but: {wrong[:80]}" if wrong else "database")
    if name.space in _STUBBED and name.forms:
        parts.append("forms, but some" if name.full in _forms_apart() else "forms")
    return ", ".join(parts)


def _ascend(entries: list[dict[str, Any]]) -> str:
    if not entries:
        return ""
    wrong = next((entry["npu"][0] for entry in entries if entry["npu"][0] and not entry["cpu"][0]), "")
    fallen = sorted({row for entry in entries for row in entry["npu"][2]})
    text = f"CPU: {' '.join(fallen)}" if fallen else "kernels"
    return f"{text}; {wrong[:80]}" if wrong else text


def _gpu(entries: list[dict[str, Any]]) -> str:
    from mstorch._src.backend import gpu  # noqa: F401 - late: it fills the table
    from mstorch._src.backend.table import ROWS

    rows = {row for entry in entries for row in (*entry["cpu"][1], *entry["cpu"][2])}
    lacking = sorted(row for row in rows if row in ROWS and "GPU" not in ROWS[row].functions)
    return "" if not entries else f"CPU: {' '.join(lacking)}" if lacking else "by name"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("*", "\\*").replace("_", "\\_").replace("\n", " ")


def _line(name: Name, seen: Seen) -> str:
    entries = seen.of(name) if name.state == "there" and name.forms else []
    forms = [form if len(form) <= _LONGEST else form[: _LONGEST - 2].rpartition(",")[0] + ", …" for form in name.forms]
    called = "".join(f"<br>({form})" for form in forms) if name.state == "there" else ""
    proven = _proven(name, entries) if name.state == "there" else ""
    cells = map(_cell, (called, name.state, _ascend(entries), _gpu(entries), proven))
    return f"| `{name.name}`{' | '.join(cells)} |"


def pages() -> dict[str, str]:
    """Return the text of each page by its file name."""
    seen, found, rows = Seen(), {}, []
    for page, spaces in PAGES.items():
        tables, total = [], Counter[str]()
        for space in spaces:
            listed = list(names(space))
            total.update(name.state for name in listed)
            tables += [f"## {space}", "", "| name | state | Ascend | GPU | proven |", "|---|---|---|---|---|"]
            tables += [*(_line(name, seen) for name in listed), ""]
        here, raising, absent = (total[state] for state in ("there", "raises", "absent"))
        count = f"Of {total.total()} public names of torch 2.13 {here} are there, {raising} raise, {absent} are absent."
        found[f"{page}.md"] = "\n".join([f"# {_TITLES[page]}", "", _HEAD.format(count=count), *tables]).rstrip() + "\n"
        rows.append(f"| [{_TITLES[page]}]({page}.md) | {total.total()} | {here} | {raising} | {absent} |")
    found["index.md"] = "\n".join((
        "# The map", "",
        "Each public name of torch 2.13: whether mstorch has it, how it is called, what computes it on each device,",
        "and how that was proven. The search finds names on all pages.", "",
        "| page | names | there | raise | absent |", "|---|---|---|---|---|", *rows,
    )) + "\n"  # fmt: skip
    return found


__all__ = ["pages"]
