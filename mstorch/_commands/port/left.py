"""Finds the lines of a ported project that need a reader: those that still name CUDA or torch in a text, and changes of unknown meaning."""
from __future__ import annotations

import ast
import importlib.machinery
import re
from collections.abc import Iterator
from pathlib import Path

from ..scan.beside import advice_on
from ..scan.left_behind import replacement
from ..scan.sources import requirements
from .edits import documents, has

_NAMES_TORCH = re.compile(r"(^|\bimport |\bfrom )torch($|[.\s\[=<>~!])")
_CUDA = re.compile(r"cuda|nccl", re.IGNORECASE)
_TORCHRUN = re.compile(r"\btorchrun\b|\btorch\.distributed\.(launch|run)\b")
_KEPT = ("backends", "_C", "mstorch")  # parents of a name `cuda` that is read and changes nothing


def left_to_the_reader(before: ast.Module, after: ast.Module, device: str) -> Iterator[tuple[int, str]]:
    """Yield lines, and what to look at or to write there. ``before`` and ``after`` are a file's code, as it was and as it is ported."""
    imported = {alias.asname or alias.name for node in ast.walk(before) if isinstance(node, ast.ImportFrom) for alias in node.names}
    for node in ast.walk(before):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""]
            if any(name.partition(".")[0] == "torch_npu" for name in names):
                yield node.lineno, "torch_npu is there under `python -m mstorch` alone: remove the import, or run the program so"
        elif device != "cuda":
            yield from _changed(node, imported)
    texts = documents(after)
    modules = set(_named_modules(after))
    inner = {id(node.value) for node in ast.walk(after) if isinstance(node, ast.Attribute)}
    for node in ast.walk(after):
        if isinstance(node, ast.Constant) and isinstance(node.value, (str, bytes)) and id(node) not in texts:
            text = node.value if isinstance(node.value, str) else node.value.decode("latin-1")
            yield from ((node.lineno, note) for note in _of_text(text, device, id(node) in modules))
        elif device != "cuda" and not (id(node) in inner and ast.unparse(node) == "torch.cuda"):
            yield from _still_cuda(node, device)


def _named_modules(tree: ast.Module) -> Iterator[int]:
    """Yield the identities of expressions that may name a module: a call's first argument, a key of ``sys.modules``, ``module=``."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and node.args:
            yield id(node.args[0])
        elif isinstance(node, ast.Subscript) and ast.unparse(node.value) == "sys.modules":
            yield id(node.slice)
        elif isinstance(node, ast.Compare) and ast.unparse(node.comparators[-1]) == "sys.modules":
            yield id(node.left)
        elif isinstance(node, ast.keyword) and node.arg == "module":
            yield id(node.value)


def _changed(node: ast.AST, imported: set[str]) -> Iterator[tuple[int, str]]:
    """Notes on what is changed, or what names no GPU by that word."""
    if isinstance(node, ast.Dict):
        for key in node.keys:
            if isinstance(key, ast.Constant) and key.value == "cuda":
                yield key.lineno, 'the key "cuda" becomes "npu": is it a device?'
    elif isinstance(node, ast.keyword) and isinstance(node.value, ast.Constant):
        if node.arg == "accelerator" and node.value.value in ("gpu", "cuda", "auto"):
            yield node.value.lineno, f'accelerator="{node.value.value}": Lightning finds no GPU; write "npu" where it knows it'
        elif node.arg == "gpus" and node.value.value:
            yield node.value.lineno, f'gpus={node.value.value!r}: Lightning finds no GPU; write accelerator="npu" where it knows it'
    elif isinstance(node, ast.Call) and len(node.args) >= 2 and isinstance(node.args[1], ast.Constant):
        if ast.unparse(node.args[0]) == "torch.cuda" and isinstance(node.args[1].value, str):
            name = node.args[1].value
            yield node.lineno, f"looks {name!r} up by text: the code's own calls may be of torch.accelerator now"
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "cuda":
        owner = ast.unparse(node.func.value)
        if owner in imported:
            yield node.lineno, f"{owner}.cuda() becomes {owner}.npu(): is it a tensor or a module?"


def _of_text(text: str, device: str, as_argument: bool) -> Iterator[str]:
    shown = repr(text if len(text) < 60 else f"{text[:57]}…")
    if _TORCHRUN.search(text):
        yield f"not changed: {shown}; write python -m mstorch.distributed.run"
    elif device != "cuda" and _CUDA.search(text):
        advice = advice_on(text) or f'write "{device}" where it is a device'
        if text.startswith("torch.cuda.") and text.endswith("Tensor"):
            advice = "write a dtype and a device"
        yield f"not changed: {shown}; {advice}"
    elif _NAMES_TORCH.search(text) and (as_argument or "torch" != text):
        yield f"not changed: {shown}; mstorch where it names the package that is imported, or run under python -m mstorch"


def _still_cuda(node: ast.AST, device: str) -> Iterator[tuple[int, str]]:
    if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("mstorch.cuda"):
        absent = [alias.name for alias in node.names if node.module != "mstorch.cuda" or not has(alias.name)]
        for name in absent:
            yield node.lineno, f"mstorch.{device} has no {name}{_instead(f'{node.module}.{name}')}"
    elif isinstance(node, ast.Import):
        for alias in node.names:
            if alias.name.startswith("mstorch.cuda"):
                yield node.lineno, f"not changed: {alias.name.removeprefix('ms')}{_instead(alias.name)}"
    elif isinstance(node, ast.Attribute):
        owner = ast.unparse(node.value)
        if ast.unparse(node) == "torch.version.cuda":
            yield node.lineno, "torch.version.cuda is None here, as in torch's CPU build: ask torch.accelerator.is_available()"
        elif node.attr in ("cuda", "is_cuda") and owner.rpartition(".")[2] not in _KEPT and not owner.startswith("torch_npu"):
            yield node.end_lineno or node.lineno, f"not changed: {owner}.{node.attr}; write .{device} if it is a device's"
        elif owner == "torch.cuda":
            yield node.end_lineno or node.lineno, f"not changed: torch.cuda.{node.attr}{_instead(f'mstorch.cuda.{node.attr}')}"


def _instead(name: str) -> str:
    advice = replacement(name.removeprefix("ms"))
    return f"; {advice}" if advice else ", which no NPU has: leave it out, or ask torch.npu for what it has"


def of_commands(text: bytes, lines: tuple[int, ...]) -> Iterator[tuple[int, str]]:
    """Yield notes on a notebook's lines for IPython and the shell, which are comments in its code."""
    for number, line in zip(lines, text.decode().split("\n"), strict=True):
        command = line.strip().removeprefix("pass  ")
        advice = advice_on(command.removeprefix("# ")) if command.startswith(("# %", "# !")) or line.startswith("# ") else ""
        if advice:
            yield number, f"not changed: {command.removeprefix('# ')[:100]}; {advice}"


def packages_on_torch(tree: ast.Module) -> set[str]:
    """Return the packages and modules that a file imports and that import torch themselves: by what their metadata asks for, or by the text
    of the module, as ``einops.layers.torch``."""
    modules = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            modules |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            modules |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    roots = {module.partition(".")[0] for module in modules} - {"mstorch", "torch"}
    asking = {root for root in roots if any(re.match(r"torch\b", name) for name in requirements().get(root, ()))}
    return asking | {module for module in modules if (root := module.partition(".")[0]) in roots - asking and _imports_torch(root, module)}


def _imports_torch(root: str, module: str) -> bool:
    """Return whether the file of an installed module says that it imports torch; nothing is imported for the answer."""
    spec = importlib.machinery.PathFinder.find_spec(root)
    for folder in (spec and spec.submodule_search_locations) or ():
        path = Path(folder, *module.split(".")[1:])
        for file in (path.with_suffix(".py"), path / "__init__.py"):
            if "site-packages" in file.parts and file.is_file():
                return re.search(r"^\s*(import|from) torch\b", file.read_text("utf-8", "replace"), re.M) is not None
    return False
