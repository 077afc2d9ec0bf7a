"""``out=`` and autograd: torch checks ``out`` first, and its error names the operation."""
from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from ..aten.kinds import gives_places
from ..core.modes import grad_set_to, modes
from ..core.tensor_base import is_tracked, tensors_in
from ..ops._fresh_out import is_of_leaf, no_derivative, underivable

Function = Callable[..., Any]

# Functions without a gradient, or composed of others, of which the first one that writes raises.
_LEFT = frozenset((
    "eq ne lt le gt ge logical_and logical_or logical_xor logical_not isin isposinf isneginf signbit any all argmax argmin bucketize "
    "searchsorted nonzero multinomial histc arange range linspace logspace eye full ones zeros empty rand randn randint randperm normal "
    "tril_indices triu_indices diff quantile nanquantile svd inner tensordot lu hash_tensor histogramdd equal cond matrix_power "
    "matrix_norm tensorinv tensorsolve ndtr airy_ai bessel_j0 bessel_j1 bessel_y0 bessel_y1 modified_bessel_i0 modified_bessel_i1 "
    "modified_bessel_k0 modified_bessel_k1 scaled_modified_bessel_k0 scaled_modified_bessel_k1 spherical_bessel_j0 polygamma "
    "hamming_window hann_window blackman_window bartlett_window kaiser_window chain_matmul nuclear_norm"
).split())  # fmt: skip
# Names in torch's errors that differ from the function's name.
_WORDS = {
    **dict.fromkeys("column_stack hstack vstack dstack concat concatenate".split(), "cat"),
    **dict.fromkeys(("true_divide", "divide"), "div"), **dict.fromkeys(("outer", "ger", "kron"), "mul"),
    **dict.fromkeys(("float_power", "square"), "pow"), "cross": "linalg_cross", "lu_solve": "linalg_lu_solve", "qr": "linalg_qr",
    "msort": "sort", "take_along_dim": "gather", "norm": "linalg_vector_norm", "nanmean": "nansum", "diag": "aten::diag_embed",
    **{name: f"aten::{name}" for name in (
        "conj_physical bitwise_not bitwise_left_shift bitwise_right_shift bitwise_and bitwise_or bitwise_xor expand_copy diagonal_copy "
        "alias_copy floor_divide heaviside lcm gcd softmax log_softmax as_strided_copy view_copy permute_copy slice_scatter histogram "
        "unfold_copy squeeze_copy unsqueeze_copy transpose_copy t_copy"
    ).split()},
    "linalg.eigh": "_linalg_eigh", "linalg.eigvalsh": "_linalg_eigh", "linalg.ldl_factor": "aten::linalg_ldl_factor_ex",
    "linalg.ldl_factor_ex": "aten::linalg_ldl_factor_ex", "linalg.solve": "_linalg_solve_ex", "linalg.solve_ex": "_linalg_solve_ex",
    "linalg.svd": "_linalg_svd", "linalg.svdvals": "_linalg_svd", "linalg.det": "_linalg_det", "linalg.cholesky": "linalg_cholesky_ex",
    "linalg.vecdot": "vdot", "linalg.eigvals": "aten::linalg_eigvals", "linalg.ldl_solve": "aten::linalg_ldl_solve",
    "linalg.multi_dot": "mm", "linalg.slogdet": "_linalg_slogdet", "linalg.lu_factor": "linalg_lu_factor_ex",
    "linalg.inv": "linalg_inv_ex", "linalg.lu": "linalg_lu", "linalg.matrix_rank": "sum", "nn.functional.logsigmoid": "log_sigmoid_forward",
    "fft.ifft": "aten::conj_physical", "fft.ihfft": "aten::conj_physical",
    **{f"fft.{name}": "_fft_c2c" for name in "fft2 fftn ifft2 ifftn ihfft2 ihfftn".split()},
    **{f"fft.{name}": "_fft_c2r" for name in "hfft hfft2 hfftn irfft irfft2 irfftn".split()},
    **{f"fft.{name}": "_fft_r2c" for name in "fft rfft rfft2 rfftn".split()},
}  # fmt: skip


def _word(space: str, name: str) -> str | None:
    if f"{space}.{name}" in _WORDS:
        return _WORDS[f"{space}.{name}"]
    if name in _LEFT or "polynomial" in name or (space == "linalg" and name == "norm"):
        return None
    if space in ("", "functional", "nn.functional"):
        return _WORDS.get(name, name)
    return f"{space}_{name}"


def refusing_history(function: Function, space: str) -> Function:
    """Wrap a function with ``out=`` to refuse an ``out`` that requires grad; a function without ``out=`` is returned unchanged. ``space``
    is its namespace, such as ``linalg``.

    A function without a gradient (``aten::``) refuses only leaves; any other ``out`` gets a node that raises in backward.
    """
    inner = inspect.unwrap(function)
    word = _word(space, inner.__name__)
    if word is None or "out" not in (inner.__kwdefaults__ or ()):
        return function
    differentiable = not word.startswith("aten::")

    @functools.wraps(function)
    def checked(*args: Any, **named: Any) -> Any:
        out = named.get("out")
        if out is None or not modes.grad or modes.native is not None:
            return function(*args, **named)
        inputs = (*args, *(value for name, value in named.items() if name != "out"))
        outs = tensors_in((out,))
        # Of the results (values, indices), only the first has a gradient.
        tracked = next(filter(is_tracked, (*tensors_in(inputs), *(outs[:1] if gives_places(word) else outs))), None)
        if tracked is None:
            return function(*args, **named)
        if differentiable or any(map(is_of_leaf, outs)):
            raise no_derivative(word)
        with grad_set_to(False):
            function(*args, **named)
        for part in outs:
            underivable(word, tracked, part)
        return out

    checked.for_keywords = checked  # type: ignore[attr-defined]
    return checked
