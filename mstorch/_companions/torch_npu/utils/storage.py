"""torch_npu.utils.storage: names in torch_npu's checkpoints."""
from ...._src.serialization.rebuild import OF_NPU

_rebuild_npu_tensor = OF_NPU["torch_npu.utils.storage"]["_rebuild_npu_tensor"]
