"""torch._functorch.make_functional: modules as functions of their parameters, as before ``torch.func``."""
from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from .._src.core.device import device
from .._src.ops.shape.join import stack
from .._tensor import Tensor
from ..func import functional_call
from ..nn.modules.module import Module


class FunctionalModule(Module):
    """Stateless module that is called with its parameters: ``fmodel(params, *args)``."""

    def __init__(self, stateless_model: Module, param_names: tuple[str, ...]) -> None:
        super().__init__()
        self.stateless_model = stateless_model
        self.param_names = param_names

    def forward(self, params: Iterable[Tensor], *args: Any, **kwargs: Any) -> Any:
        """Call the module with these parameters."""
        return functional_call(self.stateless_model, dict(zip(self.param_names, params)), args, kwargs)


class FunctionalModuleWithBuffers(Module):
    """Stateless module that is called with parameters and buffers: ``fmodel(params, buffers, *args)``; in-place updates go to the given
    buffers.
    """

    def __init__(self, stateless_model: Module, param_names: tuple[str, ...], buffer_names: tuple[str, ...]) -> None:
        super().__init__()
        self.stateless_model = stateless_model
        self.param_names, self.buffer_names = param_names, buffer_names

    def forward(self, params: Iterable[Tensor], buffers: Iterable[Tensor], *args: Any, **kwargs: Any) -> Any:
        """Call the module with these parameters and buffers."""
        state = {**dict(zip(self.param_names, params)), **dict(zip(self.buffer_names, buffers))}
        return functional_call(self.stateless_model, state, args, kwargs)


def make_functional(model: Module, disable_autograd_tracking: bool = False) -> tuple[FunctionalModule, tuple[Any, ...]]:
    """Return the module as a function, and its parameters. Raise RuntimeError if it has buffers."""
    if any(True for _ in model.buffers()):
        raise RuntimeError(
            "make_functional(model): `model` has buffers. Please use make_functional_with_buffers(model) instead."
        )
    params = tuple(model.parameters())
    names = tuple(name for name, _ in model.named_parameters())
    return FunctionalModule(copy.deepcopy(model), names), _untracked(params, disable_autograd_tracking)


def make_functional_with_buffers(
    model: Module, disable_autograd_tracking: bool = False
) -> tuple[FunctionalModuleWithBuffers, tuple[Any, ...], tuple[Any, ...]]:
    """Return the module as a function, its parameters and its buffers."""
    made = FunctionalModuleWithBuffers(
        copy.deepcopy(model), tuple(name for name, _ in model.named_parameters()), tuple(name for name, _ in model.named_buffers())
    )
    return made, _untracked(tuple(model.parameters()), disable_autograd_tracking), tuple(model.buffers())


def _untracked(params: tuple[Any, ...], wanted: bool) -> tuple[Any, ...]:
    return tuple(param.detach() for param in params) if wanted else params


def combine_state_for_ensemble(models: Sequence[Module]) -> tuple[Any, tuple[Any, ...], tuple[Any, ...]]:
    """Return one function for modules of one class, and their stacked parameters and buffers."""
    if not models:
        raise RuntimeError("combine_state_for_ensemble: Expected at least one model, got 0.")
    if not (all(model.training for model in models) or all(not model.training for model in models)):
        raise RuntimeError("combine_state_for_ensemble: Expected all models to have the same training/eval mode.")
    if not all(type(model) is type(models[0]) for model in models):
        raise RuntimeError("combine_state_for_ensemble: Expected all models to be of the same class.")
    functions, params, buffers = zip(*(make_functional_with_buffers(model) for model in models))
    return functions[0], *(tuple(stack(parts).detach() for parts in zip(*groups)) for groups in (params, buffers))


def _ensemble(model_class: type[Module], ensemble_shape: Any, device: Any, args: tuple[Any, ...], kwargs: Any) -> Any:
    if len(ensemble_shape) >= 2:
        raise ValueError("NYI: ensemble_shape with more than 1 element")
    count = ensemble_shape[0] if len(ensemble_shape) else 1
    if count <= 0:
        raise ValueError(f"num_models {count} should be > 0")
    models = [model_class(*args, **kwargs).to(device) for _ in range(count)]
    template = model_class(*args, **kwargs) if len(ensemble_shape) else models[0]
    function = make_functional_with_buffers(template)[0]
    groups = ([tuple(model.parameters()) for model in models], [tuple(model.buffers()) for model in models])
    if not len(ensemble_shape):
        return function, groups[0][0], groups[1][0]
    return function, *(tuple(stack(parts).detach() for parts in zip(*group)) for group in groups)


def functional_init(
    model_class: type[Module], ensemble_shape: tuple[int, ...] = (), device: int | str | device = "cpu"
) -> Callable[..., Any]:
    """Return a function of the class's arguments that returns parameters (stacked for an ensemble), function and names."""

    def wrapped(*args: Any, **kwargs: Any) -> Any:
        function, params, _ = _ensemble(model_class, ensemble_shape, device, args, kwargs)
        return params, lambda params, inputs: function(params, (), *inputs), function.param_names

    return wrapped


def functional_init_with_buffers(
    model_class: type[Module], ensemble_shape: tuple[int, ...] = (), device: int | str | device = "cpu"
) -> Callable[..., Any]:
    """Return a function of the class's arguments that returns parameters, buffers, function, and the names of both."""

    def wrapped(*args: Any, **kwargs: Any) -> Any:
        function, params, buffers = _ensemble(model_class, ensemble_shape, device, args, kwargs)
        call = lambda params, buffers, inputs: function(params, buffers, *inputs)
        return params, buffers, call, function.param_names, function.buffer_names

    return wrapped
