"""torch_npu.utils.flops_count: FLOPs of what runs between start and stop."""
from __future__ import annotations

from ....utils.flop_counter import FlopCounterMode


class FlopsCounter:
    """Counts the FLOPs of matrix products, convolutions and attention between ``start`` and ``stop``."""

    def __init__(self) -> None:
        self._mode: FlopCounterMode | None = None
        self._before = 0

    def start(self) -> None:
        """Begin to count, from zero."""
        self._before = 0
        self.resume()

    def stop(self) -> None:
        """Stop to count."""
        self.pause()

    def pause(self) -> None:
        """Count nothing until ``resume``."""
        if self._mode is not None:
            self._mode.__exit__(None, None, None)
            self._before += self._mode.get_total_flops()
            self._mode = None

    def resume(self) -> None:
        """Count further."""
        if self._mode is None:
            self._mode = FlopCounterMode(display=False)
            self._mode.__enter__()

    def get_flops(self) -> list[int]:
        """Return the FLOPs so far, twice: torch_npu gives those with and without what is computed again."""
        now = self._before + (0 if self._mode is None else self._mode.get_total_flops())
        return [now, now]


__all__ = ["FlopsCounter"]
