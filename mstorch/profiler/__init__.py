"""torch.profiler: step-wise timing of operations (``torch.autograd.profiler`` lists differences from torch)."""
from __future__ import annotations

import enum
import os
import socket
import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any

from .._src.hook import missing as _missing
from .._src.leaving import Block, each
from ..autograd._profile_events import EventList
from ..autograd._recorder import Recorder, watching_again
from ..autograd.profiler import kineto_available, record_function, refuse
from . import itt


class ProfilerAction(enum.Enum):
    """Action of the profiler in a step, such as WARMUP or RECORD."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3
    DEVICE_STOPPED = 4


class ProfilerActivity(enum.Enum):
    """Activities that are timed."""

    CPU = 0
    XPU = 1
    CUDA = 2
    HPU = 3
    MTIA = 4
    PrivateUse1 = 5


def schedule(
    *, wait: int, warmup: int, active: int, repeat: int = 0, skip_first: int = 0, skip_first_wait: int = 0
) -> Callable[[int], ProfilerAction]:
    """Return a function from step to action: after ``skip_first`` steps, cycles of wait, warmup and recording.

    There are ``repeat`` cycles, or unlimited ones for 0; ``skip_first_wait`` omits the wait of the first cycle.
    """
    if wait < 0 or warmup < 0 or active <= 0 or repeat < 0 or skip_first < 0:
        raise AssertionError(
            f"Invalid profiler schedule arguments. Got wait={wait} (need >= 0), warmup={warmup} (need >= 0), active={active} "
            f"(need > 0), repeat={repeat} (need >= 0), skip_first={skip_first} (need >= 0)."
        )

    def schedule_fn(step: int) -> ProfilerAction:
        if step < 0:
            raise AssertionError(f"Step must be non-negative. Got {step}.")
        step -= skip_first
        if step < 0:
            return ProfilerAction.NONE
        step += wait if skip_first_wait else 0
        cycle, place = divmod(step, wait + warmup + active)
        if repeat and cycle >= repeat or place < wait:
            return ProfilerAction.NONE
        if place < wait + warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD if place < wait + warmup + active - 1 else ProfilerAction.RECORD_AND_SAVE

    return schedule_fn


def _default_schedule_fn(step: int) -> ProfilerAction:
    return ProfilerAction.RECORD


def tensorboard_trace_handler(dir_name: str, worker_name: str | None = None, use_gzip: bool = False) -> Callable[[Any], None]:
    """Return a handler that writes each trace to a file of its own in a folder."""
    refuse(use_gzip=use_gzip)

    def write(prof: Any) -> None:
        os.makedirs(dir_name, exist_ok=True)
        worker = worker_name or f"{socket.gethostname()}_{os.getpid()}"
        prof.export_chrome_trace(os.path.join(dir_name, f"{worker}.{time.time_ns()}.pt.trace.json"))

    return write


def supported_activities() -> set[ProfilerActivity]:
    """Return the supported activities: the CPU."""
    return {ProfilerActivity.CPU}


class profile(Block):
    """Context manager that times operations, or those in the steps that a schedule selects.

    ``on_trace_ready`` is called with the profiler at the end of each cycle. ``record_shapes``, ``with_stack``, ``profile_memory`` and
    ``with_modules`` have no effect.
    """

    def __init__(
        self, *, activities: Iterable[Any] | None = None, schedule: Callable[[int], ProfilerAction] | None = None,
        on_trace_ready: Callable[..., Any] | None = None, record_shapes: bool = False, profile_memory: bool = False,
        with_stack: bool = False, with_flops: bool = False, with_modules: bool = False,
        experimental_config: object = None,
        execution_trace_observer: Any = None, acc_events: bool = False, use_cuda: bool | None = None,
        custom_trace_id_callback: Callable[[], str] | None = None, post_processing_timeout_s: float | None = None,
    ) -> None:  # fmt: skip
        refuse(with_flops=with_flops, execution_trace_observer=execution_trace_observer)
        self.activities = set(supported_activities() if activities is None else activities)
        if not self.activities:
            raise AssertionError("No valid profiler activities found")
        self.schedule = schedule or _default_schedule_fn
        self.record_steps = schedule is not None
        self.on_trace_ready = on_trace_ready
        self.record_shapes = record_shapes
        self.step_num = 0
        self.current_action = self.schedule(0)
        self._metadata: dict[str, str] = {}
        self._recorder: Recorder | None = None
        self._step: record_function | None = None
        self._events: EventList | None = None

    def __enter__(self) -> profile:
        self.at_end(each(watching_again(), self.stop))
        try:
            self.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def start(self) -> None:
        """Start with the first step."""
        self._change(ProfilerAction.NONE, self.current_action)
        self._begin_step()

    def stop(self) -> None:
        """End the last step."""
        self._end_step()
        self._change(self.current_action, None)

    def step(self) -> None:
        """End the current step, and begin the next one."""
        self._end_step()
        before = self.current_action
        self.step_num += 1
        self.current_action = self.schedule(self.step_num)
        self._change(before, self.current_action)
        self._begin_step()

    def _begin_step(self) -> None:
        if self.record_steps and self._recorder is not None:
            self._step = record_function(f"ProfilerStep#{self.step_num}")
            self._step.__enter__()

    def _end_step(self) -> None:
        if self._step is not None:
            self._step.__exit__()
            self._step = None

    def _change(self, before: ProfilerAction, after: ProfilerAction | None) -> None:
        recording = (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)
        if self._recorder is not None and (before is ProfilerAction.RECORD_AND_SAVE or after not in recording):
            self._recorder.stop()
            self._events, self._recorder = self._recorder.events(), None
            if self.on_trace_ready is not None and (before is ProfilerAction.RECORD_AND_SAVE or after is None):
                self.on_trace_ready(self)
        if self._recorder is None and after in recording:
            self._recorder = Recorder(ProfilerActivity.CPU in self.activities, self.record_shapes)
            self._recorder.start()

    def events(self) -> EventList:
        """Return the individual events of the last cycle."""
        if self._events is None:
            raise AssertionError("Profiler must be initialized before accessing events")
        return self._events

    def key_averages(
        self, group_by_input_shape: bool = False, group_by_stack_n: int = 0, group_by_overload_name: bool = False
    ) -> EventList:
        """Return the calls of the last cycle, averaged by name."""
        if self._events is None:
            raise AssertionError("Profiler must be initialized before getting key averages")
        named = EventList(self._events)
        averages = named.key_averages(group_by_input_shape, group_by_stack_n)
        steps = EventList(event for event in averages if str(event.key).startswith("ProfilerStep#"))
        if not steps:
            return averages
        together = steps.total_average()
        together.key, together.is_user_annotation = "ProfilerStep*", True
        return EventList([together, *(event for event in averages if event not in steps)])

    def export_chrome_trace(self, path: str) -> None:
        """Write the last cycle's events in the format of chrome://tracing and Perfetto."""
        self.events().export_chrome_trace(path)

    def add_metadata(self, key: str, value: str) -> None:
        """Store a text with the profile."""
        self._metadata[key] = value

    add_metadata_json = add_metadata


__all__ = [
    "ProfilerAction", "ProfilerActivity", "itt", "kineto_available", "profile", "record_function", "schedule", "supported_activities",
    "tensorboard_trace_handler",
]  # fmt: skip

if not _TYPE_CHECKING:  # submodules that torch's import binds; they are imported on first access
    __getattr__ = _missing(__name__, ("profiler",))
