"""torch.autograd.profiler: times of operations, measured from Python.

Differs from torch: an operation's time is that of the Python function; what torch's own operators call inside, memory, stacks, FLOPs and
devices are not recorded.
"""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from .._src.hook import missing as _missing
from .._src.leaving import Block, each
from ._profile_events import EventList, FunctionEvent, FunctionEventAvg
from ._profile_parts import EnforceUnique, KinetoStepTracker
from ._recorder import Recorder, running, watching_again


def refuse(**options: Any) -> None:
    """Raise NotImplementedError for profiler options that are not supported."""
    asked = [name for name, value in options.items() if value]
    if asked:
        raise NotImplementedError(f"mstorch: the profiler does not record {', '.join(asked)}")


class record_function:
    """A named block: ``with record_function("forward"):``, or a decorator."""

    def __init__(self, name: str, args: str | None = None) -> None:
        self.name = name
        self.args = args
        self._seen: list[Recorder] = []

    def __enter__(self) -> record_function:
        self._seen = running()
        for recorder in self._seen:
            recorder.begin(self.name, self, True)
        return self

    def __exit__(self, *error: Any) -> None:
        for recorder in self._seen:
            if recorder.is_open(self):
                recorder.end()
        self._seen = []

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def named(*args: Any, **kwargs: Any) -> Any:
            with record_function(self.name, self.args):
                return function(*args, **kwargs)

        return named


class profile(Block):
    """A context manager that records the times of operations (see the module's docstring for differences from torch)."""

    def __init__(
        self, enabled: bool = True, *, use_cuda: bool = False, use_device: str | None = None, record_shapes: bool = False,
        with_flops: bool = False, profile_memory: bool = False, with_stack: bool = False, with_modules: bool = False,
        use_kineto: bool = False, use_cpu: bool = True, experimental_config: Any = None, acc_events: bool = False,
        custom_trace_id_callback: Callable[[], str] | None = None, post_processing_timeout_s: float | None = None,
        activity_filters: dict[Any, set[str]] | None = None,
    ) -> None:  # fmt: skip
        refuse(with_flops=with_flops, use_device=use_device, use_cuda=use_cuda)
        self.enabled = enabled
        self.entered = False
        self.function_events: EventList | None = None
        self._recorder = Recorder(shapes=record_shapes)

    def __enter__(self) -> profile | None:
        if not self.enabled:
            self.at_end(each())
            return None
        if self.entered:
            raise RuntimeError("Profiler context manager is not reentrant")
        self.at_end(each(watching_again(), self._finish))
        try:
            self.entered = True
            self._recorder.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def _finish(self) -> None:
        self.function_events = self._recorder.events()

    def _events(self) -> EventList:
        if self.function_events is None:
            raise RuntimeError("Profiler didn't finish running")
        return self.function_events

    def __str__(self) -> str:
        return "<unfinished torch.autograd.profile>" if self.function_events is None else str(self.function_events)

    def key_averages(
        self, group_by_input_shape: bool = False, group_by_stack_n: int = 0, group_by_overload_name: bool = False
    ) -> EventList:
        """Return the events aggregated by name."""
        return self._events().key_averages(group_by_input_shape, group_by_stack_n)

    def table(self, sort_by: str | None = None, row_limit: int = 100, **options: Any) -> str:
        """Return the events as a table."""
        return self._events().table(sort_by=sort_by, row_limit=row_limit, **options)

    def total_average(self) -> FunctionEventAvg:
        """Return the sum of all calls."""
        return self._events().total_average()

    def export_chrome_trace(self, path: str) -> None:
        """Write the events as a trace for chrome://tracing and Perfetto."""
        self._events().export_chrome_trace(path)

    @property
    def self_cpu_time_total(self) -> float:
        """The sum of all events' self times, in microseconds."""
        return self._events().self_cpu_time_total


class _Markers:
    """Base of annotations for NVIDIA's or Intel's profiler."""

    def __init__(self, enabled: bool = True, record_shapes: bool = False) -> None:
        refuse(**{type(self).__name__: enabled})

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *error: Any) -> None:
        return None


class emit_nvtx(_Markers):
    """Raises NotImplementedError: annotations for NVIDIA's profiler are not supported."""


class emit_itt(_Markers):
    """Raises NotImplementedError: annotations for Intel's profiler are not supported."""


def kineto_available() -> bool:
    """Return False: torch's Kineto is not available."""
    return False


__all__ = [
    "EnforceUnique", "EventList", "FunctionEvent", "FunctionEventAvg", "KinetoStepTracker", "emit_itt", "emit_nvtx",
    "kineto_available", "profile", "record_function",
]  # fmt: skip

__getattr__ = _missing(__name__)
