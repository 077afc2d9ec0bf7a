"""torch._inductor.config: options of a compiler that mstorch does not have, stored without effect."""
from types import SimpleNamespace

from .._src.patched_settings import Patch

aggressive_fusion = False
allow_buffer_reuse = True
autotune_in_subproc = False
benchmark_fusion = False
benchmark_kernel = False
combo_kernels = False
compile_threads = 1
conv_1x1_as_mm = False
coordinate_descent_check_all_directions = False
coordinate_descent_tuning = False
cpp_wrapper = False
debug = False
emulate_precision_casts = False
epilogue_fusion = True
fallback_random = False
force_disable_caches = False
force_fuse_int_mm_with_mul = False
freezing = False
fx_graph_cache = True
fx_graph_remote_cache = None
graph_partition = True
keep_output_stride = True
layout_optimization = True
max_autotune = False
max_autotune_gemm = False
max_autotune_gemm_backends = "ATEN,TRITON,CPP"
max_autotune_pointwise = False
nan_asserts = False
pattern_matcher = True
permute_fusion = False
post_grad_custom_post_pass = None
post_grad_custom_pre_pass = None
prologue_fusion = True
reorder_for_compute_comm_overlap = False
shape_padding = True
size_asserts = True
split_reductions = True
use_mixed_mm = True
verbose_progress = False
worker_start_method = "subprocess"
triton = SimpleNamespace(
    unique_kernel_names=True, cudagraphs=False, cudagraph_trees=True, cudagraph_skip_dynamic_graphs=False,
    cudagraph_support_input_mutation=True, persistent_reductions=True, multi_kernel=0, enable_persistent_tma_matmul=False,
)  # fmt: skip
cpp = SimpleNamespace(threads=-1, enable_kernel_profile=False, simdlen=None, weight_prepack=True)
trace = SimpleNamespace(enabled=False, debug_dir=None, debug_log=False, info_log=False, fx_graph=True, output_code=True)
aot_inductor = SimpleNamespace(output_path="", debug_compile=False, package=False, package_cpp_only=None)
cuda = SimpleNamespace(arch=None, version=None, use_fast_math=False)


class patch(Patch):
    """Context manager and decorator that sets options: ``patch("freezing", True)``, ``patch({"triton.cudagraphs": True})``."""

    module = __name__
