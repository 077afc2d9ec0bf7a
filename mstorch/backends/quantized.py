"""torch.backends.quantized: engines of quantized operations; mstorch has none."""
from __future__ import annotations

engine: str = "none"
supported_engines: list[str] = ["none"]
