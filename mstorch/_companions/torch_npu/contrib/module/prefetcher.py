"""torch_npu.contrib.module.prefetcher: batches that are copied one ahead."""
from __future__ import annotations

from typing import Any

from mstorch import npu


class Prefetcher:
    """Copies (input, target) pairs of a loader to the device on a separate stream, one pair ahead."""

    def __init__(self, loader: Any, stream: Any = None) -> None:
        self.loader = iter(loader)
        self.stream = npu.Stream() if stream is None else stream
        self.next_input: Any = None
        self.next_target: Any = None
        self.preload()

    def preload(self) -> None:
        """Start to copy the next pair to the device."""
        self.next_input, self.next_target = next(self.loader, (None, None))
        if self.next_target is not None:
            with npu.stream(self.stream):
                self.next_input, self.next_target = (one.npu(non_blocking=True) for one in (self.next_input, self.next_target))

    def next(self) -> tuple[Any, Any]:
        """Return the next pair; (None, None) at the end."""
        npu.current_stream().wait_stream(self.stream)
        found = self.next_input, self.next_target
        if found[1] is not None:
            self.preload()
        return found


__all__ = ["Prefetcher"]
