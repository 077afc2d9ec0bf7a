"""``torch.jit.save``: the classes, the program and the state of a traced module as an archive of torch."""

from __future__ import annotations

import contextlib
import copy
import inspect
import json
import re
from collections.abc import Iterator
from typing import Any

from ...._jit_internal import mode
from ...._src.core.generator import streams_aside
from ...._src.core.modes import grad_set_to
from ...._src.ops.elementwise.compare import equal
from ...._src.serialization.zipfile_format import ZipWriter
from ...._tensor import Tensor
from ....nn.modules.module import Module
from .pickled import Object, Storages, pickled
from .pieces import attribute, is_identifier
from .record import Functions, Operators, Recorder
from .values import Unwritable, type_text

VERSION = b"10\n"
"""The version of the operators, whose schemas are today's."""


class _Class:
    def __init__(self, name: str, head: list[str], methods: str = "") -> None:
        self.name, self.head, self.methods = name, head, methods

    def text(self) -> str:
        body = "".join(f"  {line}\n" for line in self.head)
        return f"class {self.name.rpartition('.')[2]}(Module):\n{body}{self.methods}"


class Classes:
    """The classes of an archive's modules; modules of the same attributes share one."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, tuple[str, ...]], str] = {}
        self._names: set[str] = set()
        self.classes: list[_Class] = []

    def add(self, module: Module, root: bool = False) -> Object:
        """Return a module's object, and add its class and its children's."""
        kept: dict[str, Any] = {}
        head = [f"__parameters__ = {_names(module._parameters)}", f"__buffers__ = {_names(module._buffers)}"]
        for table in (module._parameters, module._buffers):
            for name, value in table.items():
                head.append(_declared(name, "NoneType" if value is None else "Tensor"))
                kept[name] = value
        head += ["training : bool", "_is_full_backward_hook : Optional[bool]"]
        kept |= {"training": bool(module.training), "_is_full_backward_hook": None}
        for name, child in module._modules.items():
            if child is None:
                head.append(_declared(name, "NoneType"))
                kept[name] = None
            else:
                kept[name] = self.add(child)
                head.append(_declared(name, kept[name].kind))
        return Object(self._class(module, head, root), kept)

    def _class(self, module: Module, head: list[str], root: bool) -> str:
        kind = type(module)
        title = getattr(module, "original_name", kind.__name__)
        inner = getattr(module, "_python", module)
        place = re.sub(r"^mstorch\b", "torch", type(inner).__module__)
        parts = [] if place == "__main__" or not all(map(is_identifier, place.split("."))) else place.split(".")
        title = title if is_identifier(title) else "Module"
        key = ".".join([*parts, title]), tuple(head)
        if key in self._known and not root:
            return self._known[key]
        name = ".".join(["__torch__", *parts, title])
        number = 0
        while name in self._names:
            name = ".".join(["__torch__", *parts, f"___torch_mangle_{number}", title])
            number += 1
        self._names.add(name)
        if not root:
            self._known[key] = name
        self.classes.append(_Class(name, head))
        return name

    def files(self) -> dict[str, str]:
        """Return the texts by the names of their records."""
        files: dict[str, str] = {}
        for one in self.classes:
            path = f"code/{one.name.rpartition('.')[0].replace('.', '/')}.py"
            files[path] = files.get(path, "") + one.text()
        return files


def _names(table: dict[str, Any]) -> str:
    return "[" + "".join(f"{json.dumps(name)}, " for name in table) + "]"


def _declared(name: str, kind: str) -> str:
    return f"{name} : {kind}" if is_identifier(name) else f"__annotations__[{json.dumps(name)}] = {kind}"


class _Program:
    """The forward of a module, recorded in one run."""

    def __init__(self) -> None:
        self.constants: list[Tensor] = []
        self.recorder = Recorder(self._constant)
        self.parameters: list[tuple[str, str]] = []
        self._checks: list[tuple[str, Tensor]] = []

    def _constant(self, tensor: Tensor) -> int:
        self.constants.append(tensor.detach().clone())
        return len(self.constants) - 1

    def run(self, call: Any, module: Module | None, names: list[str], args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
        """Run a module or function; return the text of its method."""
        recorder = self.recorder
        for path, owner in [] if module is None else module.named_modules(remove_duplicate=False):
            text = "self"
            for part in path.split(".") if path else ():
                text = attribute(text, part)
            for table in (owner._parameters, owner._buffers):
                for name, value in table.items():
                    if value is not None:
                        recorder.own(value, attribute(text, name))
        for name, value in zip(names, [*args, *kwargs.values()]):
            name = name if is_identifier(name) and not name.startswith("_") and name != "self" else f"argument_{len(self.parameters)}"
            self.parameters.append((name, type_text(value)))
            self._unpacked(name, value)
        with mode(traced=True), Functions(recorder), Operators(recorder):
            result = call(*args, **kwargs)
        returned = self._packed(result)
        return self._method(returned, type_text(result))

    def _unpacked(self, name: str, value: Any) -> None:
        recorder = self.recorder
        if isinstance(value, Tensor):
            recorder.enter(value, name)
            self._checks.append((name, value))
        elif isinstance(value, dict):
            for key, item in value.items():
                self._unpacked(recorder.fresh(f"{name}[{json.dumps(key)}]"), item)
        elif isinstance(value, (tuple, list)) and value:
            for place, item in enumerate(value):
                self._unpacked(recorder.fresh(f"({name})[{place}]"), item)

    def _packed(self, value: Any) -> str:
        if isinstance(value, Tensor):
            return self.recorder.name_of(value)
        if isinstance(value, dict):
            return "{" + ", ".join(f"{json.dumps(key)}: {self._packed(item)}" for key, item in value.items()) + "}"
        if isinstance(value, tuple):
            return f"({''.join(self._packed(item) + ', ' for item in value)})"
        if isinstance(value, list):
            return f"[{', '.join(map(self._packed, value))}]"
        return self.recorder.show(value)

    def _method(self, returned: str, kind: str) -> str:
        recorder = self.recorder
        used = set(re.findall(r"\w+", returned))
        kept = []
        for names, text, pure in reversed(recorder.lines):
            if pure and names not in used:
                continue
            used |= set(re.findall(r"\w+", text))
            kept.append(f"    {names} = {text}\n" if names else f"    {text}\n")
        given = ",\n    ".join(["self", *(f"{name}: {kind}" for name, kind in self.parameters)])
        checks = ""
        for name, tensor in self._checks if recorder.fixed else ():
            message = json.dumps(
                f"the program takes {name} of size {list(tensor.shape)} alone: it was traced with it, and {recorder.fixed} holds sizes"
            )
            sizes = ", ".join(map(str, tensor.shape)) if tensor.dim() else ""
            listed = f"[{sizes}]" if sizes else "annotate(List[int], [])"
            checks += f"    if torch.ne(torch.size({name}), {listed}):\n      ops.prim.RaiseException({message})\n    else:\n      pass\n"
        # What an argument holds is read before the checks of it.
        head = [line for line in reversed(kept) if "[" in line and re.fullmatch(r"    _\d+ = \(?\w+\)?\[.*\]\n", line)]
        body = "".join(line for line in reversed(kept) if line not in head)
        return f"  def forward({given}) -> {kind}:\n{''.join(head)}{checks}{body}    return {returned}\n"


@contextlib.contextmanager
def _kept_state(module: Module) -> Iterator[None]:
    """Context manager after which a module's buffers are as before: the run to record writes them. (A copy of the module would need the
    memory of its weights.)"""
    tables = [owner._buffers for owner in module.modules()]
    buffers = [dict(table) for table in tables]
    values = [(buffer, buffer.detach().clone()) for table in buffers for buffer in table.values() if buffer is not None]
    try:
        yield
    finally:
        for table, before in zip(tables, buffers):
            table.clear()
            table.update(before)
        with grad_set_to(False):
            for buffer, value in values:
                if not equal(buffer, value):
                    buffer.copy_(value)


def _names_of(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[str]:
    try:
        known = [name for name, one in inspect.signature(function).parameters.items() if one.kind is one.POSITIONAL_OR_KEYWORD]
    except (TypeError, ValueError):
        known = []
    return [*(known[place] if place < len(known) else f"argument_{place}" for place in range(len(args))), *kwargs]


def write(
    module: Module | None, function: Any, example: tuple[tuple[Any, ...], dict[str, Any]], file: Any, extra_files: dict[str, Any]
) -> None:  # fmt: skip
    """Write the archive of a module, or of a function, as one run with the example inputs computes it.

    Raise Unwritable, before anything is written, for what an archive cannot hold; it names the line.
    """
    args, kwargs = copy.deepcopy(example)
    program, classes = _Program(), Classes()
    if module is not None:
        names = _names_of(getattr(module, "_python", module).forward, args, kwargs)
        with _kept_state(module), streams_aside():
            text = program.run(module, module, names, args, kwargs)
        top = classes.add(module, root=True)
    else:
        with streams_aside():
            text = program.run(function, None, _names_of(function, args, kwargs), args, kwargs)
        top = classes.add(Module(), root=True)
    holder = classes.classes[-1]
    if module is None:
        title = getattr(function, "__name__", "")
        holder.name = top.kind = f"__torch__.{title if is_identifier(title) else 'Function'}"
    holder.methods = text.replace("(self", f"(self: {holder.name}", 1)
    save(file, top, classes.files(), tuple(program.constants), extra_files)


def save(
    file: Any, top: Object, sources: dict[str, str], constants: tuple[Any, ...], extra_files: dict[str, Any], version: int | None = None
) -> None:
    """Write the records of an archive. ``version`` is that of the text's operators; without it, the present one."""
    state, fixed = Storages(), Storages()
    data, listed = pickled(top, state), pickled(constants, fixed)
    writer = ZipWriter(file, "archive")
    writer.record("data.pkl", data)
    for name, content in state.records("data"):
        writer.record(name, content)
    for name, source in sources.items():
        writer.record(name, source.encode())
    for name, content in fixed.records("constants"):
        writer.record(name, content)
    writer.record("constants.pkl", listed)
    for name, content in extra_files.items():
        writer.record(f"extra/{name}", content.encode() if isinstance(content, str) else bytes(content))
    writer.record("byteorder", b"little")
    writer.close(VERSION if version is None else f"{version}\n".encode())


__all__ = ["Unwritable", "save", "write"]
