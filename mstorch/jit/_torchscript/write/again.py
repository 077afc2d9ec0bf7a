"""Archives of modules that were loaded from an archive: the same text, with the values that the module has now."""

from __future__ import annotations

import enum
import re
from typing import Any

from ...._tensor import Tensor
from ..objects import ArchivedModule, Instance
from ..source import Definition
from ..types import ANY
from .archive import save
from .pickled import Object, Typed
from .values import Unwritable

_REGISTERED = re.compile(r"^(\s*__(?:parameters|buffers)__ = )\[.*\]$", re.MULTILINE)


class _Objects:
    """The objects of a module's tree, each made once."""

    def __init__(self) -> None:
        self._known: dict[int, Object] = {}

    def of(self, value: ArchivedModule | Instance) -> Object:
        """Return the object of a module, or of an instance of a class of the archive."""
        known = self._known.get(id(value))
        if known is None:
            definition, members = value._ms_definition, value.__dict__
            tables = ("_parameters", "_buffers", "_modules", "_ms_values") if isinstance(value, ArchivedModule) else ("_ms_values",)
            state = {name: item for table in tables for name, item in members[table].items()}
            if isinstance(value, ArchivedModule):
                state["training"] = bool(members["training"])
                strange = [name for name in state if name not in definition.attributes and name != "training"]
                if strange:
                    words = f"{strange[0]!r}, which the text of {definition.name} does not declare"
                    raise Unwritable(f"mstorch: torch.jit.save cannot write {words}")
            known = self._known[id(value)] = Object(definition.name, {})
            for name, kind in definition.attributes.items():
                if name in state:
                    known.attributes[name] = Typed(self.plain(state[name], f"{definition.name}.{name}"), kind or ANY)
        return known

    def plain(self, value: Any, where: str) -> Any:
        """Return a value with objects in the place of modules and instances."""
        if isinstance(value, (ArchivedModule, Instance)):
            return self.of(value)
        if isinstance(value, Tensor) or value is None or isinstance(value, enum.Enum):
            return value
        if isinstance(value, list):
            return [self.plain(item, where) for item in value]
        if isinstance(value, dict):
            return {self.plain(key, where): self.plain(item, where) for key, item in value.items()}
        if isinstance(value, tuple):
            parts = [self.plain(item, where) for item in value]
            definition: Definition | None = getattr(type(value), "_ms_definition", None)
            if definition is None:
                return tuple(parts)
            fields: Any = type(value)  # of a named tuple, which takes its fields one by one
            return fields(*(Typed(part, kind or ANY) for part, kind in zip(parts, definition.attributes.values())))
        if hasattr(value, "named_parameters") or callable(value):
            words = f"{where}, which is a {type(value).__name__} that the archive did not hold"
            raise Unwritable(f"mstorch: torch.jit.save cannot write {words}")
        return value


def write_again(module: ArchivedModule, file: Any, extra_files: dict[str, Any], is_frozen: bool = False) -> None:
    """Write the archive of a loaded module. ``is_frozen``: its parameters and buffers are attributes, in no state_dict.

    Raise Unwritable before anything is written, for modules and values that the text does not declare.
    """
    program, objects = module._ms_program, _Objects()
    top = objects.of(module)
    texts = dict(program.texts)
    if is_frozen:
        texts = {name: _REGISTERED.sub(r"\1[]", text) for name, text in texts.items()}
    constants = objects.plain(tuple(program._constants), "a constant")
    save(file, top, texts, constants, extra_files, program.version)
