"""torch.fx.experimental._config: options of torch's tracing with dynamic sizes, stored without effect."""
from __future__ import annotations

from ..._src.patched_settings import Patch

backed_size_oblivious = False
meta_nonzero_assume_all_nonzero = False
no_data_dependent_graph_break = False
print_specializations = False
symbol_guard_limit_before_specialize: int | None = None
translation_validation = False
translation_validation_timeout = 600000
use_duck_shape = True


class patch(Patch):
    """Context manager and decorator that sets options: ``patch("use_duck_shape", False)``, ``patch(use_duck_shape=False)``."""

    module = __name__
