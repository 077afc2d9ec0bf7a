"""The text of an archive: classes and functions, parsed with ``ast`` when a name is first needed."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Callable
from typing import Any

from .types import Damaged, Type, read_type

_KINDS = ("Module", "NamedTuple", "Enum", "Interface", "ModuleInterface")


class Parameter:
    """A parameter of a function: name, type, and the expression of its default, if any."""

    __slots__ = ("default", "name", "type")

    def __init__(self, name: str, kind: Type | None, default: ast.expr | None) -> None:
        self.name, self.type, self.default = name, kind, default


class Function:
    """A function or method of the text. ``run`` is set when it has been compiled."""

    def __init__(self, node: ast.FunctionDef, text: str, name: str) -> None:
        args = node.args
        if args.posonlyargs or args.vararg or args.kwarg or node.decorator_list or any(not one for one in args.kw_defaults):
            raise Damaged(f"{name} has parameters that TorchScript has not")
        self.node, self.name, self.text = node, name, text
        self.file = ""  # the module of the text
        defaults: list[ast.expr | None] = [*[None] * (len(args.args) - len(args.defaults)), *args.defaults]
        pairs = [*zip(args.args, defaults), *zip(args.kwonlyargs, args.kw_defaults)]
        types = [None if arg.annotation is None else read_type(arg.annotation) for arg, _ in pairs]
        self.parameters = [Parameter(arg.arg, kind, default) for (arg, default), kind in zip(pairs, types)]
        self.returns = read_type(node.returns) if node.returns is not None else None
        self.run: Callable[..., Any] | None = None

    @property
    def code(self) -> str:
        """The text, as the archive has it, with a bare ``self``."""
        node = self.node
        lines = textwrap.dedent("\n".join(self.text.splitlines()[node.lineno - 1 : node.end_lineno])).split("\n")
        head = node.body[0].lineno - node.lineno  # the lines of the signature, which stand deeper
        text = "\n".join([lines[0], *(f"    {line.lstrip()}" for line in lines[1:head]), *lines[max(head, 1) :]]) + "\n"
        first = node.args.args[0] if node.args.args else None
        if first is not None and first.arg == "self" and first.annotation is not None:
            text = text.replace(f"self: {ast.unparse(first.annotation)}", "self", 1)
        return text

    def __deepcopy__(self, memo: Any) -> Function:
        return self


class Definition:
    """A class of the text: its kind, attributes, constants and methods."""

    def __init__(self, node: ast.ClassDef, text: str, name: str) -> None:
        bases = [base.id for base in node.bases if isinstance(base, ast.Name)]
        if len(bases) != len(node.bases) or len(bases) > 1 or node.keywords or node.decorator_list or bases and bases[0] not in _KINDS:
            raise Damaged(f"class {name} has bases that TorchScript has not")
        self.name, self.kind = name, bases[0] if bases else "Class"
        self.attributes: dict[str, Type | None] = {}
        self.constants: dict[str, ast.expr] = {}
        self.parameters: list[str] = []
        self.buffers: list[str] = []
        self.forward_hooks: list[str] = []
        self.forward_pre_hooks: list[str] = []
        self.methods: dict[str, Function] = {}
        self.python: Any = None  # the class of instances, set by the loader
        for statement in node.body:
            self._add(statement, text)

    def _add(self, statement: ast.stmt, text: str) -> None:
        match statement:
            case ast.FunctionDef():
                self.methods[statement.name] = Function(statement, text, f"{self.name}.{statement.name}")
            case ast.AnnAssign(target=ast.Name(id=name), annotation=kind, value=None):
                self.attributes[name] = read_type(kind)
            case ast.AnnAssign(target=ast.Name(id=name), annotation=kind, value=value) if value is not None:
                if self.kind == "NamedTuple":
                    self.attributes[name] = read_type(kind)
                self.constants[name] = value
            case ast.Assign(targets=[ast.Name(id="__annotations__")]):
                pass
            case ast.Assign(
                targets=[ast.Name(id="__parameters__" | "__buffers__" | "__forward_hooks__" | "__forward_pre_hooks__" as name)],
                value=value,
            ):
                setattr(self, name.strip("_"), _texts(value))
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if self.kind == "Enum":
                self.constants[name] = value
            case ast.Assign(
                targets=[ast.Subscript(value=ast.Name(id="__annotations__"), slice=ast.Constant(value=str(name)))], value=kind
            ):
                self.attributes[name] = read_type(kind)
            case ast.Pass():
                pass
            case _:
                raise Damaged(f"class {self.name} has a statement that TorchScript has not (line {statement.lineno})")

    def __deepcopy__(self, memo: Any) -> Definition:
        return self


def _texts(node: ast.expr) -> list[str]:
    if not isinstance(node, ast.List) or not all(isinstance(one, ast.Constant) and type(one.value) is str for one in node.elts):
        raise Damaged("Expected a list of names")
    return [one.value for one in node.elts]  # type: ignore[attr-defined]


def parse(text: str, place: str) -> ast.Module:
    """Parse a text. Raise Damaged if it is no Python."""
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise Damaged(f"{place}: {type(error).__name__}: {error}") from None


class Source:
    """Finds the classes and functions of an archive by their full names. ``read`` returns a file's text, None if there is none."""

    def __init__(self, read: Callable[[str], str | None]) -> None:
        self._read = read
        self._files: dict[str, dict[str, Definition | Function]] = {}

    def find(self, name: str) -> Definition | Function | None:
        """Return the class or function of a full name (``__torch__.torch.nn.modules.linear.Linear``); None if there is none."""
        module, _, own = name.rpartition(".")
        return self._file(module).get(own)

    def _file(self, module: str) -> dict[str, Definition | Function]:
        known = self._files.get(module)
        if known is None:
            path = f"code/{module.replace('.', '/')}.py"
            text = self._read(path)
            known = self._files[module] = {}
            for node in parse(text, path).body if text is not None else ():
                if isinstance(node, ast.ClassDef):
                    definition = known[node.name] = Definition(node, text or "", f"{module}.{node.name}")
                    for method in definition.methods.values():
                        method.file = module
                elif isinstance(node, ast.FunctionDef):
                    function = known[node.name] = Function(node, text or "", f"{module}.{node.name}")
                    function.file = module
                elif not (
                    isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id == "op_version_set"
                ):
                    raise Damaged(f"{path} has a statement that TorchScript has not (line {node.lineno})")
        return known

    def __deepcopy__(self, memo: Any) -> Source:
        return self
