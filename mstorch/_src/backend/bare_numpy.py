"""NumPy's functions without what Python adds to a call of them."""
from __future__ import annotations

import numpy as np

try:
    # ``np.einsum`` looks for a path of pairwise products and for ``__array_function__`` first, which takes as long as a short sum.
    from numpy._core.multiarray import c_einsum as einsum  # type: ignore[attr-defined, unused-ignore]
except ImportError:  # NumPy 1
    try:
        from numpy.core.multiarray import c_einsum as einsum  # type: ignore[attr-defined, unused-ignore]
    except ImportError:
        einsum = np.einsum
