"""Communication hooks: allreduce, also in 16 bits."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mstorch import bfloat16, float16

from ...._src.core.dtype import dtype
from ...._tensor import Tensor
from ....futures import Future
from ..._group import ProcessGroup
from ..._reducer import GradBucket
from ..._world import chosen


def _mean(group: ProcessGroup | None, tensor: Tensor) -> Any:
    """Return a future of a tensor's mean over the ranks, computed in place."""
    found = chosen(group)
    tensor.div_(found.size())
    return found.allreduce([tensor]).get_future().then(lambda done: done.value()[0])


def allreduce_hook(process_group: ProcessGroup | None, bucket: GradBucket) -> Any:
    """Return a future of the bucket's mean over the ranks."""
    return _mean(process_group, bucket.buffer())


def _compressed(process_group: ProcessGroup | None, bucket: GradBucket, kind: dtype) -> Any:
    buffer = bucket.buffer()

    def widen(done: Future[Any]) -> Any:
        buffer.copy_(done.value())
        return buffer

    return _mean(process_group, buffer.to(kind)).then(widen)


def fp16_compress_hook(process_group: ProcessGroup | None, bucket: GradBucket) -> Any:
    """Return a future of the bucket's mean, communicated as float16."""
    return _compressed(process_group, bucket, float16)


def bf16_compress_hook(process_group: ProcessGroup, bucket: GradBucket) -> Any:
    """Return a future of the bucket's mean, communicated as bfloat16."""
    return _compressed(process_group, bucket, bfloat16)


def _wrapped(hook: Callable[[Any, Any], Any], kind: dtype) -> Callable[[Any, Any], Any]:
    def narrowed(state: Any, bucket: GradBucket) -> Any:
        buffer = bucket.buffer()
        bucket.set_buffer(buffer.to(kind))

        def widen(done: Future[Any]) -> Tensor:
            value = done.value()
            buffer.copy_(value[0] if isinstance(value, (list, tuple)) else value)
            bucket.set_buffer(buffer)
            return buffer

        return hook(state, bucket).then(widen)

    return narrowed


def fp16_compress_wrapper(hook: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Wrap a hook so that it receives the gradients as float16."""
    return _wrapped(hook, float16)


def bf16_compress_wrapper(hook: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Wrap a hook so that it receives the gradients as bfloat16."""
    return _wrapped(hook, bfloat16)


__all__ = ["allreduce_hook", "bf16_compress_hook", "bf16_compress_wrapper", "fp16_compress_hook", "fp16_compress_wrapper"]
