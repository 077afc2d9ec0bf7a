"""The shared library: its path, the signatures of its functions, and its errors."""
from __future__ import annotations

import ctypes
import importlib.util
import os
from collections.abc import Sequence
from typing import Any

from ..processor import flags, is_arm, vector_bits

_MAJOR = 3
_SEQUENTIAL, _THREADPOOL = 1, 8  # threading runtimes without threads of their own
_CPU, _IN_ORDER = 1, 1

POINTER, INT64, FLOAT, INT = ctypes.c_void_p, ctypes.c_int64, ctypes.c_float, ctypes.c_int
_DIMS = INT64 * 12


class _Version(ctypes.Structure):
    _fields_ = [("major", INT), ("minor", INT), ("patch", INT), ("hash", ctypes.c_char_p), ("cpu", ctypes.c_uint)]


class Argument(ctypes.Structure):
    """The library's struct for one argument of a primitive's call."""

    _fields_ = [("place", INT), ("memory", POINTER)]


_OUT = ctypes.POINTER(POINTER)
_SIZES = ctypes.POINTER(INT64)
_PROTOTYPES: dict[str, list[Any]] = {
    "sgemm": [ctypes.c_char, ctypes.c_char, INT64, INT64, INT64, FLOAT, POINTER, INT64, POINTER, INT64, FLOAT, POINTER, INT64],
    "engine_create": [_OUT, INT, ctypes.c_size_t],
    "stream_create": [_OUT, POINTER, ctypes.c_uint],
    "memory_desc_create_with_strides": [_OUT, INT, _SIZES, INT, _SIZES],
    "memory_desc_create_with_tag": [_OUT, INT, _SIZES, INT, INT],
    "memory_desc_destroy": [POINTER],
    "memory_create": [_OUT, POINTER, POINTER, POINTER],
    "memory_destroy": [POINTER],
    "primitive_create": [_OUT, POINTER],
    "primitive_destroy": [POINTER],
    "primitive_desc_destroy": [POINTER],
    "eltwise_forward_primitive_desc_create": [_OUT, POINTER, INT, INT, POINTER, POINTER, FLOAT, FLOAT, POINTER],
    "eltwise_backward_primitive_desc_create": [_OUT, POINTER, INT, POINTER, POINTER, POINTER, FLOAT, FLOAT, POINTER, POINTER],
    "softmax_forward_primitive_desc_create": [_OUT, POINTER, INT, INT, POINTER, POINTER, INT, POINTER],
    "softmax_backward_primitive_desc_create": [_OUT, POINTER, INT, POINTER, POINTER, POINTER, INT, POINTER, POINTER],
    "layer_normalization_forward_primitive_desc_create": [
        _OUT, POINTER, INT, POINTER, POINTER, POINTER, FLOAT, ctypes.c_uint, POINTER,
    ],
    "layer_normalization_backward_primitive_desc_create": [
        _OUT, POINTER, INT, POINTER, POINTER, POINTER, POINTER, FLOAT, ctypes.c_uint, POINTER, POINTER,
    ],
    "batch_normalization_forward_primitive_desc_create": [_OUT, POINTER, INT, POINTER, POINTER, FLOAT, ctypes.c_uint, POINTER],
    "batch_normalization_backward_primitive_desc_create": [
        _OUT, POINTER, INT, POINTER, POINTER, POINTER, FLOAT, ctypes.c_uint, POINTER, POINTER,
    ],
    "convolution_forward_primitive_desc_create": [_OUT, POINTER, INT, INT, *[POINTER] * 4, *[_SIZES] * 4, POINTER],
    "convolution_backward_data_primitive_desc_create": [_OUT, POINTER, INT, *[POINTER] * 3, *[_SIZES] * 4, POINTER, POINTER],
    "convolution_backward_weights_primitive_desc_create": [_OUT, POINTER, INT, *[POINTER] * 4, *[_SIZES] * 4, POINTER, POINTER],
    "pooling_forward_primitive_desc_create": [_OUT, POINTER, INT, INT, POINTER, POINTER, *[_SIZES] * 5, POINTER],
    "pooling_backward_primitive_desc_create": [_OUT, POINTER, INT, POINTER, POINTER, *[_SIZES] * 5, POINTER, POINTER],
    "lstm_forward_primitive_desc_create": [_OUT, POINTER, INT, INT, *[POINTER] * 11, ctypes.c_uint, POINTER],
    "lstm_backward_primitive_desc_create": [_OUT, POINTER, INT, INT, *[POINTER] * 22, ctypes.c_uint, POINTER, POINTER],
    "matmul_primitive_desc_create": [_OUT, *[POINTER] * 6],
    "reorder_primitive_desc_create": [_OUT, POINTER, POINTER, POINTER, POINTER, POINTER],
    "binary_primitive_desc_create": [_OUT, POINTER, INT, POINTER, POINTER, POINTER, POINTER],
    "primitive_attr_create": [_OUT],
    "primitive_attr_set_post_ops": [POINTER, POINTER],
    "primitive_attr_set_scratchpad_mode": [POINTER, INT],
    "primitive_attr_destroy": [POINTER],
    "post_ops_create": [_OUT],
    "post_ops_append_binary": [POINTER, INT, POINTER],
    "post_ops_destroy": [POINTER],
}  # fmt: skip
_UNDECLARED = ("memory_set_data_handle", "primitive_execute")  # see ``primitive.py``


def _path() -> str | None:
    spec = importlib.util.find_spec("mindspore")
    if spec is None or spec.origin is None:
        return None
    path = os.path.join(os.path.dirname(spec.origin), "lib", f"libdnnl.so.{_MAJOR}")
    return path if os.path.exists(path) else None


def _load() -> ctypes.CDLL | None:
    """Load oneDNN with typed functions; return None if it is missing, uses threads of its own, or has reference kernels only.

    For ARM processors without SVE (Kunpeng 920) it has plain loops where NumPy has vectors."""
    useful = not is_arm() or "sve" in flags()
    path = _path() if useful and os.environ.get("MSTORCH_ONEDNN", "1") != "0" else None
    if path is None:
        return None
    try:
        library = ctypes.CDLL(path)
        library.dnnl_version.restype = ctypes.POINTER(_Version)
        version = library.dnnl_version().contents
        if version.major != _MAJOR or version.cpu not in (_SEQUENTIAL, _THREADPOOL):
            return None
        for name, arguments in _PROTOTYPES.items():
            getattr(library, "dnnl_" + name).argtypes = arguments
        for name in _UNDECLARED:
            getattr(library, "dnnl_" + name)
        library.dnnl_primitive_desc_query_md.argtypes = [POINTER, INT, INT]
        library.dnnl_primitive_desc_query_md.restype = POINTER
        library.dnnl_primitive_desc_query.argtypes = [POINTER, INT, INT, POINTER]
        library.dnnl_memory_desc_get_size.argtypes = [POINTER]
        library.dnnl_memory_desc_get_size.restype = ctypes.c_size_t
        library.dnnl_memory_desc_equal.argtypes = [POINTER, POINTER]
    except (OSError, AttributeError):
        return None
    return library


LIBRARY: Any = _load()
FOUND = LIBRARY is not None
_AVX512_BF16 = 0xE7  # the bits of AVX-512 with its instructions for bfloat16


def _products_of_halves() -> Any:
    """Return the library's product of bfloat16 into float32; None if the processor lacks bfloat16 instructions.

    The library exports it, but no header declares it; its arguments are those of sgemm.
    """
    if not FOUND or is_arm() or LIBRARY.dnnl_get_effective_cpu_isa() & _AVX512_BF16 != _AVX512_BF16:
        return None
    function = getattr(LIBRARY, "dnnl_gemm_bf16bf16f32", None)
    if function is not None:
        function.argtypes = _PROTOTYPES["sgemm"]
    return function


HALF_GEMM: Any = _products_of_halves()
FOUND_HALVES = HALF_GEMM is not None
"""True if the library computes in bfloat16 on this processor."""


def describe() -> str:
    """Return the library's version and its widest instruction set, for ``python -m mstorch env``."""
    if not FOUND:
        return "not used"
    version = LIBRARY.dnnl_version().contents
    if is_arm():
        return f"{version.major}.{version.minor}.{version.patch}, SVE of {vector_bits()} bits"
    widest = LIBRARY.dnnl_get_effective_cpu_isa()
    names = {0x27: "AVX-512", 0x7: "AVX2"}
    known = [name for bits, name in names.items() if widest & bits == bits]
    return f"{version.major}.{version.minor}.{version.patch}, {known[0] if known else 'no AVX2'}"


class Refused(Exception):
    """Raised if the library has no kernel."""


NO_MEMORY = 1  # status: out of memory


def made(function: str, *arguments: Any) -> Any:
    """Call a library function that creates an object; return the object's handle."""
    handle = POINTER()
    status = getattr(LIBRARY, "dnnl_" + function)(ctypes.byref(handle), *arguments)
    if status == NO_MEMORY:
        raise MemoryError
    if status:
        raise Refused(f"{function}: status {status}")
    return handle


def sizes(values: Sequence[int]) -> Any:
    """Return sizes, strides or paddings as the library's array type."""
    return _DIMS(*values)


ENGINE: Any = made("engine_create", _CPU, 0) if FOUND else None


def stream() -> Any:
    """Return an in-order CPU stream."""
    return made("stream_create", ENGINE, _IN_ORDER)
