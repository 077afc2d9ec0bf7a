"""DataParallel for the one device of a MindSpore process."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..._src.core.device import device
from ..._tensor import Tensor
from ..._utils import _get_available_device_type
from ..modules.module import Module


class DataParallel(Module):
    """Runs ``module`` (its state_dict keys begin with "module.") on the whole batch.

    Differs from torch: a MindSpore process has one device, so ``device_ids`` are kept, but the batch is not split; several devices need
    several processes.
    """

    def __init__(
        self, module: Module, device_ids: Sequence[Any] | None = None, output_device: int | device | None = None, dim: int = 0
    ) -> None:
        super().__init__()
        self.module = module
        if _get_available_device_type() is None:  # on the CPU torch sets no other attributes
            self.device_ids: list[Any] = []
            return
        self.device_ids = list(device_ids or ())
        self.output_device = output_device
        self.dim = dim

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """Return the result of ``module``."""
        return self.module(*inputs, **kwargs)


def data_parallel(
    module: Module, inputs: Any, device_ids: Sequence[Any] | None = None, output_device: int | device | None = None, dim: int = 0,
    module_kwargs: Any | None = None,
) -> Tensor:  # fmt: skip
    """Return ``module(*inputs, **module_kwargs)``, run on the process's one device (see ``DataParallel``)."""
    if inputs is None:
        inputs = ()
    elif not isinstance(inputs, tuple):
        inputs = (inputs,)
    return module(*inputs, **(module_kwargs or {}))


__all__ = ["DataParallel", "data_parallel"]
