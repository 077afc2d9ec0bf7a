"""torch._functorch.config: options of torch's compiler, stored without effect."""
from __future__ import annotations

from .._src.patched_settings import Patch

activation_memory_budget = 1.0
activation_memory_budget_solver = "dp"
activation_memory_budget_runtime_estimator = "flops"
aggressive_recomputation = False
ban_recompute_not_in_allowlist = True
ban_recompute_reductions = True
bundled_autograd_cache = False
cse = True
debug_assert = False
debug_partitioner = False
donated_buffer = True
enable_activation_offloading = False
enable_autograd_cache = True
enable_remote_autograd_cache: bool | None = None
functionalize_rng_ops = False
recompute_views = False
strict_autograd_cache = False
treat_parameters_as_free_to_save = True
view_replay_for_aliased_outputs = True


class patch(Patch):
    """Context manager and decorator that sets options: ``patch("donated_buffer", False)``, ``patch(donated_buffer=False)``."""

    module = __name__
