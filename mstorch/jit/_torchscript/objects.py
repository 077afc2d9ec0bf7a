"""Modules and objects of an archive, and what its text may do with them."""

from __future__ import annotations

import collections
import enum
from collections.abc import Iterator
from typing import Any

from ..._jit_internal import mode
from ..._src.core.device import device
from ..._tensor import Tensor
from ...nn.modules.module import Module
from .._graph import Graph
from .._script import RecursiveScriptModule
from . import compile as compiling
from .calls import checked_arguments, declared
from .constants import ConstMap, constants_in
from .lowered import graph_of
from .operators import PROPERTIES, operator
from .source import Definition, Function, Source
from .types import Damaged, described
from .words import Closure


class ScriptMethod:
    """A method of a module or object of an archive."""

    def __init__(self, owner: Any, function: Function, program: Program) -> None:
        self.owner, self._function, self._program = owner, function, program
        self.name = self.__name__ = function.name.rpartition(".")[2]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        values, named = checked_arguments(self._function, args, kwargs, True)
        with mode(scripted=True):
            return self._program.run(self._function)([self.owner, *values], named)

    @property
    def code(self) -> str:
        """The method's text."""
        return self._function.code

    @property
    def code_with_constants(self) -> tuple[str, ConstMap]:
        """The method's text, and the tensors that it names."""
        return self.code, constants_in(self.code, self._program.constant)

    @property
    def graph(self) -> Graph:
        """The method's statements as a graph."""
        return graph_of(self._program, self._function, self.owner._ms_definition.name)

    @property
    def inlined_graph(self) -> Graph:
        """The graph with the statements of the functions that it calls in place of their calls."""
        return graph_of(self._program, self._function, self.owner._ms_definition.name, True)

    @property
    def schema(self) -> str:
        """The method's signature."""
        return declared(self._function)


class Instance:
    """An object of a class of an archive."""

    _ms_definition: Definition

    def __init__(self, definition: Definition, program: Program) -> None:
        self.__dict__.update(_ms_definition=definition, _ms_program=program, _ms_values={})

    def __getattr__(self, name: str) -> Any:
        values = self.__dict__.get("_ms_values", {})
        if name in values:
            return values[name]
        definition = self.__dict__.get("_ms_definition")
        if definition is not None and name in definition.methods:
            return ScriptMethod(self, definition.methods[name], self.__dict__["_ms_program"])
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __repr__(self) -> str:
        return f"<{self._ms_definition.name} object of a TorchScript archive>"


class ArchivedModule(RecursiveScriptModule):
    """A module of an archive. Its methods are interpreted; parameters, buffers and submodules are those of a Module."""

    def __init__(self, definition: Definition, program: Program) -> None:
        Module.__init__(self)
        self.__dict__.update(_ms_definition=definition, _ms_program=program, _ms_values={})
        # The text calls the hooks of submodules; those of a module that Python calls are called as any module's.
        for name in definition.forward_pre_hooks:
            Module.register_forward_pre_hook(self, program.hook(definition, name))
        for name in definition.forward_hooks:
            Module.register_forward_hook(self, program.hook(definition, name))

    @property
    def original_name(self) -> str:
        """The name of the class that was scripted."""
        return self._ms_definition.name.rpartition(".")[2]

    def _ms_method(self, name: str) -> ScriptMethod | None:
        function = self._ms_definition.methods.get(name)
        return None if function is None else ScriptMethod(self, function, self._ms_program)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Interpret the archive's ``forward``; among several, the first that takes the arguments."""
        method = self._ms_method("forward")
        if method is not None:
            return method(*args, **kwargs)
        several = [name for name in self._ms_definition.methods if name.startswith("forward__")]
        for name in several:
            function = self._ms_definition.methods[name]
            try:
                checked_arguments(function, args, kwargs, True)
            except RuntimeError:
                continue
            return ScriptMethod(self, function, self._ms_program)(*args, **kwargs)
        raise NotImplementedError(f'Module [{self.original_name}] is missing the required "forward" function')

    def __getattr__(self, name: str) -> Any:
        members = self.__dict__
        for table in ("_parameters", "_buffers", "_modules", "_ms_values"):
            if name in members.get(table, ()):
                return members[table][name]
        definition = members.get("_ms_definition")
        if definition is not None:
            if name in definition.methods:
                return self._ms_method(name)
            if name in definition.constants:
                return members["_ms_program"].constant_of(definition, name)
            if name in ("code", "code_with_constants", "graph", "inlined_graph") and "forward" in definition.methods:
                return getattr(self._ms_method("forward"), name)
        return super().__getattr__(name)

    def __setattr__(self, name: str, value: Any) -> None:
        members = self.__dict__
        if name in members.get("_ms_values", ()):
            members["_ms_values"][name] = value
        else:
            Module.__setattr__(self, name, value)

    def __dir__(self) -> list[str]:
        return [*Module.__dir__(self), *self._ms_definition.methods, *self._ms_definition.constants, *self._ms_values]

    def train(self, mode: bool = True) -> ArchivedModule:
        """Set the training mode of this module and its children."""
        return Module.train(self, mode)

    def _apply(self, fn: Any, recurse: bool = True) -> Any:
        return Module._apply(self, fn, recurse)

    def _ms_children(self) -> Any:
        return self._modules if self.original_name == "ModuleDict" else list(self._modules.values())

    def __len__(self) -> int:
        method = self._ms_method("__len__")
        return len(self._modules) if method is None else method()

    def __iter__(self) -> Iterator[Any]:
        return iter(self._ms_children())

    def __getitem__(self, index: Any) -> Any:
        return self._ms_children()[index]

    def __contains__(self, key: Any) -> bool:
        return key in self._modules

    def __bool__(self) -> bool:
        return True

    def _get_name(self) -> str:
        return "RecursiveScriptModule"

    def __reduce_ex__(self, protocol: Any) -> Any:
        # ``copy.deepcopy`` makes a module of the same archive.
        state = {key: value for key, value in self.__dict__.items() if not key.startswith("_ms_d")}
        return _blank, (self._ms_definition, self._ms_program), state

    def __getstate__(self) -> Any:
        raise RuntimeError(
            "ScriptModules cannot be deepcopied using copy.deepcopy or saved using torch.save. Mixed serialization of script and "
            "non-script modules is not supported. For purely script modules use my_script_module.save(<filename>) instead."
        )


ArchivedModule.__name__ = ArchivedModule.__qualname__ = "RecursiveScriptModule"  # as torch's errors name it


def _blank(definition: Definition, program: Program) -> ArchivedModule:
    return ArchivedModule(definition, program)


def _enum(name: str, members: dict[str, Any]) -> Any:
    return enum.Enum(name, members)


def _named_tuple(name: str, fields: list[str]) -> Any:
    return collections.namedtuple(name, fields)


def _fields(value: Any) -> tuple[str, ...]:
    return getattr(type(value), "_fields", ()) if isinstance(value, tuple) else ()


class Program(compiling.Program):
    """The classes, functions and constants of one archive."""

    def __init__(self, source: Source, constants: tuple[Any, ...]) -> None:
        self._source, self._constants = source, constants
        self.texts: dict[str, str] = {}  # the code of the archive, by record
        self._compiler = compiling.Compiler(self)
        self._values: dict[tuple[str, str], Any] = {}

    def __deepcopy__(self, memo: Any) -> Program:
        return self

    def find(self, name: str) -> Definition | Function:
        target = self._source.find(name) if name.startswith("__torch__.") else None
        if target is None:
            raise Damaged(f"Unknown type name '{name}'")
        if isinstance(target, Definition) and target.python is None:
            target.python = self._python_class(target)
        return target

    def _python_class(self, definition: Definition) -> Any:
        """Return the Python class of an archive's class: for an enum or a named tuple a class of its own."""
        short = definition.name.rpartition(".")[2]
        if definition.kind == "Enum":
            members = {name: self.constant_of(definition, name) for name in definition.constants}
            if any(name.startswith("_") or name == "mro" or type(value) not in (int, float, str) for name, value in members.items()):
                raise Damaged(f"{definition.name} has members that TorchScript has not")
            kind = _enum(short, members)
        elif definition.kind == "NamedTuple":
            try:
                kind = _named_tuple(short, list(definition.attributes))
            except ValueError as error:
                raise Damaged(f"{definition.name}: {error}") from None
        else:
            return Instance
        kind._ms_definition = definition
        return kind

    def constant(self, number: int) -> Any:
        if number >= len(self._constants):
            raise Damaged(f"constant {number} is not among the archive's {len(self._constants)}")
        return self._constants[number]

    def constant_of(self, definition: Definition, name: str) -> Any:
        """Return a constant of a class."""
        key = definition.name, name
        if key not in self._values:
            self._values[key] = self._compiler.expression(definition.constants[name])({})
        return self._values[key]

    def run(self, function: Function) -> Any:
        """Return a function, compiled."""
        return function.run or self._compiler.run(function)

    def hook(self, definition: Definition, name: str) -> Any:
        """Return a hook of a class: a function of the module and what its call has. Raise Damaged if the class has no such method."""
        function = definition.methods.get(name)
        if function is None:
            raise Damaged(f"{definition.name} has no hook {name}")
        return lambda module, *call: self.run(function)([module, *call], {})

    def compile_class(self, definition: Definition) -> None:
        """Compile the methods of a class, so that what the archive needs and mstorch lacks is told when it is loaded."""
        for function in definition.methods.values():
            if definition.kind not in ("Interface", "ModuleInterface"):
                self._compiler.run(function)

    def attribute(self, value: Any, name: str) -> Any:
        if isinstance(value, ArchivedModule):
            members = value.__dict__
            for table in ("_ms_values", "_modules", "_parameters", "_buffers"):
                if name in members[table]:
                    return members[table][name]
            if name == "training":
                return members["training"]
            if name in value._ms_definition.constants:
                return self.constant_of(value._ms_definition, name)
            if name in value._ms_definition.methods:
                return Closure(lambda *args, **kwargs: self.call(value, name, list(args), kwargs))
        elif isinstance(value, Instance):
            if name in value._ms_values:
                return value._ms_values[name]
            if name in value._ms_definition.constants:
                return self.constant_of(value._ms_definition, name)
        elif name in _fields(value):
            return value[_fields(value).index(name)]
        elif isinstance(value, enum.Enum) and name in ("name", "value"):
            return value.name if name == "name" else value.value
        elif isinstance(value, (Tensor, device)) and name in PROPERTIES or type(value) is complex and name in ("real", "imag"):
            return operator("aten" if name in ("real", "imag") else "prim", name)(value)
        raise RuntimeError(f"'{described(value)}' object has no attribute or method '{name}'.")

    def assign(self, value: Any, name: str, item: Any) -> None:
        if isinstance(value, Instance):
            value._ms_values[name] = item
            return
        if not isinstance(value, ArchivedModule):
            raise RuntimeError(f"Tried to set an attribute '{name}' of a {described(value)}")
        members = value.__dict__
        for table in ("_parameters", "_buffers"):
            if name in members[table]:
                members[table][name] = item
                return
        if name == "training":
            members["training"] = bool(item)
        elif name in value._ms_definition.attributes:
            members["_ms_values"][name] = item
        else:
            raise RuntimeError(f"Tried to set nonexistent attribute: {name}. Did you forget to initialize it in __init__()?")

    def call(self, value: Any, name: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
        if isinstance(value, (ArchivedModule, Instance)):
            function = value._ms_definition.methods.get(name)
            if function is not None:
                return (function.run or self.run(function))([value, *args], kwargs)
        elif isinstance(value, (Tensor, int, float, complex, str, list, dict, tuple)):
            return operator("aten", name)(value, *args, **kwargs)
        raise RuntimeError(f"'{described(value)}' object has no attribute or method '{name}'.")

    def construct(self, definition: Definition, args: list[Any]) -> Any:
        if definition.kind == "NamedTuple":
            rest = list(definition.attributes)[len(args) :]
            return definition.python(*args, *(self.constant_of(definition, name) for name in rest if name in definition.constants))
        if definition.kind == "Class":
            return Instance(definition, self)
        raise RuntimeError(f"{definition.name} cannot be constructed")


def fill(target: ArchivedModule | Instance, state: Any) -> None:
    """Give a new module or object its attributes. Raise Damaged for others than its class declares."""
    definition = target._ms_definition
    if type(state) is not dict or not all(type(name) is str and name in definition.attributes for name in state):
        raise Damaged(f"{definition.name}: its attributes in data.pkl are not those of its class")
    if isinstance(target, Instance):
        target._ms_values.update(state)
        return
    members = target.__dict__
    for name, value in state.items():
        if name == "training":
            members["training"] = bool(value)
        elif name in definition.parameters:
            if value is not None and not isinstance(value, Tensor):
                raise Damaged(f"{definition.name}.{name} is no tensor")
            members["_parameters"][name] = value  # the tensor itself, as in torch: lists of the archive (an LSTM's weights) hold it too
        elif name in definition.buffers:
            if value is not None and not isinstance(value, Tensor):
                raise Damaged(f"{definition.name}.{name} is no tensor")
            members["_buffers"][name] = value
        elif isinstance(value, ArchivedModule):
            members["_modules"][name] = value
        else:
            members["_ms_values"][name] = value
