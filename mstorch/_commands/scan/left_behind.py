"""Code that a port leaves unchanged: packages compiled for CUDA only, and hard-coded "cuda", each with mstorch's replacement."""
from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from ... import _companions
from ..._library.instead import INSTEAD
from ..._src.hook import COMPANIONS
from .guards import CHECKED, IN_TRY
from .walk import Walk

PACKAGES = {
    "triton": "write the kernel with torch's operations; Triton's kernels are compiled for GPUs",
    "flash_attn": "torch.nn.functional.scaled_dot_product_attention is one kernel of Ascend; flash_attn's functions of attention are here",
    "flash_attn_2_cuda": "torch.nn.functional.scaled_dot_product_attention is one kernel of Ascend",
    "xformers": "torch's layers; xformers.ops.memory_efficient_attention is here",
    "torch_scatter": "torch_scatter's functions",
    "torch_sparse": "torch_sparse's SparseTensor and functions",
    "torch_cluster": "torch_cluster's functions",
    "torch_spline_conv": "torch_spline_conv's functions",
    "pyg_lib": "pyg_lib's functions",
    "apex": "torch.optim, torch.autocast and layers of torch.nn; apex's amp, normalization, optimizers and parallel are here",
    "amp_C": "torch's operations",
    "transformer_engine": "torch.autocast in bfloat16; layers of torch.nn",
    "cupy": "numpy, or torch's operations",
    "pycuda": "torch's operations",
    "tensorrt": "torch.onnx.export, and the device's own runtime",
    "torch_tensorrt": "torch.onnx.export, and the device's own runtime",
    "torch2trt": "torch.onnx.export, and the device's own runtime",
    "pynvml": "torch.npu.memory_allocated and npu-smi",
    "spconv": "the operator exists for CUDA only; dense convolutions, or torch.sparse",
    "MinkowskiEngine": "the operator exists for CUDA only",
    "selective_scan_cuda": "mamba_ssm.ops.selective_scan_interface.selective_scan_fn",
    "causal_conv1d": "causal_conv1d_fn and causal_conv1d_update",
    "mamba_ssm": "mamba_ssm's scans, Mamba, Mamba2 and MambaLMHeadModel",
    "nvidia": "torchvision's transforms for DALI",
    "deep_gemm": "torch.matmul",
}
_COMPANIONS = Path(_companions.__file__).parent
_NAMES = {
    "torch.utils.cpp_extension.BuildExtension": "extensions are left out of the installation, with a warning",
    "torch.utils.cpp_extension": INSTEAD,
    "torch.ops.load_library": INSTEAD,
    "torch.library.wrap_triton": f"{INSTEAD}; register_kernel gives it to the operator of triton_op",
    "torch.classes.load_library": "write the class in Python",
    "torch.cuda.nccl": "torch.distributed with the backend hccl",
    "torch.cuda.CUDAGraph": "torch.npu.NPUGraph",
    "torch.cuda.graph": "torch.npu.graph",
    "torch.cuda.make_graphed_callables": "torch.npu.make_graphed_callables",
    "torch.cuda.Stream": "torch.Stream of the device (torch.npu.Stream)",
    "torch.cuda.stream": "torch.npu.stream",
    "torch.cuda.current_stream": "torch.accelerator.current_stream()",
    "torch.cuda.Event": "torch.Event of the device (torch.npu.Event)",
    "torch.cuda.nvtx": "torch.profiler.record_function",
    "torch.cuda.cudart": "leave it out",
    "torch.cuda.set_device": "torch.accelerator.set_device_index",
    "torch.cuda.synchronize": "torch.accelerator.synchronize()",
    "torch.cuda.FloatTensor": "torch.zeros(…, device=device)",
    "torch.cuda.HalfTensor": "torch.zeros(…, dtype=torch.float16, device=device)",
    "torch.cuda.LongTensor": "torch.zeros(…, dtype=torch.int64, device=device)",
    "torch.distributed.rpc": "it can be imported, and every call raises: torch.distributed's collectives, send and recv",
    "torch.cuda.comm": "torch.nn.parallel.DistributedDataParallel",
}
_DEVICE = "device = torch.accelerator.current_accelerator() or torch.device('cpu'), or python -m mstorch --cuda-is-npu"


def is_here(module: str) -> bool:
    """Return whether mstorch has a module of its own in place of one of a package compiled for torch."""
    root, *parts = module.split(".")
    place = _COMPANIONS / root / "/".join(parts)
    return root in COMPANIONS and (place.is_dir() or place.with_suffix(".py").is_file())


def left_behind(walk: Walk) -> Iterator[tuple[int, str, str, str]]:
    """Yield the line, name, state and replacement of each use of a device or package that mstorch replaces."""
    for item in walk.imports:
        root = item.module.partition(".")[0]
        if root in PACKAGES and not item.level and not is_here(item.module):
            yield item.line, item.module, item.state, PACKAGES[root]
    for use in walk.uses:
        if use.what in ("import", "name"):
            known = next((name for name in _prefixes(use.name) if name in _NAMES), None)
            if known is not None:
                # the names are there, so an import of them works: what stays behind is what they would do
                state = use.state if handled(use.state) else ""
                yield use.line, use.name if known.count(".") > 2 else known, state, _NAMES[known]
    for call, called, state in walk.calls:
        yield from ((call.lineno, name, state if handled(state) else "", way) for name, way in _in_call(call, called))
    for text, line in _texts(walk):
        yield line, text, "", _DEVICE


def replacement(name: str) -> str:
    """Return what to write for a name of ``torch.cuda``, an empty text if nothing is known."""
    return next((_NAMES[prefix] for prefix in _prefixes(name) if prefix in _NAMES), "")


def _prefixes(name: str) -> Iterator[str]:
    while "." in name:
        yield name
        name = name.rpartition(".")[0]


def _in_call(call: ast.Call, called: str | None) -> Iterator[tuple[str, str]]:
    last = (called or "").rpartition(".")[2]
    if called is not None and called.startswith(".") and last == "cuda":
        yield ".cuda()", _DEVICE
    if called in ("torch.hub.load", "torch.hub.list", "torch.hub.help"):
        source = next((item.value for item in call.keywords if item.arg == "source"), None)
        if source is None or isinstance(source, ast.Constant) and source.value == "github":
            yield called, "it raises: no repository is fetched; clone it, and use source='local'"
    for word, value in [("", item) for item in call.args] + [(item.arg or "", item.value) for item in call.keywords]:
        if not isinstance(value, ast.Constant) or not isinstance(value.value, str):
            continue
        text = value.value
        if text == "nccl" and (last in ("init_process_group", "new_group", "init_device_mesh") or word == "backend"):
            yield '"nccl"', 'backend "hccl", or none: torch.distributed chooses the device\'s'
        elif _is_cuda(text) and (word in _WORDS or last in _TAKE_DEVICES and word == ""):
            yield f'"{text}"', _DEVICE


_WORDS = frozenset(("device", "map_location", "device_type", "devices"))
_TAKE_DEVICES = frozenset(("to", "device", "autocast", "GradScaler", "set_default_device", "load", "_to_copy", "empty_cache"))


def _is_cuda(text: str) -> bool:
    return text == "cuda" or (text.startswith("cuda:") and text[5:].isdigit())


def _texts(walk: Walk) -> Iterator[tuple[str, int]]:
    """Yield devices stored for later use: ``device = "cuda"``, ``def f(device="cuda")``."""
    yield from ((f'"{text}"', line) for text, line in walk.devices if _is_cuda(text))


def handled(state: str) -> bool:
    """Return True if the program handles the absence of a name: it is used in a ``try``, or after a check."""
    return state in (IN_TRY, CHECKED)
