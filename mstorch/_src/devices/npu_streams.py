"""Streams and events of torch.npu, and of torch.cuda on a GPU: MindSpore's, with torch's names and semantics."""
from __future__ import annotations

from ..backend import runtime, streams
from ..backend.recording import refuse_waiting
from ..core.device import current, index_of
from ..core.device import device as Device
from ..core.no_memory import tells_no_memory
from ..leaving import Block


def _here() -> Device:
    if runtime.device_type() == "cpu":
        raise RuntimeError("mstorch: MindSpore computes on no Ascend device in this process")
    return current()


class Stream(Block):
    """Ordered queue of device work; streams may overlap. ``priority``: lower numbers run first.

    There are 32 streams of each priority, handed out in turn: the thirty-third is equal to the first.
    """

    def __init__(
        self, device: int | str | Device | None = None, priority: int = 0, *, stream_id: int | None = None, device_index: int | None = None,
        device_type: int | None = None,
    ) -> None:
        self.device = _here()
        self.device_index = index_of(device if device_index is None else device_index)
        self.device_type = 1 if self.device.type == "cuda" else 20  # torch's number of devices that extensions name
        self.stream_id = streams.next_number(priority) if stream_id is None else stream_id
        self._native = streams.numbered(self.stream_id)

    @property
    def npu_stream(self) -> int:
        """Number of the stream."""
        return self.stream_id

    cuda_stream = npu_stream

    @property
    def priority(self) -> int:
        """-1 of a stream of high priority, else 0."""
        return -int(streams.NUMBERS < self.stream_id <= 2 * streams.NUMBERS)

    def query(self) -> bool:
        """Return whether all work of the stream is complete."""
        return bool(self._native.query())

    @tells_no_memory
    def synchronize(self) -> None:
        """Wait until all work of the stream is complete; raise its error if it failed."""
        refuse_waiting()
        runtime.synchronize_stream(self._native)

    def record_event(self, event: Event | None = None) -> Event:
        """Record an event (by default a new one) in the stream, and return it."""
        event = Event() if event is None else event
        event.record(self)
        return event

    def wait_event(self, event: Event) -> None:
        """Make later work of the stream wait for an event."""
        self._native.wait_event(event._native)

    def wait_stream(self, stream: Stream) -> None:
        """Make later work of the stream wait for the current work of another stream."""
        self.wait_event(stream.record_event())

    def __enter__(self) -> Stream:
        self.at_end(streams.current_again())
        try:
            streams.set_current(self.stream_id)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and (other.stream_id, other.device) == (self.stream_id, self.device)

    def __hash__(self) -> int:
        return hash((self.stream_id, self.device))

    def __repr__(self) -> str:
        name = "torch.cuda.Stream" if self.device.type == "cuda" else "torch_npu.npu.Stream"
        return f"<{name} device={self.device} {self.device.type}_stream={self.npu_stream:#x}>"


class Event:
    """Event of a stream."""

    def __init__(self, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False) -> None:
        self.device = _here()
        if interprocess:
            raise NotImplementedError("mstorch: MindSpore's events stay in their process")
        self._timed, self._recorded = enable_timing, False
        self._native = streams.new_event(enable_timing, blocking)

    def record(self, stream: Stream | None = None) -> None:
        """Record the event in a stream (by default the current one)."""
        self._native.record(streams.current_stream() if stream is None else stream._native)
        self._recorded = True

    def wait(self, stream: Stream | None = None) -> None:
        """Make later work of a stream wait for the event."""
        self._native.wait(streams.current_stream() if stream is None else stream._native)

    def query(self) -> bool:
        """Return whether the event has completed; True if it was not recorded."""
        return not self._recorded or bool(self._native.query())

    @tells_no_memory
    def synchronize(self) -> None:
        """Wait until the event has completed; raise the error of the work before it if that failed."""
        refuse_waiting()
        if self._recorded:
            self._native.synchronize()

    def elapsed_time(self, end_event: Event) -> float:
        """Return the milliseconds between two events with ``enable_timing=True``; raise ValueError if one was not recorded, or lacks
        timing.
        """
        if not (self._timed and end_event._timed):
            raise ValueError("Both events must be created with argument 'enable_timing=True'.")
        if not (self._recorded and end_event._recorded):
            raise ValueError("Both events must be recorded before calculating elapsed time.")
        end_event.synchronize()
        return float(self._native.elapsed_time(end_event._native))

    def __repr__(self) -> str:
        home = "torch.cuda" if self.device.type == "cuda" else "torch_npu.npu"
        return f"<{home}.Event {'recorded' if self._recorded else 'uninitialized'}>"


class StreamContext(Block):
    """Context manager that selects a stream; None has no effect."""

    def __init__(self, stream: Stream | None) -> None:
        self.stream = stream

    def __enter__(self) -> None:
        self.at_end(streams.current_again())
        try:
            if self.stream is not None:
                streams.set_current(self.stream.stream_id)
        except BaseException:
            self.__exit__()
            raise


def stream(stream: Stream | None) -> StreamContext:
    """Return a context manager that selects a stream; None has no effect."""
    return StreamContext(stream)


def current_stream(device: int | str | Device | None = None) -> Stream:
    """Return the current stream."""
    _here()
    return Stream(stream_id=streams.current_number())


def default_stream(device: int | str | Device | None = None) -> Stream:
    """Return the default stream."""
    _here()
    return Stream(stream_id=0)


def set_stream(stream: Stream | None) -> None:
    """Set the current stream; None has no effect."""
    if stream is not None:
        streams.set_current(stream.stream_id)
