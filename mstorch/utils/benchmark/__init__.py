"""torch.utils.benchmark: timing of Python statements, and tables of the times.

C++ statements, instruction counts (Callgrind) and the fuzzers are missing.
"""
from . import utils
from .utils.common import (
    Measurement,
    TaskSpec,
    ordered_unique,
    select_unit,
    set_torch_threads,
    trim_sigfig,
    unit_to_english,
)
from .utils.compare import Colorize, Compare
from .utils.timer import Language, Timer, timer

__all__ = [
    "Colorize", "Compare", "Language", "Measurement", "TaskSpec", "Timer", "ordered_unique", "select_unit", "set_torch_threads",
    "timer", "trim_sigfig", "unit_to_english", "utils",
]  # fmt: skip
