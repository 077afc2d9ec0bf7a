"""``python -m mstorch port``: prints a diff after which a program imports mstorch and names the device explicitly.

    python -m mstorch port my_project/            # prints the diff
    python -m mstorch port my_project/ --write    # and changes the files

``import torch`` becomes ``import mstorch as torch``, "cuda" the device, ``torch.cuda`` ``torch.accelerator`` or the device's module. Lines
with ``torch_npu``, and all else, are unchanged; what is left to the reader (notebooks, settings, ``torch_npu``) is named with its line. The
exit status is 0, or 1 if a file cannot be read; then nothing is written.
"""
from __future__ import annotations

import argparse
import difflib
import os
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from ..scan.sources import SKIPPED, Unread, files_below, read
from .edits import edited, left_to_the_reader, packages_on_torch


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
    bad += [f"{item.path}: cannot be read: {item.reason}" for item in sources if isinstance(item, Unread)]
    changed: dict[Path, tuple[bytes, bytes]] = {}
    asking: set[str] = set()
    notes = [f"{path}:{line}: {text}" for path, line, text in _beside_python(options.paths)]
    for item in sources:
        if not isinstance(item, Unread):
            before = item.path.read_bytes()
            after = edited(before, item.tree, options.device)
            asking |= packages_on_torch(item.tree)
            if after != before:
                changed[item.path] = before, after
            notes += [f"{item.path}:{line}: {text}" for line, text in sorted(left_to_the_reader(item.tree, options.device))]
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


_BESIDE = {".ipynb", ".yaml", ".yml", ".json", ".toml", ".cfg", ".ini", ".sh", ".txt"}
_NAMES_TORCH = re.compile(r"\bimport torch\b|\bfrom torch\b|\bcuda\b|\bnccl\b|\btorchrun\b|^\W*torch(vision|audio)?\b\s*([=<>~!\"',]|$)")


def _beside_python(paths: Sequence[Path]) -> Iterator[tuple[Path, int, str]]:
    """Yield the lines of notebooks, settings, shell scripts and lists of packages that name torch or a GPU; port changes none of them."""
    for path in paths:
        for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
            if file.suffix not in _BESIDE or not file.is_file() or file.stat().st_size > 1 << 20 or SKIPPED.intersection(file.parts):
                continue
            for number, line in enumerate(file.read_text("utf-8", "replace").splitlines(), 1):
                if _NAMES_TORCH.search(line):
                    yield file, number, f"not changed: {line.strip()[:100]}"


def _replace(path: Path, content: bytes) -> None:
    """Write a file atomically, with its previous permissions."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        beside.write_bytes(content)
        beside.chmod(path.stat().st_mode)
        beside.replace(path.resolve())
    finally:
        beside.unlink(missing_ok=True)
