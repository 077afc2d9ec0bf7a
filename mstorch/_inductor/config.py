"""torch._inductor.config: options of a compiler that mstorch does not have, stored without effect."""
from types import SimpleNamespace

from .._patched_settings import Patch

coordinate_descent_tuning = False
coordinate_descent_check_all_directions = False
force_fuse_int_mm_with_mul = False
freezing = False
fx_graph_cache = True
use_mixed_mm = True
epilogue_fusion = True
max_autotune = False
conv_1x1_as_mm = False
triton = SimpleNamespace(unique_kernel_names=True, cudagraphs=False)
cpp = SimpleNamespace(threads=-1, enable_kernel_profile=False)


class patch(Patch):
    """Context manager and decorator that sets options: ``patch("freezing", True)``, ``patch({"triton.cudagraphs": True})``."""

    module = __name__
