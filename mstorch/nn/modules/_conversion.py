"""Conversion of modules: dtype, device, memory."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any, overload

from typing_extensions import Self

from ... import __future__ as switches
from ..._src.core import device as devices
from ..._src.core import dtype as dtypes
from ..._src.core.above import above
from ..._src.core.swap import swap_tensors
from ..._src.core.tensor_base import auto_of, is_tracked
from ..._src.core.warned import warn
from ..._src.ops.memory.copying import parse_to
from ..._tensor import Tensor, replace_data
from ...autograd.grad_mode import no_grad
from ..parameter import Parameter
from ._native import apply_native


class ConversionMixin:
    """Methods that convert all parameters and buffers of a module and its children."""

    _parameters: dict[str, Any]
    _buffers: dict[str, Any]

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        if recurse:
            for module in self.children():  # type: ignore[attr-defined]
                if isinstance(module, ConversionMixin):
                    module._apply(fn)
            apply_native(self, fn)
        for name, parameter in self._parameters.items():
            if parameter is not None:
                self._parameters[name] = _converted(self, name, parameter, fn)
        for name, buffer in self._buffers.items():
            if buffer is not None:
                self._buffers[name] = fn(buffer)
        return self

    @overload
    def to(self, device: devices.device | str | int | None = ..., dtype: dtypes.dtype | None = ..., non_blocking: bool = ...) -> Self: ...

    @overload
    def to(self, dtype: dtypes.dtype, non_blocking: bool = ...) -> Self: ...

    @overload
    def to(self, tensor: Tensor, non_blocking: bool = ...) -> Self: ...

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """Convert floating parameters and buffers: ``to(dtype)``, ``to(device)``, ``to(tensor)``; return the module."""
        kind, target, copied, format_ = parse_to(args, kwargs)
        if copied:
            raise RuntimeError(".to() does not accept copy argument")
        if kind is not None and kind.is_integral:
            raise TypeError(f"nn.Module.to only accepts floating point or complex dtypes, but got desired dtype={kind}")

        if kind is not None and kind.is_complex:
            warn(
                "Complex modules are a new feature under active development whose design may change, and some modules might not work "
                "as expected when using complex tensors as parameters or buffers. Please file an issue at "
                "https://github.com/pytorch/pytorch/issues/new?template=bug-report.yml if a complex module does not work as "
                "expected.",
            )

        def convert(tensor: Tensor) -> Tensor:
            wanted = kind if kind is not None and not tensor.dtype.is_integral else None
            if target is not None and tensor.is_meta and not devices.is_meta(target):
                raise NotImplementedError(
                    "Cannot copy out of meta tensor; no data! Please use torch.nn.Module.to_empty() instead of torch.nn.Module.to() "
                    "when moving module from meta to a different device."
                )
            if format_ is not None and tensor.dim() in (4, 5):
                return tensor.to(target, wanted, memory_format=format_)
            return tensor.to(target, wanted)

        return self._apply(convert)

    def to_empty(self, *, device: devices.device | str | int | None, recurse: bool = True) -> Self:
        """Move to a device without copying values."""
        return self._apply(lambda tensor: above.torch.empty_like(tensor, device=device), recurse)

    def type(self, dst_type: dtypes.dtype | str) -> Self:
        """Convert all parameters and buffers to a dtype."""
        return self._apply(lambda tensor: tensor.type(dst_type))

    def float(self) -> Self:
        """Convert floating parameters and buffers to float32."""
        return self._apply(lambda tensor: tensor.float() if tensor.is_floating_point() else tensor)

    def double(self) -> Self:
        """Convert floating parameters and buffers to float64."""
        return self._apply(lambda tensor: tensor.double() if tensor.is_floating_point() else tensor)

    def half(self) -> Self:
        """Convert floating parameters and buffers to float16."""
        return self._apply(lambda tensor: tensor.half() if tensor.is_floating_point() else tensor)

    def bfloat16(self) -> Self:
        """Convert floating parameters and buffers to bfloat16."""
        return self._apply(lambda tensor: tensor.bfloat16() if tensor.is_floating_point() else tensor)

    def cpu(self) -> Self:
        """Move to the CPU."""
        return self._apply(lambda tensor: tensor.cpu())

    def cuda(self, device: devices.device | int | None = None) -> Self:
        """Move to a GPU; raise if there is none."""
        return self._apply(lambda tensor: tensor.cuda(device))

    if devices.accelerator_is("npu"):

        def npu(self, device: devices.device | int | None = None) -> Self:
            """Move to an Ascend device."""
            return self._apply(lambda tensor: tensor.npu(device))

    def xpu(self, device: devices.device | int | None = None) -> Self:
        """Move to an Intel GPU; raise, since MindSpore supports none."""
        return self._apply(lambda tensor: tensor.xpu(device))

    def mtia(self, device: devices.device | int | None = None) -> Self:
        """Move to an MTIA device; raise, since MindSpore supports none."""
        return self._apply(lambda tensor: tensor.mtia(device))

    def ipu(self, device: devices.device | int | None = None) -> Self:
        """Move to an IPU; raise, since MindSpore supports none."""
        return self._apply(lambda tensor: tensor.ipu(device))

    def share_memory(self) -> Self:
        """Move parameters and buffers to shared memory; return the module."""
        return self._apply(lambda tensor: tensor.share_memory_())


def _converted(module: Any, name: str, parameter: Tensor, fn: Callable[[Tensor], Tensor]) -> Tensor:
    """Return the parameter, or its replacement, with ``fn`` applied to it and to its gradient."""
    with no_grad():
        fresh = fn(parameter)
    gradient = parameter.grad
    if switches.get_swap_module_params_on_conversion():
        title = f"{type(module).__name__}.{name}"
        parameter.grad = None
        try:
            swap_tensors(parameter, Parameter(fresh, requires_grad=is_tracked(parameter)))
        except RuntimeError as error:
            parameter.grad = gradient
            raise RuntimeError(f"_apply(): Couldn't swap {title}") from error
        if gradient is not None:
            with no_grad():
                changed = fn(gradient).requires_grad_(gradient.requires_grad)
            try:
                swap_tensors(gradient, changed)
            except RuntimeError as error:
                raise RuntimeError(f"_apply(): Couldn't swap {title}.grad") from error
            parameter.grad = gradient
        return parameter
    overwritten = switches.get_overwrite_module_params_on_conversion()
    replaced = overwritten or _differ_in_kind(parameter, fresh)
    result = Parameter(fresh, is_tracked(parameter)) if replaced else parameter
    if not replaced:
        _take_data(parameter, fresh)
    if gradient is not None:
        with no_grad():
            changed = fn(gradient)
        if overwritten or _differ_in_kind(gradient, changed):
            result.grad = changed.requires_grad_(gradient.requires_grad)
        else:
            _take_data(gradient, changed)
            auto_of(result).grad = gradient
    return result


def _differ_in_kind(tensor: Tensor, new: Tensor) -> bool:
    """Return whether a tensor cannot take the new one's data: one of them is sparse, or on the meta device."""
    return bool(tensor._ms_sparse != new._ms_sparse or tensor.is_meta is not new.is_meta)


def _take_data(tensor: Any, new: Tensor) -> None:
    if tensor._ms_sparse:
        tensor.data = new
    else:
        replace_data(tensor, new)
