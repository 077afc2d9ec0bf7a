"""torch.cuda.streams: streams and events."""
from .. import cuda as _cuda

Event, ExternalStream, Stream = (_cuda._no_cuda.CLASSES[name] for name in ("Event", "ExternalStream", "Stream"))
