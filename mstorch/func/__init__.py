"""torch.func: function transforms: gradients, Jacobians, vmap."""
from .._functorch.vmap import vmap
from .._vmap_internals import _vmap as _older_vmap
from ..autograd._mapped import VMAP
from ._forward import hessian, jacfwd, jvp, linearize
from ._modules import debug_unwrap, functional_call, functionalize, replace_all_batch_norm_modules_, stack_module_state
from ._rearrange import rearrange
from ._reverse import grad, grad_and_value, jacrev, vjp

VMAP.append(_older_vmap)

__all__ = [
    "debug_unwrap", "functional_call", "functionalize", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "linearize",
    "rearrange", "replace_all_batch_norm_modules_", "stack_module_state", "vjp", "vmap",
]  # fmt: skip
