"""torch_npu.utils.collect_env: torch's report of the machine."""
from __future__ import annotations

import os
import re
from pathlib import Path

from ....utils.collect_env import get_env_info, get_pretty_env_info, main


def get_cann_version(module: str = "CANN") -> str:
    """Return the version in CANN's own file, of the installation that ASCEND_HOME_PATH names; "" if there is none."""
    home = os.environ.get("ASCEND_HOME_PATH") or os.environ.get("ASCEND_TOOLKIT_HOME")
    for path in sorted(Path(home).glob("*/ascend_toolkit_install.info")) if home else ():
        match = re.search(r"^version=(.+)$", path.read_text("utf-8", "replace"), re.MULTILINE)
        if match:
            return match[1].strip()
    return ""


__all__ = ["get_cann_version", "get_env_info", "get_pretty_env_info", "main"]
