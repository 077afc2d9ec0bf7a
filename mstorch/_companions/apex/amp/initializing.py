"""amp.initialize: models and optimizers of a level of mixed precision."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import mstorch as torch

from .scaling import LossScaler, Pairs, state

_NORMS = torch.nn.modules.batchnorm._BatchNorm
# The dtype of the model, whether functions are cast, batch norm in float32, weights in float32 for the optimizer, and the scale.
_LEVELS: dict[str, tuple[torch.dtype | None, bool, bool | None, bool, float | str]] = {
    "O0": (torch.float32, False, None, False, 1.0),
    "O1": (None, True, None, False, "dynamic"),
    "O2": (torch.float16, False, True, True, "dynamic"),
    "O3": (torch.float16, False, False, False, 1.0),
}


def _cast(value: Any, dtype: torch.dtype) -> Any:
    """Return a value with its tensors of real numbers in a dtype, in lists, tuples and dicts."""
    if isinstance(value, torch.Tensor):
        return value.to(dtype) if value.is_floating_point() else value
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(_cast(item, dtype) for item in value))
    if isinstance(value, (list, tuple)):
        return type(value)(_cast(item, dtype) for item in value)
    if isinstance(value, dict):
        return type(value)((key, _cast(item, dtype)) for key, item in value.items())
    return value


def _forward(
    forward: Callable[..., Any], inputs: torch.dtype | None, outputs: torch.dtype, within: bool
) -> Callable[..., Any]:
    """Return a model's forward with its arguments and results in dtypes, or within autocast."""

    @functools.wraps(forward)
    def cast_forward(*args: Any, **kwargs: Any) -> Any:
        if not within:
            assert inputs is not None
            return _cast(forward(*_cast(args, inputs), **_cast(kwargs, inputs)), outputs)
        device = torch.accelerator.current_accelerator()
        with torch.autocast("cpu" if device is None else device.type, dtype=torch.float16):
            return _cast(forward(*args, **kwargs), outputs)

    return cast_forward


def _prepare_model(
    model: torch.nn.Module, dtype: torch.dtype | None, casts: bool, keeps_norms: bool, outputs: torch.dtype | None
) -> None:
    if dtype is not None:
        for module in model.modules():
            if keeps_norms and isinstance(module, _NORMS) and module.affine:
                continue
            for tensors in (module._parameters, module._buffers):
                for tensor in tensors.values():
                    if tensor is not None and tensor.is_floating_point():
                        tensor.data = tensor.data.to(dtype)
        if keeps_norms:
            for module in model.modules():  # in float32, with arguments of half precision and results of theirs
                if isinstance(module, _NORMS) and module.affine:
                    module.forward = _forward(module.forward, torch.float32, dtype, False)  # type: ignore[method-assign]
    if dtype is not torch.float32 or outputs is not None:
        model.forward = _forward(model.forward, dtype, outputs or torch.float32, casts)  # type: ignore[method-assign]


def _prepare_optimizer(optimizer: torch.optim.Optimizer, master_weights: bool) -> None:
    """Let the optimizer's steps follow overflows, and write to the model."""
    pairs = Pairs(optimizer, master_weights)
    step, zero_grad = optimizer.step, optimizer.zero_grad

    @functools.wraps(step)
    def followed_step(*args: Any, **kwargs: Any) -> Any:
        if pairs.skip:
            pairs.skip = False
            return None
        result = step(*args, **kwargs)
        pairs.write_back()
        return result

    @functools.wraps(zero_grad)
    def zero_both(*args: Any, **kwargs: Any) -> None:
        zero_grad(*args, **kwargs)
        for parameter, other in zip(pairs.of_model, pairs.of_optimizer):
            if parameter is not other:
                parameter.grad = None

    optimizer._amp_pairs = pairs  # type: ignore[attr-defined]
    optimizer.step, optimizer.zero_grad = followed_step, zero_both  # type: ignore[method-assign]


def _as_bool(value: Any) -> Any:
    return value == "True" if value in ("True", "False") else value  # argparse gives texts


def initialize(
    models: Any, optimizers: Any = None, enabled: bool = True, opt_level: str = "O1", cast_model_type: torch.dtype | None = None,
    patch_torch_functions: bool | None = None, keep_batchnorm_fp32: Any = None, master_weights: bool | None = None,
    loss_scale: Any = None, cast_model_outputs: torch.dtype | None = None, num_losses: int = 1, verbosity: int = 1,
    min_loss_scale: float | None = None, max_loss_scale: float = 2.0**24,
) -> Any:  # fmt: skip
    """Change models and optimizers for a level: O0 float32, O1 autocast, O2 half precision and float32 for the optimizer, O3 half only.

    Differs from apex: O1 casts functions within the models' forward, whose results are float32; apex casts those of the whole process.
    """
    if opt_level not in _LEVELS:
        raise RuntimeError(f"Unexpected optimization level {opt_level}. Options are 'O0', 'O1', 'O2', 'O3'.  "
            "Note that in `O0`, `O1`, etc., the prefix O "
                           "is the letter O, not the number zero.")  # fmt: skip
    dtype, casts, keeps_norms, masters, scale = _LEVELS[opt_level]
    if casts and (cast_model_type is not None or keep_batchnorm_fp32 is not None or master_weights is not None):
        raise RuntimeError(
            "With opt_level O1, batchnorm functions run in FP32 and weights stay in FP32: "
            "cast_model_type, keep_batchnorm_fp32 and master_weights should be None."
        )
    if patch_torch_functions is not None and patch_torch_functions != casts:
        raise NotImplementedError(
            f"mstorch: patch_torch_functions={patch_torch_functions} with {opt_level} is not here; write torch.autocast"
        )
    dtype = dtype if cast_model_type is None else cast_model_type
    keeps_norms = keeps_norms if keep_batchnorm_fp32 is None else _as_bool(keep_batchnorm_fp32)
    masters = masters if master_weights is None else master_weights
    scale = scale if loss_scale is None else loss_scale if loss_scale == "dynamic" else float(loss_scale)
    state.enabled = enabled
    state.scalers = [LossScaler(scale, min_loss_scale, max_loss_scale) for _ in range(num_losses)]
    if enabled:
        for model in models if isinstance(models, list) else [models]:
            if isinstance(model, torch.nn.parallel.DistributedDataParallel):
                raise RuntimeError("Incoming model is an instance of DistributedDataParallel. "
                    "Parallel wrappers should only be applied to the model(s) "
                                   "AFTER the model(s) have been returned from amp.initialize.")  # fmt: skip
            _prepare_model(model, dtype, casts, bool(keeps_norms), cast_model_outputs)
        for optimizer in optimizers if isinstance(optimizers, list) else [] if optimizers is None else [optimizers]:
            _prepare_optimizer(optimizer, masters)
    return models if optimizers is None else (models, optimizers)


__all__ = ["initialize"]
