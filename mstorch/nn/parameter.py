"""Parameter and Buffer: tensors that Module registers on assignment."""
from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any

from .._src.backend.cell import as_parameter, is_raw, set_value, share, when_changed
from .._src.backend.initializers import drawn
from .._src.backend.raw import Raw
from .._src.backend.runtime import keep_interrupts
from .._src.core.above import above
from .._src.core.device import device
from .._src.core.dtype import dtype
from .._src.core.ends import ENDS
from .._src.core.naming import is_torch
from .._src.core.overriding import WITHOUT_SUBCLASSES, disabled, dispatches, join, level_set_to, overrides
from .._src.core.tensor_base import TensorBase, become, is_tracked, require_grad, value_of
from .._src.ops.memory import copying, creation
from .._src.ops.shape import views
from .._src.tape.mirrored import resolved
from .._tensor import Tensor, from_mindspore


class _ParameterMeta(type(Tensor)):
    def __instancecheck__(cls, instance: Any) -> bool:
        return type.__instancecheck__(cls, instance) or (
            cls is Parameter and isinstance(instance, TensorBase) and getattr(instance, "_is_param", False)
        )


class Parameter(Tensor, metaclass=_ParameterMeta):
    """A tensor that becomes a parameter of the Module to which it is assigned.

    Args:
        data: the values, shared, not copied.
        requires_grad: whether gradients are computed for it.
    """

    __slots__ = ()
    __torch_function__ = disabled
    _ms_copied_at = 0

    def __new__(cls, data: Tensor | None = None, requires_grad: bool = True) -> Parameter:
        if isinstance(data, TensorBase) and type(data) not in (Tensor, cls) and not isinstance(data, Parameter) and (
            data._ms_sparse or overrides(data) or dispatches(type(data))
        ):
            return _of_subclass(data, requires_grad)
        if data is None:
            data = creation.empty(0)
        elif not isinstance(data, TensorBase):
            raise TypeError(f"cannot create Parameter from an object of type {type(data).__name__}: a Tensor is needed")
        made = views.detach(resolved(data))
        made.__class__ = cls
        if requires_grad:
            if data._ms_dtype.is_integral:
                raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
            require_grad(made, True)
        return made

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def __copy__(self) -> Tensor:
        made = super().__copy__()
        made.__class__ = Parameter  # as in torch, a shallow copy and a pickle are not of the subclass
        return made

    def __deepcopy__(self, memo: dict[int, Any]) -> Tensor:
        """Return a copy of the values: as in torch, neither the gradient nor attributes are copied."""
        made = memo.get(id(self))
        if made is None:
            made = memo[id(self)] = type(self)(self.data.clone(), self.requires_grad)
        return made

    def __reduce_ex__(self, protocol: int) -> tuple[Any, ...]:
        found = above.plain_pickles.reduced(self) if is_torch() else NotImplemented
        if found is not NotImplemented:
            return found
        rebuild, (_, *parts) = super().__reduce_ex__(protocol)
        return rebuild, (Parameter, *parts)

    def set_data(self, data: Tensor | Raw | float, slice_shape: bool = False) -> Parameter:
        """Copy a number, or the values of a tensor of either library; MindSpore's name for ``copy_``. Return the parameter."""
        set_data(self, data)
        return self

    def init_data(self, *args: Any, **kwargs: Any) -> Parameter:
        """Return the parameter; mstorch has no deferred initialization like MindSpore's."""
        return self

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        text = Tensor.__repr__(self)
        return "Parameter containing:\n" + (text if type(self) is Parameter else f"Parameter({text})")


join(Parameter)


def set_data(tensor: Tensor, data: Tensor | Raw | float) -> None:
    """Copy ``data`` (a mindspore.Tensor, a tensor or a number) into ``tensor``. Raise ValueError if a tensor has another shape."""
    if is_raw(data):
        data = from_mindspore(drawn(data))
    if isinstance(data, TensorBase) and data._ms_shape != tensor._ms_shape:
        raise ValueError(f"set_data: the parameter is of shape {tuple(tensor._ms_shape)}, the data of {tuple(data._ms_shape)}")
    if not isinstance(data, TensorBase):
        data = creation.full(tensor.shape, data, dtype=tensor.dtype)
    copying.copy_(views.detach(tensor), views.detach(data))


def _of_subclass(data: Any, requires_grad: bool) -> Any:
    """Return a parameter that keeps its tensor subclass, whose ``__torch_function__`` handles its operations."""
    made = data.detach().requires_grad_(requires_grad)
    if type(made) is not type(data):
        raise RuntimeError(
            f"Creating a Parameter from an instance of type {type(data).__name__} requires that detach() returns an instance of "
            f"the same type, but return type {type(made).__name__} was found instead. To use the type as a Parameter, please "
            "correct the detach() semantics defined by its __torch_dispatch__() implementation."
        )
    made._is_param = True
    return made


def native_parameter(parameter: Tensor, name: str) -> Any:
    """Return the underlying mindspore.Parameter, named ``name``; it is created on first use by MindSpore."""
    storage = parameter._ms_storage
    if storage.parameter is None or tuple(storage.parameter.shape) != parameter._ms_shape:
        if not storage.is_shown_by(parameter):  # as MindSpore requires
            fresh = creation.empty(parameter.shape, dtype=parameter.dtype, device=parameter.device)
            fresh.copy_(parameter.detach())
            become(parameter, fresh)
            storage = parameter._ms_storage
        values = storage.whole(parameter)
        made = as_parameter(value_of(parameter), name, is_tracked(parameter))
        # MindSpore copies a parameter's initial value, but shares a value that is set later.
        set_value(made, values)
        storage.share_with(made)
        ENDS.add(made, weakref.ref(parameter))
        share(made, parameter)
    else:
        as_parameter(storage.parameter, name, is_tracked(parameter))
    return storage.parameter


def _adopt_geometry(tensor: Tensor, raw: Any) -> None:
    """Adopt the shape and dtype that MindSpore has given to the tensor's parameter."""
    become(tensor, from_mindspore(raw))
    share(raw, tensor)


class _BufferMeta(type(Tensor)):
    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, TensorBase) and bool(getattr(instance, "_is_buffer", False))


class Buffer(Tensor, metaclass=_BufferMeta):
    """A tensor that becomes a buffer of the Module to which it is assigned; a persistent buffer is in the module's state_dict."""

    __slots__ = ()
    persistent: bool

    def __new__(cls, data: Tensor | None = None, *, persistent: bool = True) -> Buffer:
        made: Any
        if data is not None and dispatches(type(data)):
            made = data.detach().requires_grad_(data.requires_grad)
        else:
            made = creation.empty(0) if data is None else views.alias(data) if data.requires_grad else views.detach(data)
        made._is_buffer = True
        made.persistent = persistent
        return made


_NO_SHAPE = (
    "Can't access the shape of an uninitialized parameter or buffer. This error usually happens in `load_state_dict` when trying "
    "to load an uninitialized parameter into an initialized one. Call `forward` to initialize the parameters before accessing "
    "their attributes."
)


# Operations of a module on its parameters before they have a size.
_BEFORE_SIZE = frozenset((
    "__get__", "__set__", "__hash__", "__deepcopy__", "__reduce_ex__", "size", "copy_", "is_complex", "is_floating_point", "half",
    "float", "double", "bfloat16", "char", "short", "int", "long", "npu", "cuda", "cpu", "to", "get_device",
))  # fmt: skip


class UninitializedTensorMixin:
    """Tensor without a shape, which ``materialize`` gives it."""

    cls_to_become: type

    @classmethod
    def __torch_function__(
        cls, func: Callable[..., Any], types: Sequence[type], args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if getattr(func, "__name__", "") not in _BEFORE_SIZE:
            raise ValueError(
                f"Attempted to use an uninitialized parameter in {func}. This error happens when you are using a `LazyModule` or "
                f"explicitly manipulating `torch.nn.parameter.{cls.__name__}` objects. When using LazyModules Call `forward` with "
                "a dummy batch to initialize the parameters before calling torch functions"
            )
        with level_set_to(WITHOUT_SUBCLASSES):
            result, own = func(*args, **(kwargs or {})), cls.cls_to_become is Tensor
            # A converted buffer takes the place of the first one, and has no size either; a parameter takes its data.
            return result.as_subclass(cls) if own and type(result) is Tensor else result  # type: ignore[type-var]

    def materialize(self, shape: int | Sequence[int], device: int | str | device | None = None, dtype: dtype | None = None) -> None:
        """Give the tensor a shape; its values are uninitialized."""
        tensor: Any = self
        tensor.data = creation.empty(shape, device=device or tensor.device, dtype=dtype or tensor.dtype)
        tensor.__class__ = self.cls_to_become

    @property
    def shape(self) -> Any:
        """Raise RuntimeError: the shape is not known yet."""
        raise RuntimeError(_NO_SHAPE)

    def share_memory_(self) -> Any:
        """Raise RuntimeError: an uninitialized parameter has no memory."""
        raise RuntimeError(
            "Can't share memory on an uninitialized parameter or buffer. Call `forward` to initialize the parameters before calling "
            "`module.share_memory()`."
        )

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        return f"<{type(self).__name__}>"

    def __copy__(self) -> Any:
        return type(self)(self.requires_grad)  # type: ignore[attr-defined, call-arg]

    def __deepcopy__(self, memo: dict[int, Any]) -> Tensor:
        made = memo.get(id(self))
        if made is None:
            made = memo[id(self)] = self.__copy__()
        return made

    def __reduce_ex__(self, protocol: int) -> tuple[Any, ...]:
        return type(self), (self.requires_grad,)  # type: ignore[attr-defined]


class UninitializedParameter(UninitializedTensorMixin, Parameter):  # type: ignore[metaclass]
    """A parameter whose shape the first input determines."""

    __slots__ = ()
    cls_to_become = Parameter

    def __new__(cls, requires_grad: bool = True, device: Any = None, dtype: Any = None) -> UninitializedParameter:
        return Parameter.__new__(cls, creation.empty(0, device=device, dtype=dtype), requires_grad)  # type: ignore[return-value]


class UninitializedBuffer(UninitializedTensorMixin, Tensor):
    """A buffer whose shape the first input determines."""

    __slots__ = ()
    cls_to_become = Tensor

    def __new__(
        cls, requires_grad: bool = False, device: Any = None, dtype: Any = None, persistent: bool = True
    ) -> UninitializedBuffer:
        made = creation.empty(0, device=device, dtype=dtype).requires_grad_(requires_grad)
        made.__class__ = cls
        made._is_buffer = True
        made.persistent = persistent
        return made

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()


def is_lazy(param: Any) -> bool:
    """Return whether a parameter or buffer is uninitialized."""
    return isinstance(param, UninitializedTensorMixin)


# MindSpore replaces the SIGINT handler when the first Parameter is made: make one here, so that Python's handler can be restored for good.
Parameter(creation.ones(1))
keep_interrupts()
when_changed(_adopt_geometry)
above.Parameter = Parameter

__all__ = [
    "Buffer", "Parameter", "UninitializedBuffer", "UninitializedParameter", "UninitializedTensorMixin", "is_lazy",
    "native_parameter",
]  # fmt: skip
