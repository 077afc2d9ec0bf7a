"""Spectral normalization by a forward pre-hook (https://arxiv.org/abs/1802.05957)."""
from __future__ import annotations

from typing import Any

from ..._src.core.above import above
from ..._src.core.formats import contiguous_format
from ..._tensor import Tensor
from ...autograd.grad_mode import no_grad
from .. import functional as F
from ..modules.conv import ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
from ..modules.module import Module
from ..parameter import Parameter, UninitializedParameter
from .weight_norm import take_hook

__all__ = [
    "SpectralNorm", "SpectralNormLoadStateDictPreHook", "SpectralNormStateDictHook", "remove_spectral_norm",
    "spectral_norm",
]  # fmt: skip


class SpectralNorm:
    """The hook that divides ``<name>_orig`` by its largest singular value, estimated by power iteration.

    The buffers ``<name>_u`` and ``<name>_v`` approximate the singular vectors.
    """

    _version: int = 1
    name: str
    dim: int
    n_power_iterations: int
    eps: float

    def __init__(self, name: str = "weight", n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12) -> None:
        if n_power_iterations <= 0:
            raise ValueError(
                f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}"
            )
        self.name = name
        self.dim = dim
        self.n_power_iterations = n_power_iterations
        self.eps = eps

    def reshape_weight_to_matrix(self, weight: Tensor) -> Tensor:
        """Return the weight as a matrix with one row per output."""
        if self.dim != 0:
            weight = weight.permute(self.dim, *(d for d in range(weight.dim()) if d != self.dim))
        return weight.reshape(weight.size(0), -1)

    def compute_weight(self, module: Module, do_power_iteration: bool) -> Tensor:
        """Return the current weight, after steps of power iteration on the buffers if requested."""
        weight, u, v = (getattr(module, f"{self.name}_{part}") for part in ("orig", "u", "v"))
        matrix = self.reshape_weight_to_matrix(weight)
        if do_power_iteration:
            with no_grad():
                for _ in range(self.n_power_iterations):
                    v.copy_(F.normalize(above.torch.mv(matrix.t(), u), dim=0, eps=self.eps))
                    u.copy_(F.normalize(above.torch.mv(matrix, v), dim=0, eps=self.eps))
                # A copy, because the values used in this forward must not change in the next.
                u, v = (vector.clone(memory_format=contiguous_format) for vector in (u, v))
        return weight / above.torch.dot(u, above.torch.mv(matrix, v))

    def remove(self, module: Module) -> None:
        """Make the weight, with its current value, a parameter again."""
        with no_grad():
            weight = self.compute_weight(module, do_power_iteration=False)
        for name in (self.name, f"{self.name}_u", f"{self.name}_v", f"{self.name}_orig"):
            delattr(module, name)
        module.register_parameter(self.name, Parameter(weight.detach()))

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module, do_power_iteration=module.training))

    @staticmethod
    def apply(module: Module, name: str, n_power_iterations: int, dim: int, eps: float) -> SpectralNorm:
        """Add the hook to a module. Raise RuntimeError if the module has such a hook for that name."""
        for hook in module._forward_pre_hooks.values():
            if isinstance(hook, SpectralNorm) and hook.name == name:
                raise RuntimeError(f"Cannot register two spectral_norm hooks on the same parameter {name}")
        made = SpectralNorm(name, n_power_iterations, dim, eps)
        weight: Any = module._parameters[name]
        if weight is None:
            raise ValueError(f"`SpectralNorm` cannot be applied as parameter `{name}` is None")
        if isinstance(weight, UninitializedParameter):
            raise ValueError(
                "The module passed to `SpectralNorm` can't have uninitialized parameters. Make sure to run the dummy forward "
                "before applying spectral normalization"
            )
        with no_grad():
            sizes = made.reshape_weight_to_matrix(weight).size()
            u, v = (F.normalize(weight.new_empty(size).normal_(0, 1), dim=0, eps=eps) for size in sizes)
        delattr(module, name)
        module.register_parameter(f"{name}_orig", weight)
        # A plain attribute, so that state_dict has it only once; forward computes it.
        setattr(module, name, weight.data)
        module.register_buffer(f"{name}_u", u)
        module.register_buffer(f"{name}_v", v)
        module.register_forward_pre_hook(made)
        module._register_state_dict_hook(SpectralNormStateDictHook(made))
        module._register_load_state_dict_pre_hook(SpectralNormLoadStateDictPreHook(made))
        return made


class SpectralNormLoadStateDictPreHook:
    """Lets state dicts load that were saved before ``<name>_v`` was part of them."""

    def __init__(self, fn: SpectralNorm) -> None:
        self.fn = fn
        self.name = fn.name

    def __call__(
        self, state_dict: Any, prefix: str, local_metadata: Any, strict: bool, missing_keys: list[str],
        unexpected_keys: list[str], error_msgs: list[str],
    ) -> None:  # fmt: skip
        key = prefix + self.fn.name
        version = local_metadata.get("spectral_norm", {}).get(f"{self.fn.name}.version")
        if version is not None and version >= 1:
            return
        if version is None and key not in state_dict and all(f"{key}_{part}" in state_dict for part in ("orig", "u", "v")):
            return
        missing = [name for name in (f"{key}_orig", key, f"{key}_u") if name not in state_dict]
        if missing:
            if strict:
                missing_keys.extend(missing)
            return
        with no_grad():
            weight, u = state_dict[f"{key}_orig"], state_dict[f"{key}_u"]
            sigma = (weight / state_dict.pop(key)).mean()
            matrix = self.fn.reshape_weight_to_matrix(weight)
            # The v for which W v, normalized, is u, and u W v is sigma; W^T W may be singular.
            v = above.torch.linalg.multi_dot([above.torch.pinverse(matrix.t().mm(matrix)), matrix.t(), u.unsqueeze(1)]).squeeze(1)
            state_dict[f"{key}_v"] = v.mul_(sigma / above.torch.dot(u, above.torch.mv(matrix, v)))


class SpectralNormStateDictHook:
    """Writes the version of spectral normalization into a state dict's metadata."""

    def __init__(self, fn: SpectralNorm) -> None:
        self.fn = fn
        self.name = fn.name

    def __call__(self, module: Module, state_dict: Any, prefix: str, local_metadata: Any) -> None:
        versions = local_metadata.setdefault("spectral_norm", {})
        key = f"{self.fn.name}.version"
        if key in versions:
            raise RuntimeError(f"Unexpected key in metadata['spectral_norm']: {key}")
        versions[key] = self.fn._version


def spectral_norm(
    module: Module, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None
) -> Module:
    """Divide a weight by its largest singular value before each forward; return the module.

    ``dim`` is the output dimension: 0, or 1 for transposed convolutions.
    """
    if dim is None:
        dim = 1 if isinstance(module, (ConvTranspose1d, ConvTranspose2d, ConvTranspose3d)) else 0
    SpectralNorm.apply(module, name, n_power_iterations, dim, eps)
    return module


def remove_spectral_norm(module: Module, name: str = "weight") -> Module:
    """Undo ``spectral_norm``. Raise ValueError if it was not applied to ``name``."""
    hook = take_hook(module, module._forward_pre_hooks, SpectralNorm, name)
    if hook is None:
        raise ValueError(f"spectral_norm of '{name}' not found in {module}")
    hook.remove(module)
    take_hook(module, module._state_dict_hooks, SpectralNormStateDictHook, name)
    take_hook(module, module._load_state_dict_pre_hooks, SpectralNormLoadStateDictPreHook, name)
    return module
