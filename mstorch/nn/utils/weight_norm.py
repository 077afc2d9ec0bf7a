"""Weight normalization by a forward pre-hook (https://arxiv.org/abs/1602.07868)."""
from __future__ import annotations

from typing import Any

from ..._src.core.above import above
from ..._src.core.warned import warn_shown_once
from ..._tensor import Tensor
from ..modules.module import Module
from ..parameter import Parameter, UninitializedParameter

__all__ = ["WeightNorm", "remove_weight_norm", "weight_norm"]


def scaled_weight(direction: Tensor, size: Tensor, dim: int) -> Tensor:
    """Return the directions scaled to the given norms."""
    return direction * (size / above.torch.norm_except_dim(direction, 2, dim))


class WeightNorm:
    """The hook that computes a weight from ``<name>_g``, its norms, and ``<name>_v``, its directions."""

    name: str
    dim: int

    def __init__(self, name: str, dim: int | None) -> None:
        self.name = name
        self.dim = -1 if dim is None else dim

    def compute_weight(self, module: Module) -> Tensor:
        """Return the current weight."""
        return scaled_weight(getattr(module, f"{self.name}_v"), getattr(module, f"{self.name}_g"), self.dim)

    @staticmethod
    def apply(module: Module, name: str, dim: int | None) -> WeightNorm:
        """Add the hook to a module. Raise RuntimeError if the module has such a hook for that name."""
        warn_shown_once(
            "`torch.nn.utils.weight_norm` is deprecated in favor of `torch.nn.utils.parametrizations.weight_norm`.",
            FutureWarning,
        )
        for hook in module._forward_pre_hooks.values():
            if isinstance(hook, WeightNorm) and hook.name == name:
                raise RuntimeError(f"Cannot register two weight_norm hooks on the same parameter {name}")
        made = WeightNorm(name, dim)
        weight = getattr(module, name)
        if isinstance(weight, UninitializedParameter):
            raise ValueError(
                "The module passed to `WeightNorm` can't have uninitialized parameters. Make sure to run the dummy forward "
                "before applying weight normalization"
            )
        del module._parameters[name]
        module.register_parameter(f"{name}_g", Parameter(above.torch.norm_except_dim(weight, 2, made.dim).data))
        module.register_parameter(f"{name}_v", Parameter(weight.data))
        setattr(module, name, made.compute_weight(module))
        module.register_forward_pre_hook(made)
        return made

    def remove(self, module: Module) -> None:
        """Make the weight, with its current value, a parameter again."""
        weight = self.compute_weight(module)
        delattr(module, self.name)
        del module._parameters[f"{self.name}_g"]
        del module._parameters[f"{self.name}_v"]
        setattr(module, self.name, Parameter(weight.data))

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module))


def take_hook(module: Module, hooks: dict[int, Any], kind: type, name: str) -> Any:
    """Remove and return the hook of that class for the tensor ``name``; None if there is none."""
    for key, hook in list(hooks.items()):
        inner = hook[0] if isinstance(hook, tuple) else hook
        if isinstance(inner, kind) and getattr(inner, "name", None) == name:
            del hooks[key]
            return inner
    return None


def weight_norm(module: Module, name: str = "weight", dim: int = 0) -> Module:
    """Compute a weight before each forward from the parameters ``<name>_g`` and ``<name>_v``; return the module.

    Deprecated for ``parametrizations.weight_norm``, with a FutureWarning, as in torch.
    """
    WeightNorm.apply(module, name, dim)
    return module


def remove_weight_norm(module: Module, name: str = "weight") -> Module:
    """Undo ``weight_norm``. Raise ValueError if it was not applied to ``name``."""
    hook = take_hook(module, module._forward_pre_hooks, WeightNorm, name)
    if hook is None:
        raise ValueError(f"weight_norm of '{name}' not found in {module}")
    hook.remove(module)
    return module
