"""The class Tensor. Its remaining methods are listed in ``_src/methods.py``."""
from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _tensor_str
from ._src import methods
from ._src.backend.arrays import Array, Number
from ._src.backend.cast import in_python
from ._src.backend.cell import set_value
from ._src.backend.float8 import shown
from ._src.backend.raw import ON_CPU, Raw
from ._src.core import cuda_names, formats, refusals
from ._src.core import device as devices
from ._src.core import dtype as dtypes
from ._src.core.above import above
from ._src.core.auto import take_kind
from ._src.core.call_forms import combination
from ._src.core.dtype import get_default_dtype
from ._src.core.hooks import RemovableHandle, warn_if_has_hooks
from ._src.core.mirrors import Mirror
from ._src.core.modes import grad_set_to, modes
from ._src.core.naming import NamedAsInTorch, is_torch
from ._src.core.overriding import disabled_dispatch, join, state
from ._src.core.postponed import refuse_after_steps
from ._src.core.promotion import WORDS
from ._src.core.size import Size
from ._src.core.storage import FIXED, NATIVE, Absent, Counter, Storage
from ._src.core.tangents import LEVELS, levels_of
from ._src.core.tensor_base import (
    TensorBase,
    array_of,
    auto_of,
    become_apart,
    in_class,
    is_meta,
    is_tracked,
    require_grad,
    set_tensor_class,
    strides_of,
    twin,
    value_of,
    whole_storage,
)  # fmt: skip
from ._src.core.warned import CONVERTED, NO_LEAF, warn, warn_once
from ._src.ops._numbers import real_of
from ._src.ops.memory import creation, from_data, subclasses
from ._src.ops.memory.copying import copy_storage, place_of, rebuilt
from ._src.ops.memory.grad_dtype import check_gradient
from ._src.ops.shape import views
from ._src.tape import border
from ._src.tape.duals import tangent_of
from ._src.tape.metadata import shown_node
from ._src.tape.mirrored import CLASSES, resolved
from ._src.tape.node import Node, node_of, shown_name
from ._src.tape.refitted import refit

# Attributes of one tensor object, not of its value.
_NOT_COPIED = frozenset(("_count",))


class Tensor(TensorBase, metaclass=NamedAsInTorch):
    """A multi-dimensional array of one dtype, on one device, that autograd can track."""

    __slots__ = ()
    __array_priority__ = 1000
    _ms_nested = False  # whether it is a nested tensor, whose elements and autograd graph another tensor holds (`nested/_internal/base.py`)

    def __new__(cls, *args: Any, **kwargs: Any) -> Tensor:
        """Return an uninitialized tensor of a size for ``Tensor(2, 3)``, or one of the given values for ``Tensor([1, 2])``."""
        kind = get_default_dtype()
        place = kwargs.pop("device", None)
        if kwargs.keys() - {"data", "size", "other", "storage"} and cls is Tensor:
            raise TypeError(combination("new", args, kwargs if place is None else {**kwargs, "device": place}, ()))
        if place is not None and devices.device(place).type != "cpu":
            raise RuntimeError(f"legacy constructor expects device type: cpu but device type: {devices.device(place).type} was passed")
        if len(args) == 1 and isinstance(args[0], TensorBase) and place is not None:
            raise RuntimeError(
                "Legacy tensor constructor of the form torch.Tensor(tensor, device=device) is not supported.  Use torch.tensor(...) or "
                "torch.as_tensor(...) instead."
            )
        if len(args) == 1 and isinstance(args[0], TensorBase):
            made: Any = views.alias(args[0])
        elif len(args) == 1 and not isinstance(args[0], int):
            made = creation.empty(args[0]) if isinstance(args[0], Size) else from_data.copied(args[0], kind)
        else:
            made = creation.empty(*(args or (0,)))
        return made if cls is Tensor else in_class(made, cls)

    # Shape and type

    @property
    def shape(self) -> Size:
        """The length of each dimension."""
        return tuple.__new__(Size, self._ms_shape)

    def dim(self) -> int:
        """Return the number of dimensions."""
        return len(self._ms_shape)

    ndimension = dim

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self._ms_shape)

    def numel(self) -> int:
        """Return the number of elements."""
        return math.prod(self._ms_shape)

    nelement = numel

    def storage_offset(self) -> int:
        """Return the storage offset of the first element, in elements."""
        return self._ms_offset

    def element_size(self) -> int:
        """Return the size of an element in bytes."""
        return self._ms_dtype.itemsize

    @property
    def itemsize(self) -> int:
        """The size of an element in bytes."""
        return self._ms_dtype.itemsize

    @property
    def nbytes(self) -> int:
        """The size of all elements in bytes."""
        return self.numel() * self._ms_dtype.itemsize

    @property
    def dtype(self) -> dtypes.dtype:
        """The dtype of the elements."""
        return self._ms_dtype

    @property
    def device(self) -> devices.device:
        """The device of the tensor."""
        storage = self._ms_storage
        kind = storage.__class__
        return devices.CPU if kind is Storage or kind is Mirror else storage.device if kind is Absent else devices.current()

    @property
    def layout(self) -> formats.layout:
        """The layout, such as torch.strided."""
        return formats.strided

    def get_device(self) -> int:
        """Return the index of the device, -1 on the CPU."""
        index = self.device.index
        return -1 if index is None else index

    if not TYPE_CHECKING:  # type checkers use the stubs, because they do not understand such properties
        is_cpu = property(lambda self: self.device.type == "cpu", doc="True if the tensor is on the CPU.")
        is_cuda = cuda_names.is_cuda
        if devices.current().type == "npu":
            is_npu = property(lambda self: self.device.type == "npu", doc="True if the tensor is on an Ascend device.")
        is_sparse = property(lambda self: False, doc="True if the layout is sparse COO.")
        is_sparse_csr = property(lambda self: False, doc="True if the layout is sparse CSR.")
        is_quantized = property(lambda self: False, doc="True if the elements are quantized.")
        is_meta = property(is_meta, doc="True if the tensor has no data.")
        is_nested = property(lambda self: self._ms_nested, doc="True if the tensor is a nested one.")
        is_mkldnn = property(lambda self: False, doc="True if the layout is oneDNN's.")

    def is_floating_point(self) -> bool:
        """Return whether the dtype is floating."""
        return self._ms_dtype.is_floating_point

    def is_complex(self) -> bool:
        """Return whether the dtype is complex."""
        return self._ms_dtype.is_complex

    def is_signed(self) -> bool:
        """Return whether the dtype can hold negative numbers."""
        return self._ms_dtype.is_signed

    def is_inference(self) -> bool:
        """Return whether the tensor was created in inference mode."""
        return self._ms_auto is not None and self._ms_auto.inference

    def data_ptr(self) -> int:
        """Return the address of the first element; on a device, a number unique to the storage and offset."""
        storage: Any = self._ms_storage
        if not math.prod(self._ms_shape) or storage.__class__ is Absent:
            return 0
        return storage.address_of(self) if storage.__class__ in NATIVE else array_of(self).__array_interface__["data"][0]

    def is_set_to(self, tensor: Tensor) -> bool:
        """Return whether both tensors are the same view of the same storage."""
        return (
            self._ms_storage is tensor._ms_storage and self._ms_offset == tensor._ms_offset
            and self.shape == tensor.shape and strides_of(self) == strides_of(tensor)
        )  # fmt: skip

    # Python values

    def item(self) -> int | float | bool:
        """Return the only element as a Python number."""
        count = math.prod(self._ms_shape)
        if is_meta(self):
            raise RuntimeError("Tensor.item() cannot be called on meta tensors")
        if count != 1:
            raise RuntimeError(f"a Tensor with {count} elements cannot be converted to Scalar")
        return in_python(array_of(self).reshape(())).item()

    def tolist(self) -> list[Any]:
        """Return the elements as nested lists of Python numbers; a number for a 0-d tensor."""
        return in_python(array_of(self)).tolist()

    def __bool__(self) -> bool:
        count = math.prod(self._ms_shape)
        if count != 1 and not is_meta(self):
            if count == 0:
                raise RuntimeError("Boolean value of Tensor with no values is ambiguous")
            raise RuntimeError("Boolean value of Tensor with more than one value is ambiguous")
        return bool(self.item())

    def __float__(self) -> float:
        return float(real_of(_followed(self), "double"))

    def __int__(self) -> int:
        return int(real_of(_only(self), "int64_t"))

    def __complex__(self) -> complex:
        return complex(_followed(self))

    def __index__(self) -> int:
        if not self._ms_dtype.is_integral or self.numel() != 1:
            raise TypeError("only integer tensors of a single element can be converted to an index")
        return int(self.item())

    def __len__(self) -> int:
        shape = self._ms_shape
        if not shape:
            raise TypeError("len() of a 0-d tensor")
        return shape[0]

    def __iter__(self) -> Iterator[Tensor]:
        if not self._ms_shape:
            raise TypeError("iteration over a 0-d tensor")
        return iter(self.unbind(0))

    def __reversed__(self) -> Tensor:
        """Return the tensor flipped along its first dimension."""
        return self.flip(0) if self._ms_shape else self

    def __delitem__(self, key: Any) -> None:
        raise TypeError("Tensor does not support deleting items")

    def __contains__(self, element: Any) -> bool:
        if isinstance(element, (TensorBase, int, float, complex, bool)):
            return bool(self.eq(element).any())  # type: ignore[arg-type]
        raise RuntimeError(f"Tensor.__contains__ only supports Tensor or scalar, but you passed in a {type(element)}.")

    def __hash__(self) -> int:
        return id(self)

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        text = _text(self) if tensor_contents is None else _tensor_str._str_intern(self, tensor_contents=tensor_contents)
        return f"Parameter({text})" if getattr(self, "_is_param", False) else text

    def __format__(self, spec: str) -> str:
        if not self._ms_shape and not is_meta(self) and type(self) is Tensor:
            return format(self.item(), spec)
        return object.__format__(self, spec)

    def __dir__(self) -> list[str]:
        return sorted((set(dir(type(self))) | set(self.__dict__)) - {"__cuda_array_interface__"})

    # NumPy

    def numpy(self, *, force: bool = False) -> np.ndarray[Any, Any]:
        """Return the elements as an array that shares the tensor's memory on the CPU, so that writes to either are seen by both."""
        if force:
            return self.detach().cpu().numpy()
        if modes.grad and self.requires_grad:
            raise RuntimeError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")
        if self._ms_storage.__class__ is not Storage and (not ON_CPU or is_meta(self)):
            raise TypeError(
                f"can't convert {self.device} device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host "
                "memory first."
            )
        if self._ms_dtype.name == "bfloat16":
            raise TypeError("Got unsupported ScalarType BFloat16")
        if self._ms_dtype.ms is None:
            raise TypeError(f"Got unsupported ScalarType {WORDS[self._ms_dtype.name]}")
        if self._ms_storage.__class__ is Storage:
            FIXED.add(self._ms_storage)  # memory that an array shares cannot grow
        return array_of(self).view()

    def __array__(self, dtype: np.dtype[Any] | None = None, copy: bool | None = None) -> Array:
        array = self.numpy()
        if dtype is not None and array.dtype != np.dtype(dtype):
            return array.astype(dtype)
        return array.copy() if copy else array

    def __array_wrap__(
        self, array: Array, context: tuple[Any, tuple[TensorBase | int, ...], int] | None = None, return_scalar: bool = False
    ) -> Tensor:
        if array.dtype == bool:
            array = array.astype("uint8")
        return from_data.from_numpy(np.ascontiguousarray(array).reshape(array.shape))

    # Autograd

    @property
    def requires_grad(self) -> bool:
        """True if gradients are computed for the tensor."""
        return is_tracked(self)

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        if not isinstance(value, bool):
            raise RuntimeError("requires_grad must be a bool")
        if value and node_of(self) is not None:
            raise RuntimeError("you can only change requires_grad flags of leaf variables.")
        self.requires_grad_(value)

    @requires_grad.deleter
    def requires_grad(self) -> None:
        raise RuntimeError("requires_grad must be a bool")

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        """Set requires_grad of a leaf; return the tensor."""
        if not isinstance(requires_grad, bool):
            raise TypeError(f"requires_grad_(): argument 'requires_grad' (position 1) must be bool, not {type(requires_grad).__name__}")
        if state.levels and requires_grad:
            refusals.refuse_in_transform("requires_grad_()", " (or perhaps using torch.autograd.functional.* APIs)")
        if requires_grad and self._ms_dtype.is_integral:  # even if autograd tracks the tensor because of a write
            raise RuntimeError("only Tensors of floating point dtype can require gradients")
        if requires_grad and self.is_inference() and not modes.inference:
            raise RuntimeError("Setting requires_grad=True on inference tensor outside InferenceMode is not allowed.")
        if requires_grad == is_tracked(self):
            return self
        if not requires_grad and node_of(self) is not None:
            raise RuntimeError(
                "you can only change requires_grad flags of leaf variables. If you want to use a computed variable in a "
                "subgraph that doesn't require differentiation use var_no_grad = var.detach()."
            )
        require_grad(self, requires_grad)
        return self

    @property
    def is_leaf(self) -> bool:
        """True unless the tensor is the result of an operation that autograd tracks."""
        return node_of(self) is None

    @property
    def grad_fn(self) -> Node | None:
        """The node that made the tensor; None for a leaf."""
        return shown_node(self)

    @property
    def grad(self) -> Tensor | None:
        """The gradient that backward accumulated, or None."""
        if modes.native is not None:
            refuse_after_steps("a gradient is read")
        auto = self._ms_auto
        found = None if auto is None else auto.grad
        if found is None and self._ms_node is not None and not (auto is not None and auto.retains):
            warn(NO_LEAF, UserWarning)
        return found

    @grad.setter
    def grad(self, value: Tensor | None) -> None:
        refuse_after_steps("a gradient is assigned")
        if value is not None:
            if not isinstance(value, TensorBase):
                raise TypeError(f"assigned grad expected to be a Tensor or None but got grad of type {type(value).__name__}")
            if value is self:
                raise RuntimeError("can't assign Variable as its own grad")
            check_gradient(self, value)
            if value.shape != self.shape:
                raise RuntimeError(
                    f"attempting to assign a gradient of size '{list(value.shape)}' to a tensor of size '{list(self.shape)}'. "
                    "Please ensure that the gradient and the tensor are the same size"
                )
        if value is not None:
            auto_of(self).grad = resolved(value)
        elif self._ms_auto is not None:
            self._ms_auto.grad = None

    @grad.deleter
    def grad(self) -> None:
        self.grad = None

    _grad = grad

    def backward(
        self, gradient: Tensor | None = None, retain_graph: bool | None = None, create_graph: bool = False, inputs: Any = None
    ) -> None:
        """Accumulate the gradient of this tensor (times ``gradient``, which is required unless it is a scalar) into the leaves."""
        if inputs is not None or create_graph or not above.backward_from_one(self, gradient, retain_graph):
            above.autograd.backward(self, gradient, retain_graph, create_graph, inputs=inputs)

    def register_hook(self, hook: Callable[[Tensor], Tensor | None]) -> Any:
        """Register ``hook(grad)`` to run whenever a gradient of the tensor is computed; a return value other than None replaces the
        gradient.
        """
        return above.autograd.graph.register_tensor_hook(self, hook)

    def register_post_accumulate_grad_hook(self, hook: Callable[[Tensor], None]) -> RemovableHandle:
        """Register ``hook(tensor)`` to run after a gradient was accumulated into this leaf."""
        return above.autograd.graph.register_post_accumulate_hook(self, hook)

    def retain_grad(self) -> None:
        """Make backward fill ``grad`` of this non-leaf."""
        above.autograd.graph.retain_grad(self)

    @property
    def retains_grad(self) -> bool:
        """True if ``retain_grad`` was called on a non-leaf tensor."""
        return self._ms_auto is not None and self._ms_auto.retains

    def detach(self) -> Tensor:
        """Return a tensor over the same elements, detached from the autograd graph."""
        return views.detach(self)

    def detach_(self) -> Tensor:
        """Detach the tensor from the autograd graph, in place."""
        auto = self._ms_auto
        if auto is not None and auto.base is not None:
            raise RuntimeError(
                "Can't detach views in-place. Use detach() instead. If you are using DistributedDataParallel (DDP) for "
                "training, and gradient_as_bucket_view is set as True, gradients are views of DDP buckets, and hence "
                "detach_() cannot be called on these gradients. To fix this error, please refer to the Optimizer.zero_grad() "
                "function in torch/optim/optimizer.py as the solution."
            )
        if self._ms_node is not None:
            auto_of(self).cut = Node(()).sequence
        self._ms_node, self._ms_number = None, 0
        if auto is not None:
            auto.leaf = False
            auto.tangents = None
        return self

    @property
    def data(self) -> Tensor:
        """The same elements, detached from the autograd graph; writes to them do not increment this tensor's version."""
        made = views.detach(self)
        made._ms_counter = Counter()
        return made

    @data.setter
    def data(self, new: Tensor) -> None:
        replace_data(self, new)

    @data.deleter
    def data(self) -> None:
        raise RuntimeError("Deleting tensor data is not allowed. Delete tensor instead!")

    @property
    def _version(self) -> int:
        if self._ms_auto is not None and self._ms_auto.uncounted:
            raise RuntimeError("Inference tensors do not track version counter.")
        return self._ms_counter.version

    @property
    def output_nr(self) -> int:
        """The tensor's output number at its ``grad_fn``."""
        return self._ms_number

    def _is_view(self) -> bool:
        return self._ms_auto is not None and self._ms_auto.base is not None

    @property
    def _base(self) -> Tensor | None:
        return None if self._ms_auto is None else self._ms_auto.base

    _ms_copied_at = 1  # version of a copy: as in torch, its construction counts as one write

    as_subclass = subclasses.as_subclass
    _make_subclass = staticmethod(subclasses.make_subclass)
    _make_wrapper_subclass = staticmethod(subclasses.make_wrapper_subclass)
    __torch_function__: Any = classmethod(subclasses.default_handler)
    __torch_dispatch__: Any = staticmethod(disabled_dispatch)

    # MindSpore

    def to_mindspore(self) -> Raw:
        """Return the underlying mindspore.Tensor, which shares memory; gradients flow back through it."""
        return border.to_mindspore(self)

    # Copies

    def __deepcopy__(self, memo: dict[int, Any]) -> Tensor:
        if node_of(self) is not None:
            raise RuntimeError(
                "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment.  If "
                "you were attempting to deepcopy a module, this may be because of a torch.nn.utils.weight_norm usage, see "
                "https://github.com/pytorch/pytorch/pull/103001"
            )
        if id(self) in memo:
            return memo[id(self)]
        with grad_set_to(False):
            made = subclasses.cloned(self) if subclasses.keeps_elsewhere(self) else copy_storage(self, memo)
        made._ms_counter = Counter(self._ms_copied_at)
        if self.requires_grad:
            made.requires_grad_()
        if self.grad is not None:
            made.grad = copy.deepcopy(self.grad, memo)
        memo[id(self)] = made = subclasses.with_attributes(made, self, memo, _NOT_COPIED)
        return made

    def __copy__(self) -> Tensor:
        made = twin(self)
        made._ms_counter = Counter(self._ms_copied_at)
        made._ms_node, made._ms_number = None, 0
        if is_tracked(self):
            auto_of(made).leaf = True
        made.__class__ = type(self)
        made.__dict__.update(self.__dict__)
        return made

    def __reduce_ex__(self, protocol: int) -> tuple[Any, ...]:
        wrapper = self._ms_storage.__class__ is Absent and not is_meta(self)
        found = above.plain_pickles.reduced(self) if wrapper or is_torch() else NotImplemented
        if found is not NotImplemented:
            return found
        warn_if_has_hooks(self)
        payload = array_of(whole_storage(self))
        payload = payload.view(np.uint16) if self._ms_dtype.name == "bfloat16" else payload.view(self._ms_dtype.held)
        state = dict(self.__dict__)
        geometry = self._ms_shape, strides_of(self), self._ms_offset
        return rebuilt, (type(self), payload.copy(), self._ms_dtype.name, geometry, self.requires_grad, state, *place_of(self))


def _followed(tensor: Tensor) -> Number:
    """Return the only element, with a warning if autograd follows it."""
    if modes.grad and tensor.requires_grad:
        warn_once(CONVERTED)
    return _only(tensor)


def _only(tensor: Tensor) -> Number:
    if math.prod(tensor._ms_shape) != 1:
        raise ValueError("only one element tensors can be converted to Python scalars")
    return tensor.item()


def _text(tensor: Tensor) -> str:
    """Return the repr of a tensor."""
    array = None if is_meta(tensor) else array_of(tensor)
    here = tensor.device
    if array is not None and (tensor._ms_dtype.name == "bfloat16" or tensor._ms_dtype.ms is None):
        array = array.astype(np.float32) if tensor._ms_dtype.ms is not None else shown(array)
    return _tensor_str.format_tensor(
        array, shape=tensor._ms_shape, dtype_name=tensor._ms_dtype.name, requires_grad=tensor.requires_grad,
        grad_fn_name=shown_name(tensor), device=None if here.type == "cpu" else str(here), class_name=type(tensor).__name__,
        default_dtype_name=get_default_dtype().name, tangent=_tangent_text(tensor) if LEVELS else None,
    )  # fmt: skip


def _tangent_text(tensor: Tensor) -> str | None:
    levels = levels_of(tensor)
    return _text(tangent_of(tensor, levels[-1])) if levels else None


def replace_data(tensor: Tensor, new: Tensor) -> None:
    """Implement ``tensor.data = new``: replace the values, and possibly the shape and dtype; the tensor remains the same leaf."""
    if not isinstance(new, TensorBase):
        raise TypeError(f"Variable data has to be a tensor, but got {type(new).__name__}")
    if is_tracked(tensor) and new._ms_dtype.is_integral:
        raise RuntimeError("data set to a tensor that requires gradients must be floating point or complex dtype")
    if (new.layout is formats.strided, new.is_meta) != (tensor.layout is formats.strided, tensor.is_meta):
        raise RuntimeError("Attempted to call `variable.set_data(tensor)`, but `variable` and `tensor` have incompatible tensor type.")
    parameter, shape, kind = tensor._ms_storage.parameter, tensor._ms_shape, tensor._ms_dtype
    if type(tensor) in CLASSES:
        become_apart(tensor, new)
    else:  # parameters have plain memory
        become_apart(tensor, resolved(new))
    if kind is not tensor._ms_dtype and tensor._ms_auto is not None:
        tensor._ms_auto.accumulator = None  # existing graphs still end at the old leaf's node
    take_kind(tensor, new)
    refit(tensor, shape, kind)
    if parameter is not None and tensor._ms_storage.parameter is None:
        # MindSpore's optimizers refer to the Parameter: make it share the new memory.
        set_value(parameter, value_of(tensor))
        tensor._ms_storage.share_with(parameter)


set_tensor_class(Tensor)
join(Tensor)
OF_FAMILIES = methods.attach(Tensor)  # the names of the methods that modules of operations define


def from_mindspore(tensor: Raw) -> Tensor:
    """Return a tensor that shares a mindspore.Tensor's memory; gradients flow to it. Raise TypeError for other objects."""
    if not isinstance(tensor, Raw):
        raise TypeError(f"from_mindspore expects a mindspore.Tensor, not {type(tensor).__name__}")
    return border.from_mindspore(tensor)


__all__ = ["Tensor", "from_mindspore", "replace_data"]
