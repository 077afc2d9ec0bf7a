"""Module's mixins joined in one class, because MindSpore's rewriting of networks parses Module's source and supports a single base."""
from typing import TYPE_CHECKING

from ._cell import CellMixin
from ._cell_names import CellNames
from ._conversion import ConversionMixin
from ._hooks import HookMixin
from ._looks import LooksMixin
from ._own import OwnMixin
from ._state import StateMixin

if TYPE_CHECKING:  # MindSpore has no type annotations: any name would be an attribute
    class Cell: ...

else:
    from ..._src.backend.cell import Cell


class ModuleParts(LooksMixin, OwnMixin, StateMixin, HookMixin, ConversionMixin, CellNames, CellMixin, Cell):
    """Bases of Module: torch's bookkeeping, and MindSpore's Cell."""
