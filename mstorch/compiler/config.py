"""torch.compiler.config: options of torch's compilers, stored without effect."""
from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any, NoReturn

from .._src.patched_settings import Patch

job_id: str | None = None
dynamic_shapes = True
assume_static_by_default = True
automatic_dynamic_shapes = True
recompile_limit = 8
accumulated_recompile_limit = 256
verbose = False
capture_scalar_outputs = False
capture_dynamic_output_shape_ops = False
log_file_name: str | None = None
fail_on_recompile_limit_hit = False
allow_unspec_int_on_nn_module = False
skip_tensor_guards_with_matching_dict_tags = True
enable_cpp_symbolic_shape_guards = False
wrap_top_frame = False
reorderable_logging_functions: set[Callable[..., Any]] = set()
force_disable_caches = False
compile_on_one_rank = False

class patch(Patch):
    """Context manager and decorator that sets options: ``patch("verbose", True)``, ``patch(verbose=True)``."""

    module = __name__


class _Options(ModuleType):
    """A module in which only options that exist can be set."""

    def __getattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"torch.compiler.config.{name} does not exist")

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in vars(self) and not name.startswith("__"):
            raise AttributeError(f"torch.compiler.config.{name} does not exist")
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Options

__all__ = [
    "accumulated_recompile_limit", "allow_unspec_int_on_nn_module", "assume_static_by_default", "automatic_dynamic_shapes",
    "capture_dynamic_output_shape_ops", "capture_scalar_outputs", "compile_on_one_rank", "dynamic_shapes",
    "enable_cpp_symbolic_shape_guards", "fail_on_recompile_limit_hit", "force_disable_caches", "job_id", "log_file_name", "recompile_limit",
    "reorderable_logging_functions", "skip_tensor_guards_with_matching_dict_tags", "verbose", "wrap_top_frame",
]  # fmt: skip
