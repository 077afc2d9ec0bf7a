"""Importing this module makes "cuda" mean the Ascend device."""
from ...._src.core import cuda_names

cuda_names.turn_on()
