"""torch.library.wrap_triton: Triton's kernels, which are compiled for GPUs: launching one raises, except to compute metadata."""

from __future__ import annotations

import importlib.util
import inspect
from collections.abc import Callable
from typing import Any, NoReturn

from .._tensor import Tensor
from .instead import INSTEAD


class _Kernel:
    """A kernel of Triton's: ``kernel[grid](…)`` raises RuntimeError, and does nothing for tensors without data, as in torch."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function

    def __getitem__(self, grid: object) -> Callable[..., None]:
        return self.run

    def run(self, *args: Any, **kwargs: Any) -> None:
        """Launch the kernel: raise unless all tensors are on the meta device."""
        tensors = [value for value in (*args, *kwargs.values()) if isinstance(value, Tensor)]
        if not tensors or any(not tensor.is_meta for tensor in tensors):
            self._refuse()

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise RuntimeError("Cannot call `wrap_triton(kernel)` without a grid: write wrap_triton(kernel)[grid](…)")

    def _refuse(self) -> NoReturn:
        code = inspect.unwrap(self._function).__code__
        raise RuntimeError(
            f"mstorch: Triton's kernel {code.co_name} ({code.co_filename}:{code.co_firstlineno}) is compiled for GPUs and does not run "
            f"here; {INSTEAD}, registered for the operator by register_kernel"
        )


def _function(kernel: object) -> Callable[..., Any] | None:
    """Return the Python function of a kernel of Triton's, which decorators may wrap; None for other objects."""
    seen = 0
    while type(kernel).__module__.partition(".")[0] == "triton" and hasattr(kernel, "fn") and seen < 10:
        kernel, seen = kernel.fn, seen + 1
    return kernel if seen and callable(kernel) else None


def wrap_triton(triton_kernel: Callable[..., Any], /) -> _Kernel:
    """Return a kernel of ``triton.jit`` or ``triton.autotune`` for use in ``triton_op``. Its launch raises RuntimeError."""
    function = _function(triton_kernel)
    if function is not None:
        return _Kernel(function)
    if importlib.util.find_spec("triton") is None:
        raise ModuleNotFoundError("No module named 'triton'", name="triton")
    raise RuntimeError("wrap_triton only works on functions annotated with triton.jit or triton.autotune")


def capture_triton(triton_kernel: Callable[..., Any], /) -> _Kernel:
    """Return ``wrap_triton`` of a kernel: its former name."""
    return wrap_triton(triton_kernel)


__all__ = ["capture_triton", "wrap_triton"]
