"""apex.multi_tensor_apply: functions of lists of tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

available = True


class MultiTensorApply:
    """Calls a function of lists of tensors, such as those of ``amp_C``, with a size of chunks."""

    available = True
    warned = False

    def __init__(self, chunk_size: int) -> None:
        self.chunk_size = chunk_size

    def __call__(self, op: Callable[..., Any], noop_flag_buffer: Any, tensor_lists: Any, *args: Any) -> Any:
        return op(self.chunk_size, noop_flag_buffer, tensor_lists, *args)


multi_tensor_applier = MultiTensorApply(2048 * 32)

__all__ = ["MultiTensorApply", "multi_tensor_applier"]
