"""Communication hooks for measuring the cost of communication."""
from __future__ import annotations

from typing import Any

from ....futures import Future
from ..._reducer import GradBucket


def noop_hook(_: Any, bucket: GradBucket) -> Any:
    """Return a future of the bucket as it is, without communication."""
    done: Future[Any] = Future()
    done.set_result(bucket.buffer())
    return done


__all__ = ["noop_hook"]
