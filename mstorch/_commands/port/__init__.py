"""``python -m mstorch port``: prints a diff after which a program imports mstorch and names the device explicitly.

    python -m mstorch port my_project/            # prints the diff
    python -m mstorch port my_project/ --write    # and changes the files

``import torch`` becomes ``import mstorch as torch``, "cuda" the device, ``torch.cuda`` ``torch.accelerator`` or the device's module, in
Python files and the cells of notebooks. All else is unchanged; what is left to the reader (settings, shell scripts, ``torch_npu``, other
texts that name CUDA or torch) is named with its line and what to write. The exit status is 0, or 1 if a file cannot be read; then nothing
is written.
"""
from __future__ import annotations

import argparse
import ast
import difflib
import os
import sys
from dataclasses import dataclass, field
from pathlib import Path

from ..scan.beside import beside_python
from ..scan.notebooks import code_of, renumbered, with_code
from ..scan.sources import Source, Unread, files_below, read
from .edits import edited
from .left import left_to_the_reader, of_commands, packages_on_torch


@dataclass
class _Port:
    """The result of a run: the files' contents before and after, notes, and the packages that import torch themselves."""

    device: str
    changed: dict[Path, tuple[bytes, bytes]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    asking: set[str] = field(default_factory=set)

    def take(self, item: Source) -> None:
        """Port one file, and note what is left to its reader."""
        before = item.path.read_bytes()
        after, tree = _ported(item.path, before, self.device)
        self.asking |= packages_on_torch(item.tree)
        if after != before:
            self.changed[item.path] = before, after
        if item.path.suffix == ".ipynb":
            self.notes += [f"{item.path}:{line}: {text}" for line, text in of_commands(*code_of(before))]
        self.notes += [f"{item.path}:{line}: {text}" for line, text in sorted(set(left_to_the_reader(item.tree, tree, self.device)))]

    def show(self) -> None:
        """Print the diff, and the notes to the other stream."""
        for path, (before, after) in self.changed.items():
            first, second = (text.decode("utf-8", "replace").splitlines(keepends=True) for text in (before, after))
            sys.stdout.writelines(difflib.unified_diff(first, second, str(path), str(path)))
        for note in self.notes:
            print(f"note: {note}", file=sys.stderr)
        if self.asking:
            packages = ", ".join(sorted(self.asking))
            way = "run with `python -m mstorch`, or call mstorch.install() first"
            print(f"note: {packages} import torch themselves: {way}", file=sys.stderr)


def main(arguments: list[str]) -> int:
    """Print the diff of the given files, apply it if requested, and return the exit status."""
    layout = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(prog="python -m mstorch port", description=__doc__, formatter_class=layout)
    parser.add_argument("paths", nargs="+", metavar="PATH", type=Path)
    parser.add_argument("--device", default="npu", choices=("npu", "cuda"), help='what "cuda" becomes (npu); cuda leaves it as it is')
    parser.add_argument("--write", action="store_true", help="change the files")
    options = parser.parse_args(arguments)
    existing = [path for path in options.paths if path.exists()]
    sources = [read(file) for path in existing for file in files_below(path)]
    unread = [item for item in sources if isinstance(item, Unread)]
    bad = [f"{path}: no such file or folder" for path in options.paths if path not in existing]
    bad += [f"{item.path}: cannot be read: {item.reason}" for item in unread if item.path.suffix != ".ipynb"]
    port = _Port(options.device)
    for place in existing:
        port.notes += [f"{path}:{line}: not changed: {text[:100]}; {advice}" for path, line, text, advice in beside_python(place)]
    port.notes += [f"{item.path}:1: not changed: {item.reason}" for item in unread if item.path.suffix == ".ipynb"]
    for item in sources:
        if not isinstance(item, Unread):
            port.take(item)
    port.show()
    if bad:
        print("\n".join(bad), file=sys.stderr)
        return 1
    if options.write:
        for path, (_, after) in port.changed.items():
            _replace(path, after)
    print(f"{len(port.changed)} of {len(sources)} files {'changed' if options.write else 'to change'}", file=sys.stderr)
    return 0


def _ported(path: Path, before: bytes, device: str) -> tuple[bytes, ast.Module]:
    """Return a file's content after the port, and the tree of its code then, with the lines of the file."""
    if path.suffix != ".ipynb":
        after = edited(before, ast.parse(before), device)
        return after, ast.parse(after)
    code = code_of(before)
    text = edited(code.text, ast.parse(code.text), device)
    return with_code(before, text), renumbered(ast.parse(text), code.lines)


def _replace(path: Path, content: bytes) -> None:
    """Write a file atomically, with its previous permissions."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        beside.write_bytes(content)
        beside.chmod(path.stat().st_mode)
        beside.replace(path.resolve())
    finally:
        beside.unlink(missing_ok=True)
