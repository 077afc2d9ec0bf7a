"""torch.types: type aliases for annotations."""
from __future__ import annotations

import os
from builtins import bool as _bool
from builtins import bytes as _bytes
from builtins import complex as _complex
from builtins import float as _float
from builtins import int as _int
from builtins import str as _str
from collections.abc import Sequence
from typing import IO, TYPE_CHECKING, Any, TypeAlias, Union

from ._C import DispatchKey
from ._src.core.device import device as _device
from ._src.core.dtype import dtype as _dtype
from ._src.core.formats import layout as _layout
from ._src.core.size import Size
from ._src.namespace.process import qscheme as _qscheme
from ._src.namespace.symbolic import SymBool, SymFloat, SymInt
from ._tensor import Tensor

if TYPE_CHECKING:
    from .autograd.graph import GradientEdge

__all__ = ["Number", "Device", "FileLike", "Storage"]

Number: TypeAlias = _int | _float | _bool
_Number = (_int, _float, _bool)
Device: TypeAlias = _device | _str | _int | None
FileLike: TypeAlias = _str | os.PathLike[_str] | IO[_bytes]
_Others = (_complex, _qscheme, _layout, _dtype)
_size: TypeAlias = Size | list[_int] | tuple[_int, ...]
_symsize: TypeAlias = Size | Sequence[_int | SymInt]
_dispatchkey: TypeAlias = _str | DispatchKey
_TensorOrTensors: TypeAlias = Tensor | Sequence[Tensor]
_TensorOrOptionalTensors: TypeAlias = Tensor | Sequence[Tensor | None]
_TensorOrTensorsOrGradEdge: TypeAlias = Union[Tensor, Sequence[Tensor], "GradientEdge", Sequence["GradientEdge"]]
py_sym_types = (SymInt, SymFloat, SymBool)
PySymType: TypeAlias = SymInt | SymFloat | SymBool
IntLikeType: TypeAlias = _int | SymInt
FloatLikeType: TypeAlias = _float | SymFloat
BoolLikeType: TypeAlias = _bool | SymBool


class Storage:
    """Base of all storages."""

    _cdata: _int
    device: _device
    dtype: _dtype

    def __getattr__(self, name: _str) -> Any:
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
