"""torch._vendor.packaging.version: that of the installed `packaging`."""
from __future__ import annotations

from packaging.version import VERSION_PATTERN, InvalidVersion, Version, parse

__all__ = ["VERSION_PATTERN", "InvalidVersion", "Version", "parse"]
