"""Edits of a port: positions in a file's bytes, and their replacements."""
from __future__ import annotations

import ast
import bisect
import itertools
import re
from collections.abc import Iterator
from typing import TypeGuard

from ... import npu

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
_OF_TORCH = ("OutOfMemoryError", "AcceleratorError")


def edited(source: bytes, tree: ast.Module, device: str) -> bytes:
    """Return a file with torch imports changed to mstorch, and names of GPUs to those of the device."""
    lines = source.splitlines(keepends=True)
    starts = [0, *itertools.accumulate(map(len, lines))]
    found = source
    for start, end, text in sorted(set(_edits(source, tree, starts, device)), reverse=True):
        if b"torch_npu" not in lines[bisect.bisect_right(starts, start) - 1] or text.startswith("mstorch as "):
            found = found[:start] + text.encode() + found[end:]
    return found


def _edits(source: bytes, tree: ast.Module, starts: list[int], device: str) -> Iterator[Edit]:
    named, modules = _names_of_torch(tree), _names_of_modules(tree)
    extra = f", mstorch.{device}" if device == "npu" and _names_the_device(tree, named) else ""
    left = documents(tree) | {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.partition(".")[0] == "torch":
                    yield _alias(source, starts, alias, extra, device)
        elif isinstance(node, ast.ImportFrom) and not node.level and (node.module or "").partition(".")[0] == "torch":
            yield from _import_from(source, node, starts, device)
        elif isinstance(node, ast.Call) and node.args and ast.unparse(node.func).rpartition(".")[2] in _TAKE_MODULES:
            yield from _module_text(source, node.args[0], starts, device)
        if device != "cuda" and id(node) not in left:
            yield from _device(source, node, starts, named, modules, device)


def documents(tree: ast.Module) -> set[int]:
    """Return the identities of texts that stand alone: docstrings, and texts that serve as comments."""
    return {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)}


def _alias(source: bytes, starts: list[int], alias: ast.alias, extra: str, device: str) -> Edit:
    """Edit one name of an ``import``. Without ``as`` the statement binds the name ``torch``, which it must still do after the edit.

    ``extra`` is imported along with torch: the device's module, which is missing on machines without one.
    """
    start, end = _span(alias, starts)
    ours = f"mstorch{alias.name.removeprefix('torch')}"
    if device != "cuda" and alias.name in ("torch.cuda", "torch.cuda.amp"):
        ours = ours.replace("cuda", device)
    if alias.asname:
        return start, end, f"{ours} as {alias.asname}{extra if alias.name == 'torch' else ''}"
    if alias.name == "torch":
        return start, end, f"mstorch as torch{extra}"
    return start, end, f"mstorch as torch, {ours}{extra if extra != f', {ours}' else ''}"


# Functions that take the name of a module, or of something in one, as a text
_TAKE_MODULES = ("import_module", "__import__", "importorskip", "patch", "find_spec", "find_loader", "setattr", "delattr", "multiple")


def _import_from(source: bytes, node: ast.ImportFrom, starts: list[int], device: str) -> Iterator[Edit]:
    at = source.index(b"torch", starts[node.lineno - 1] + node.col_offset)
    yield at, at + len("torch"), "mstorch"
    if device == "cuda":
        return
    if node.module == "torch":
        for alias in node.names:
            if alias.name == "cuda":
                yield *_span(alias, starts), f"{device} as {alias.asname or 'cuda'}"
    elif node.module == "torch.cuda.amp" or node.module == "torch.cuda" and all(has(alias.name) for alias in node.names):
        yield at + len("torch."), at + len("torch.cuda"), device


def has(name: str) -> bool:
    """Return whether the device's module has a name of ``torch.cuda``, or all of them for a star."""
    return name == "*" or hasattr(npu, name)


def _module_text(source: bytes, node: ast.expr, starts: list[int], device: str) -> Iterator[Edit]:
    if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.partition(".")[0] == "torch":
        start, end = _span(node, starts)
        name = node.value
        if device != "cuda" and (name + ".").startswith("torch.cuda."):
            first, _, rest = name.removeprefix("torch.cuda").removeprefix(".").partition(".")
            if first in _ACCELERATOR:
                name = ".".join(("torch.accelerator", _ACCELERATOR[first], *([rest] if rest else ())))
            elif not first or has(first):
                name = name.replace("torch.cuda", f"torch.{device}")
        yield start, end, source[start:end].decode("utf-8", "replace").replace(node.value, f"ms{name}", 1)


_BACKENDS = ("nccl", "cpu:gloo,cuda:nccl", "cuda:nccl,cpu:gloo", "cuda:nccl")


def _is_device(text: object) -> bool:
    """Return whether a text, or the beginning of one that is formatted, names a GPU or its backend."""
    return isinstance(text, str) and (_DEVICE.fullmatch(text) is not None or text in _BACKENDS)


def _device(source: bytes, node: ast.AST, starts: list[int], named: set[str], modules: set[str], device: str) -> Iterator[Edit]:
    """Edit what names the device in one node: texts, methods and attributes of tensors, and names of ``torch.cuda``."""
    if isinstance(node, (ast.Constant, ast.JoinedStr)):
        yield from _device_text(source, node, starts, device)
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "cuda":
        if not (isinstance(node.func.value, ast.Name) and node.func.value.id in modules):  # a function of another module
            yield from _last_name(source, node.func, starts, device)
    elif isinstance(node, ast.ClassDef):
        yield from _methods_called_cuda(source, node, starts, device)
    elif isinstance(node, ast.Attribute):
        yield from _device_attribute(source, node, starts, named, device)


def _device_text(source: bytes, node: ast.Constant | ast.JoinedStr, starts: list[int], device: str) -> Iterator[Edit]:
    if isinstance(node, ast.Constant) and _is_device(node.value):
        start, end = _span(node, starts)
        text = source[start:end].decode("utf-8", "replace")
        if str(node.value) in text:
            yield start, end, text.replace("nccl", "hccl").replace("cuda", device)
    elif isinstance(node, ast.JoinedStr) and node.values and _is_device(getattr(node.values[0], "value", None)):
        start, _ = _span(node, starts)
        at = source.index(b"cuda", start)
        yield at, at + len("cuda"), device


def _methods_called_cuda(source: bytes, node: ast.ClassDef, starts: list[int], device: str) -> Iterator[Edit]:
    """Rename a class's own method ``cuda``, whose calls are changed, too."""
    for item in node.body:
        if isinstance(item, (ast.FunctionDef, ast.AsyncFunctionDef)) and item.name == "cuda" and not _is_property(item):
            at = source.index(b"cuda", source.index(b"def", starts[item.lineno - 1] + item.col_offset))
            yield at, at + len("cuda"), device


def _device_attribute(source: bytes, node: ast.Attribute, starts: list[int], named: set[str], device: str) -> Iterator[Edit]:
    if node.attr == "is_cuda" and isinstance(node.ctx, ast.Load):
        start, end = _span(node, starts)
        yield start, start, "("
        yield end - len("is_cuda"), end, f'device.type == "{device}")'
    elif _is_cuda_itself(node, named) and not _continues(source, node, starts):
        yield from _last_name(source, node, starts, device)
    elif _is_of_cuda(node, named):
        if node.attr in _OF_TORCH:  # torch.OutOfMemoryError
            start, end = _span(node.value.value, starts)[1], _span(node, starts)[1]
            yield start, end, f".{node.attr}"
        elif node.attr in _ACCELERATOR:
            yield from _last_name(source, node.value, starts, "accelerator")
            yield from _last_name(source, node, starts, _ACCELERATOR[node.attr])
        elif has(node.attr):
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
        _is_of_cuda(node, named) and node.attr not in (*_ACCELERATOR, *_OF_TORCH) and has(node.attr)
        or _is_cuda_itself(node, named) and id(node) not in inner
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


def _names_of_modules(tree: ast.Module) -> set[str]:
    """Return the names to which a file binds modules other than torch's."""
    aliases = [alias for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names]
    return {alias.asname or alias.name.partition(".")[0] for alias in aliases if alias.name.partition(".")[0] != "torch"}


def _is_property(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return any("property" in ast.unparse(item) or "setter" in ast.unparse(item) for item in function.decorator_list)
