"""Importing this module lets "cuda" name the Ascend device from then on."""
from __future__ import annotations

from ..._core import cuda_names

cuda_names.turn_on()
