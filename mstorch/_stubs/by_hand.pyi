"""Functions of torch's whose types no schema tells."""

from collections.abc import Callable, Mapping
from typing import ParamSpec, TypeGuard, TypeVar, overload

from .names import (
    Any,
    Array,
    Bool,
    DType,
    Float,
    Int,
    Literal,
    Number,
    Place,
    Scalar,
    Sequence,
    Size,
    Tensor,
    Tensors,
    Text,
)

P = ParamSpec("P")
R = TypeVar("R")

def tensor(
    data: Any, *, dtype: DType | None = None, device: Place | None = None, requires_grad: Bool = False, pin_memory: Bool = False
) -> Tensor: ...
def as_tensor(data: Any, dtype: DType | None = None, device: Place | None = None) -> Tensor: ...
def asarray(
    obj: Any, *, dtype: DType | None = None, device: Place | None = None, copy: Bool | None = None, requires_grad: Bool = False
) -> Tensor: ...
def from_numpy(ndarray: Array) -> Tensor: ...
def frombuffer(buffer: Any, *, dtype: DType, count: Int = -1, offset: Int = 0, requires_grad: Bool = False) -> Tensor: ...
def from_dlpack(ext_tensor: Any, *, device: Place | None = None, copy: Bool | None = None) -> Tensor: ...
def to_dlpack(input: Tensor) -> Any: ...
def is_tensor(obj: Any) -> TypeGuard[Tensor]: ...
def atleast_1d(*tensors: Any) -> Any: ...
def atleast_2d(*tensors: Any) -> Any: ...
def atleast_3d(*tensors: Any) -> Any: ...
def block_diag(*tensors: Any) -> Tensor: ...
def broadcast_shapes(*shapes: Any) -> Size: ...
def broadcast_tensors(*tensors: Any) -> tuple[Tensor, ...]: ...
def cartesian_prod(*tensors: Tensor) -> Tensor: ...
def cdist(x1: Tensor, x2: Tensor, p: Float = 2.0, compute_mode: Text = "use_mm_for_euclid_dist_if_necessary") -> Tensor: ...
def chain_matmul(*matrices: Tensor, out: Tensor | None = None) -> Tensor: ...
def einsum(*args: Any) -> Tensor: ...
def meshgrid(*tensors: Tensor | Sequence[Tensor], indexing: Text | None = None) -> tuple[Tensor, ...]: ...
def norm(
    input: Tensor,
    p: Number | Text | None = "fro",
    dim: Int | Sequence[Int] | None = None,
    keepdim: Bool = False,
    out: Tensor | None = None,
    dtype: DType | None = None,
) -> Tensor: ...
def split(tensor: Tensor, split_size_or_sections: Int | Sequence[Int], dim: Int = 0) -> tuple[Tensor, ...]: ...
def stft(
    input: Tensor,
    n_fft: Int,
    hop_length: Int | None = None,
    win_length: Int | None = None,
    window: Tensor | None = None,
    center: Bool = True,
    pad_mode: Text = "reflect",
    normalized: Bool = False,
    onesided: Bool | None = None,
    return_complex: Bool | None = None,
    align_to_window: Bool | None = None,
) -> Tensor: ...
def tensordot(a: Tensor, b: Tensor, dims: Any = 2, out: Tensor | None = None) -> Tensor: ...
def unique(
    input: Tensor, sorted: Bool = True, return_inverse: Bool = False, return_counts: Bool = False, dim: Int | None = None
) -> Any: ...
def unique_consecutive(input: Tensor, return_inverse: Bool = False, return_counts: Bool = False, dim: Int | None = None) -> Any: ...
def unravel_index(indices: Tensor, shape: Int | Sequence[Int] | Size) -> tuple[Tensor, ...]: ...
def lobpcg(
    A: Tensor,
    k: Int | None = None,
    B: Tensor | None = None,
    X: Tensor | None = None,
    n: Int | None = None,
    iK: Tensor | None = None,
    niter: Int | None = None,
    tol: Float | None = None,
    largest: Bool | None = None,
    method: Text | None = None,
    tracker: None = None,
    ortho_iparams: dict[Text, Int] | None = None,
    ortho_fparams: dict[Text, Float] | None = None,
    ortho_bparams: dict[Text, Bool] | None = None,
) -> tuple[Tensor, Tensor]: ...
def pca_lowrank(A: Tensor, q: Int | None = None, center: Bool = True, niter: Int = 2) -> tuple[Tensor, Tensor, Tensor]: ...
def svd_lowrank(A: Tensor, q: Int | None = 6, niter: Int | None = 2, M: Tensor | None = None) -> tuple[Tensor, Tensor, Tensor]: ...
@overload
def lu(
    A: Tensor, pivot: Bool = True, get_infos: Literal[False] = False, out: Tensors | None = None
) -> tuple[Tensor, Tensor]: ...
@overload
def lu(A: Tensor, pivot: Bool = True, *, get_infos: Literal[True], out: Tensors | None = None) -> tuple[Tensor, Tensor, Tensor]: ...
@overload
def lu(A: Tensor, pivot: Bool, get_infos: Literal[True], out: Tensors | None = None) -> tuple[Tensor, Tensor, Tensor]: ...
def result_type(tensor: Tensor | Scalar, other: Tensor | Scalar) -> DType: ...
def _segment_reduce(
    data: Tensor,
    reduce: Text,
    *,
    lengths: Tensor | None = None,
    indices: Tensor | None = None,
    offsets: Tensor | None = None,
    axis: Int = 0,
    unsafe: Bool = False,
    initial: Scalar | None = None,
) -> Tensor: ...
@overload
def compile(
    model: Callable[P, R],
    *,
    fullgraph: Bool = False,
    dynamic: Bool | None = None,
    backend: Text | Callable[..., Any] | None = None,
    mode: Text | None = None,
    options: Mapping[Text, Any] | None = None,
    name: Text | None = None,
    disable: Bool = False,
    recompile_limit: Int | None = None,
    isolate_recompiles: Bool = False,
    shapes_spec: Any = None,
) -> Callable[P, R]: ...
@overload
def compile(
    model: None = None,
    *,
    fullgraph: Bool = False,
    dynamic: Bool | None = None,
    backend: Text | Callable[..., Any] | None = None,
    mode: Text | None = None,
    options: Mapping[Text, Any] | None = None,
    name: Text | None = None,
    disable: Bool = False,
    recompile_limit: Int | None = None,
    isolate_recompiles: Bool = False,
    shapes_spec: Any = None,
) -> Callable[[Callable[P, R]], Callable[P, R]]: ...
