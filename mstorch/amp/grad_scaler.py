"""GradScaler: losses are scaled up, so that float16 gradients do not underflow, and gradients are unscaled."""
from __future__ import annotations

import inspect
from collections import defaultdict
from collections.abc import Iterable
from enum import Enum
from typing import TYPE_CHECKING, Any, overload

from .._src.core import cuda_names
from .._src.core.dtype import float16, float32, int32
from .._src.core.postponed import can_wait, keep, postponed
from .._src.core.warned import warn
from .._src.ops.memory.creation import full
from .._src.ops.memory.together import can_be_laid_out, laid_out, put_back
from .._tensor import Tensor
from ..autograd.grad_mode import no_grad
from ._scaling import unscale, update_scale
from ._settings import is_autocast_available

if TYPE_CHECKING:
    from ..optim.optimizer import Optimizer


class OptState(Enum):
    """Stage of an optimizer since the last ``update``: ready, unscaled or stepped."""

    READY = 0
    UNSCALED = 1
    STEPPED = 2


def _refresh_per_optimizer_state() -> dict[str, Any]:
    return {"stage": OptState.READY, "found_inf_per_device": {}}


class GradScaler:
    """Scales losses, and skips optimizer steps with inf or NaN gradients.

    Call ``scale(loss).backward()``, ``step(optimizer)``, ``update()``. The scale starts at ``init_scale``, is multiplied by
    ``backoff_factor`` after a skipped step, and by ``growth_factor`` after ``growth_interval`` consecutive steps.
    """

    def __init__(
        self, device: str = "cuda", init_scale: float = 65536.0, growth_factor: float = 2.0, backoff_factor: float = 0.5,
        growth_interval: int = 2000, enabled: bool = True,
    ) -> None:  # fmt: skip
        self._device = device = cuda_names.meant(device)
        self._enabled = enabled
        if device == "cuda" and enabled and not cuda_names.is_there():
            warn("torch.cuda.amp.GradScaler is enabled, but CUDA is not available.  Disabling.")
            self._enabled = False
        if device == "npu" and enabled and not is_autocast_available(device):
            warn("torch.npu.amp.GradScaler is enabled, but NPU is not available.  Disabling.")
            self._enabled = False
        if not self._enabled:
            return
        if growth_factor <= 1.0:
            raise AssertionError("The growth factor must be > 1.0.")
        if backoff_factor >= 1.0:
            raise AssertionError("The backoff factor must be < 1.0.")
        self._init_scale = init_scale
        self._scale: Any = None  # made by the first call of scale(), as is the growth tracker
        self._growth_factor = growth_factor
        self._backoff_factor = backoff_factor
        self._growth_interval = growth_interval
        self._init_growth_tracker = 0
        self._growth_tracker: Any = None
        self._per_optimizer_states: dict[int, dict[str, Any]] = defaultdict(_refresh_per_optimizer_state)

    def _check_scale_growth_tracker(self, funcname: str) -> None:
        fix = "This may indicate your script did not use scaler.scale(loss or outputs) earlier in the iteration."
        if self._scale is None:
            raise AssertionError(f"Attempted {funcname} but _scale is None.  {fix}")
        if self._growth_tracker is None:
            raise AssertionError(f"Attempted {funcname} but _growth_tracker is None.  {fix}")

    @overload
    def scale(self, outputs: Any) -> Tensor: ...

    @overload
    def scale(self, outputs: Any) -> list[Tensor]: ...

    @overload
    def scale(self, outputs: Any) -> tuple[Tensor, ...]: ...

    @overload
    def scale(self, outputs: Any) -> Iterable[Tensor]: ...

    def scale(self, outputs: Any) -> Any:
        """Return a tensor, or each tensor of an iterable, multiplied by the scale."""
        if not self._enabled:
            return outputs
        if isinstance(outputs, Tensor):
            if self._scale is None:
                self._lazy_init_scale_growth_tracker(outputs.device)
            return outputs * self._scale.to(device=outputs.device)
        if isinstance(outputs, Iterable):
            scaled = map(self.scale, outputs)
            return type(outputs)(scaled) if isinstance(outputs, (list, tuple)) else scaled
        raise ValueError("outputs must be a Tensor or an iterable of Tensors")

    def _lazy_init_scale_growth_tracker(self, dev: Any) -> None:
        if self._growth_tracker is not None:
            raise AssertionError("_growth_tracker initialized before _scale")
        self._scale = full((), self._init_scale, dtype=float32, device=dev)
        self._growth_tracker = full((), self._init_growth_tracker, dtype=int32, device=dev)

    def _unscale_grads_(self, optimizer: Optimizer, inv_scale: Tensor | None, found_inf: Tensor, allow_fp16: bool) -> dict[Any, Any]:
        """Multiply the gradients by ``inv_scale`` in place. Return a dict from device to a 0-d tensor: 1 if a gradient there has an inf or
        NaN."""
        found: dict[Any, Any] = {}
        many: dict[Any, list[Any]] = {}
        with no_grad():
            for group in optimizer.param_groups:
                for param in group["params"]:
                    if not isinstance(param, Tensor):
                        raise AssertionError(f"expected param to be torch.Tensor, got {type(param).__name__}")
                    grad = param.grad
                    if grad is None:
                        continue
                    if not allow_fp16 and grad.dtype is float16:
                        raise ValueError("Attempting to unscale FP16 gradients.")
                    device = grad.device
                    if device not in found:
                        found[device] = found_inf.to(device=device, copy=True)
                    if grad.is_sparse:
                        if grad.dtype is float16:  # the sum of finite values at one index may not be finite
                            grad = param.grad = grad.coalesce()
                        grad = grad._values()
                    if can_be_laid_out((grad,)):
                        many.setdefault((device, grad.dtype), []).append(grad)
                    else:
                        unscale(grad, inv_scale, found[device])
            for (device, _), grads in many.items():
                together = can_be_laid_out(grads)
                for part in [laid_out(grads)] if together else grads:
                    unscale(part, inv_scale, found[device])
                    if together:
                        put_back(part, grads)
        return found

    def unscale_(self, optimizer: Optimizer) -> None:
        """Divide the gradients of an optimizer's parameters by the scale, for inspection or clipping before ``step``."""
        if not self._enabled:
            return
        self._check_scale_growth_tracker("unscale_")
        if postponed.calls is None:
            self._check_not_unscaled(optimizer)
        inverse = self._scale.double().reciprocal().float()
        found_inf = full((), 0.0, dtype=float32, device=self._scale.device)
        lost = self._unscale_grads_(optimizer, inverse, found_inf, False)
        if postponed.calls is None:
            self._note_unscaled(optimizer, *lost.values())
        else:
            keep(GradScaler._note_unscaled, (self, optimizer, *lost.values()), {}, changes=False)

    def _check_not_unscaled(self, optimizer: Optimizer) -> None:
        state = self._per_optimizer_states[id(optimizer)]
        if state["stage"] is OptState.UNSCALED:
            raise RuntimeError("unscale_() has already been called on this optimizer since the last update().")
        if state["stage"] is OptState.STEPPED:
            raise RuntimeError("unscale_() is being called after step().")

    def _note_unscaled(self, optimizer: Optimizer, *lost: Tensor) -> None:
        """Note that an optimizer's gradients are unscaled; ``lost`` are 1 where a gradient of a device has an inf or NaN."""
        self._check_not_unscaled(optimizer)
        state = self._per_optimizer_states[id(optimizer)]
        state["found_inf_per_device"] = {tensor.device: tensor for tensor in lost}
        state["stage"] = OptState.UNSCALED

    def _maybe_opt_step(self, optimizer: Optimizer, optimizer_state: dict[str, Any], *args: Any, **kwargs: Any) -> float | None:
        if sum(found.item() for found in optimizer_state["found_inf_per_device"].values()):
            return None
        return optimizer.step(*args, **kwargs)

    @can_wait
    def step(self, optimizer: Optimizer, *args: Any, **kwargs: Any) -> float | None:
        """Unscale the gradients, unless this is already done, and call ``optimizer.step`` if they are finite; return the result of
        ``optimizer.step``.
        """
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise RuntimeError("Closure use is not currently supported if GradScaler is enabled.")
        self._check_scale_growth_tracker("step")
        state = self._per_optimizer_states[id(optimizer)]
        if state["stage"] is OptState.STEPPED:
            raise RuntimeError("step() has already been called since the last update().")
        if getattr(optimizer, "_step_supports_amp_scaling", False):
            result = self._step_that_unscales(optimizer, state, args, kwargs)
        else:
            if state["stage"] is OptState.READY:
                self.unscale_(optimizer)
            if not state["found_inf_per_device"]:
                raise AssertionError("No inf checks were recorded for this optimizer.")
            result = self._maybe_opt_step(optimizer, state, *args, **kwargs)
        state["stage"] = OptState.STEPPED
        return result

    def _step_that_unscales(self, optimizer: Any, state: dict[str, Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Step an optimizer that unscales the gradients itself."""
        if "grad_scaler" in inspect.signature(optimizer.step).parameters:
            warn(
                "GradScaler is going to stop passing itself as a keyword argument to the passed optimizer. In the near future "
                "GradScaler registers `grad_scale: Tensor` and `found_inf: Tensor` to the passed optimizer and let the optimizer "
                "use them directly.",
                FutureWarning,
            )
            return optimizer.step(*args, **kwargs, grad_scaler=self)
        if state["stage"] is OptState.READY:
            self._check_inf_per_device(optimizer)
        earlier = getattr(optimizer, "grad_scale", None)
        if state["stage"] is not OptState.UNSCALED:
            earlier = self._scale * (1 if earlier is None else earlier)
        optimizer.grad_scale = earlier
        optimizer.found_inf = sum(found.to(self._scale.device) for found in state["found_inf_per_device"].values())
        result = optimizer.step(*args, **kwargs)
        del optimizer.grad_scale, optimizer.found_inf
        return result

    @can_wait
    def update(self, new_scale: float | Tensor | None = None) -> None:
        """Adjust the scale after the steps since the last ``update``, or set it."""
        if not self._enabled:
            return
        self._check_scale_growth_tracker("update")
        if new_scale is not None:
            if isinstance(new_scale, float):
                self._scale.fill_(new_scale)
            else:
                if new_scale.device.type != self._device or new_scale.numel() != 1 or new_scale.requires_grad:
                    raise AssertionError(
                        "new_scale should be a float or a 1-element torch.cuda.FloatTensor or torch.FloatTensor with "
                        "requires_grad=False."
                    )
                self._scale.copy_(new_scale)
        else:
            found = [f for state in self._per_optimizer_states.values() for f in state["found_inf_per_device"].values()]
            if not found:
                raise AssertionError("No inf checks were recorded prior to update.")
            together = sum(f.to(self._scale.device) for f in found)
            update_scale(self._scale, self._growth_tracker, together, self._growth_factor, self._backoff_factor, self._growth_interval)
        self._per_optimizer_states = defaultdict(_refresh_per_optimizer_state)

    def _get_scale_async(self) -> Tensor | None:
        return self._scale

    def get_scale(self) -> float:
        """Return the scale; 1.0 if scaling is disabled."""
        if not self._enabled:
            return 1.0
        return self._init_scale if self._scale is None else self._scale.item()

    def get_growth_factor(self) -> float:
        """Return the factor by which the scale is increased."""
        return self._growth_factor

    def set_growth_factor(self, new_factor: float) -> None:
        """Set the factor by which the scale is increased."""
        self._growth_factor = new_factor

    def get_backoff_factor(self) -> float:
        """Return the factor by which the scale is decreased."""
        return self._backoff_factor

    def set_backoff_factor(self, new_factor: float) -> None:
        """Set the factor by which the scale is decreased."""
        self._backoff_factor = new_factor

    def get_growth_interval(self) -> int:
        """Return the number of consecutive steps after which the scale is increased."""
        return self._growth_interval

    def set_growth_interval(self, new_interval: int) -> None:
        """Set the number of consecutive steps after which the scale is increased."""
        self._growth_interval = new_interval

    def _get_growth_tracker(self) -> int:
        if not self._enabled:
            return 0
        return self._init_growth_tracker if self._growth_tracker is None else int(self._growth_tracker.item())

    def is_enabled(self) -> bool:
        """Return whether scaling is enabled."""
        return self._enabled

    def state_dict(self) -> dict[str, Any]:
        """Return the scale, factors, interval and count of consecutive steps; {} if scaling is disabled."""
        if not self._enabled:
            return {}
        return {
            "scale": self.get_scale(),
            "growth_factor": self._growth_factor,
            "backoff_factor": self._backoff_factor,
            "growth_interval": self._growth_interval,
            "_growth_tracker": self._get_growth_tracker(),
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore a state dict of another scaler."""
        if not self._enabled:
            return
        if not state_dict:
            raise RuntimeError(
                "The source state dict is empty, possibly because it was saved from a disabled instance of GradScaler."
            )
        self._init_scale = state_dict["scale"]
        if self._scale is not None:
            self._scale.fill_(state_dict["scale"])
        self._growth_factor = state_dict["growth_factor"]
        self._backoff_factor = state_dict["backoff_factor"]
        self._growth_interval = state_dict["growth_interval"]
        self._init_growth_tracker = state_dict["_growth_tracker"]
        if self._growth_tracker is not None:
            self._growth_tracker.fill_(state_dict["_growth_tracker"])

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        if self._enabled:
            if self._per_optimizer_states:
                raise AssertionError(
                    "A GradScaler instance may only be pickled at the beginning of an iteration, or at the end after "
                    "scaler.update()."
                )
            state["_init_scale"] = self.get_scale()
            state["_init_growth_tracker"] = self._get_growth_tracker()
            state["_scale"] = state["_growth_tracker"] = None
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)

    def _check_inf_per_device(self, optimizer: Optimizer) -> dict[Any, Any]:
        self._check_scale_growth_tracker("_check_inf_per_device")
        found_inf = full((), 0.0, dtype=float32, device=self._scale.device)
        found = self._unscale_grads_(optimizer, None, found_inf, True)
        self._per_optimizer_states[id(optimizer)]["found_inf_per_device"] = found
        return found

    def _found_inf_per_device(self, optimizer: Optimizer) -> dict[Any, Any]:
        return self._per_optimizer_states[id(optimizer)]["found_inf_per_device"]


__all__ = ["OptState", "GradScaler"]
