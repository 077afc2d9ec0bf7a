"""Batched tensors of ``torch.vmap``: values with a batch dimension that the mapped function does not see.

A ``BatchedTensor`` belongs to one active vmap. A call with batched arguments is computed once, on the underlying values, by the function's
batching rule; nested vmaps nest the tensors, the innermost vmap's outermost. A tensor whose values are ``alike`` in all slices (only its
tangents, or the gradients that flow to it, differ) may be read.
"""
from __future__ import annotations

import functools
import inspect
import sys
import textwrap
from collections.abc import Callable, Container, Iterable, Sequence
from typing import Any

from .._src.core.dtype import dtype
from .._src.core.formats import memory_format
from .._src.core.overriding import MAPPERS, disabled, spoken, state
from .._src.core.size import Size
from .._src.core.tensor_base import TensorBase, is_tracked
from .._src.leaving import END, Block, each, length_again, values_again
from .._tensor import Tensor

Call = tuple[Any, ...]
Rule = Callable[..., Any]

NO_ITEM = (
    "vmap: It looks like you're calling .item() on a Tensor. We don't support vmap over calling .item() on a Tensor, please try to "
    "rewrite what you're doing with other operations. If error is occurring somewhere inside PyTorch internals, please file a bug "
    "report."
)
NO_BRANCH = (
    "vmap: It looks like you're attempting to use a Tensor in some data-dependent control flow. We don't support that yet, please "
    "file an issue at https://github.com/pytorch/pytorch/issues ."
)
NO_READING = (
    "vmap: It looks like you're either (1) calling .item() on a Tensor or (2) attempting to use a Tensor in some data-dependent control "
    "flow or (3) encountering this error in PyTorch internals. For (1): we don't support vmap over calling .item() on a Tensor, please "
    "try to rewrite what you're doing with other operations. For (2): we don't support data-dependent control flow in vmap yet, please "
    "file an issue at https://github.com/pytorch/pytorch/issues . For (3): please file an issue."
)
NO_MEMORY = "Cannot access data pointer of Tensor that doesn't have storage"
NO_BACKWARD = (
    "backward() called inside a functorch transform. This is not supported, please use functorch.grad or functorch.vjp instead or "
    "call backward() outside of functorch transforms."
)
NO_LEAF = (
    "You are attempting to call Tensor.requires_grad_() (or perhaps using torch.autograd.functional.* APIs) inside of a function "
    "being transformed by a functorch transform. This is unsupported, please attempt to use the functorch transforms (e.g. grad, "
    "vjp, jacrev, jacfwd, hessian) or call requires_grad_() outside of a function being transformed instead."
)


class Map(Block):
    """One active ``vmap``: its nesting depth (from 1), its batch size, and its randomness mode."""

    __slots__ = ("depth", "size", "randomness", "levels", "draw", "ended", "older", "_ends")

    def __init__(self, size: int, randomness: str, draw: Callable[..., Any]) -> None:
        self.depth = len(state.maps) + 1
        self.size = size
        self.randomness = randomness
        self.levels = state.levels  # the number of levels of differentiation outside of it
        self.ended = False
        self.older = False  # whether it is the vmap that was before torch.func, below which Functions run as they are
        self.draw = lambda function, args, kwargs: draw(self, function, args, kwargs)

    def __enter__(self) -> Map:
        maps = state.maps
        self.at_end(each(length_again(maps), functools.partial(setattr, self, "ended", True)))
        maps[END:] = (self,)
        return self


class outside(Block):
    """Context manager in which only the vmaps at a depth less than ``depth`` are active, as if the code ran outside the others."""

    def __init__(self, depth: int) -> None:
        self.depth = depth

    def __enter__(self) -> None:
        self.at_end(values_again(state, "maps"))
        state.maps = state.maps[: self.depth - 1]


class within(Block):
    """Context manager in which the vmap ``map`` is the innermost active one, inside the vmaps around it, even if it has ended."""

    def __init__(self, map: Map) -> None:
        self.map = map

    def __enter__(self) -> None:
        self.at_end(values_again(state, "maps"))
        state.maps = [*state.maps[: self.map.depth - 1], self.map]


def _refusing(error: type[Exception], words: str) -> Callable[..., Any]:
    def refuse(self: Tensor, *args: Any, **kwargs: Any) -> Any:
        raise error(words)

    return refuse


def _reading(words: str, name: str) -> Callable[..., Any]:
    """Return a method that reads values, which is possible if all slices have the same."""

    def read(self: BatchedTensor, *args: Any, **kwargs: Any) -> Any:
        if not self.alike:
            raise RuntimeError(NO_READING if state.levels > self.map.levels and words is not NO_MEMORY else words)
        value = one_of_all(self)
        with outside(self.map.depth):
            return getattr(value, name)(*args, **kwargs)

    return read


class BatchedTensor(Tensor):
    """A tensor whose ``value`` has an additional batch dimension ``bdim``, over which ``map`` runs. ``alike``: all slices have the same
    values."""

    __module__, __qualname__ = Tensor.__module__, Tensor.__qualname__  # as torch shows it

    # The members are those of a tensor, so that a tensor can become a BatchedTensor (``_batched_alike.py``).
    __slots__ = ()
    value: Any = TensorBase._ms_raw
    bdim: int = TensorBase._ms_number
    map: Map = TensorBase._ms_at  # type: ignore[assignment]
    alike: bool = TensorBase._ms_offset  # type: ignore[assignment]

    __torch_function__ = disabled
    _ms_mapped = True

    # Queries of metadata

    @property
    def _ms_shape(self) -> tuple[int, ...]:
        shape = self.value._ms_shape
        return shape[: self.bdim] + shape[self.bdim + 1 :]

    @property
    def _ms_dtype(self) -> dtype:
        return self.value._ms_dtype

    # Autograd state is that of the values.
    _ms_node = _ms_auto = property(lambda self: None)
    _ms_number = property(lambda self: 0)

    @property
    def _ms_storage(self) -> Any:
        raise NotImplementedError("mstorch: this function does not take the tensors of vmap")

    _ms_array = _ms_raw = _ms_counter = _ms_offset = _ms_stride = _ms_storage

    @property
    def shape(self) -> Size:
        """The shape without the batch dimension."""
        return tuple.__new__(Size, self._ms_shape)

    @property
    def ndim(self) -> int:
        """The number of dimensions without the batch dimension."""
        return len(self.value._ms_shape) - 1

    def dim(self) -> int:
        """Return the number of dimensions without the batch dimension."""
        return len(self.value._ms_shape) - 1

    ndimension = dim

    @property
    def dtype(self) -> dtype:
        """The dtype."""
        return self.value._ms_dtype

    @property
    def device(self) -> Any:
        """The device of the values."""
        return self.value.device

    @property
    def layout(self) -> Any:
        """The layout: strided."""
        return self.value.layout

    def stride(self, dim: int | None = None) -> tuple[int, ...]:
        """Return the strides of a slice, or the stride of one dimension."""
        steps = self.value.stride()
        steps = steps[: self.bdim] + steps[self.bdim + 1 :]
        return steps if dim is None else steps[wrapped(dim, len(steps))]

    def is_contiguous(self, memory_format: memory_format | None = None) -> bool:
        """Return whether each slice is row-major."""
        if memory_format is not None and str(memory_format) != "torch.contiguous_format":
            raise RuntimeError("NYI: querying is_contiguous inside of vmap for memory_format other than torch.contiguous_format")
        step = 1
        if 0 in self._ms_shape:
            return True
        for length, own in zip(reversed(self._ms_shape), reversed(self.stride())):
            if length != 1 and own != step:
                return False
            step *= length
        return True

    @property
    def requires_grad(self) -> bool:
        """True if a level of differentiation inside the vmap tracks the tensor."""
        return state.levels > self.map.levels and is_tracked(core(self))

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        if value:
            raise RuntimeError(NO_LEAF)

    def requires_grad_(self, requires_grad: bool = True) -> Any:
        """Raise RuntimeError: leaves cannot be created under vmap."""
        if requires_grad:
            raise RuntimeError(NO_LEAF)
        return self

    @property
    def is_leaf(self) -> bool:
        """True if no operation that autograd tracks made the tensor."""
        return not self.requires_grad or core(self).is_leaf

    @property
    def grad_fn(self) -> Any:
        """The node that made the values."""
        return core(self).grad_fn if self.requires_grad else None

    @property
    def grad(self) -> None:
        """None: gradients are accumulated outside vmap."""
        return None

    @property
    def data(self) -> Any:
        """Raises RuntimeError."""
        raise RuntimeError("accessing `data` under vmap transform is not allowed")

    @data.setter
    def data(self, new: Any) -> None:
        raise RuntimeError("mutating directly with `.data` under vmap transform is not allowed.")

    @property
    def _version(self) -> int:
        return core(self)._version

    @property
    def output_nr(self) -> int:
        """The tensor's output number at its node."""
        return 0

    @property
    def _base(self) -> None:
        return None

    def _is_view(self) -> bool:
        return False

    def storage_offset(self) -> int:
        """Return the storage offset of the first element."""
        return core(self).storage_offset()

    def is_inference(self) -> bool:
        """Return whether the values were created in inference mode."""
        return core(self).is_inference()

    def is_set_to(self, tensor: Any) -> bool:
        """Return whether both tensors are the same view of the same storage."""
        return isinstance(tensor, BatchedTensor) and core(self).is_set_to(core(tensor))

    item, tolist = _reading(NO_ITEM, "item"), _reading(NO_MEMORY, "tolist")
    __float__, __int__, __complex__, __index__, __contains__ = (
        _reading(NO_ITEM, name) for name in ("__float__", "__int__", "__complex__", "__index__", "__contains__")
    )
    __bool__, is_nonzero = _reading(NO_BRANCH, "__bool__"), _reading(NO_BRANCH, "is_nonzero")
    numpy = data_ptr = __array__ = _refusing(RuntimeError, NO_MEMORY)

    def as_subclass(self, cls: type) -> Any:
        """Return the tensor as one of a subclass of Tensor, whose ``__torch_function__`` sees its calls; for ``Tensor`` a plain one."""
        if not (isinstance(cls, type) and issubclass(cls, TensorBase)):
            raise TypeError("as_subclass(): argument 'cls' must be a subclass of Tensor")
        kind: Any = cls
        return batched(self.value, self.bdim, self.map, self.alike, _class_of(kind))

    def retain_grad(self) -> None:
        """Raise RuntimeError: gradients are retained outside vmap."""
        raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")

    backward = _refusing(RuntimeError, NO_BACKWARD)
    __deepcopy__ = __copy__ = __reduce_ex__ = storage = untyped_storage = _refusing(
        NotImplementedError, "Cannot access storage of BatchedTensorImpl"
    )

    def __format__(self, spec: str) -> str:
        return object.__format__(self, spec) if self.ndim else format(self.item(), spec)

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        inner = textwrap.indent(repr(self.value), "    ")
        return f"BatchedTensor(lvl={self.map.depth}, bdim={self.bdim}, value=\n{inner}\n)"


BatchedTensor.__name__ = Tensor.__name__


_new = object.__new__


@functools.cache
def _class_of(cls: type) -> type[BatchedTensor]:
    """Return the class of the batched tensors that are instances of a subclass of Tensor, too.

    Its own members go before those of BatchedTensor; but those by which the latter finds its values are needed."""
    if issubclass(cls, BatchedTensor):
        return cls
    own = {name: member for base in reversed(cls.__mro__) if not issubclass(Tensor, base) for name, member in vars(base).items()}
    taken = sorted(name for name in own if name in BatchedTensor.__annotations__ or name.startswith("_ms_"))
    if taken:
        raise NotImplementedError(f"mstorch: vmap keeps what it knows of a tensor in {taken[0]!r}, which the class {cls.__name__} uses")
    own = {name: member for name, member in own.items() if name in vars(BatchedTensor) and name not in _OF_CLASSES}
    own["__torch_function__"] = inspect.getattr_static(cls, "__torch_function__")
    named = {"__module__": cls.__module__, "__qualname__": cls.__qualname__}
    return BatchedTensor if cls is Tensor else type(cls)(cls.__name__, (BatchedTensor, cls), own | named)


_OF_CLASSES = frozenset(("__module__", "__qualname__", "__doc__", "__dict__", "__weakref__", "__slots__", "__annotations__"))


def batched(value: Any, bdim: int, map: Map, alike: bool = False, cls: Any = BatchedTensor) -> Any:
    """Return a BatchedTensor over ``value`` with batch dimension ``bdim``."""
    made = _new(cls)
    made.value, made.bdim, made.map, made.alike = value, bdim, map, alike
    return made


def one_of_all(tensor: BatchedTensor) -> Any:
    """Return the slice that stands for all of a tensor whose slices are alike."""
    with outside(tensor.map.depth):
        return tensor.value.select(tensor.bdim, 0)


def as_batched(result: Any, bdim: int, map: Map) -> Any:
    """Return a result with its tensors wrapped as BatchedTensors."""
    if isinstance(result, TensorBase):
        return batched(result, bdim, map)
    if isinstance(result, (tuple, list)):
        items = [as_batched(item, bdim, map) for item in result]
        return type(result)(*items) if hasattr(result, "_fields") and not hasattr(result, "n_fields") else type(result)(items)
    return result


def is_of(tensor: Any, map: Map) -> bool:
    """Return whether a value is a BatchedTensor of this vmap."""
    return isinstance(tensor, BatchedTensor) and tensor.map is map


def core(tensor: Any) -> Any:
    """Return the tensor underneath all vmaps."""
    while isinstance(tensor, BatchedTensor):
        tensor = tensor.value
    return tensor


def dressed_like(tensor: Any, made: Any, differing: Container[Map] = ()) -> Any:
    """Return ``made``, which has the shape of ``core(tensor)``, wrapped as a BatchedTensor in each vmap of ``tensor``. ``differing``: the
    vmaps in which its slices differ even if those of ``tensor`` are alike."""
    if not isinstance(tensor, BatchedTensor):
        return made
    map = tensor.map
    return batched(dressed_like(tensor.value, made, differing), tensor.bdim, map, tensor.alike and map not in differing)


def front(tensor: BatchedTensor) -> Any:
    """Return the value with the batch dimension moved to the front."""
    return tensor.value.movedim(tensor.bdim, 0) if tensor.bdim else tensor.value


def wrapped(dim: int, rank: int) -> int:
    """Return a nonnegative dimension. Raise IndexError if it is out of range for ``rank`` (1 for rank 0)."""
    limit = rank or 1
    if not -limit <= dim < limit:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-limit}, {limit - 1}], but got {dim})")
    return dim % limit


def public(name: str) -> Callable[..., Any]:
    """Return the public torch function of a name, which accepts batched tensors."""
    return getattr(sys.modules[_HOME], name)


_HOME = __name__.partition(".")[0]


# Vmaps that a tensor belongs to


def maps_of(tensor: Tensor) -> list[Map]:
    """Return the vmaps of a tensor, the outermost first."""
    found = []
    while isinstance(tensor, BatchedTensor):
        found.append(tensor.map)
        tensor = tensor.value
    return found[::-1]


def everywhere(tensor: Any, maps: Sequence[Map], differing: Container[Map] = ()) -> Any:
    """Return a tensor that is batched in all of these vmaps (the outermost first), expanded along the batch dimension of each vmap in which
    it was not batched. ``differing``: those of them in which its slices will differ."""
    if not maps:
        return tensor
    *rest, last = maps
    if is_of(tensor, last):
        return batched(everywhere(tensor.value, rest, differing), tensor.bdim, last, tensor.alike and last not in differing)
    with outside(last.depth):
        spread = tensor.expand(last.size, *tensor._ms_shape)
    return batched(everywhere(spread, rest, differing), 0, last, last.size > 0 and last not in differing)


def differing_in(tensors: Iterable[Any]) -> set[Map]:
    """Return the vmaps in which the slices of one of the tensors differ."""
    found: set[Map] = set()
    for tensor in tensors:
        while isinstance(tensor, BatchedTensor):
            if not tensor.alike:
                found.add(tensor.map)
            tensor = tensor.value
    return found


def aligned(tensor: Any, like: Tensor) -> Tensor:
    """Return a tensor expanded to the logical shape of ``like``, with the same vmaps and batch dimensions."""
    if not isinstance(like, BatchedTensor):
        return tensor
    map = like.map
    with outside(map.depth):
        if is_of(tensor, map):
            value = tensor.value if tensor.bdim == like.bdim else tensor.value.movedim(tensor.bdim, like.bdim)
        else:
            shape = tensor._ms_shape
            value = tensor.unsqueeze(like.bdim).expand(*shape[: like.bdim], map.size, *shape[like.bdim :])
    return batched(aligned(value, like.value), like.bdim, map, not is_of(tensor, map) or tensor.alike)


# Calls


class Op:
    """A call under vmap. Calling the Op runs the public function outside this vmap; ``map`` is the vmap, ``key`` the function's qualified
    name."""

    __slots__ = ("public", "map", "key")

    def __init__(self, public: Callable[..., Any], map: Map, key: str) -> None:
        self.public, self.map, self.key = public, map, key

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.public(*args, **kwargs)

    @property
    def name(self) -> str:
        """The last component of the function's name."""
        return self.key.rpartition(".")[2]


RULES: dict[str, Rule] = {}
_found: dict[Any, tuple[Rule, str]] = {}
_find: list[Callable[[str, Any], Rule]] = []


def find_rules_by(finder: Callable[[str, Any], Rule]) -> None:
    """Set ``finder(key, public)``, which selects the batching rule when a function is first called under vmap."""
    _find[:] = [finder]


def innermost(values: Iterable[Any]) -> Map | None:
    """Return the innermost vmap among the values' tensors."""
    found: Map | None = None
    for value in values:
        kind = type(value)
        if issubclass(kind, BatchedTensor):
            own = value.map
        elif isinstance(value, (tuple, list)):
            own = innermost(value)
        elif kind is slice:
            own = innermost((value.start, value.stop, value.step))
        elif kind is dict:
            own = innermost(value.values())
        else:
            continue
        if own is not None and (found is None or own.depth > found.depth):
            found = own
    return found


def take(public: Callable[..., Any], function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return the result of a call with batched arguments; NotImplemented if there are none."""
    map = innermost(args)
    if kwargs:
        other = innermost(kwargs.values())
        if map is None or other is not None and other.depth > map.depth:
            map = other
    if map is None:
        return NotImplemented
    if map.ended:
        raise RuntimeError(_ESCAPED)
    if state.maps and state.maps[-1].depth > map.depth and getattr(function, "draws", False):
        return state.maps[-1].draw(public, args, kwargs)  # the innermost vmap decides how numbers are drawn
    known = _found.get(public)
    if known is None:
        key = spoken(public).removeprefix("torch.")
        known = _found[public] = _find[0](key, public), key
    op = Op(public, map, known[1])
    if some_are(True, map, args) or kwargs and some_are(True, map, kwargs.values()):
        return _take_alike[0](known[0], op, function, args, kwargs)
    with outside(map.depth):
        return known[0](op, args, kwargs)


def some_are(alike: bool, map: Map, values: Iterable[Any]) -> bool:
    """Return whether one of the values is a tensor whose slices over ``map`` are alike, or differ."""
    for value in values:
        kind = type(value)
        if issubclass(kind, BatchedTensor):
            if value.map is map and bool(value.alike) is alike:
                return True
        elif isinstance(value, (tuple, list)):
            if some_are(alike, map, value):
                return True
        elif kind is slice and some_are(alike, map, (value.start, value.stop, value.step)):
            return True
    return False


_take_alike: list[Callable[..., Any]] = []


def take_alike_by(function: Callable[..., Any]) -> None:
    """Set the function that handles calls with tensors whose slices are alike."""
    _take_alike[:] = [function]


_ESCAPED = (
    "Either your tensor may have escaped from inside a function being vmapped and this is a user error (see "
    "https://pytorch.org/functorch/stable/ux_limitations.html), or there is an internal functorch error in `gen_vmap_plumbing` Please "
    "file an issue if it looks like the latter"
)
MAPPERS.append(take)
