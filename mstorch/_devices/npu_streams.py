"""torch.npu.Stream and Event: MindSpore's, under the names and rules of torch's."""
from __future__ import annotations

from typing import Any

from .._backend import runtime, streams
from .._core.device import current, index_of
from .._core.device import device as Device
from .._leaving import Block


def _here() -> Device:
    if runtime.device_type() != "npu":
        raise RuntimeError("mstorch: MindSpore computes on no Ascend device in this process")
    return current()


class Stream(Block):
    """Work of the device in order; work of several streams may overlap. ``priority``: below 0 before others."""

    device_type = 20  # torch's number of devices that extensions name

    def __init__(self, device: Any = None, priority: int = 0, *, native: Any = None) -> None:
        self.device = _here()
        self.device_index = index_of(device)
        self._native = streams.new_stream(priority) if native is None else native

    @property
    def npu_stream(self) -> int:
        """The stream's number."""
        return int(self._native.id)

    stream_id = npu_stream

    def query(self) -> bool:
        """Return whether all that was given to the stream is done."""
        return bool(self._native.query())

    def synchronize(self) -> None:
        """Wait for all that was given to the stream."""
        self._native.synchronize()

    def record_event(self, event: Event | None = None) -> Event:
        """Return an event (a new one unless given) that passes when the work up to here is done."""
        event = Event() if event is None else event
        event.record(self)
        return event

    def wait_event(self, event: Event) -> None:
        """Let later work wait for an event."""
        self._native.wait_event(event._native)

    def wait_stream(self, stream: Stream) -> None:
        """Let later work wait for what another stream was given."""
        self.wait_event(stream.record_event())

    def __enter__(self) -> Stream:
        self.at_end(streams.current_again())
        try:
            streams.set_current(self._native)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and other.npu_stream == self.npu_stream

    def __hash__(self) -> int:
        return hash((self.npu_stream, self.device))

    def __repr__(self) -> str:
        return f"<torch_npu.npu.Stream device={self.device} npu_stream={self.npu_stream:#x}>"


class Event:
    """A moment in a stream's work."""

    def __init__(self, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False) -> None:
        self.device = _here()
        if interprocess:
            raise NotImplementedError("mstorch: MindSpore's events stay in their process")
        self._timed, self._recorded = enable_timing, False
        self._native = streams.new_event(enable_timing, blocking)

    def record(self, stream: Stream | None = None) -> None:
        """Let the event pass when a stream (the current one unless given) has done its work up to here."""
        self._native.record(streams.current_stream() if stream is None else stream._native)
        self._recorded = True

    def wait(self, stream: Stream | None = None) -> None:
        """Let a stream's later work wait for the event."""
        self._native.wait(streams.current_stream() if stream is None else stream._native)

    def query(self) -> bool:
        """Return whether the event has passed; one that was not recorded has."""
        return not self._recorded or bool(self._native.query())

    def synchronize(self) -> None:
        """Wait for the event."""
        if self._recorded:
            self._native.synchronize()

    def elapsed_time(self, end_event: Event) -> float:
        """Return milliseconds between two events of ``enable_timing=True``; raise ValueError if one was not recorded, or has no timing."""
        if not (self._timed and end_event._timed):
            raise ValueError("Both events must be created with argument 'enable_timing=True'.")
        if not (self._recorded and end_event._recorded):
            raise ValueError("Both events must be recorded before calculating elapsed time.")
        end_event.synchronize()
        return float(self._native.elapsed_time(end_event._native))

    def __repr__(self) -> str:
        return f"<torch_npu.npu.Event {'recorded' if self._recorded else 'uninitialized'}>"


class StreamContext(Block):
    """Give work to a stream inside of a ``with`` block; None changes nothing."""

    def __init__(self, stream: Stream | None) -> None:
        self.stream = stream

    def __enter__(self) -> None:
        self.at_end(streams.current_again())
        try:
            if self.stream is not None:
                streams.set_current(self.stream._native)
        except BaseException:
            self.__exit__()
            raise


def stream(stream: Stream | None) -> StreamContext:
    """Give work to a stream inside of a ``with`` block; None changes nothing."""
    return StreamContext(stream)


def current_stream(device: Any = None) -> Stream:
    """Return the stream that work is given to."""
    _here()
    return Stream(native=streams.current_stream())


def default_stream(device: Any = None) -> Stream:
    """Return the stream that work is given to unless another is chosen."""
    _here()
    return Stream(native=streams.default_stream())


def set_stream(stream: Stream | None) -> None:
    """Give work to a stream from now on; None changes nothing."""
    if stream is not None:
        streams.set_current(stream._native)


__all__ = ["Event", "Stream", "StreamContext", "current_stream", "default_stream", "set_stream", "stream"]
