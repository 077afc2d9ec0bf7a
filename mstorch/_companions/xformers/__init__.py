"""xformers (0.0.32): memory_efficient_attention and its biases, by scaled_dot_product_attention. Its other parts are not here."""
from __future__ import annotations

from . import ops as ops

__version__ = "0.0.32.post2"

_has_cpp_library = False
"""False: xformers' own extension is not there. Packages read it."""


def _is_triton_available() -> bool:
    return False


__all__ = ["ops"]
