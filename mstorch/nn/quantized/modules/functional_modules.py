"""torch.nn.quantized.modules.functional_modules: the deprecated name of torch.ao.nn.quantized.modules.functional_modules."""
from __future__ import annotations

from typing import Any

from ....ao.nn.quantized.modules import functional_modules as _new
from ....ao.nn.quantized.modules.functional_modules import FloatFunctional, FXFloatFunctional, QFunctional

__all__ = ["FXFloatFunctional", "FloatFunctional", "QFunctional"]


def __getattr__(name: str) -> Any:
    return getattr(_new, name)
