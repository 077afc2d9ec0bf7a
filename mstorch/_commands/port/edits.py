"""Edits of a port: positions in a file's bytes, and their replacements."""
from __future__ import annotations

import ast
import bisect
import itertools
import re
from collections.abc import Iterator
from typing import TypeGuard

from ... import npu
from ..scan.sources import requirements

Edit = tuple[int, int, str]


class _OfCuda(ast.Attribute):
    value: ast.Attribute


_DEVICE = re.compile(r"cuda(:(\d+|%[ds]|\{[^}]*\})?)?")  # also the beginning of a text that is formatted or added to
# Names of torch.cuda that torch.accelerator has for all devices. For other names the device's module is used, also for those that
# torch.cuda answers without a GPU (empty_cache, memory_allocated), where torch.accelerator raises.
_ACCELERATOR = {
    "is_available": "is_available", "device_count": "device_count", "synchronize": "synchronize", "current_device": "current_device_index",
    "set_device": "set_device_index", "current_stream": "current_stream", "set_stream": "set_stream",
}  # fmt: skip


def edited(source: bytes, tree: ast.Module, device: str) -> bytes:
    """Return a file with torch imports changed to mstorch, and names of GPUs to those of the device."""
    lines = source.splitlines(keepends=True)
    starts = [0, *itertools.accumulate(map(len, lines))]
    found = source
    for start, end, text in sorted(set(_edits(source, tree, starts, device)), reverse=True):
        if b"torch_npu" not in lines[bisect.bisect_right(starts, start) - 1]:
            found = found[:start] + text.encode() + found[end:]
    return found


def _edits(source: bytes, tree: ast.Module, starts: list[int], device: str) -> Iterator[Edit]:
    named = _names_of_torch(tree)
    extra = f", mstorch.{device}" if device == "npu" and _names_the_device(tree, named) else ""
    documents = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.partition(".")[0] == "torch":
                    yield _alias(source, starts, alias, extra)
        elif isinstance(node, ast.ImportFrom) and not node.level and (node.module or "").partition(".")[0] == "torch":
            yield from _import_from(source, node, starts, device)
        elif isinstance(node, ast.Call) and node.args and ast.unparse(node.func).rpartition(".")[2] in _TAKE_MODULES:
            yield from _module_text(source, node.args[0], starts)
        if device != "cuda" and id(node) not in documents:
            yield from _device(source, node, starts, named, device)


def _alias(source: bytes, starts: list[int], alias: ast.alias, extra: str) -> Edit:
    """Edit one name of an ``import``. Without ``as`` the statement binds the name ``torch``, which it must still do after the edit.

    ``extra`` is imported along with torch: the device's module, which is missing on machines without one.
    """
    start, end = _span(alias, starts)
    ours = f"mstorch{alias.name.removeprefix('torch')}"
    if alias.asname:
        return start, end, f"{ours} as {alias.asname}{extra if alias.name == 'torch' else ''}"
    return start, end, f"mstorch as torch{extra}" if alias.name == "torch" else f"mstorch as torch, {ours}"


_TAKE_MODULES = ("import_module", "__import__", "importorskip", "patch", "find_spec")  # functions that take the name of a module as a text


def _import_from(source: bytes, node: ast.ImportFrom, starts: list[int], device: str) -> Iterator[Edit]:
    at = source.index(b"torch", starts[node.lineno - 1] + node.col_offset)
    yield at, at + len("torch"), "mstorch"
    if device == "cuda":
        return
    if node.module == "torch":
        for alias in node.names:
            if alias.name == "cuda":
                yield *_span(alias, starts), f"{device} as {alias.asname or 'cuda'}"
    elif node.module == "torch.cuda.amp" or node.module == "torch.cuda" and all(alias.name in npu.__all__ for alias in node.names):
        yield at + len("torch."), at + len("torch.cuda"), device


def _module_text(source: bytes, node: ast.expr, starts: list[int]) -> Iterator[Edit]:
    if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.partition(".")[0] == "torch":
        start, end = _span(node, starts)
        yield start, end, source[start:end].decode("utf-8", "replace").replace("torch", "mstorch", 1)


def _device(source: bytes, node: ast.AST, starts: list[int], named: set[str], device: str) -> Iterator[Edit]:
    if isinstance(node, ast.Constant) and isinstance(node.value, str) and (_DEVICE.fullmatch(node.value) or node.value == "nccl"):
        start, end = _span(node, starts)
        text = source[start:end].decode("utf-8", "replace")
        if node.value in text:
            yield start, end, text.replace("nccl", "hccl").replace("cuda", device)
    elif isinstance(node, ast.JoinedStr) and node.values and isinstance(node.values[0], ast.Constant) and node.values[0].value == "cuda:":
        start, _ = _span(node, starts)
        at = source.index(b"cuda:", start)
        yield at, at + len("cuda"), device
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "cuda":
        yield from _last_name(source, node.func, starts, device)
    elif isinstance(node, ast.FunctionDef) and node.name == "cuda" and node.args.args and node.args.args[0].arg == "self":
        at = source.index(b"cuda", starts[node.lineno - 1] + node.col_offset)  # calls of such a method are changed, too
        yield at, at + len("cuda"), device
    elif isinstance(node, ast.Attribute) and node.attr == "is_cuda" and isinstance(node.ctx, ast.Load):
        start, end = _span(node, starts)
        yield start, start, "("
        yield end - len("is_cuda"), end, f'device.type == "{device}")'
    elif isinstance(node, ast.Attribute) and _is_cuda_itself(node, named) and not _continues(source, node, starts):
        yield from _last_name(source, node, starts, device)
    elif _is_of_cuda(node, named):
        if node.attr in _ACCELERATOR:
            yield from _last_name(source, node.value, starts, "accelerator")
            yield from _last_name(source, node, starts, _ACCELERATOR[node.attr])
        else:
            yield from _last_name(source, node.value, starts, device)


def _is_of_cuda(node: ast.AST, named: set[str]) -> TypeGuard[_OfCuda]:
    """Return whether a node is ``torch.cuda.something``."""
    return isinstance(node, ast.Attribute) and _is_cuda_itself(node.value, named)


def _is_cuda_itself(node: ast.AST, named: set[str]) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == "cuda" and isinstance(node.value, ast.Name) and node.value.id in named


def _continues(source: bytes, node: ast.expr, starts: list[int]) -> bool:
    """Return whether a name's attribute follows an expression."""
    return source[_span(node, starts)[1] :].lstrip()[:1] == b"."


def _names_the_device(tree: ast.Module, named: set[str]) -> bool:
    """Return True if a file uses names that exist in the device's module but not in ``torch.accelerator``."""
    inner = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    return any(
        _is_of_cuda(node, named) and node.attr not in _ACCELERATOR or _is_cuda_itself(node, named) and id(node) not in inner
        for node in ast.walk(tree)
    )


def _last_name(source: bytes, node: ast.Attribute, starts: list[int], text: str) -> Iterator[Edit]:
    _, end = _span(node, starts)
    if source[end - len(node.attr) : end] == node.attr.encode():
        yield end - len(node.attr), end, text


def _span(node: ast.expr | ast.alias, starts: list[int]) -> tuple[int, int]:
    assert node.end_lineno is not None and node.end_col_offset is not None
    return starts[node.lineno - 1] + node.col_offset, starts[node.end_lineno - 1] + node.end_col_offset


def _names_of_torch(tree: ast.Module) -> set[str]:
    """Return the names to which a file binds torch itself."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name == "torch" or (not alias.asname and alias.name.startswith("torch.")):
                    found.add(alias.asname or "torch")
    return found


def left_to_the_reader(tree: ast.Module, device: str) -> Iterator[tuple[int, str]]:
    """Yield the lines of a file that a port leaves, or changes without knowing what they mean, each with what to look at."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""]
            if any(name.partition(".")[0] == "torch_npu" for name in names):
                yield node.lineno, "torch_npu is there under `python -m mstorch` alone: remove the import, or run the program so"
            if device != "cuda" and names == ["torch.cuda"] and isinstance(node, ast.ImportFrom):
                absent = [alias.name for alias in node.names if alias.name not in npu.__all__]
                if absent:
                    yield node.lineno, f"mstorch.{device} has no {', '.join(absent)}"
        elif device != "cuda" and isinstance(node, ast.Dict):
            for key in node.keys:
                if isinstance(key, ast.Constant) and key.value == "cuda":
                    yield key.lineno, f'the key "cuda" becomes "{device}": is it a device?'
        elif device != "cuda" and isinstance(node, ast.keyword) and node.arg == "accelerator" and isinstance(node.value, ast.Constant):
            if node.value.value in ("gpu", "cuda", "auto"):
                text = f'accelerator="{node.value.value}": Lightning finds no GPU; write "{device}" where it knows it'
                yield node.value.lineno, text


def packages_on_torch(tree: ast.Module) -> set[str]:
    """Return the imported packages of a file that depend on torch."""
    roots = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            roots |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            roots.add((node.module or "").partition(".")[0])
    return {root for root in roots - {"mstorch"} if any(re.match(r"torch\b", name) for name in requirements().get(root, ()))}
