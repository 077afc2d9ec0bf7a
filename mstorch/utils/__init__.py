"""torch.utils: data loading, checkpoints, pytrees, hooks, tensorboard and other utilities."""
from pathlib import Path as _Path

from .._src.core.swap import swap_tensors
from .._src.hook import missing as _missing
from . import checkpoint, dlpack, hooks

__all__ = ["checkpoint", "data", "dlpack", "hooks", "swap_tensors"]

cmake_prefix_path = str(_Path(__file__).parents[1] / "share" / "cmake")
"""Where CMake is to look for the package's configuration. mstorch has no C++ library and ships none: ``find_package(Torch)`` does not
succeed with it."""

__getattr__ = _missing(__name__, (
    "_contextlib", "_dtype_abbrs", "_import_utils", "_mode_utils", "_ordered_set", "_pytree", "_traceback", "collect_env", "data",
    "deterministic", "weak",
))  # fmt: skip
