"""torch.npu.streams: streams and events."""
from .._src.devices.npu_streams import Event, Stream, StreamContext, current_stream, default_stream, set_stream, stream

__all__ = ["Event", "Stream", "StreamContext", "current_stream", "default_stream", "set_stream", "stream"]
