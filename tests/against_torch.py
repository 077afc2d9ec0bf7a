"""The oracle helper: run one body with real torch and with mstorch, and compare everything that a user could see.

    def test_add(both):
        both(lambda torch: torch.ones(2) + torch.arange(2.0))

Compared are values, dtype, shape, strides and ``requires_grad`` of every tensor in the result, other values by
equality, and for an error its type and its message. Tolerances are given only where kernels round differently.
"""
from __future__ import annotations

import random
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
import torch as real_torch

import mstorch

RTOL, ATOL = 1e-5, 1e-6
of_cpu_build = pytest.mark.skipif(real_torch.version.cuda is not None, reason="this torch is built for GPUs, and answers otherwise than its CPU build")
"""Mark of what is held against torch's CPU build: what pip installs may be built for GPUs, and says so where nobody has one."""


def _keep_no_seed(seed_devices: Callable[[], None], **kinds: bool) -> None:
    """Do nothing. (``torch.manual_seed`` stores each seed, with the text of the stack, for devices that are initialized later; this took
    half a millisecond.)"""


if not real_torch.accelerator.is_available():
    for _device in (real_torch.cuda.random, real_torch.mtia, real_torch.xpu.random):
        _device._lazy_call = _keep_no_seed  # type: ignore[attr-defined]


def values(tensor: Any) -> np.ndarray:
    """Return a copy of a tensor's values as an array; bfloat16 as float32, complex32 as complex64."""
    tensor = tensor.detach()
    if str(tensor.layout) != "torch.strided":
        tensor = tensor.to_dense()
    if str(tensor.dtype) == "torch.bfloat16":
        tensor = tensor.float()
    if str(tensor.dtype) == "torch.complex32":
        tensor = tensor.cfloat()
    if hasattr(tensor, "resolve_conj"):
        tensor = tensor.resolve_conj().resolve_neg()
    return np.array(tensor.numpy(force=True))  # torch's gradients may be tensors of zeros without memory


def state(module: Any) -> dict[str, Any]:
    """Return copies of the tensors in a module's state_dict, of either library."""
    return {name: value.detach().clone() for name, value in module.state_dict().items()}


def is_tensor(value: Any) -> bool:
    """Return whether the value is a tensor of either library."""
    return isinstance(value, (real_torch.Tensor, mstorch.Tensor))


def same(want: Any, got: Any, *, rtol: float = RTOL, atol: float = ATOL, strides: bool = True, what: str = "result") -> None:
    """Assert that mstorch's value equals torch's."""
    if isinstance(want, real_torch.Tensor):
        assert isinstance(got, mstorch.Tensor), f"{what}: a tensor expected, {type(got).__name__} given"
        assert tuple(want.shape) == tuple(got.shape), f"{what}: shape {tuple(want.shape)} expected, {tuple(got.shape)} given"
        assert str(want.dtype) == str(got.dtype), f"{what}: {want.dtype} expected, {got.dtype} given"
        if strides:
            assert want.stride() == got.stride(), f"{what}: strides {want.stride()} expected, {got.stride()} given"
        assert want.requires_grad == got.requires_grad, f"{what}: requires_grad={want.requires_grad} expected"
        _same_arrays(values(want), values(got), rtol, atol, what)
    elif isinstance(want, Mapping):
        assert list(want) == list(got), f"{what}: keys {list(want)} expected, {list(got)} given"
        for key in want:
            same(want[key], got[key], rtol=rtol, atol=atol, strides=strides, what=f"{what}[{key!r}]")
    elif isinstance(want, (list, tuple)):
        assert len(want) == len(got), f"{what}: {len(want)} items expected, {len(got)} given"
        assert getattr(want, "_fields", None) == getattr(got, "_fields", None) or isinstance(want, real_torch.Size)
        for number, (w, g) in enumerate(zip(want, got)):
            same(w, g, rtol=rtol, atol=atol, strides=strides, what=f"{what}[{number}]")
    elif isinstance(want, np.ndarray):
        assert want.dtype == got.dtype and want.shape == got.shape, f"{what}: {want.dtype}{want.shape} expected"
        _same_arrays(want, got, rtol, atol, what)
    elif isinstance(want, float):
        assert type(got) is float, f"{what}: float expected, {type(got).__name__} given"
        np.testing.assert_allclose(got, want, rtol=rtol, atol=atol, err_msg=what)
    elif isinstance(want, (real_torch.dtype, real_torch.device, real_torch.memory_format, real_torch.layout)):
        assert str(want) == str(got), f"{what}: {want} expected, {got} given"
    elif isinstance(want, str) and isinstance(got, str):
        got = without_device(got)
        assert want == got, f"{what}: {want!r} expected, {got!r} given"
    else:
        assert want == got, f"{what}: {want!r} expected, {got!r} given"


def without_device(text: str) -> str:
    """Return a text without the stand-in device (tests/conftest.py) in the names of tensors and their types; torch's tensors are on the
    CPU."""
    return text.replace(", device='npu:0'", "").replace("torch.npu.", "torch.") if mstorch.get_default_device().type == "npu" else text


def _same_arrays(want: np.ndarray, got: np.ndarray, rtol: float, atol: float, what: str) -> None:
    if want.dtype.kind in "fc":
        np.testing.assert_allclose(got, want, rtol=rtol, atol=atol, err_msg=what)
    else:
        np.testing.assert_array_equal(got, want, err_msg=what)


def run(body: Callable[[Any], Any], library: Any, seed: int = 0) -> tuple[Any, BaseException | None]:
    """Return the body's result with a library, or the error that it raised."""
    random.seed(seed)
    np.random.seed(seed)
    if hasattr(library, "manual_seed"):
        library.manual_seed(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return body(library), None
        except Exception as error:  # noqa: BLE001 - whatever torch raises is what is compared
            return None, error


def both(
    body: Callable[[Any], Any], *, rtol: float = RTOL, atol: float = ATOL, strides: bool = True, message: str | None = None
) -> Any:
    """Run the body with both libraries and compare; returns mstorch's result.

    Where torch raises, mstorch must raise the same type, and its message must hold ``message`` or, if that is not given,
    torch's first line.
    """
    want, error = run(body, real_torch)
    got, mine = run(body, mstorch)
    if "Found no NVIDIA driver" in str(error):
        pytest.skip("this torch is built for a GPU that is not there, and says so where others say that they are built without one")
    if error is not None:
        assert mine is not None, f"torch raises {type(error).__name__}: {error}; mstorch gives {got!r}"
        assert type(mine) is type(error) or type(mine).__name__ == type(error).__name__, (
            f"torch raises {type(error).__name__}: {error}; mstorch {type(mine).__name__}: {mine}"
        )
        key = str(error).split("\n", 1)[0] if message is None else message
        assert key in str(error) and key in without_device(str(mine)), f"message {key!r} expected, {str(mine)!r} given"
        return None
    if mine is not None:
        raise AssertionError(f"torch gives {want!r}; mstorch raises {type(mine).__name__}: {mine}") from mine
    same(want, got, rtol=rtol, atol=atol, strides=strides)
    return got


def with_gradients(
    function: Callable[..., Any], *arrays: np.ndarray, rtol: float = RTOL, atol: float = ATOL, strides: bool = True
) -> None:
    """Compare ``function(torch, *tensors)`` and the gradients of its floating inputs, weighted by fixed numbers."""

    def body(torch: Any) -> Any:
        tensors = [torch.tensor(a) for a in arrays]
        leaves = [t.requires_grad_() for t in tensors if t.dtype.is_floating_point or t.dtype.is_complex]
        result = function(torch, *tensors)
        outputs = [r for r in (result if isinstance(result, (tuple, list)) else [result]) if r.requires_grad]
        total = None
        for output in outputs:
            weights = np.linspace(0.5, 1.5, output.numel()).reshape(tuple(output.shape)).astype(np.float32)
            term = (output * torch.tensor(weights)).sum()
            term = term.abs() if term.dtype.is_complex else term
            total = term if total is None else total + term
        if total is not None:
            total.backward()
        return result, [leaf.grad for leaf in leaves]

    both(body, rtol=rtol, atol=atol, strides=strides)
