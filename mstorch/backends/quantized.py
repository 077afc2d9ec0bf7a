"""torch.backends.quantized: engines of quantized operations, of which there are none here."""
from __future__ import annotations

engine: str = "none"
supported_engines: list[str] = ["none"]
