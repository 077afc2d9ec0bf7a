"""Ways to reduce gradients that help to find out what reducing costs."""
from __future__ import annotations

from typing import Any

from ....futures import Future


def noop_hook(_: Any, bucket: Any) -> Any:
    """Return the gradients as they are, each process's own."""
    done: Future[Any] = Future()
    done.set_result(bucket.buffer())
    return done


__all__ = ["noop_hook"]
