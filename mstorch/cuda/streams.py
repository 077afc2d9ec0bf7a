"""torch.cuda.streams: streams and events."""
from .._src.devices import no_cuda as _no_cuda

Event, ExternalStream, Stream = (_no_cuda.CLASSES[name] for name in ("Event", "ExternalStream", "Stream"))
