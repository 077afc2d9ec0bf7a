"""DataParallel on the one device that a process of MindSpore has."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..._tensor import Tensor
from ..._utils import _get_available_device_type
from ..modules.module import Module


class DataParallel(Module):
    """Runs ``module`` (its state_dict keys begin with "module.") on the whole batch.

    Differs from torch: a MindSpore process has one device, so that ``device_ids`` are kept on a device, but the batch is not divided;
    several devices take several processes.
    """

    def __init__(
        self, module: Module, device_ids: Sequence[Any] | None = None, output_device: Any = None, dim: int = 0
    ) -> None:
        super().__init__()
        self.module = module
        if _get_available_device_type() is None:  # on the CPU torch keeps nothing else
            self.device_ids: list[Any] = []
            return
        self.device_ids = list(device_ids or ())
        self.output_device = output_device
        self.dim = dim

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """Return what ``module`` gives for the arguments."""
        return self.module(*inputs, **kwargs)


def data_parallel(
    module: Module, inputs: Any, device_ids: Sequence[Any] | None = None, output_device: Any = None, dim: int = 0,
    module_kwargs: Any | None = None,
) -> Tensor:  # fmt: skip
    """``module(*inputs, **module_kwargs)`` on the process's one device (see ``DataParallel``)."""
    if inputs is None:
        inputs = ()
    elif not isinstance(inputs, tuple):
        inputs = (inputs,)
    return module(*inputs, **(module_kwargs or {}))


__all__ = ["DataParallel", "data_parallel"]
