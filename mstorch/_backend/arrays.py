"""The types of arrays and numbers in annotations."""
from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]
"""NumPy's array, of any shape and dtype."""
Number: TypeAlias = bool | int | float | complex
