"""torch._functorch.deprecated: the functions of the package ``functorch``, each of which names its replacement."""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from .. import func
from .._src.core.warned import warn
from . import make_functional as modules


def _deprecated(function: Callable[..., Any], successor: str) -> Callable[..., Any]:
    name = function.__name__
    message = f"`functorch.{name}` is deprecated as of PyTorch 2.0. Please use `torch.{successor}` instead."

    @functools.wraps(function)
    def warning(*args: Any, **kwargs: Any) -> Any:
        warn(message, FutureWarning)
        return function(*args, **kwargs)

    warning.__module__ = __name__
    return warning


vmap = _deprecated(func.vmap, "vmap")
grad = _deprecated(func.grad, "func.grad")
grad_and_value = _deprecated(func.grad_and_value, "func.grad_and_value")
vjp = _deprecated(func.vjp, "func.vjp")
jvp = _deprecated(func.jvp, "func.jvp")
jacrev = _deprecated(func.jacrev, "func.jacrev")
jacfwd = _deprecated(func.jacfwd, "func.jacfwd")
hessian = _deprecated(func.hessian, "func.hessian")
functionalize = _deprecated(func.functionalize, "func.functionalize")
make_functional = _deprecated(modules.make_functional, "func.functional_call")
make_functional_with_buffers = _deprecated(modules.make_functional_with_buffers, "func.functional_call")
combine_state_for_ensemble = _deprecated(modules.combine_state_for_ensemble, "func.stack_module_state")

__all__ = [
    "combine_state_for_ensemble", "functionalize", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "make_functional",
    "make_functional_with_buffers", "vjp", "vmap",
]  # fmt: skip
