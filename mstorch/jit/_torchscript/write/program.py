"""The classes and functions of an archive of a scripted module or function, as they are written."""

from __future__ import annotations

import ast
import enum
import inspect
import re
import textwrap
import typing
from collections.abc import Callable
from typing import Any, Protocol

from ...._jit_internal import FunctionModifiers, get_torchscript_modifier, has_overloads
from ...._src.core.dtype import dtype
from ...._src.core.formats import layout, memory_format
from ...._tensor import Tensor
from ....nn.modules.module import Module
from ..numbers import number_of
from ..source import Function as Parsed
from ..types import ANY, TENSOR, Type
from .annotations import BOOL, NONE, fields_of, of_annotation, of_value
from .layers import LAYERS
from .library import FUNCTIONS, NO_GRAD, REFERENCES, result_of
from .pickled import Typed
from .pieces import NOTHING, is_identifier, of_library, plain_of
from .values import Unwritable, shown, tuple_text

_OWN = re.compile(r"self\.(\w+)")


class _Body(Protocol):
    """A function of Python's that is written."""

    title: str
    depth: int
    owner: Any
    function: Any
    returns: Type | None

    def type_of_parameter(self, name: str) -> Type: ...

    def write(self) -> tuple[str, Type | None]: ...


def place_name(value: Any) -> str:
    """Return the part of a full name that tells the Python module."""
    module = re.sub(r"^mstorch\b", "torch", value.__module__ or "")
    parts = [] if module == "__main__" or not all(map(is_identifier, module.split("."))) else module.split(".")
    return ".".join(["__torch__", *parts])


class _Class:
    """A class of the archive that is no module: a NamedTuple, an enum, or a class with methods."""

    def __init__(self, kind: type, name: str) -> None:
        self.kind, self.name = kind, name
        self.fields: dict[str, Type] = {}
        self.methods: dict[str, tuple[str, Type | None] | None] = {}


class _Module:
    """A module of the program: what its text uses of it."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self.attributes: dict[str, tuple[Type, Any]] = {}
        self.methods: dict[str, tuple[str, Type | None] | None] = {}


def _missing(what: str, kind: type, place: str) -> Unwritable:
    return Unwritable(f"mstorch: torch.jit.save cannot write {what}, which {kind.__name__} does not have, as TorchScript ({place})")


class Program:
    """The functions and classes of an archive, as they are written."""

    def __init__(self, body: Callable[[Program, Any, Any, str], _Body]) -> None:
        self._body = body  # what writes a function
        self.constants: list[Any] = []
        self._names: set[str] = set()
        self._functions: dict[int, tuple[str, Any, list[Any]]] = {}
        self._classes: dict[type, _Class] = {}
        self._by_name: dict[str, _Class] = {}
        self._modules: dict[int, _Module] = {}
        self._library: dict[str, str] = {}
        self._library_classes: dict[str, str] = {}

    # Names

    def constant(self, value: Any) -> str:
        """Return the text of a constant of the archive."""
        self.constants.append(value)
        return f"CONSTANTS.c{len(self.constants) - 1}"

    def fresh_name(self, place: str, title: str) -> str:
        """Return a full name that is not taken."""
        title = title if is_identifier(title) else "Program"
        name, number = f"{place}.{title}", 0
        while name in self._names:
            name = f"{place}.___torch_mangle_{number}.{title}"
            number += 1
        self._names.add(name)
        return name

    # Functions

    def function(self, function: Any, place: str) -> tuple[str, Type | None]:
        """Return the full name of a function, which is written, and the type of its result."""
        known = self._functions.get(id(function))
        if known is not None:
            return known[0], known[2][1]
        if has_overloads(function):
            raise Unwritable(f"mstorch: torch.jit.save cannot write the overloads of {function.__qualname__} as TorchScript ({place})")
        mark = get_torchscript_modifier(function)
        if mark in (FunctionModifiers.IGNORE, FunctionModifiers._DROP):
            raise Unwritable(
                f"mstorch: torch.jit.save cannot write a call of {function.__qualname__}, which is ignored, as TorchScript ({place})"
            )
        name = self.fresh_name(place_name(function), function.__name__)
        result: list[Any] = ["", None]
        self._functions[id(function)] = name, function, result
        body = self._body(self, function, None, name.rpartition(".")[2])
        result[1] = body.returns
        result[:] = self._unused(body) if mark == FunctionModifiers.UNUSED else body.write()
        return name, result[1]

    @staticmethod
    def _unused(body: _Body) -> tuple[str, Type | None]:
        """Return the text of a function that scripts cannot call: it raises."""
        given = [] if body.owner is None else ["self"]
        for name in list(inspect.signature(body.function).parameters)[len(given) :]:
            given.append(f"{name}: {body.type_of_parameter(name)!r}")
        indent = "  " * body.depth
        told = f" -> {body.returns!r}" if body.returns is not None else ""
        lines = [
            f"{indent}def {body.title}({', '.join(given)}){told}:",
            f'{indent}  ops.prim.RaiseException("a function that is unused in scripts was called", "builtins.NotImplementedError")',
            f"{indent}  assert False",
        ]
        return "\n".join(lines) + "\n", body.returns

    def library_function(self, name: str) -> Type:
        """Add a function of ``nn.functional``, and those that it calls; return the type of its result."""
        if name not in self._library:
            text = self._library[name] = FUNCTIONS[name]
            for other in REFERENCES.findall(text):
                self.library_function(other)
            if "grad_mode.no_grad" in text:
                self.library_class("no_grad")
        return result_of(name)

    def library_class(self, name: str) -> str:
        """Add ``no_grad`` or ``enable_grad``; return its full name."""
        self._library_classes[name] = NO_GRAD.format(name=name, flag=name == "enable_grad")
        return f"__torch__.torch.autograd.grad_mode.{name}"

    # Classes

    def named(self, kind: type) -> Type | None:
        """Return the type of a class, which is written; None for a class that a program cannot hold."""
        if kind in self._classes:
            return Type(self._classes[kind].name)
        if kind.__module__ in ("builtins", "typing", "collections", "numpy") or issubclass(kind, (Module, Tensor, BaseException)):
            return None
        if of_library(kind) and not (issubclass(kind, tuple) and hasattr(kind, "_fields")):
            return None
        own = _Class(kind, self.fresh_name(place_name(kind), kind.__name__))
        self._classes[kind] = self._by_name[own.name] = own
        if issubclass(kind, tuple):
            if not hasattr(kind, "_fields"):
                return None
            own.fields = fields_of(kind, self.named)
        elif issubclass(kind, enum.Enum):
            members = [of_value(one.value, self.named) for one in kind]
            own.fields = {"name": Type("str"), "value": members[0] or ANY}
        else:
            hints = typing.get_type_hints(kind)
            own.fields = {name: of_annotation(hint, self.named) for name, hint in hints.items()}
            own.methods = {name: None for name, value in vars(kind).items() if inspect.isfunction(value)}
            for name in sorted(own.methods, key=lambda one: one != "__init__"):
                self._class_method(own, name)
        return Type(own.name)

    def _class_method(self, own: _Class, name: str) -> tuple[str, Type | None]:
        known = own.methods[name]
        if known is None:
            body = self._body(self, vars(own.kind)[name], Type(own.name), name)
            own.methods[name] = "", body.returns or (NONE if name == "__init__" else None)
            known = own.methods[name] = body.write()
        return known

    def is_class(self, kind: Type) -> bool:
        """Return whether a type is a class of the program."""
        return kind.kind in self._by_name

    def fields(self, kind: Type) -> dict[str, Type]:
        """Return the fields of a class with their types."""
        return self._by_name[kind.kind].fields

    def methods_of(self, kind: Type) -> Any:
        """Return the names of a class's methods."""
        return self._by_name[kind.kind].methods

    def field(self, kind: Type, name: str, place: str) -> Type | None:
        """Return the type of a field; None for a method."""
        own = self._by_name[kind.kind]
        if name not in own.fields and name not in own.methods:
            raise _missing(f"'{name}'", own.kind, place)
        return own.fields.get(name)

    def add_field(self, kind: Type, name: str, own: Type | None, place: str) -> None:
        """Declare a field that ``__init__`` sets."""
        fields = self._by_name[kind.kind].fields
        if name not in fields:
            if own is None:
                raise Unwritable(f"mstorch: torch.jit.save needs an annotation of '{name}' to write it as TorchScript ({place})")
            fields[name] = own

    def result_of(self, kind: Type, name: str, place: str) -> Type | None:
        """Return the type of a method's result."""
        own = self._by_name[kind.kind]
        if name not in own.methods:
            raise _missing(f"a call of '{name}'", own.kind, place)
        return self._class_method(own, name)[1]

    # Modules

    def module(self, module: Module) -> _Module:
        """Return what is written of a module."""
        module = plain_of(module)
        if id(module) not in self._modules:
            self._modules[id(module)] = _Module(module)
        return self._modules[id(module)]

    def method(self, module: Module, name: str, place: str, getter: bool = False, after: type | None = None) -> tuple[str, Type | None]:
        """Return the name of a method, which is written, and the type of its result."""
        module = plain_of(module)
        own = self.module(module)
        order = list(type(module).__mro__)
        order = order[order.index(after) + 1 :] if after is not None else order
        title = f"{name}__of_{after.__name__}" if after is not None else f"{name}__read" if getter else name
        known = own.methods.get(title)
        if known is not None:
            return title, known[1]
        if name == "forward" and (module._forward_hooks or module._forward_pre_hooks):
            raise Unwritable(f"mstorch: torch.jit.save cannot write the hooks of {type(module).__name__} as TorchScript ({place})")
        definer = next((kind for kind in order if name in vars(kind)), None)
        function = module.__dict__.get(name) or (vars(definer)[name] if definer is not None else None)
        if getter:
            function = function.fget  # type: ignore[union-attr]
        mark: str = get_torchscript_modifier(function)  # type: ignore[arg-type]
        without_form = _without_form(function, mark, name)
        if without_form is not None:
            raise Unwritable(f"mstorch: torch.jit.save cannot write {without_form} as TorchScript ({place})")
        function = getattr(function, "__func__", function)
        if function is None or definer is Module:
            raise _missing(f"a call of '{name}'", type(module), place)
        if name == "forward" and definer is not None and of_library(definer):
            layer = next((kind.__name__ for kind in order if kind.__name__ in LAYERS and of_library(kind)), None)
            if layer is not None:
                return title, self._layer(own, layer, title)
        body = self._body(self, function, module, title)
        own.methods[title] = "", body.returns
        own.methods[title] = known = self._unused(body) if mark == FunctionModifiers.UNUSED else body.write()
        return title, known[1]

    def _layer(self, own: _Module, layer: str, title: str) -> Type | None:
        text = LAYERS[layer](own.module)
        text = textwrap.indent(text.replace("def forward(", f"def {title}(", 1), "  ")
        node = ast.parse(textwrap.dedent(text)).body[0]
        assert isinstance(node, ast.FunctionDef)
        returns = Parsed(node, "", title).returns
        for name in set(_OWN.findall(text)):
            if name not in own.module._modules:
                self.attribute(own.module, name, layer)
            fixed = self.constant_text(own.module, name)
            if fixed is not None:
                text = re.sub(rf"\bself\.{name}\b", lambda found, fixed=fixed: fixed, text)
        own.methods[title] = text, returns
        for name in REFERENCES.findall(text):
            self.library_function(name)
        return returns

    def is_constant(self, module: Module, name: str) -> bool:
        """Return whether an attribute is declared to be constant."""
        if name in getattr(module, "__constants__", ()):
            return True
        return any(
            str(hint).startswith(("typing.Final", "Final", "torch.jit.Final", "jit.Final"))
            for kind in type(module).__mro__
            for title, hint in vars(kind).get("__annotations__", {}).items()
            if title == name
        )

    def constant_text(self, module: Module, name: str) -> str | None:
        """Return the text of an attribute that is constant: methods hold its value, as torch's do; None for others."""
        if name in module._parameters or name in module._buffers or not self.is_constant(module, name):
            return None
        value = getattr(module, name)
        if type(value) in (tuple, list) and value and all(type(one) in _KEPT for one in value):
            return tuple_text(tuple(value))
        return shown(value, str) if value is None or type(value) in _KEPT and not (type(value) is str and not value.isascii()) else None

    def attribute(self, module: Module, name: str, place: str) -> Type:
        """Return the type of a module's attribute, which the archive keeps."""
        module = plain_of(module)
        own = self.module(module)
        if name in module._parameters or name in module._buffers:
            value = module._parameters.get(name, module._buffers.get(name))
            return NONE if value is None else TENSOR
        if name == "training":
            return BOOL
        if name not in own.attributes:
            value = module.__dict__.get(name, getattr(type(module), name, NOTHING))
            if value is NOTHING:
                raise _missing(f"'{name}'", type(module), place)
            kind = self.type_of_attribute(module, name, value)
            if kind is None:
                raise Unwritable(
                    f"mstorch: torch.jit.save cannot write the attribute '{name}' ({type(value).__name__}) of {type(module).__name__} as "
                    f"TorchScript: its type needs an annotation, or there is none ({place})"
                )
            own.attributes[name] = kind, value
        return own.attributes[name][0]

    def type_of_attribute(self, module: Module, name: str, value: Any) -> Type | None:
        """Return the type of an attribute: as the class declares it, or of its value."""
        if type(value).__name__ == "Attribute" and hasattr(value, "type") and hasattr(value, "value"):
            return of_annotation(value.type, self.named)
        for kind in type(module).__mro__:
            if name in vars(kind).get("__annotations__", {}) and not of_library(kind):
                try:
                    hint = typing.get_type_hints(kind)[name]
                except (NameError, TypeError, KeyError):
                    continue
                if getattr(hint, "__origin__", hint) is not typing.Final:
                    return of_annotation(hint, self.named)
        return of_value(value, self.named)

    # What is written

    def files(self) -> dict[str, str]:
        """Return the texts of the functions, and of the classes that are no modules, by the names of their records."""
        files: dict[str, str] = {}

        def add(name: str, text: str) -> None:
            path = f"code/{name.rpartition('.')[0].replace('.', '/')}.py"
            files[path] = files.get(path, "") + text

        for kind in self._classes.values():
            add(kind.name, self._class_text(kind))
        for name, _, result in self._functions.values():
            add(name, result[0])
        for name, text in self._library.items():
            add(f"__torch__.torch.nn.functional.{name}", text)
        for name, text in self._library_classes.items():
            add(f"__torch__.torch.autograd.grad_mode.{name}", text)
        return files

    @staticmethod
    def _class_text(own: _Class) -> str:
        title = own.name.rpartition(".")[2]
        if issubclass(own.kind, enum.Enum):
            return f"class {title}(Enum):\n" + "".join(f"  {one.name} = {shown(one.value, str)}\n" for one in own.kind)
        fields = "".join(f"  {name} : {kind!r}\n" for name, kind in own.fields.items())
        if issubclass(own.kind, tuple):
            return f"class {title}(NamedTuple):\n{fields}"
        methods = "".join(pair[0].replace("(self", f"(self: {own.name}", 1) for pair in own.methods.values() if pair is not None)
        return f"class {title}:\n{fields}{methods}"


_KEPT = (bool, int, float, str)


def kept_attributes(program: Program, own: _Module) -> tuple[list[str], dict[str, Any]]:
    """Return the declarations of a module's attributes that are no tensors or modules, and the values that the archive keeps."""
    module, head, kept = own.module, [], {}
    for name, value in module.__dict__.items():
        if not name.startswith("_") and type(value) in _KEPT and is_identifier(name) and name != "training" and not name.startswith("_ms"):
            program.attribute(module, name, type(module).__name__)
    for name, (kind, value) in own.attributes.items():
        value = value.value if type(value).__name__ == "Attribute" else value
        fixed = program.constant_text(module, name)
        if fixed is not None:
            wanted = of_value(tuple(value) if isinstance(value, list) else value, program.named)
            head.append(f"{name} : Final[{wanted!r}] = {fixed}")
            continue
        if isinstance(value, (dtype, layout, memory_format)):
            value = number_of(value)
        head.append(f"{name} : {kind!r}" if is_identifier(name) else f'__annotations__["{name}"] = {kind!r}')
        kept[name] = Typed(value, kind)
    return head, kept


def _without_form(function: Any, mark: Any, name: str) -> str | None:
    """Return in words what kind of method TorchScript has no form for; None if it has one."""
    if isinstance(function, staticmethod):
        return f"the static method '{name}'"
    if has_overloads(getattr(function, "__func__", function)):
        return f"the overloads of '{name}'"
    return f"a call of '{name}', which is ignored," if mark in (FunctionModifiers.IGNORE, FunctionModifiers._DROP) else None


__all__ = ["Program", "kept_attributes", "place_name"]
