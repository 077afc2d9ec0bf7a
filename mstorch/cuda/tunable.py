"""torch.cuda.tunable: settings of the search for the fastest matrix products on a GPU.

The settings can be read and set, as without a GPU in torch. What searches, or asks a GPU, raises: MindSpore chooses its kernels itself.
"""
from __future__ import annotations

from pathlib import Path
from typing import NoReturn

from .._src.hook import not_yet

_enabled = _recording = False
_tuning = True
_duration, _iterations, _algorithms = 30, 100, 8
_filename = ""
_tolerances: tuple[bool, float, float] = (False, 1e-5, 1e-5)


def _refuse(name: str) -> NoReturn:
    raise NotImplementedError(f"torch.cuda.tunable.{name}: MindSpore chooses its kernels itself {not_yet()}")


def enable(val: bool = True) -> None:
    """Set whether tuned products are used."""
    global _enabled
    _enabled = bool(val)


def is_enabled() -> bool:
    """Return whether tuned products are used."""
    return _enabled


def tuning_enable(val: bool = True) -> None:
    """Set whether products that are not tuned yet are tuned."""
    global _tuning
    _tuning = bool(val)


def tuning_is_enabled() -> bool:
    """Return whether products that are not tuned yet are tuned."""
    return _tuning


def record_untuned_enable(val: bool = True) -> None:
    """Set whether products that are not tuned are recorded."""
    global _recording
    _recording = bool(val)


def record_untuned_is_enabled() -> bool:
    """Return whether products that are not tuned are recorded."""
    return _recording


def set_max_tuning_duration(duration: int) -> None:
    """Set the longest time for tuning one product, in milliseconds; negative numbers mean none."""
    global _duration
    _duration = max(0, int(duration))


def get_max_tuning_duration() -> int:
    """Return the longest time for tuning one product, in milliseconds."""
    return _duration


def set_max_tuning_iterations(iterations: int) -> None:
    """Set the largest number of runs for tuning one product; negative numbers mean none."""
    global _iterations
    _iterations = max(0, int(iterations))


def get_max_tuning_iterations() -> int:
    """Return the largest number of runs for tuning one product."""
    return _iterations


def set_cublaslt_requested_algo_count(count: int) -> None:
    """Set how many algorithms are asked for (torch 2.14)."""
    global _algorithms
    _algorithms = int(count)


def get_cublaslt_requested_algo_count() -> int:
    """Return how many algorithms are asked for (torch 2.14)."""
    return _algorithms


def set_filename(filename: str, insert_device_ordinal: bool = False) -> None:
    """Set the file of results. Raise if the number of a GPU is to be part of its name."""
    global _filename
    if insert_device_ordinal:
        _refuse("set_filename(insert_device_ordinal=True)")
    _filename = filename


def get_filename() -> str:
    """Return the name of the file of results."""
    return _filename


def read_file(filename: str | None = None) -> bool:
    """Return False for a file that does not exist. Raise for one that does."""
    if not Path(_filename if filename is None else filename).is_file():
        return False
    _refuse("read_file")


def set_numerical_check_tolerances(enable: bool, atol: float = 1e-5, rtol: float = 1e-5) -> None:
    """Set whether, and how exactly, results are compared while products are tuned."""
    global _tolerances
    _tolerances = (enable, atol, rtol)


def set_rotating_buffer_size(buffer_size: int) -> None:
    """Do nothing: nothing is tuned, so nothing is kept out of a cache."""


def get_rotating_buffer_size() -> int:
    """Raise: the size depends on a GPU's cache."""
    _refuse("get_rotating_buffer_size")


def get_results() -> tuple[str, str, str, float]:
    """Raise: nothing is tuned."""
    _refuse("get_results")


def get_validators() -> tuple[str, str]:
    """Raise: nothing is tuned."""
    _refuse("get_validators")


def tune_gemm_in_file(filename: str) -> None:
    """Raise: nothing is tuned."""
    assert is_enabled(), "TunableOp is not enabled"
    assert tuning_is_enabled(), "Tuning is not enabled"
    _refuse("tune_gemm_in_file")


def mgpu_tune_gemm_in_file(filename_pattern: str, num_gpus: int) -> None:
    """Raise: nothing is tuned."""
    _refuse("mgpu_tune_gemm_in_file")


__all__ = [
    "enable", "get_cublaslt_requested_algo_count", "get_filename", "get_max_tuning_duration", "get_max_tuning_iterations", "get_results",
    "get_rotating_buffer_size", "get_validators", "is_enabled", "mgpu_tune_gemm_in_file", "read_file", "record_untuned_enable",
    "record_untuned_is_enabled", "set_cublaslt_requested_algo_count", "set_filename", "set_max_tuning_duration",
    "set_max_tuning_iterations", "set_numerical_check_tolerances", "set_rotating_buffer_size", "tune_gemm_in_file", "tuning_enable",
    "tuning_is_enabled",
]  # fmt: skip
