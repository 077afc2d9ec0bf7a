"""The base classes of ``torch.cpu.amp`` and ``torch.cuda.amp``: those of torch.amp for one device type, which torch deprecates."""
from __future__ import annotations

from .._src.core.warned import warn
from .grad_scaler import GradScaler


class DeviceGradScaler(GradScaler):
    """A GradScaler for the device type that a subclass names; warns that it is deprecated in favour of torch.amp.GradScaler."""

    _named: str

    def __init__(
        self, init_scale: float = 65536.0, growth_factor: float = 2.0, backoff_factor: float = 0.5, growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:  # fmt: skip
        name = self._named
        warn(
            f"`torch.{name}.amp.GradScaler(args...)` is deprecated. Please use `torch.amp.GradScaler('{name}', args...)` instead.",
            FutureWarning,
        )
        super().__init__(name, init_scale, growth_factor, backoff_factor, growth_interval, enabled)
