"""torch._vendor.packaging.version: that of the installed `packaging`."""
from packaging.version import VERSION_PATTERN, InvalidVersion, Version, parse

__all__ = ["VERSION_PATTERN", "InvalidVersion", "Version", "parse"]
