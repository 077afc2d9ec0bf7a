"""torch_npu.utils.storage: what checkpoints of torch_npu name."""
from ..._serialization.rebuild import OF_NPU

_rebuild_npu_tensor = OF_NPU["torch_npu.utils.storage"]["_rebuild_npu_tensor"]
