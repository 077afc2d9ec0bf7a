"""Count the names of torch_npu that programs use, and say which of them are here.

    python -m tools.torch_npu_uses count users FOLDER… # writes tools/torch_npu_uses/users.txt: names with the number of files that use each
    MSTORCH_FAKE_DEVICE=Ascend python -m mstorch -m tools.torch_npu_uses           # writes docs/torch_npu.md; --check fails where it is
    stale

A FOLDER holds sources, or is a bare repository of git, of which the newest commit is read. A use is one file that has a name of
``torch_npu``, ``torch.npu`` or ``torch.ops.npu``, however often. The list called ``users`` counts MindSpeed, MindSpeed-LLM, MindSpeed-MM,
vllm-ascend, verl, LLaMA-Factory, ms-swift, accelerate, diffusers, transformers and DeepSpeed; ``zoo`` counts ModelZoo-PyTorch.
"""
from __future__ import annotations

import ast
import importlib
import inspect
import re
import subprocess
import sys
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
LISTS, PAGE = ROOT / "tools/torch_npu_uses", ROOT / "docs/torch_npu.md"
_ROOTS = ("torch_npu", "torch.npu", "torch.ops.npu")
_SPOKEN = re.compile(r"torch_npu|torch\.npu|ops\.npu")
_WRITTEN = re.compile(r"\b(?:torch_npu|torch\.npu|torch\.ops\.npu)(?:\.[A-Za-z_]\w*)+")


def _sources(folder: Path) -> Iterator[str]:
    """Yield the texts of the Python files that speak of npu."""
    if (folder / "HEAD").is_file() and (folder / "objects").is_dir():
        git = ["git", f"--git-dir={folder}"]
        named = subprocess.run([*git, "grep", "-lzIE", _SPOKEN.pattern, "HEAD", "--", "*.py"], capture_output=True, text=True,
            check=False).stdout
        wanted = "\n".join(name for name in named.split("\0") if name and "\n" not in name)
        data = subprocess.run([*git, "cat-file", "--batch"], input=wanted.encode(), capture_output=True, check=True).stdout
        while data:
            head, _, data = data.partition(b"\n")
            size = int(head.rsplit(b" ", 1)[1])
            yield data[:size].decode("utf-8", "replace")
            data = data[size + 1 :]
    else:
        for path in sorted(folder.rglob("*.py")):
            text = path.read_text("utf-8", "replace")
            if _SPOKEN.search(text):
                yield text


def _chain(node: ast.AST) -> str:
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(parts)]) if isinstance(node, ast.Name) else ""


def _is_name(name: str) -> bool:
    return any(name.startswith(f"{root}.") for root in _ROOTS)


def names(text: str) -> set[str]:
    """Return the dotted names of torch_npu in a source. Comments and texts do not count; a source that Python cannot read is searched."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
    except (SyntaxError, ValueError):
        lines = (line.partition("#")[0] for line in text.splitlines())
        return {name for line in lines for name in _WRITTEN.findall(line)}
    used, inner = set(), set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node not in inner:
            inner |= {child for child in ast.walk(node.value) if isinstance(child, ast.Attribute)} if _chain(node) else set()
            used.add(_chain(node))
        elif isinstance(node, ast.Import):
            used |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            used |= {f"{node.module}.{alias.name}" if alias.name != "*" else node.module for alias in node.names}
    return {name for name in used if _is_name(name)}


def count(folders: list[Path]) -> Counter[str]:
    """Return how many files use each name."""
    return Counter(name for folder in folders for text in _sources(folder) for name in names(text))


def _state(name: str) -> tuple[str, str]:
    """Return "here", "raises" or "absent" of a name, and its part that was looked up: what comes after a function or a value is its own."""
    parts = name.split(".")
    value: Any = importlib.import_module(parts[0])
    for place, part in enumerate(parts[1:], 2):
        path = ".".join(parts[:place])
        try:
            value = getattr(value, part)
        except AttributeError:
            try:
                value = importlib.import_module(path)
            except ImportError:
                return "absent", path
        if getattr(value, "__doc__", None) and inspect.getdoc(value).startswith("Raise NotImplementedError"):  # type: ignore[union-attr]
            return "raises", path
        if not (inspect.ismodule(value) or inspect.isclass(value) or path in ("torch_npu.npu", "torch.ops", "torch.ops.npu",
            "torch.npu.config")):
            return "here", path
    return "here", name


def states(counted: Counter[str]) -> dict[str, tuple[str, int]]:
    """Return the state of each name that was looked up, and its number of uses."""
    merged: dict[str, tuple[str, int]] = {}
    for name, uses in counted.items():
        state, path = _state(name)
        merged[path] = state, merged.get(path, (state, 0))[1] + uses
    return merged


def page() -> str:
    """Return docs/torch_npu.md."""
    lines = [
        "# The names of torch_npu that programs use", "",
        "`python -m tools.torch_npu_uses` writes this page. A use is one file that has the name, however often.", "",
        "| list | names | uses | here | raise by name | absent |", "|---|---|---|---|---|---|",
    ]  # fmt: skip
    rest = []
    for path in sorted(LISTS.glob("*.txt")):
        counted: Counter[str] = Counter()
        for line in path.read_text("utf-8").splitlines():
            uses, name = line.split()
            counted[name] = int(uses)
        rows = states(counted)
        total = sum(uses for _, uses in rows.values())
        sums = {state: sum(uses for own, uses in rows.values() if own == state) for state in ("here", "raises", "absent")}
        shares = " | ".join(f"{uses:,} ({uses / total:.1%})" for uses in sums.values())
        lines.append(f"| {path.stem} | {len(rows)} | {total:,} | {shares} |")
        for state in ("raises", "absent"):
            own = sorted(((uses, name) for name, (kind, uses) in rows.items() if kind == state), key=lambda row: (-row[0], row[1]))
            rest += ["", f"## {path.stem}: {state}", "", ", ".join(f"`{name}` {uses}" for uses, name in own) or "none"]
    return "\n".join(lines + rest) + "\n"


def main(words: list[str]) -> int:
    """Count folders, or write or compare the page."""
    if words[:1] == ["count"]:
        LISTS.mkdir(exist_ok=True)
        counted = count([Path(word) for word in words[2:]])
        rows = sorted(counted.items(), key=lambda row: (-row[1], row[0]))
        (LISTS / f"{words[1]}.txt").write_text("".join(f"{uses} {name}\n" for name, uses in rows), "utf-8")
        return 0
    if words == ["--check"]:
        return PAGE.read_text("utf-8") != page()
    PAGE.write_text(page(), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
