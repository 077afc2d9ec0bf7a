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
from pathlib import Path

from ..scan.beside import beside_python
from ..scan.notebooks import code_of, renumbered, with_code
from ..scan.sources import Unread, files_below, read
from .edits import edited
from .left import left_to_the_reader, of_commands, packages_on_torch


def main(arguments: list[str]) -> int:
    """Print the diff of the given files, apply it if requested, and return the exit status."""
    layout = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(prog="python -m mstorch port", description=__doc__, formatter_class=layout)
    parser.add_argument("paths", nargs="+", metavar="PATH", type=Path)
    parser.add_argument("--device", default="npu", choices=("npu", "cuda"), help='what "cuda" becomes (npu); cuda leaves it as it is')
    parser.add_argument("--write", action="store_true", help="change the files")
    options = parser.parse_args(arguments)
    missing = [path for path in options.paths if not path.exists()]
    sources = [read(file) for path in options.paths if path.exists() for file in files_below(path)]
    bad = [f"{path}: no such file or folder" for path in missing]
    unread = [item for item in sources if isinstance(item, Unread)]
    bad += [f"{item.path}: cannot be read: {item.reason}" for item in unread if item.path.suffix != ".ipynb"]
    changed: dict[Path, tuple[bytes, bytes]] = {}
    asking: set[str] = set()
    notes = [
        f"{path}:{line}: not changed: {text[:100]}; {advice}"
        for place in options.paths if place.exists() for path, line, text, advice in beside_python(place)
    ]  # fmt: skip
    notes += [f"{item.path}:1: not changed: {item.reason}" for item in unread if item.path.suffix == ".ipynb"]
    for item in sources:
        if not isinstance(item, Unread):
            before = item.path.read_bytes()
            after, tree = _ported(item.path, before, options.device)
            asking |= packages_on_torch(item.tree)
            if after != before:
                changed[item.path] = before, after
            if item.path.suffix == ".ipynb":
                notes += [f"{item.path}:{line}: {text}" for line, text in of_commands(*code_of(before))]
            notes += [f"{item.path}:{line}: {text}" for line, text in sorted(set(left_to_the_reader(item.tree, tree, options.device)))]
    for path, (before, after) in changed.items():
        first, second = (text.decode("utf-8", "replace").splitlines(keepends=True) for text in (before, after))
        sys.stdout.writelines(difflib.unified_diff(first, second, str(path), str(path)))
    for note in notes:
        print(f"note: {note}", file=sys.stderr)
    if asking:
        told = ", ".join(sorted(asking))
        print(f"note: {told} import torch themselves: run with `python -m mstorch`, or call mstorch.install() first", file=sys.stderr)
    if bad:
        print("\n".join(bad), file=sys.stderr)
        return 1
    if options.write:
        for path, (_, after) in changed.items():
            _replace(path, after)
    print(f"{len(changed)} of {len(sources)} files {'changed' if options.write else 'to change'}", file=sys.stderr)
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
