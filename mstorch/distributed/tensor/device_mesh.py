"""torch.distributed.tensor.device_mesh: meshes by the name that DTensor's module has for them."""
from ..device_mesh import DeviceMesh, init_device_mesh

__all__ = ["DeviceMesh", "init_device_mesh"]
