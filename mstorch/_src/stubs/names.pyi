"""Types for the other stubs, such as ``Int`` for ``int``: there, the names of builtins mean dtypes, functions or methods of torch."""

import builtins
from collections.abc import Callable as Callable, Iterable as Iterable, Iterator as Iterator, Sequence as Sequence
from types import EllipsisType
from typing import Any as Any, Literal as Literal, NoReturn as NoReturn, TypeAlias

import numpy

from ... import return_types as return_types
from ..core.device import device
from ..core.dtype import dtype
from ..core.formats import layout, memory_format
from ..core.generator import Generator as Generator
from ..core.size import Size as Size
from ..namespace.symbolic import SymFloat, SymInt
from ..._tensor import Tensor as Tensor
from ..ops.linalg.scaled_mm import ScalingType as ScalingType
from ..ops.linalg.scaled_mm import SwizzleType as SwizzleType
from ...nn._functional.linear_cross_entropy import LinearCrossEntropyOptions as LinearCrossEntropyOptions
from ...storage import TypedStorage, UntypedStorage

Array: TypeAlias = numpy.ndarray[Any, Any]
Bool: TypeAlias = builtins.bool
Complex: TypeAlias = builtins.complex
Float: TypeAlias = builtins.float
Int: TypeAlias = builtins.int
Text: TypeAlias = builtins.str

Device: TypeAlias = device
DType: TypeAlias = dtype
Layout: TypeAlias = layout
MemoryFormat: TypeAlias = memory_format

Number: TypeAlias = Int | Float | Bool
Scalar: TypeAlias = Int | Float | Bool | Complex | SymInt | SymFloat
IntLike: TypeAlias = Int | SymInt
Ints: TypeAlias = Sequence[Int | SymInt]
Tensors: TypeAlias = tuple[Tensor, ...] | list[Tensor]
OptionalTensors: TypeAlias = tuple[Tensor | None, ...] | list[Tensor | None]
Place: TypeAlias = device | Text | Int
Storage: TypeAlias = TypedStorage | UntypedStorage
Index: TypeAlias = SymInt | None | Bool | Int | slice[Any, Any, Any] | EllipsisType | Tensor | Array | Sequence[Index]
