"""torch.distributed.tensor.device_mesh: re-exports DeviceMesh."""
from ..device_mesh import DeviceMesh, init_device_mesh

__all__ = ["DeviceMesh", "init_device_mesh"]
