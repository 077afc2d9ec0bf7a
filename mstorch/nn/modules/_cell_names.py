"""The names that MindSpore's Cell has and torch's Module lacks: available to MindSpore, free for the user."""
from __future__ import annotations

import inspect
import sys
from dis import get_instructions, opname
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from ..._src.backend.cell import Cell
from ._cell import CellMixin

_CONSTANT = (type(None), bool, int, float, str)
_MEMBERS = ("_parameters", "_buffers", "_modules")
_ABSENT = object()
_HOME = __name__.partition(".")[0]
# Attributes that MindSpore's Cell has on its instances, for the modules of which MindSpore has read them.
_states: WeakKeyDictionary[Any, dict[str, Any]] = WeakKeyDictionary()


class CellName:
    """A descriptor for an attribute inherited from Cell. A parameter, buffer, child or instance attribute of the same name takes
    precedence, and so does a definition in a subclass.

    As in torch, ``hasattr``, ``getattr`` with a default and ``inspect`` do not find the name. MindSpore's tools find it, and so do an
    attribute expression such as ``module.trainable_params()`` and ``getattr(module, "trainable_params")``."""

    def __init__(self, name: str, attribute: Any, default: Any) -> None:
        self.name = name
        self.attribute = attribute
        self.default = default

    def __get__(self, module: Any, owner: type | None = None) -> Any:
        if module is not None:
            members = module.__dict__
            for kind in _MEMBERS:
                if self.name in members.get(kind, ()):
                    return members[kind][self.name]
        if _is_probed(sys._getframe(1)):
            raise AttributeError(self.name)
        if self.attribute is not _ABSENT:
            get = getattr(type(self.attribute), "__get__", None)
            return self.attribute if get is None else get(self.attribute, module, owner)
        if module is None:
            return self  # as a property does: code that iterates over dir() of a class gets a value for each name
        if self.default is not _ABSENT:
            return self.default
        return _states.setdefault(module, vars(Cell()))[self.name]


def _is_probed(frame: Any) -> bool:
    """Return True if code outside MindSpore and mstorch accesses the attribute by a call, such as ``hasattr``, not by an attribute
    expression."""
    room = frame.f_globals.get("__name__", "").partition(".")[0]
    if room == "mindspore" or room == _HOME:
        return False
    if opname[frame.f_code.co_code[frame.f_lasti]].startswith(("LOAD_ATTR", "LOAD_METHOD", "LOAD_SUPER")):
        return False
    return not ("getattr" in frame.f_code.co_names and _is_getattr(frame))


def _is_getattr(frame: Any) -> bool:
    """Return whether a frame calls ``getattr`` without a default, which asks for the name as an attribute expression does."""
    loaded = ""
    for instruction in get_instructions(frame.f_code):
        if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME") and instruction.argval in ("getattr", "hasattr", "callable", "isinstance"):
            loaded = instruction.argval
        if instruction.offset >= frame.f_lasti:
            return loaded == "getattr" and instruction.opname.startswith("CALL") and instruction.arg == 2
    return False


def _cell_names() -> dict[str, CellName]:
    first, second = vars(Cell()), vars(Cell())
    kept = set(dir(object)) | {"compile", "_compiled_call_impl"}  # torch's Module has them as well
    names = {}
    for name in {*dir(Cell), *first, *vars(CellMixin)} - kept:
        if not name.startswith("__"):
            attribute = inspect.getattr_static(CellMixin, name, inspect.getattr_static(Cell, name, _ABSENT))
            # Values that differ between two Cells, or are mutable, belong to each module.
            same = name in first and isinstance(first[name], _CONSTANT) and first[name] == second[name]
            names[name] = CellName(name, attribute, first[name] if same else _ABSENT)
    return names


# Attributes in which MindSpore stores its knowledge of a network.
STATE_OF_CELLS = frozenset(name for name in vars(Cell()) if name.startswith("_") and name != "_buffers")

if TYPE_CHECKING:

    class CellNames:
        """Cell's attributes, hidden from type checkers."""
else:
    CellNames = type("CellNames", (), {"__module__": __name__, "__doc__": __doc__, **_cell_names()})


def is_free(module: Any, name: str) -> bool:
    """Return True if the name is an attribute inherited from Cell, and the module has no instance attribute, parameter, buffer or child of
    that name."""
    members = module.__dict__
    if name in members or any(name in members.get(kind, ()) for kind in _MEMBERS):
        return False
    return isinstance(inspect.getattr_static(type(module), name, None), CellName)
