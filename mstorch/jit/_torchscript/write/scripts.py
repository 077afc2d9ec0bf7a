"""``torch.jit.save`` of scripted modules and functions."""

from __future__ import annotations

import inspect
from typing import Any

from ...._jit_internal import FunctionModifiers, get_torchscript_modifier
from ....nn.modules.container import ModuleDict, ModuleList, ParameterDict, ParameterList
from ....nn.modules.module import Module
from .archive import save
from .pickled import Object
from .pieces import is_identifier, plain_of
from .program import Program, kept_attributes, place_name
from .scripted import Body
from .values import Unwritable, quoted

_NO_FORWARD = (ModuleDict, ModuleList, ParameterDict, ParameterList)


def _compiled(program: Program, module: Module, inner: bool) -> None:
    """Write the methods of a module and of its submodules: ``forward``, and those that are exported."""
    module = plain_of(module)
    title, kind = type(module).__name__, type(module)
    if kind.forward is not Module.forward and not isinstance(module, _NO_FORWARD):
        mark = get_torchscript_modifier(kind.forward)
        if mark in (FunctionModifiers.DEFAULT, FunctionModifiers.EXPORT) or not inner:
            program.method(module, "forward", title)
    for name in dir(kind):
        function = inspect.getattr_static(kind, name, None)
        if inspect.isfunction(function) and get_torchscript_modifier(function) == FunctionModifiers.EXPORT:
            program.method(module, name, title)
    for child in module._modules.values():
        if child is not None:
            _compiled(program, child, True)


class _Classes:
    """The classes of the modules; those of the same text share one."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self._known: dict[tuple[str, str, str], str] = {}
        self._objects: dict[int, Object] = {}
        self.texts: list[tuple[str, str]] = []

    def add(self, module: Module) -> Object:
        """Return a module's object, and add its class and its children's."""
        module = plain_of(module)
        if id(module) in self._objects:
            return self._objects[id(module)]
        own = self.program.module(module)
        tables: tuple[dict[str, Any], ...] = module._parameters, module._buffers
        head = [
            f"{word} = [{''.join(f'{quoted(name)}, ' for name in table)}]" for word, table in zip(("__parameters__", "__buffers__"), tables)
        ]
        kept: dict[str, Any] = {}
        declared: dict[str, str] = {}
        for table in tables:
            for name, value in table.items():
                declared[name] = "NoneType" if value is None else "Tensor"
                kept[name] = value
        declared |= {"training": "bool", "_is_full_backward_hook": "Optional[bool]"}
        kept |= {"training": bool(module.training), "_is_full_backward_hook": None}
        more, values = kept_attributes(self.program, own)
        kept |= values
        for name, child in module._modules.items():
            kept[name] = None if child is None else self.add(child)
            declared[name] = "NoneType" if child is None else kept[name].kind
        head += [
            f"{name} : {kind}" if is_identifier(name) else f"__annotations__[{quoted(name)}] = {kind}" for name, kind in declared.items()
        ]
        methods = "".join(pair[0] for pair in own.methods.values() if pair is not None)
        body = "".join(f"  {line}\n" for line in [*head, *more])
        title = getattr(module, "original_name", type(module).__name__)
        key = place_name(type(module)), title, body + methods
        if key not in self._known:
            name = self._known[key] = self.program.fresh_name(key[0], title)
            self.texts.append((name, f"class {name.rpartition('.')[2]}(Module):\n{body}{_with_self(methods, name)}"))
        made = self._objects[id(module)] = Object(self._known[key], kept)
        return made


def _with_self(methods: str, name: str) -> str:
    """Return methods whose first parameter tells its class."""
    return "".join(
        f"{line.replace('(self', f'(self: {name}', 1) if line.startswith('  def ') else line}\n" for line in methods.splitlines()
    )


def sources_of(module: Module | None, function: Any) -> tuple[Program, Object, dict[str, str]]:
    """Return the program of a scripted module or function, its object, and the texts by the names of their records.

    Raise Unwritable, naming the line, for what TorchScript cannot hold.
    """
    program = Program(Body)
    classes = _Classes(program)
    if module is not None:
        _compiled(program, module, False)
        top = classes.add(module)
        own = classes.texts
    else:
        title = function.__name__ if is_identifier(function.__name__) else "Function"
        name = program.fresh_name("__torch__", title)
        text, _ = Body(program, function, None, "forward", of_module=True).write()
        top = Object(name, {"training": True, "_is_full_backward_hook": None})
        head = "  __parameters__ = []\n  __buffers__ = []\n  training : bool\n  _is_full_backward_hook : Optional[bool]\n"
        own = [(name, f"class {title}(Module):\n{head}{text.replace('(self', f'(self: {name}', 1)}")]
    files = program.files()
    for name, text in own:
        path = f"code/{name.rpartition('.')[0].replace('.', '/')}.py"
        files[path] = files.get(path, "") + text
    return program, top, files


def write_script(module: Module | None, function: Any, file: Any, extra_files: dict[str, Any]) -> None:
    """Write the archive of a scripted module or function. Raise Unwritable before anything is written."""
    program, top, files = sources_of(module, function)
    save(file, top, files, tuple(program.constants), extra_files)


def code_of(module: Module | None, function: Any) -> str:
    """Return the text of the ``forward`` of a scripted module, or of a scripted function."""
    program, top, files = sources_of(module, function)
    text = files[f"code/{top.kind.rpartition('.')[0].replace('.', '/')}.py"]
    del program
    start = text.index(f"class {top.kind.rpartition('.')[2]}(Module):")
    lines = text[start:].splitlines()
    first = next((place for place, line in enumerate(lines) if line.startswith("  def forward(")), None)
    if first is None:
        raise Unwritable("mstorch: the module has no forward")
    found = [lines[first].replace(f"(self: {top.kind}", "(self", 1)]
    for line in lines[first + 1 :]:
        if not line.startswith("    "):
            break
        found.append(line)
    return "".join(f"{line[2:]}\n" for line in found)
