"""torch._subclasses.fake_tensor: tensors with dtype, shape, strides and device, but no elements.

A fake tensor wraps a meta tensor, on which operations compute their metadata. Differs from torch: sizes are numbers (``shape_env`` raises),
and kernels' own choices of strides beyond those of the meta device are not modeled.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from .. import ops
from .._commands.scan.sources import Source
from .._library.dynamic_sizes import DynamicSizeError
from .._src.aten.kinds import is_shaped_by_values, reads_values
from .._src.backend.arrays import Number
from .._src.core import device as devices
from .._src.core.above import above
from .._src.core.device import device
from .._src.core.dtype import bool_
from .._src.core.tensor_base import to_meta
from .._src.hook import missing as _missing
from .._src.hook import not_yet
from .._tensor import Tensor
from ..utils._python_dispatch import TorchDispatchMode, _disable_current_modes
from ..utils._pytree import tree_map
from ..utils.weak import WeakIdKeyDictionary


class UnsupportedFakeTensorException(RuntimeError):
    """Raised for operations that fake tensors do not support; ``reason`` is the explanation."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class DynamicOutputShapeException(RuntimeError):
    """Raised for a result whose shape depends on values; ``func`` is the operator."""

    def __init__(self, func: ops.OpOverload) -> None:
        super().__init__(func)
        self.func = func


class DataDependentOutputException(RuntimeError):
    """Raised for a result that is a value; ``func`` is the operator."""

    def __init__(self, func: ops.OpOverload) -> None:
        super().__init__(func)
        self.func = func


class FakeTensorDeviceMismatchError(RuntimeError):
    """Raised for operands on two devices."""


def _emptied(tensor: Tensor) -> Tensor:
    """Return a meta tensor with the tensor's size and strides, including gaps, which a copy to the meta device would remove."""
    return to_meta(tensor)  # type: ignore[return-value]


class UnsupportedOperatorException(RuntimeError):
    """Error of an operator that has no function for fake tensors."""


class MetadataMismatchError(RuntimeError):
    """Raised for a result whose metadata differ from those of fake tensors."""


class FakeTensor(Tensor):
    """Tensor without elements: ``fake_device`` is the device that it reports, ``fake_mode`` the mode that made it."""

    fake_device: Any
    fake_mode: FakeTensorMode
    _held: Tensor
    constant: Tensor | None

    @staticmethod
    def __new__(cls: type, fake_mode: FakeTensorMode, elem: Tensor, device: Any, constant: Tensor | None = None) -> Any:
        device = _numbered(device)
        made = Tensor._make_wrapper_subclass(
            cls, elem.shape, strides=elem.stride(), storage_offset=elem.storage_offset(), dtype=elem.dtype, device=device,
        )  # fmt: skip
        made.fake_device, made.fake_mode, made._held, made.constant = device, fake_mode, elem, constant
        return made

    @staticmethod
    def from_tensor(t: Tensor, fake_mode: FakeTensorMode) -> FakeTensor:
        """Return a fake tensor with the metadata of ``t``."""
        return fake_mode.from_tensor(t)

    @classmethod
    def __torch_dispatch__(
        cls, func: Callable[..., Any], types: tuple[type, ...], args: tuple[Tensor, ...] = (), kwargs: dict[Any, Any] | None = None
    ) -> Any:
        """Run the operator in the fake mode of the tensors."""
        mode = next(value.fake_mode for value in _tensors((args, kwargs or {})) if isinstance(value, FakeTensor))
        return mode.dispatch(func, args, kwargs or {})

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        parts = [f"size={tuple(self.shape)}"]
        if self.fake_device.type != "cpu":
            parts.insert(0, f"device='{self.fake_device}'")
        if self.dtype is not above.torch.get_default_dtype():
            parts.append(f"dtype={self.dtype}")
        if self.grad_fn is not None:
            parts.append(f"grad_fn=<{self.grad_fn.name()}>")
        elif self.requires_grad:
            parts.append("requires_grad=True")
        text = f"FakeTensor(..., {', '.join(parts)})"
        return f"Parameter({text})" if isinstance(self, above.torch.nn.Parameter) else text

    def tolist(self) -> Any:
        """Raise DataDependentOutputException: a fake tensor has no elements."""
        raise DataDependentOutputException(ops.aten._local_scalar_dense.default)

    def numpy(self, *, force: bool = False) -> Any:
        """Raise RuntimeError: a fake tensor has no elements."""
        raise RuntimeError(".numpy() is not supported for tensor subclasses.")

    def data_ptr(self) -> int:
        """Return 0: a fake tensor has no memory."""
        return 0


def _tensors(value: Any) -> Iterator[Any]:
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, (tuple, list)):
        for part in value:
            yield from _tensors(part)
    elif isinstance(value, dict):
        yield from _tensors(tuple(value.values()))


# Composite operators that read a value.
_READS = ("is_nonzero", "_is_all_true", "_is_any_true")


class FakeTensorMode(TorchDispatchMode):
    """Mode in which factories make fake tensors, and operators compute on them.

    ``allow_non_fake_inputs``: real tensors are converted to fake ones instead of raising AssertionError.
    """

    def __init__(
        self, *, allow_fallback_kernels: bool = True, allow_non_fake_inputs: bool = False, shape_env: Any = None,
        static_shapes: bool | None = None, export: bool = False,
    ) -> None:  # fmt: skip
        super().__init__()
        if shape_env is not None:
            raise NotImplementedError(f"mstorch: fake tensors with symbols for sizes (shape_env) are not there {not_yet()}")
        self.allow_non_fake_inputs = allow_non_fake_inputs
        self.allow_fallback_kernels = allow_fallback_kernels
        self.shape_env, self.static_shapes, self.export = None, True, export
        self._known = WeakIdKeyDictionary()

    def from_tensor(
        self, tensor: Tensor, *, static_shapes: bool | None = None, source: Source | None = None, symbolic_context: Any = None
    ) -> Any:
        """Return the fake tensor of this mode with the metadata of ``tensor``; repeated calls return the same object."""
        if isinstance(tensor, FakeTensor):
            return tensor if tensor.fake_mode is self else FakeTensor(self, tensor._held, tensor.fake_device)
        found = self._known.get(tensor)
        if found is None:
            with _disable_current_modes():
                held = _emptied(tensor)
            found = FakeTensor(self, held, tensor.device).requires_grad_(tensor.requires_grad)
            if isinstance(tensor, above.torch.nn.Parameter):
                found = above.torch.nn.Parameter(found, tensor.requires_grad)
            self._known[tensor] = found
        return found

    def __torch_dispatch__(
        self, func: Callable[..., Any], types: tuple[type, ...], args: tuple[Tensor | float | Sequence[int], ...] = (),
        kwargs: dict[Any, Any] | None = None,
    ) -> Any:
        """Run the operator on fake tensors."""
        return self.dispatch(func, args, kwargs or {})

    def dispatch(self, func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        """Run an operator on fake tensors, or on no tensors."""
        name = func._schema.name.rpartition("::")[2]
        given = list(_tensors((args, kwargs)))
        if name in ("lift_fresh", "lift_fresh_copy") and not isinstance(given[0], FakeTensor):
            return self._of_numbers(given[0])
        if given and all(getattr(value, "constant", None) is not None for value in given) and not func._nondeterministic_seeded:
            return self._of_constants(func, args, kwargs)
        self._refuse(func, name, given, args)
        held: dict[int, Any] = {}

        def unwrapped(value: Any) -> Any:
            if isinstance(value, Tensor):
                x = value
                if isinstance(x, FakeTensor) and x.fake_mode is not self:
                    raise AssertionError(f"Mixing fake modes NYI {x.fake_mode=} vs {self=}")
                fake = self.from_tensor(value)
                held[id(fake._held)] = value if isinstance(value, FakeTensor) else fake
                return fake._held
            return value

        device = _device_of(given, kwargs)
        named = {key: "meta" if key == "device" else value for key, value in tree_map(unwrapped, kwargs).items()}
        positional = tree_map(unwrapped, args)
        if not given and "device" not in named and "device" in {argument.name for argument in func._schema.arguments}:
            named["device"] = "meta"
        try:
            found = func(*positional, **named)
        except DynamicSizeError:
            raise DynamicOutputShapeException(func) from None

        def wrapped(value: Tensor | None) -> Any:
            if not isinstance(value, Tensor):
                return value
            own = held.get(id(value))
            if own is not None:
                own.constant = None  # it was modified in place
            if own is None:
                return FakeTensor(self, value if value.is_meta else _emptied(value), device)
            return own

        return tree_map(wrapped, found)

    def _of_numbers(self, tensor: Tensor) -> FakeTensor:
        """Return a fake tensor for a tensor made from Python numbers. The value of a one-element tensor is kept, so that ``item()`` works.
        """
        return FakeTensor(self, _emptied(tensor), tensor.device, tensor if tensor.numel() == 1 else None)

    def _of_constants(self, func: ops.OpOverload, args: tuple[Tensor | int, ...], kwargs: dict[str, Any]) -> Tensor | float:
        """Run an operator on the known constants of fake tensors."""
        own = {id(value.constant): value for value in _tensors((args, kwargs))}

        def known(value: Tensor | float) -> Any:
            return value.constant if isinstance(value, FakeTensor) else value

        def wrapped(value: Tensor | Number) -> Any:
            return own.get(id(value)) or self._of_numbers(value) if isinstance(value, Tensor) else value

        return tree_map(wrapped, func(*tree_map(known, args), **tree_map(known, kwargs)))

    def _refuse(self, func: ops.OpOverload, name: str, given: list[Any], args: tuple[Any, ...]) -> None:
        if reads_values(name) or name in _READS:
            raise DataDependentOutputException(func)
        if name == "one_hot":
            if len(args) < 2 or args[1] == -1:  # torch infers the number of classes
                raise DataDependentOutputException(ops.aten._local_scalar_dense.default)
            return
        masks = [value for value in _tensors(args[1:2]) if value.dtype is bool_] if name in ("index", "index_put") else ()
        if masks if name == "index" else is_shaped_by_values(name):
            raise DynamicOutputShapeException(ops.aten.nonzero.default if masks else func)
        real = [value for value in given if not isinstance(value, FakeTensor)]
        if real and not self.allow_non_fake_inputs:
            raise AssertionError(
                "Please convert all Tensors to FakeTensors first or instantiate FakeTensorMode with 'allow_non_fake_inputs'. "
                f"Found in {func}({', '.join(map(_shown, args))})"
            )


def _shown(value: Tensor | float) -> str:
    if isinstance(value, Tensor) and not isinstance(value, FakeTensor):
        return f"tensor([...], size={tuple(value.shape)})"
    return repr(value)


def _device_of(given: list[Any], kwargs: dict[str, Any]) -> device:
    """Return the device of a result: the device that the call requests, or that of the operands; 0-d CPU tensors match any device."""
    said = kwargs.get("device")
    if said is not None:
        return _numbered(said)
    found = None
    for value in given:
        own = value.device
        if found is None or (found[1] and own != found[0]):
            found = own, not value.shape and own.type == "cpu"
        elif own != found[0] and (value.shape or own.type != "cpu"):
            raise FakeTensorDeviceMismatchError(
                f"Expected all tensors to be on the same device, but found at least two devices, {found[0]} and {own}!"
            )
    return devices.default() if found is None else found[0]


def _numbered(device: int | str | device) -> device:
    """Return a device with an index; the device need not exist, because fake tensors do not use it."""
    found = devices.device(device)
    return devices.device(found.type, 0) if found.index is None and found.type not in ("cpu", "meta") else found


def is_fake(x: object) -> bool:
    """Return whether a value is a fake tensor, or a subclass that wraps one."""
    return isinstance(x, FakeTensor)


unset_fake_temporarily = _disable_current_modes


__all__ = [
    "DataDependentOutputException", "DynamicOutputShapeException", "FakeTensor", "FakeTensorDeviceMismatchError", "FakeTensorMode",
    "MetadataMismatchError", "UnsupportedFakeTensorException", "UnsupportedOperatorException", "is_fake", "unset_fake_temporarily",
]  # fmt: skip

__getattr__ = _missing(__name__)
