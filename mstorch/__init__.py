"""mstorch: torch's API, running on MindSpore. ``import mstorch as torch``."""

from __future__ import annotations

import sys as _sys
from math import e, inf, nan, pi
from os import environ as _environ

from ._commands import environment as _environment  # first: it runs `python -m mstorch env` even if the imports below fail
from ._src.backend.importing import finished as _finished  # importing it pauses garbage collection until the end of this file
from ._src.backend import host as _host, kernels as _kernels, device_rows as _device_rows  # importing them fills the kernel tables
from ._src.tape import rules as _rules  # importing it fills the table of gradient rules
from ._commands import debug as _debug  # before functions get their public form, because MSTORCH_DEBUG wraps them
from ._src.core.above import above as _above
from ._src.core.warned import warn as _warn
from ._src.hook import as_torch, install, missing as _missing, uninstall
from ._src.unbuilt import find as _find_unbuilt
from ._src import former_names as _former_names  # importing it lets pickles name modules as before
from .torch_version import __version__

# Types
from ._src.core.dtype import (
    bfloat16, complex64, complex128, dtype, finfo, float16, float32, float64, get_default_dtype, iinfo, int8, int16, int32,
    int64, set_default_dtype, uint8, uint16, uint32, uint64,
)  # fmt: skip
from ._src.core.dtype import bool_ as bool
from ._src.core.dtype import complex64 as cfloat, complex128 as cdouble
from ._src.core.dtype import float16 as half, float32 as float, float64 as double
from ._src.core.dtype import int16 as short, int32 as int, int64 as long
from ._src.core.dtype import (
    complex32, float8_e4m3fn, float8_e4m3fnuz, float8_e5m2, float8_e5m2fnuz, float8_e8m0fnu, float4_e2m1fn_x2, int1,
    int2, int3, int4, int5, int6, int7, uint1, uint2, uint3, uint4, uint5, uint6, uint7, bits16, bits1x8, bits2x4,
    bits4x2, bits8, qint8, qint32, quint8, quint4x2, quint2x4,
)  # fmt: skip  # MindSpore has no tensors of these
from ._src.core.dtype import complex32 as chalf, uint1 as bit
from ._src.core.device import device
from ._src.core.formats import (
    channels_last, channels_last_3d, contiguous_format, jagged, layout, legacy_contiguous_format, memory_format, preserve_format,
    sparse_bsc, sparse_bsr, sparse_coo, sparse_csc, sparse_csr, strided,
)  # fmt: skip
from ._src.core.promotion import can_cast, promote_types
from ._src.core.size import Size
from ._src.core.warned import is_warn_always_enabled, set_warn_always
from ._tensor import Tensor, from_mindspore
from ._tensor_str import set_printoptions

# Operations: names that no family of `_ops` defines under this name, and all that the families define
from ._src.ops.linalg.added_products import _addmm_activation
from ._src.ops.linalg.linalg_torch import det, geqrf, inverse, matrix_exp, orgqr
from ._src.ops.linalg.packed_matmul import _grouped_mm, _int_mm, _weight_int8pack_mm
from ._src.ops.linalg.scaled_mm import _scaled_mm, _scaled_mm_v2
from ._src.ops.layers.native import native_dropout_backward
from ._src.ops.indexing.positions import _segment_reduce
from ._src.ops.linalg.matmul import mm as dsmm, mm as spmm
from ._src.ops.linalg.removed import eig, lstsq, matrix_rank, solve, symeig
from ._src.ops import _public as _operations

globals().update(_operations.functions())

from ._src.core.generator import Generator, default_generator
from ._src.namespace.legacy_types import (
    BFloat16Tensor, BoolTensor, ByteTensor, CharTensor, DoubleTensor, FloatTensor, HalfTensor, IntTensor, LongTensor,
    ShortTensor,
)  # fmt: skip
from ._src.core.settings import (
    are_deterministic_algorithms_enabled, get_default_device, get_float32_matmul_precision, get_num_threads,
    is_deterministic_algorithms_warn_only_enabled, set_default_device, set_float32_matmul_precision, set_num_threads, typename,
    use_deterministic_algorithms,
)  # fmt: skip
from .storage import (
    BFloat16Storage, BoolStorage, ByteStorage, CharStorage, ComplexDoubleStorage, ComplexFloatStorage, DoubleStorage, FloatStorage,
    default_storage as _default_storage, HalfStorage, IntStorage, LongStorage, QInt8Storage, QInt32Storage, QUInt2x4Storage,
    QUInt4x2Storage, QUInt8Storage, ShortStorage,
    TypedStorage, UntypedStorage, is_storage,
)  # fmt: skip
from .random import get_rng_state, initial_seed, manual_seed, seed, set_rng_state, thread_safe_generator
from .serialization import load, save
from ._src.serialization.file_reader import PyTorchFileReader

from . import (
    __config__, accelerator, amp, autograd, backends, compiler, cpu, cuda, fft, func, functional, interop, linalg, masked, mps, mtia, nn,
    ops, optim, random,
    return_types, serialization, signal, sparse, special, storage, torch_version, utils, version, xpu,
)  # fmt: skip
from ._src.namespace.checks import (
    _has_compatible_shallow_copy_type,
    _assert, _assert_async, _check, _check_index, _check_is_size, _check_not_implemented, _check_tensor_all, _check_tensor_all_with,
    _is_all_true, _is_any_true,
    _check_type, _check_value, _check_with, _shape_as_tensor,
)  # fmt: skip
from ._src.namespace.symbolic import (
    SymBool, SymFloat, SymInt, sym_float, sym_fresh_size, sym_int, sym_ite, sym_max, sym_min, sym_not, sym_sqrt, sym_sum,
)  # fmt: skip
from ._src.namespace.attention_choice import _fused_sdp_choice
from ._src.namespace.control import cond, while_loop
from ._library.function_schema import Argument, FunctionSchema
from ._library.schema_types import (
    AnyType, BoolType, ComplexType, DeviceObjType, FloatType, IntType, JitType, ListType, NoneType, NumberType, OptionalType,
    StreamObjType, StringType, TensorType, TupleType,
)  # fmt: skip
from ._library.tags import Tag
from ._src.namespace.implicit import _dirichlet_grad, _sample_dirichlet, _standard_gamma, _standard_gamma_grad
from ._src.namespace.unresolved import _conj, _neg_view
from ._src.namespace.in_place import addmv_, celu_, detach_, fill, fill_, rrelu, rrelu_, selu_, threshold_, zero_
from ._src.namespace.losses import (
    binary_cross_entropy_with_logits, cosine_embedding_loss, ctc_loss, hinge_embedding_loss, kl_div, margin_ranking_loss,
    poisson_nll_loss, triplet_margin_loss,
)  # fmt: skip
from ._src.core.device_failures import AcceleratorError
from ._src.core.no_memory import OutOfMemoryError
from ._src.namespace.process import (
    AVG, PRIVATE_OPS, SUM, AggregationType, compiled_with_cxx11_abi, from_file, get_deterministic_debug_mode,
    get_device_module, get_file_path, get_num_interop_threads, has_lapack, has_mkl, has_openmp, has_spectral, init_num_threads,
    is_vulkan_available, per_channel_affine, per_channel_affine_float_qparams, per_channel_symmetric,
    per_tensor_affine, per_tensor_symmetric, prepare_multiprocessing_environment, qscheme, set_default_tensor_type,
    set_deterministic_debug_mode, set_flush_denormal, set_num_interop_threads,
)  # fmt: skip
from ._src.namespace.streams import Event, Stream
from ._src.namespace.recurrent import (
    embedding_bag, embedding_renorm_, gru, gru_cell, lstm, lstm_cell, rnn_relu, rnn_relu_cell, rnn_tanh, rnn_tanh_cell,
)  # fmt: skip
from ._VF import _unique, _unique2
from ._src.sparse.checks import (
    _convert_indices_from_coo_to_csr, _convert_indices_from_csr_to_coo, _validate_sparse_bsc_tensor_args,
    _validate_sparse_bsr_tensor_args, _validate_sparse_compressed_tensor_args, _validate_sparse_coo_tensor_args,
    _validate_sparse_csc_tensor_args, _validate_sparse_csr_tensor_args,
)  # fmt: skip
from ._src.sparse.compressed import (
    sparse_bsc_tensor, sparse_bsr_tensor, sparse_compressed_tensor, sparse_csc_tensor, sparse_csr_tensor,
)  # fmt: skip
from ._src.sparse.coo import sparse_coo_tensor
from ._src.sparse.dispatch import (
    ccol_indices_copy, col_indices_copy, crow_indices_copy, hsmm, hspmm, indices_copy, resize_as_sparse_, row_indices_copy, saddmm,
    smm, sspaddmm, values_copy,
)  # fmt: skip
from ._src.sparse.dispatch import install as _install
from ._src.namespace.absent import (
    batch_norm_backward_elemt, batch_norm_backward_reduce, batch_norm_elemt, batch_norm_gather_stats,
    batch_norm_gather_stats_with_counts, batch_norm_stats, native_norm,
)  # fmt: skip
from ._src.quantized.fake import (
    _fake_quantize_learnable_per_channel_affine, _fake_quantize_learnable_per_tensor_affine, fake_quantize_per_channel_affine,
    fake_quantize_per_tensor_affine, fused_moving_avg_obs_fake_quant,
)  # fmt: skip
from ._src.quantized.making import (
    _choose_qparams_per_tensor, _empty_affine_quantized, _empty_per_channel_affine_quantized, _make_per_channel_quantized_tensor,
    _make_per_tensor_quantized_tensor, empty_quantized, quantize_per_channel, quantize_per_tensor, quantize_per_tensor_dynamic,
)  # fmt: skip
from ._src.quantized import dispatch as _quantized_dispatch  # importing it registers the handler of public calls with quantized tensors
from ._src.quantized.packed import ScriptObject
from ._src.quantized.recurrent import quantized_gru, quantized_lstm
from .nested._internal.functions import (
    _nested_compute_contiguous_strides_offsets, _nested_from_padded,
    _nested_from_padded_and_nested_example, _nested_from_padded_tensor, _nested_get_jagged_dummy, _nested_get_lengths,
    _nested_get_max_seqlen, _nested_get_min_seqlen, _nested_get_offsets, _nested_get_ragged_idx, _nested_get_values,
    _nested_get_values_copy, _nested_tensor_from_mask, _nested_tensor_from_mask_left_aligned, _nested_tensor_from_tensor_list,
    _nested_tensor_softmax_with_shape, _nested_view_from_buffer, _nested_view_from_buffer_copy, _nested_view_from_jagged,
    _nested_view_from_jagged_copy,
)  # fmt: skip
from . import nested
from ._src.compile import compile
from .compiler import _disable_dynamo
from .amp import GradScaler, autocast
from .amp._settings import (
    autocast_decrement_nesting, autocast_increment_nesting, clear_autocast_cache, get_autocast_cpu_dtype, get_autocast_dtype,
    get_autocast_gpu_dtype, get_autocast_ipu_dtype, get_autocast_xla_dtype, is_autocast_cache_enabled, is_autocast_cpu_enabled,
    is_autocast_enabled, is_autocast_ipu_enabled, is_autocast_xla_enabled, set_autocast_cache_enabled, set_autocast_cpu_dtype,
    set_autocast_cpu_enabled, set_autocast_dtype, set_autocast_enabled, set_autocast_gpu_dtype, set_autocast_ipu_dtype,
    set_autocast_ipu_enabled, set_autocast_xla_dtype, set_autocast_xla_enabled,
)  # fmt: skip
from .autograd.anomaly_mode import is_anomaly_check_nan_enabled, is_anomaly_enabled, set_anomaly_enabled
from .autograd import (
    enable_grad, inference_mode, is_grad_enabled, is_inference_mode_enabled, no_grad, set_grad_enabled,
)  # fmt: skip
from .func import vmap
from .futures import Future
from .jit import ScriptFunction, ScriptModule

from . import multiprocessing

from ._src.namespace import foreach as _foreach
from ._src.namespace import symbolic as _symbolic
from ._src.namespace.entries import enter as _enter

from ._src.namespace import legacy_types as _legacy_types
from ._src.namespace import (
    absent as _absent, inner as _inner, native_attention as _native_attention, packed_matrices as _packed_matrices,
    view_copies as _view_copies,
)  # fmt: skip

_storage_classes = {UntypedStorage, TypedStorage, *storage._STORAGES.values()}
_tensor_classes = {*_legacy_types.PLAIN, *_legacy_types.SPARSE.values()}
for _room in (_foreach, _symbolic, _absent, _view_copies, _inner, _native_attention, _packed_matrices):
    globals().update(_room.FUNCTIONS)
del _room
newaxis = None
torch = _above.torch = _sys.modules[__name__]  # torch.torch is torch
_install()
_enter({
    f"{__name__}.functional": vars(functional), __name__: globals(), f"{__name__}.linalg": vars(linalg), f"{__name__}.fft": vars(fft),
    f"{__name__}.special": vars(special), f"{__name__}.nn.init": vars(nn.init),
})  # fmt: skip
from ._src.serialization.foreign import watch as _watch_pickles
from ._src.aten import taking as _taking  # handlers of calls below autograd

_find_unbuilt()
if accelerator.current_accelerator() == device("npu"):  # torch_npu defines torch.npu, so that programs for Ascend devices expect it
    from . import npu
if "TORCH_LOGS" in _environ:
    from . import _logging  # importing it creates the loggers
# Submodules that ``import torch`` binds but few programs use are imported on first access.
_found_later = _missing(
    "mstorch",
    tuple((
        "_C _VF __future__ _compile _custom_ops _dynamo _export _functorch _guards _jit_internal _logging _ops _prims_common _utils "
        "_utils_internal _vendor _vmap_internals ao companions distributed distributions export futures fx hub jit classes library "
        "monitor onnx profiler quantization quasirandom testing types"
    ).split()),
)
# Private names that programs call as operators; torch's other private names have a function here, or are absent.
_ATEN = frozenset("_softmax _log_softmax _softmax_backward_data _log_softmax_backward_data _safe_softmax _adaptive_avg_pool2d".split())
_OF_C = frozenset(("DisableTorchFunction", "DisableTorchFunctionSubclass", "StorageBase"))  # classes that torch shows here, too
# Features that older programs ask about; torch answers with a warning.
_ASKED_OF_BACKENDS = {
    "has_cuda": ("cuda", "is_built"), "has_cudnn": ("cudnn", "is_available"), "has_mkldnn": ("mkldnn", "is_available"),
    "has_mps": ("mps", "is_built"),
}  # fmt: skip
_debug.ready()
_watch_pickles()
_finished()


def __getattr__(name: str) -> object:
    """Return ``Storage`` (the storage class of the default dtype), a few ATen operators, a few classes of ``_C``, or a submodule."""
    if name in _ATEN:
        return getattr(ops.aten, name)
    if name == "set_vital":  # the setting is removed from torch as well
        _warn("'set_vital' is deprecated, please do not call", UserWarning)
        return lambda *given: None
    if name in _ASKED_OF_BACKENDS:
        backend, question = _ASKED_OF_BACKENDS[name]
        _warn(f"'{name}' is deprecated, please use 'torch.backends.{backend}.{question}()'", UserWarning)
        return getattr(getattr(backends, backend), question)()
    if name in _OF_C:
        return getattr(_found_later("_C"), name)
    return _default_storage() if name == "Storage" else _found_later(name)
