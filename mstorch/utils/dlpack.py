"""torch.utils.dlpack: exchange of tensors between array libraries without a copy."""
import enum

from .._src.ops.memory.from_data import from_dlpack
from .._src.ops.memory.memory import to_dlpack


class DLDeviceType(enum.IntEnum):
    """DLPack's codes of device types."""

    kDLCPU = 1
    kDLCUDA = 2
    kDLCUDAHost = 3
    kDLOpenCL = 4
    kDLVulkan = 7
    kDLMetal = 8
    kDLVPI = 9
    kDLROCM = 10
    kDLROCMHost = 11
    kDLExtDev = 12
    kDLCUDAManaged = 13
    kDLOneAPI = 14
    kDLWebGPU = 15
    kDLHexagon = 16
    kDLMAIA = 17


__all__ = ["DLDeviceType", "from_dlpack", "to_dlpack"]
