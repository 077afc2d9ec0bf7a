"""torch.nn.quantized: the deprecated name of torch.ao.nn.quantized."""
from __future__ import annotations

from ...ao._old_names import of

__all__, __getattr__, __dir__ = of(__name__)
