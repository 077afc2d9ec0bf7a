"""torch._dynamo.config: options of torch's compiler, stored without effect."""
from __future__ import annotations

from .._src.patched_settings import Patch

verbose = False
disable = False
suppress_errors = False
recompile_limit = cache_size_limit = 8
accumulated_recompile_limit = accumulated_cache_size_limit = 256
error_on_recompile = False
fail_on_recompile_limit_hit = fail_on_cache_limit_hit = False
dynamic_shapes = True
assume_static_by_default = True
automatic_dynamic_shapes = True
force_parameter_static_shapes = True
specialize_int = specialize_float = False
capture_scalar_outputs = False
capture_dynamic_output_shape_ops = False
guard_nn_modules = True
inline_inbuilt_nn_modules = True
optimize_ddp: bool | str = True
compiled_autograd = False
allow_rnn = False
trace_numpy = True
cprofile = False
log_file_name: str | None = None
skip_fwd_side_effects_in_bwd_under_checkpoint = False


class patch(Patch):
    """Context manager and decorator that sets options: ``patch("verbose", True)``, ``patch(verbose=True)``."""

    module = __name__
