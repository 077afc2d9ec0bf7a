"""The type of NumPy's arrays in annotations: of any shape and dtype."""
from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]
