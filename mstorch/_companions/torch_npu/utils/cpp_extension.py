"""torch_npu.utils.cpp_extension: extensions compiled against torch_npu, which mstorch cannot load."""
from __future__ import annotations

from typing import Any, NoReturn


def NpuExtension(name: str, sources: Any, *args: Any, **options: Any) -> NoReturn:
    """Raise NotImplementedError: an extension that is compiled against torch_npu's library."""
    raise NotImplementedError(f"mstorch: torch_npu.utils.cpp_extension.NpuExtension({name!r}): code compiled against torch_npu's library")


__all__ = ["NpuExtension"]
