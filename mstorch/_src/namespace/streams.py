"""torch.Stream and torch.Event: of the CPU, where work is complete when the call returns and events are not supported, or of Ascend.

Those of Ascend are ``torch.npu``'s; for GPUs MindSpore has none.
"""
from __future__ import annotations

from typing import Any, NoReturn

from ..backend import runtime
from ..core.device import device, index_of
from ..core.device import device as Device
from ..devices import npu_streams as npu


def _is_npu(device: device | str | int | None) -> bool:
    """Return whether a stream's or event's ``device`` argument selects the accelerator, by name, by index or, if None, by default."""
    if runtime.device_type() != "npu":
        return False
    found = Device("npu") if device is None else Device(device)
    if found.type != "npu":
        return False
    index_of(found)  # raises unless it is the device on which the process computes
    return True


class _OfPlace(type):
    """Metaclass whose call constructs the class of the requested device."""

    def __call__(cls, device: device | str | int | None = None, **kwargs: Any) -> Any:
        if cls in _OF_NPU and _is_npu(device):
            return _OF_NPU[cls](**kwargs)
        return super().__call__(device, **kwargs)

    def __instancecheck__(cls, item: Any) -> bool:
        return super().__instancecheck__(item) or (cls in _OF_NPU and isinstance(item, _OF_NPU[cls]))


def _cpu(device: device | str | int | None) -> Device:
    found = Device("cpu") if device is None else Device(device)
    if isinstance(device, int):
        raise RuntimeError("Cannot access accelerator device when none is available.")
    if found.type != "cpu":
        raise RuntimeError(f"PyTorch is not linked with support for {found.type} devices")
    return Device("cpu")


def _no_events() -> NoReturn:
    raise RuntimeError("cpu backend doesn't support events.")


class Stream(metaclass=_OfPlace):
    """Stream of operations executed in order; the CPU has one."""

    stream_id, device_index, device_type = 0, -1, 0

    def __init__(self, device: device | str | int | None = None, *, priority: int = 0) -> None:
        self.device = _cpu(device)

    def query(self) -> bool:
        """Return True: all work of the stream is complete."""
        return True

    def synchronize(self) -> None:
        """Do nothing: all work of the stream is complete."""

    def wait_event(self, event: Event) -> None:
        """Do nothing: the event has completed."""

    def wait_stream(self, stream: Stream) -> None:
        """Raise RuntimeError: the CPU has no events."""
        _no_events()

    def record_event(self, event: Event | None = None) -> Event:
        """Raise RuntimeError: the CPU has no events."""
        _no_events()

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *error: Any) -> None:
        pass

    def __eq__(self, other: object) -> bool:
        return type(other) is Stream

    def __hash__(self) -> int:
        return hash((self.stream_id, self.device_index, self.device_type))

    def __repr__(self) -> str:
        return "torch.Stream device_type=cpu, device_index=-1, stream_id=0"


class Event(metaclass=_OfPlace):
    """Event of a stream."""

    event_id = 0

    def __init__(
        self, device: device | str | int | None = None, *, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False
    ) -> None:
        self.device = _cpu(device)
        self._timed = enable_timing

    def record(self, stream: Stream | None = None) -> None:
        """Raise RuntimeError: the CPU has no events."""
        _no_events()

    def query(self) -> bool:
        """Return True: the CPU has no pending work."""
        return True

    def synchronize(self) -> None:
        """Do nothing: the CPU has no pending work."""

    def wait(self, stream: Stream | None = None) -> None:
        """Do nothing: the CPU has no pending work."""

    def elapsed_time(self, end_event: Event) -> float:
        """Raise RuntimeError: events on the CPU have no times."""
        if not (self._timed and end_event._timed):
            raise ValueError("Both events must be created with argument 'enable_timing=True'.")
        raise ValueError("Both events must be recorded before calculating elapsed time.")

    def __repr__(self) -> str:
        return f"torch.Event device_type=cpu, device_index=-1, event_flag={int(self._timed)}, event_id=0"


_OF_NPU: dict[Any, Any] = {Stream: npu.Stream, Event: npu.Event}
