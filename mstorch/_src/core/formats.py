"""torch's memory formats and layouts."""
from __future__ import annotations

from typing import Any

from .naming import is_torch


class _Constant:
    """Singleton constant whose repr is ``torch.name``."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __reduce__(self) -> str | tuple[Any, ...]:
        return self.name if is_torch() else (by_name, (self.name,))

    def __copy__(self) -> Any:
        return self

    def __deepcopy__(self, memo: Any) -> Any:
        return self


class memory_format(_Constant):
    """Memory format: the order of a tensor's dimensions in memory."""

    __slots__ = ()


class layout(_Constant):
    """Layout of a tensor: strided, or one of the sparse layouts."""

    __slots__ = ()


contiguous_format = memory_format("contiguous_format")
preserve_format = memory_format("preserve_format")
channels_last = memory_format("channels_last")
channels_last_3d = memory_format("channels_last_3d")
legacy_contiguous_format = contiguous_format
strided = layout("strided")
jagged = layout("jagged")
sparse_coo, sparse_csr, sparse_csc, sparse_bsr, sparse_bsc = (
    layout(f"sparse_{kind}") for kind in ("coo", "csr", "csc", "bsr", "bsc")
)

_ALL = {c.name: c for c in (
    contiguous_format, preserve_format, channels_last, channels_last_3d, strided, jagged, sparse_coo, sparse_csr, sparse_csc,
    sparse_bsr, sparse_bsc,
)}  # fmt: skip


def by_name(name: str) -> Any:
    """Return the constant with this name."""
    return _ALL[name]
