"""The pickles of an archive: its modules, tensors and constants, of the classes that its text defines and of no others."""

from __future__ import annotations

import io
from collections.abc import Callable
from pickle import UnpicklingError
from typing import Any

from ..._src.serialization.loaded import brief
from ..._src.serialization.unpickler import Unpickler
from .objects import ArchivedModule, Instance, Program, fill
from .source import Definition
from .types import Damaged, parse_type


def _restored(value: Any, tag: Any) -> Any:
    """Return a container, whose type a text tells."""
    if type(tag) is not str:
        raise UnpicklingError(f"a type in the pickle is no text: {brief(tag)}")
    parse_type(tag)
    return value


def _listed(value: Any) -> list[Any]:
    if type(value) is not list:
        raise UnpicklingError(f"a list in the pickle is {brief(value)}")
    return value


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "torch.jit._pickle.restore_type_tag": _restored,
    **{f"torch.jit._pickle.build_{kind}list": _listed for kind in ("int", "tensor", "double", "bool", "complexdouble")},
}


class _Unpickler(Unpickler):
    """The restricted unpickler of ``torch.load``, which also makes the objects of the archive's classes."""

    def __init__(self, data: bytes, program: Program) -> None:
        super().__init__(io.BytesIO(data), encoding="utf-8", allowed={})
        self._program = program
        self.classes: dict[str, Definition] = {}

    def _global(self, module: str, name: str) -> None:
        path = f"{module}.{name}"
        if path in _FUNCTIONS:
            self._stack.append(_FUNCTIONS[path])
        elif module == "__torch__" or module.startswith("__torch__."):
            target = self._program.find(path)
            if not isinstance(target, Definition):
                raise Damaged(f"{path} is no class")
            self.classes[target.name] = target
            self._stack.append(target)
        else:
            super()._global(module, name)

    def _reduce(self) -> None:
        arguments, function = self._stack[-1:], self._stack[-2:-1]
        if function and type(function[0]) is Definition:
            del self._stack[-2:]
            self._stack.append(self._constructed(function[0], arguments[0]))
        elif function and any(function[0] is one for one in _FUNCTIONS.values()):
            if type(arguments[0]) is not tuple:
                raise UnpicklingError("the arguments of a call in the pickle are no tuple")
            del self._stack[-2:]
            self._stack.append(function[0](*arguments[0]))
        else:
            super()._reduce()

    def _constructed(self, definition: Definition, arguments: Any) -> Any:
        if definition.kind == "Enum":
            value = arguments[0] if type(arguments) is tuple and len(arguments) == 1 else arguments
            if type(value) not in (int, float, str):
                raise Damaged(f"{definition.name} has no such member")
            return definition.python(value)
        if definition.kind != "NamedTuple" or type(arguments) is not tuple or len(arguments) != len(definition.attributes):
            raise Damaged(f"{definition.name} cannot be made of {brief(arguments)}")
        return definition.python(*arguments)

    def _new(self, keywords: bool) -> None:
        kind = self._stack[-2] if len(self._stack) > 1 else None
        if keywords or type(kind) is not Definition:
            super()._new(keywords)
            return
        if kind.kind not in ("Module", "Class") or self._stack[-1] != ():
            raise Damaged(f"{kind.name} cannot be made so")
        del self._stack[-2:]
        self._stack.append((ArchivedModule if kind.kind == "Module" else Instance)(kind, self._program))

    def _build(self) -> None:
        target = self._stack[-2] if len(self._stack) > 1 else None
        if not isinstance(target, (ArchivedModule, Instance)):
            super()._build()
            return
        state = self._stack.pop()
        if "__setstate__" in target._ms_definition.methods:
            raise NotImplementedError(
                f"mstorch: {target._ms_definition.name} restores itself by __setstate__, which torch.jit.load does not run"
            )
        fill(target, state)


def unpickled(data: bytes, program: Program, storage: Callable[[Any], Any]) -> tuple[Any, dict[str, Definition]]:
    """Return the object of a pickle, and the classes of the archive that it names."""
    unpickler = _Unpickler(data, program)
    unpickler.persistent_load = storage  # type: ignore[assignment,method-assign]
    return unpickler.load(), unpickler.classes
