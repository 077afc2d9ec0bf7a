"""torch_npu.utils.profiler: a profile of some steps of a loop."""
from __future__ import annotations

from typing import Any

from .. import profiler as _profiler


class Profile:
    """Profiles one step, the ``start_step``-th call of ``start`` to the next ``end``, if ``profile_type`` is TORCH or ASCEND_PROFILER."""

    def __init__(
        self, start_step: int = 10, save_path: str = "./npu_profiling", profile_type: str | None = None, use_npu: bool = True,
        record_shape: bool = True, experimental_config: Any = None, **kwargs: Any,
    ) -> None:  # fmt: skip
        self.start_step, self.save_path, self.profile_type = start_step, save_path, profile_type
        self.enable = profile_type in ("TORCH", "ASCEND_PROFILER")
        self.step_count, self._shapes = 0, record_shape
        self._open: _profiler.profile | None = None

    def start(self) -> None:
        """Begin a step."""
        self.step_count += 1
        if self.enable and self.step_count == self.start_step:
            self._open = _profiler.profile(on_trace_ready=_profiler.tensorboard_trace_handler(self.save_path), record_shapes=self._shapes)
            self._open.__enter__()

    def end(self) -> None:
        """End a step; the profiled one writes its trace."""
        if self._open is not None:
            self._open.__exit__(None, None, None)
            self._open = None


__all__ = ["Profile"]
