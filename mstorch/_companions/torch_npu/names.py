"""Further names of torch_npu: memory formats, numbers of dtypes, and the names of its compiled module that programs use."""
from __future__ import annotations

import enum
import types
from typing import Any, NoReturn

import mstorch as torch
from mstorch.npu.graphs import NPUTaskGroupHandle
from mstorch.npu.settings import config

from .codes import NAMED


class Format(enum.IntEnum):
    """Memory formats of CANN by number; MindSpore selects its kernels' own."""

    UNDEFINED = -1
    NCHW = 0
    NHWC = 1
    ND = 2
    NC1HWC0 = 3
    FRACTAL_Z = 4
    NC1HWC0_C04 = 12
    HWCN = 16
    NDHWC = 27
    FRACTAL_NZ = 29
    NCDHW = 30
    NDC1HWC0 = 32
    FRACTAL_Z_3D = 33
    NC = 35
    NCL = 47
    FRACTAL_NZ_C0_16 = 50
    FRACTAL_NZ_C0_32 = 51


class HiFloat8Tensor:
    """Raise NotImplementedError: numbers in the format HiFloat8, which MindSpore has no kernels for."""

    @staticmethod
    def to_hifloat8(tensor: Any) -> NoReturn:
        """Raise NotImplementedError."""
        raise NotImplementedError("mstorch: torch_npu.HiFloat8Tensor.to_hifloat8(): MindSpore has no numbers of the format HiFloat8")

    def __init__(self, *args: Any, **options: Any) -> None:
        self.to_hifloat8(None)


class _Options:
    """Options of a process group: kept, and told once that HCCL is set by MindSpore."""

    def __init__(self, is_high_priority_stream: bool = False, op_timeout: Any = None) -> None:
        self.is_high_priority_stream, self.op_timeout = is_high_priority_stream, op_timeout
        self.hccl_config: dict[str, Any] = {}
        self.global_ranks_in_group: list[int] = []
        self.group_id = self.group_name = ""


class ProcessGroupHCCL:
    """The backend "hccl"; ``torch.distributed.new_group`` makes its groups."""

    Options = _Options

    def __init__(self, *args: Any, **options: Any) -> None:
        raise NotImplementedError("mstorch: torch_npu's ProcessGroupHCCL(); write torch.distributed.new_group")


def empty_with_swapped_memory(size: Any, *, dtype: Any = None, device: Any = None) -> NoReturn:
    """Raise NotImplementedError: memory of the host that the device works in is not reached through MindSpore."""
    raise NotImplementedError(
        "mstorch: torch_npu.empty_with_swapped_memory(): memory of the host that the device works in; "
        "keep a tensor on the CPU and copy it"
    )


def weak_ref_tensor(tensor: Any) -> Any:
    """Return a tensor over the same memory, which it keeps: memory belongs to tensors here, not to a graph's pool."""
    return tensor.detach()


def get_option(name: str) -> Any:
    """Return an option of ``torch.npu.config``, by its name in capitals; None for another one."""
    return getattr(config, name.lower(), None)


def compiled_module() -> types.ModuleType:
    """Return ``torch_npu._C`` with the names that programs use; another one is absent."""
    module = types.ModuleType("torch_npu._C", "Names of torch_npu's compiled module.")
    inner = types.ModuleType("torch_npu._C._distributed_c10d", "Names of torch_npu's compiled module for process groups.")
    inner.ProcessGroupHCCL = ProcessGroupHCCL  # type: ignore[attr-defined]
    module._distributed_c10d, module._weak_ref_tensor = inner, weak_ref_tensor  # type: ignore[attr-defined]
    module._npu_getOption = get_option  # type: ignore[attr-defined]
    module._NPUTaskGroupHandle = NPUTaskGroupHandle  # type: ignore[attr-defined]
    return module


unsupported_dtype = [
    getattr(torch, name) for name in ("quint8", "quint4x2", "quint2x4", "qint32", "qint8", "float8_e5m2", "float8_e4m3fn") if hasattr(torch,
    name)
]
CODES = dict(NAMED)
__all__ = ["CODES", "Format", "HiFloat8Tensor", "ProcessGroupHCCL", "compiled_module", "empty_with_swapped_memory", "unsupported_dtype"]
