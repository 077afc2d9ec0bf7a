"""torch.distributed.checkpoint.hf_storage: distributed checkpoints in safetensors, which mstorch does not support."""
from __future__ import annotations

from typing import Any, NoReturn

from ..._src.hook import not_yet


class HuggingFaceStorageReader:
    """Raises NotImplementedError when constructed."""

    def __new__(cls, *args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError(f"mstorch: torch.distributed.checkpoint with {cls.__name__} {not_yet()}")


class HuggingFaceStorageWriter(HuggingFaceStorageReader):
    """Raises NotImplementedError when constructed."""


__all__ = ["HuggingFaceStorageReader", "HuggingFaceStorageWriter"]
