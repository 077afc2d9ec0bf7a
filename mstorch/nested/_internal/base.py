"""The base class of nested tensors of both layouts: one buffer tensor holds the elements of all components and the autograd graph.

``requires_grad``, ``grad_fn`` and the like are those of the buffer, so an operation that autograd tracks on the buffer needs nothing else
for backward.
"""
from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NoReturn

from ..._src.core.above import above
from ..._src.core.device import device
from ..._src.core.naming import is_torch
from ..._src.core.nested_parts import is_nested, kept, like_nested
from ..._src.core.overriding import disabled
from ..._src.core.size import Size
from ..._tensor import Tensor


class Unanswered(NotImplementedError):
    """Raised when an attribute is read that nested tensors do not have."""


def _refused(what: str) -> Any:
    def refuse(self: Tensor) -> NoReturn:
        raise Unanswered(f"mstorch: this operation is not there for nested tensors: it asks one for its {what}")

    return property(refuse, doc=f"Raise an error: a nested tensor has no {what}.")


def _of_values(name: str) -> Any:
    def read(self: Tensor) -> Any:
        return getattr(self._values, name)

    def write(self: Any, value: Any) -> None:
        setattr(self._values, name, value)

    return property(read, write, doc=f"``{name}`` of the values tensor.")


class Nested(Tensor):
    """A tensor of tensors of one rank. ``_values`` holds their elements."""

    _values: Any
    FORMS: dict[str, Callable[..., Any]]  # implementations of operations by name, for one layout
    restorer: Callable[..., Any]  # function that rebuilds a tensor from a file's data
    _ms_nested = True
    __torch_function__ = disabled

    _ms_shape = _refused("shape in memory")
    _ms_stride = _refused("strides in memory")
    _ms_array = _refused("elements in memory")
    _ms_storage = _refused("memory")
    _ms_offset = _refused("place in memory")
    _ms_dtype, _ms_node, _ms_number = map(_of_values, ("_ms_dtype", "_ms_node", "_ms_number"))
    _ms_auto, _ms_counter = map(_of_values, ("_ms_auto", "_ms_counter"))

    def _like(self, values: Any) -> Any:
        """Return a nested tensor with other values in the same structure."""
        raise NotImplementedError

    # Queries of metadata

    @property
    def device(self) -> device:
        """The device of the elements."""
        return self._values.device

    is_meta = property(lambda self: self._values.is_meta, doc="True if the elements are on the meta device.")

    def dim(self) -> int:
        """Return the number of dimensions, including the batch dimension."""
        raise NotImplementedError

    def ndimension(self) -> int:
        """Return the number of dimensions."""
        return self.dim()

    ndim = property(lambda self: self.dim(), doc="The number of dimensions.")

    @property
    def shape(self) -> Size:
        """The length of each dimension."""
        return self.size()

    def nelement(self) -> int:
        """Return the number of elements in all components."""
        return self.numel()

    def __len__(self) -> int:
        return self.size(0)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.unbind())

    __hash__ = Tensor.__hash__

    def __bool__(self) -> bool:
        raise RuntimeError("Boolean value of Tensor with more than one value is ambiguous")

    def __format__(self, spec: str) -> str:
        return object.__format__(self, spec)

    def data_ptr(self) -> int:
        """Return the address of the first element."""
        return self._values.data_ptr()

    def untyped_storage(self) -> Any:
        """Return the storage of the elements."""
        return self._values.untyped_storage()

    def storage_offset(self) -> int:
        """Return the storage offset of the first element."""
        return self._values.storage_offset()

    def get_device(self) -> int:
        """Return the index of the device, -1 on the CPU."""
        return self._values.get_device()

    def is_pinned(self, device: Any = None) -> bool:
        """Return whether the memory is pinned."""
        return self._values.is_pinned()

    def record_stream(self, s: Any) -> None:
        """Keep the memory alive until a stream has finished with it."""
        self._values.record_stream(s)

    def tolist(self) -> list[Any]:
        """Return the components as nested lists of Python numbers."""
        return [part.tolist() for part in self.unbind()]

    def numpy(self, *, force: bool = False) -> NoReturn:
        """Raise RuntimeError: NumPy has no nested arrays."""
        raise RuntimeError("numpy(): not supported for nested tensors; to_padded_tensor() makes a tensor of one shape of them")

    def item(self) -> Any:
        """Return the only element as a Python number."""
        return self._values.item()

    def to_padded_tensor(self, padding: float, output_size: Sequence[int] | None = None) -> Tensor:
        """Return a dense tensor of the components, padded with ``padding``."""
        return self.FORMS["to_padded_tensor"](None, self, padding, output_size)

    def _is_view(self) -> bool:
        return self._base is not None

    @property
    def _base(self) -> Tensor:
        """The tensor of which this one is a view: a nested tensor, or the tensor of values."""
        shown = self.__dict__.get("_view_of")
        return self._values._base if shown is None else shown

    # Autograd

    def _get_grad(self) -> Tensor:
        return like_nested(self, self._values.grad)

    def _set_grad(self, value: Any) -> None:
        if value is not None and not is_nested(value):
            raise RuntimeError("attempting to assign a gradient to a tensor that has data of a different type")
        self._values.grad = kept(value)

    def _drop_grad(self) -> None:
        self._values.grad = None

    grad = property(_get_grad, _set_grad, _drop_grad, "The gradient that backward accumulated, or None.")

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        """Set requires_grad of a leaf; return the tensor."""
        self._values.requires_grad_(requires_grad)
        return self

    def retain_grad(self) -> None:
        """Make backward fill ``grad`` of this non-leaf."""
        self._values.retain_grad()

    def backward(
        self, gradient: Tensor | None = None, retain_graph: bool | None = None, create_graph: bool = False, inputs: Any = None
    ) -> None:
        """Accumulate the gradient of this tensor times ``gradient`` into the leaves."""
        above.autograd.backward(self, gradient, retain_graph, create_graph, inputs=inputs)

    def register_hook(self, hook: Callable[[Any], Any]) -> Any:
        """Register ``hook(grad)`` to run whenever a gradient of the tensor is computed; a return value other than None replaces the
        gradient.
        """
        return self._values.register_hook(lambda gradient: kept(hook(self._like(gradient))))

    def detach(self) -> Tensor:
        """Return a nested tensor of the same elements, detached from the autograd graph."""
        return self._like(self._values.detach())

    def detach_(self) -> Any:
        """Detach the tensor from the autograd graph, in place."""
        self._values.detach_()
        return self

    def _get_data(self) -> Any:
        return self._like(self._values.data)

    def _set_data(self, other: Any) -> None:
        self._take(other)

    data = property(_get_data, _set_data, doc="A detached alias of the tensor.")

    def _take(self, other: Any) -> None:
        self._values.data = other._values

    # Movement

    def to(self, *args: Any, **kwargs: Any) -> Any:
        """Return the tensor with another dtype or on another device; self if nothing changes."""
        args = tuple(kept(item) for item in args)
        moved = self._values.to(*args, **{key: kept(item) for key, item in kwargs.items()})
        return self if moved is self._values else self._like(moved)

    def pin_memory(self, device: Any = None) -> Any:
        """Return a copy in pinned memory."""
        return self._like(self._values.pin_memory())

    def __deepcopy__(self, memo: dict[int, Any]) -> Tensor:
        if not self.is_leaf:
            raise RuntimeError(
                "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment. If you were "
                "attempting to deepcopy a module, this may be because of a torch.nn.utils.weight_norm usage"
            )
        if id(self) not in memo:
            memo[id(self)] = made = self._like(copy.deepcopy(self._values, memo))
            made.__dict__.update({k: copy.deepcopy(v, memo) for k, v in self.__dict__.items() if k not in made.__dict__})
        return memo[id(self)]

    def stored(self) -> tuple[Any, ...]:
        """Return the arguments of ``restorer`` that represent the tensor in a file."""
        raise NotImplementedError

    def __reduce_ex__(self, protocol: int) -> tuple[Any, ...]:
        if not self.is_leaf:
            raise RuntimeError("Only Tensors created explicitly by the user (graph leaves) support pickling")
        found = above.plain_pickles.reduced(self) if is_torch() else NotImplemented
        return (self.restorer, self.stored()) if found is NotImplemented else found

    def __copy__(self) -> Tensor:
        return self._like(copy.copy(self._values))


def new(cls: type, values: Tensor) -> Any:
    """Return an instance of the nested class ``cls`` over ``values``; the caller sets its structure."""
    made: Any = object.__new__(cls)
    made.__dict__["_values"] = values
    return made
