"""functorch: the package that torch installs besides itself, with the former names of ``torch.func``."""
from __future__ import annotations

from typing import Any

from ..._src.hook import not_yet, versions
from ...fx.experimental.proxy_tensor import make_fx
from ..deprecated import (
    combine_state_for_ensemble,
    functionalize,
    grad,
    grad_and_value,
    hessian,
    jacfwd,
    jacrev,
    jvp,
    make_functional,
    make_functional_with_buffers,
    vjp,
    vmap,
)
from ..make_functional import FunctionalModule, FunctionalModuleWithBuffers

__version__ = versions()[1]


def __getattr__(name: str) -> Any:
    raise AttributeError(f"module 'functorch' has no attribute '{name}' {not_yet()}", name=name)


__all__ = [
    "FunctionalModule", "FunctionalModuleWithBuffers", "combine_state_for_ensemble", "functionalize", "grad", "grad_and_value", "hessian",
    "jacfwd", "jacrev", "jvp", "make_functional", "make_functional_with_buffers", "make_fx", "vjp", "vmap",
]  # fmt: skip
