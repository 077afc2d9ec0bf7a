"""torch.utils: data loading, checkpoints, pytrees, hooks, tensorboard and other utilities."""
from .._src.core.swap import swap_tensors
from .._src.hook import missing as _missing
from . import checkpoint, dlpack, hooks

__all__ = ["checkpoint", "data", "dlpack", "hooks", "swap_tensors"]

__getattr__ = _missing(__name__, (
    "_contextlib", "_dtype_abbrs", "_import_utils", "_mode_utils", "_ordered_set", "_pytree", "_traceback", "collect_env", "data",
    "deterministic", "weak",
))  # fmt: skip
