"""torch_npu.utils.collect_env: torch's report of the machine."""
from __future__ import annotations

from ....npu.utils import get_cann_version
from ....utils.collect_env import get_env_info, get_pretty_env_info, main

__all__ = ["get_cann_version", "get_env_info", "get_pretty_env_info", "main"]
