"""DTensor: a tensor distributed over ranks. Its memory is the local shard; operations see the global tensor.

Elementwise operations run on the shards, ``linear`` and ``matmul`` where the sharding allows it; others run on the full tensor, which every
rank gathers: values are right in any case.
"""
from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import mstorch as torch
from mstorch import Tensor

from ..._src.aten.kinds import CONVERSIONS, is_elementwise
from ..._src.backend.geometry import contiguous_strides
from ..._src.core.overriding import WITHOUT_SUBCLASSES, level_set_to
from ..._src.core.second_names import operation_of
from ..._src.core.size import Size
from ..._src.core.tensor_base import in_class, is_tracked, require_grad, twin
from ..._src.ops.shape import views
from ...utils._pytree import tree_flatten, tree_unflatten
from .._types import ReduceOp
from ..device_mesh import DeviceMesh
from ._moves import Fan, move, part_shape, total, whole_shape
from .placement_types import Partial, Placement, Replicate, Shard

# Further elementwise operations, with numbers and with tensors of the same shape and placements: those whose
# schemas have no tag for this.
_EACH = CONVERSIONS | {"contiguous", "dropout", "detach", *(f"{word}_like" for word in ("zeros", "ones", "empty", "full"))}
_WRITES = ("copy_", "zero_", "fill_")
_RANDOM = {"normal_", "uniform_", "trunc_normal_", "bernoulli_", "exponential_", "random_"}


def _normal(placements: Sequence[Placement] | None, mesh: DeviceMesh, rank: int) -> tuple[Placement, ...]:
    """Return a placement for each mesh dimension, with nonnegative dimensions."""
    given = tuple(placements) if placements is not None else (Replicate(),) * mesh.ndim
    if len(given) != mesh.ndim:
        raise ValueError(f"`placements` must have the same length as `device_mesh.ndim`! Found placements length: {len(given)}, and device_mesh.ndim: {mesh.ndim}.")  # fmt: skip  # noqa: E501
    return tuple(Shard(one.dim + rank) if isinstance(one, Shard) and one.dim < 0 else one for one in given)


def wrapped(local: Any, mesh: Any, placements: Sequence[Placement], shape: Sequence[int]) -> DTensor:
    """Turn a new plain tensor into the local shard of a DTensor, in place; its autograd graph is kept."""
    made = in_class(local, DTensor)
    made.__dict__["_spec"] = (mesh, tuple(placements), tuple(shape))
    return made


def _unwrap(tensor: DTensor) -> Any:
    """Return the local shard as a plain tensor; gradients flow back to the DTensor."""
    with level_set_to(WITHOUT_SUBCLASSES):
        return in_class(views.alias(tensor), Tensor)


class DTensor(Tensor):
    """A tensor distributed over the ranks of a mesh, made by ``distribute_tensor`` and ``from_local``."""

    __slots__ = ()

    def __new__(cls, *args: Any, **kwargs: Any) -> DTensor:
        raise TypeError("mstorch: a DTensor is made by distribute_tensor and DTensor.from_local")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        pass

    @classmethod
    def __torch_function__(
        cls, func: Callable[..., Any], types: Sequence[type], args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        return _called(func, args, kwargs or {})

    @property
    def device_mesh(self) -> DeviceMesh:
        """The DeviceMesh over which the tensor is distributed."""
        return self.__dict__["_spec"][0]

    @property
    def placements(self) -> tuple[Placement, ...]:
        """The placement along each mesh dimension."""
        return self.__dict__["_spec"][1]

    @property
    def _local_tensor(self) -> Tensor:
        return _unwrap(self).detach()

    @staticmethod
    def from_local(
        local_tensor: Tensor, device_mesh: DeviceMesh, placements: Sequence[Placement] | None = None, *, run_check: bool = False,
        shape: Sequence[int] | None = None,
        stride: tuple[int, ...] | None = None,
    ) -> DTensor:  # fmt: skip
        """Return a DTensor of the ranks' local shards. ``shape`` is the global one, if shards differ in size; gradients reach the shards.
        """
        local_tensor = _on_mesh_device(device_mesh, local_tensor)
        found = _normal(placements, device_mesh, local_tensor.dim())
        whole = tuple(shape) if shape is not None else whole_shape(local_tensor, device_mesh, found)
        return wrapped(views.alias(local_tensor), device_mesh, found, whole)

    def to_local(self, *, grad_placements: Sequence[Placement] | None = None) -> Tensor:
        """Return the local shard; gradients flow back to the DTensor."""
        if grad_placements is not None and tuple(grad_placements) != self.placements:
            raise NotImplementedError("mstorch: DTensor.to_local takes gradients that are spread as the tensor is")
        return _unwrap(self)

    def full_tensor(self, *, grad_placements: Sequence[Placement] | None = None) -> Tensor:
        """Return the full tensor on every rank; gradients flow back to the DTensor."""
        return _whole(self)

    def redistribute(
        self, device_mesh: DeviceMesh | None = None, placements: Sequence[Placement] | None = None, *, async_op: bool = False,
        forward_dtype: torch.dtype | None = None,
        backward_dtype: torch.dtype | None = None,
    ) -> DTensor:  # fmt: skip
        """Return a DTensor of the same elements with other placements on the same mesh."""
        mesh, before, shape = self.__dict__["_spec"]
        if device_mesh is not None and device_mesh != mesh:
            raise NotImplementedError("mstorch: a DTensor stays on its mesh")
        if forward_dtype is not None or backward_dtype is not None:
            raise NotImplementedError("mstorch: DTensor.redistribute keeps the dtype")
        after = _normal(placements, mesh, len(shape))
        return wrapped(views.alias(move(_unwrap(self), shape, mesh, before, after)), mesh, after, shape)

    def _own_elements(self) -> tuple[Tensor, Any] | None:
        """Return the local shard as a plain tensor of the same memory and version counter, and how it is spread; None for sums that are
        not added up yet, whose elements are no elements of the full tensor."""
        mesh, placements, _ = self.__dict__["_spec"]
        return None if any(isinstance(one, Partial) for one in placements) else (twin(self), (mesh, placements))

    def _spread_zeros(self) -> DTensor:
        """Return a DTensor of zeros with the same placements."""
        mesh, placements, shape = self.__dict__["_spec"]
        return wrapped(torch.zeros_like(_unwrap(self).detach()), mesh, placements, shape)

    def _global_norm(self, order: float) -> Tensor:
        """Return the norm of the full tensor, as a plain tensor."""
        mesh, placements, shape = self.__dict__["_spec"]
        local = _unwrap(self).detach()
        if any(isinstance(one, Partial) for one in placements):
            return torch.linalg.vector_norm(_whole(self), order)
        largest = math.isinf(order)
        part = local.abs().max() if largest and local.numel() else local.new_zeros(()) if largest else local.abs().pow(order).sum()
        for dim, one in enumerate(placements):
            if isinstance(one, Shard):
                part = total(part, mesh.get_group(dim), ReduceOp.MAX if largest else ReduceOp.SUM)
        return part if largest else part.pow(1.0 / order)

    def _as_replicated(self, value: Tensor) -> DTensor:
        """Return a plain tensor, which is equal on all ranks, as a replicated DTensor on this DTensor's mesh."""
        mesh = self.__dict__["_spec"][0]
        return wrapped(value, mesh, (Replicate(),) * mesh.ndim, value.shape)

    def __reduce_ex__(self, protocol: int) -> tuple[Any, ...]:
        mesh, placements, shape = self.__dict__["_spec"]
        return _rebuilt, (_unwrap(self).detach(), mesh, placements, shape, self.requires_grad, bool(getattr(self, "_is_param", False)))

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        mesh, placements, shape = self.__dict__["_spec"]
        parameter = bool(getattr(self, "_is_param", False))
        made = _rebuilt(_unwrap(self).detach().clone(), mesh, placements, shape, self.requires_grad, parameter)
        memo[id(self)] = made
        return made


def _rebuilt(
    local: Tensor, mesh: DeviceMesh, placements: Sequence[Placement], shape: tuple[int, ...], needs_grad: bool, parameter: bool
) -> DTensor:
    made = wrapped(views.alias(local), mesh, placements, shape)
    if needs_grad:
        require_grad(made, True)
    if parameter:
        made.__dict__["_is_param"] = True
    return made


def _whole(tensor: Any) -> Any:
    mesh, placements, shape = tensor.__dict__["_spec"]
    return move(_unwrap(tensor), shape, mesh, placements, (Replicate(),) * mesh.ndim)


# Effects of operations


def _shape(tensor: Tensor) -> tuple[int, ...]:
    return tensor.__dict__["_spec"][2]


_FACTS: dict[str, Callable[..., Any]] = {
    "shape": lambda tensor: Size(_shape(tensor)),
    "size": lambda tensor, dim=None: Size(_shape(tensor)) if dim is None else _shape(tensor)[dim],
    "dim": lambda tensor: len(_shape(tensor)),
    "ndim": lambda tensor: len(_shape(tensor)),
    "ndimension": lambda tensor: len(_shape(tensor)),
    "numel": lambda tensor: math.prod(_shape(tensor)),
    "nelement": lambda tensor: math.prod(_shape(tensor)),
    "__len__": lambda tensor: _shape(tensor)[0],
    "stride": lambda tensor, dim=None: contiguous_strides(_shape(tensor)) if dim is None else contiguous_strides(_shape(tensor))[dim],
    "is_contiguous": lambda tensor, **kwargs: True,
    "__repr__": lambda tensor, **kwargs: (
        f"DTensor(local_tensor={_unwrap(tensor).detach()!r}, device_mesh={tensor.device_mesh!r}, placements={tensor.placements!r})"
    ),
}
_FACTS["__str__"] = _FACTS["__repr__"]
# Queries of the local memory or of the autograd node, which are the same for the local shard and the full tensor.
_OWN = set(
    "dtype device layout requires_grad requires_grad_ is_leaf grad_fn _version is_floating_point is_complex element_size is_sparse "
    "retain_grad register_hook register_post_accumulate_grad_hook is_cuda is_meta __hash__ is_quantized names output_nr __set__ "
    "is_nested retains_grad is_cpu is_inference is_pinned __delete__ is_signed __dir__ is_mkldnn untyped_storage itemsize _is_view".split()
)


def _name(func: Any) -> tuple[str, str]:
    """Return (name, ""), or for a property accessor the property's name and "__get__", "__set__" or "__delete__"."""
    owner = getattr(func, "__self__", None)
    if owner is not None and isinstance(owner, property):
        return getattr(owner, "__name__", ""), func.__name__
    return getattr(func, "__name__", ""), ""


# Handlers of functions on DTensors, by name, set by context managers.
HANDLERS: dict[str, Callable[..., Any]] = {}


def _called(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    name, access = _name(func)
    if not args and "tensor" in kwargs:  # torch.nn.init passes all arguments by keyword
        args, kwargs = (kwargs["tensor"],), {key: value for key, value in kwargs.items() if key != "tensor"}
    if name in HANDLERS:
        return HANDLERS[name](*args, **kwargs)
    if name in _FACTS and access != "__set__":
        return _FACTS[name](*args, **kwargs)
    if name == "grad":
        return _gradient(func, access, args)
    if name == "data":
        return _data(func, access, args)
    with level_set_to(WITHOUT_SUBCLASSES):
        if name in _OWN or access == "__set__":
            return func(*args, **kwargs)
        if name == "backward":
            _scalar_backward(func, args, kwargs)
            return None
        if name == "kaiming_uniform_":
            return _fill_by_fan(*args, **kwargs)
        if name == "constant_":
            torch.nn.init.constant_(_unwrap(args[0]).detach(), *args[1:], **kwargs)
            return args[0]
        return _compute(name, func, args, kwargs)


def _fill_by_fan(
    tensor: Any, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu", generator: torch.Generator | None = None
) -> Tensor:
    """Run ``kaiming_uniform_`` with the fan of the full tensor; each rank draws its own numbers."""
    fan = torch.nn.init._calculate_correct_fan(torch.empty(_shape(tensor), device="meta"), mode)
    bound = math.sqrt(3.0 / fan) * torch.nn.init.calculate_gain(nonlinearity, a)
    with torch.no_grad():
        _unwrap(tensor).detach().uniform_(-bound, bound, generator=generator)
    return tensor


def _gradient(func: Any, access: str, args: tuple[Any, ...]) -> Tensor | None:
    tensor = args[0]
    with level_set_to(WITHOUT_SUBCLASSES):
        if access != "__get__":
            if len(args) > 1 and isinstance(args[1], DTensor):
                args = (tensor, _unwrap(args[1]), *args[2:])
            return func(*args)
        found = func(tensor)
        if found is None or isinstance(found, DTensor):
            return found
        mesh, placements, shape = tensor.__dict__["_spec"]
        held = views.detach(found)  # another object over the same memory: writes change the gradient
        return wrapped(held, mesh, [Replicate() if isinstance(one, Partial) else one for one in placements], shape)


def _data(func: Any, access: str, args: tuple[Any, ...]) -> Any:
    tensor = args[0]
    with level_set_to(WITHOUT_SUBCLASSES):
        if access == "__get__":
            return wrapped(in_class(func(tensor), Tensor), *tensor.__dict__["_spec"])
        other = args[1]
        if isinstance(other, DTensor):
            tensor.__dict__["_spec"] = other.__dict__["_spec"]
            other = _unwrap(other).detach()
        return func(tensor, other)


replicating = [False]
"""True if plain tensors mixed with DTensors count as replicated (``experimental.implicit_replication``)."""


def _scalar_backward(func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    _whole(args[0]).backward(*(_plain(one) for one in args[1:]), **kwargs)


def _plain(value: Tensor | float | DTensor | None) -> Tensor | float | None:
    return _whole(value) if isinstance(value, DTensor) else value


def _compute(name: str, func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor:
    leaves, form = tree_flatten((args, kwargs))
    spread = [one for one in leaves if isinstance(one, DTensor)]
    mesh = spread[0].device_mesh
    if any(one.device_mesh != mesh for one in spread):
        raise RuntimeError(f"mstorch: {name} of DTensors on different meshes")
    leaves = _without_plain_tensors(name, leaves, mesh)
    args, kwargs = tree_unflatten(leaves, form)
    written = operation_of(name)
    if name in _WRITES or name in _RANDOM or (_is_in_place(written) and is_elementwise(name)):
        return _write(name, func, args, kwargs)
    result = None
    if name in _EACH or is_elementwise(name):
        result = _of_equal_parts(func, leaves, form, spread)
    elif name in ("linear", "matmul", "mm", "__matmul__"):
        result = _product(name, args, kwargs, mesh)
    if result is not None:
        return result
    given, named = tree_unflatten([_plain(one) for one in leaves], form)
    if _is_in_place(name):
        return _write_whole(func, args[0], given, named)
    return _replicated(func(*given, **named), mesh)


def _is_in_place(name: str) -> bool:
    return name.endswith("_") and not name.endswith("__")


def _without_plain_tensors(name: str, leaves: list[Any], mesh: DeviceMesh) -> list[Any]:
    """Return the operands with plain tensors as replicated DTensors where the program has asked for that; else plain tensors raise, but
    for numbers that need no gradient.
    """
    mixed = {id(one) for one in leaves if isinstance(one, Tensor) and not isinstance(one, DTensor) and one.dim() > 0}
    if mixed and not replicating[0]:
        raise RuntimeError(
            f"{name} got mixed torch.Tensor and DTensor, need to convert all torch.Tensor to DTensor before calling distributed operators!"
        )
    whole = [Replicate()] * mesh.ndim
    leaves = [DTensor.from_local(one, mesh, whole, run_check=False) if id(one) in mixed else one for one in leaves]
    if any(isinstance(one, Tensor) and not isinstance(one, DTensor) and is_tracked(one) for one in leaves):
        raise NotImplementedError(f"mstorch: {name} of a DTensor and a plain tensor that requires gradients: distribute it")
    return leaves


def _of_equal_parts(func: Callable[..., Any], leaves: list[Any], form: Any, spread: list[Any]) -> Tensor | None:
    """Return the result of an elementwise function, computed by each rank on its parts; None if the operands are not split alike."""
    mesh, placements, shape = spread[0].device_mesh, spread[0].placements, _shape(spread[0])
    if any(isinstance(one, Partial) for one in placements):
        return None
    if not all(one.placements == placements and _shape(one) == shape for one in spread):
        return None
    parts = [_unwrap(one) if isinstance(one, DTensor) else one for one in leaves]
    given, named = tree_unflatten(parts, form)
    result = func(*given, **named)
    if not isinstance(result, Tensor) or result._ms_shape != part_shape(shape, mesh, placements):
        return None
    return wrapped(views.alias(result) if any(result is one for one in parts) else result, mesh, placements, shape)


def _write_whole(func: Any, target: Any, args: Any, kwargs: Any) -> Any:
    """Let a function write to a gathered copy of the tensor, then copy the shard of each rank back. Raise NotImplementedError if autograd
    would have to track the write.
    """
    if not isinstance(target, DTensor):
        raise RuntimeError(f"mstorch: {func.__name__} of a plain tensor takes no DTensor")
    if torch.is_grad_enabled() and target.requires_grad:
        raise NotImplementedError(f"mstorch: {func.__name__} of a DTensor that requires gradients")
    mesh, placements, shape = target.__dict__["_spec"]
    whole = args[0].clone()
    func(whole, *args[1:], **kwargs)
    _unwrap(target).detach().copy_(move(whole, shape, mesh, (Replicate(),) * mesh.ndim, placements))
    return target


def _replicated(value: Tensor, mesh: DeviceMesh) -> Tensor:
    """Return results that are equal on all ranks as replicated DTensors."""
    leaves, form = tree_flatten(value)
    everywhere = (Replicate(),) * mesh.ndim
    plain = [isinstance(one, Tensor) and not isinstance(one, DTensor) for one in leaves]
    made = [wrapped(views.alias(one), mesh, everywhere, one._ms_shape) if is_plain else one for one, is_plain in zip(leaves, plain)]
    return tree_unflatten(made, form)


def _write(name: str, func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor:
    target = args[0]
    mesh, placements, shape = target.__dict__["_spec"]
    if any(isinstance(one, Partial) for one in placements):
        raise NotImplementedError(f"mstorch: {name} of a DTensor that is part of a sum")
    if name in _RANDOM:  # as in torch on the CPU, each rank draws its shard from its own generator
        func(_unwrap(target).detach(), *args[1:], **kwargs)
        return target

    def fitted(value: Tensor | float | DTensor) -> Tensor | float:
        if not isinstance(value, DTensor):
            return value
        if _shape(value) not in (shape, ()):
            raise NotImplementedError(f"mstorch: {name} of a DTensor with another shape")
        to = placements if _shape(value) == shape else (Replicate(),) * mesh.ndim
        return move(_unwrap(value), _shape(value), mesh, value.placements, to)

    rest = [fitted(one) for one in args[1:]]
    func(target, *rest, **{key: fitted(one) for key, one in kwargs.items()})
    return target


def _product(name: str, args: tuple[Any, ...], kwargs: dict[str, Any], mesh: DeviceMesh) -> Tensor | None:
    """Return a product on a 1-d mesh, computed on shards if the sharding of a factor allows it; else None."""
    factors = None if mesh.ndim != 1 or kwargs else _factors(*args)
    if factors is None:
        return None
    x, w, bias = factors
    linear = name == "linear"
    out_dim, in_dim = (0, 1) if linear else (1, 0)
    group, last = mesh.get_group(), len(_shape(x)) - 1
    shape = (*_shape(x)[:-1], _shape(w)[out_dim])
    product = (lambda a, b, c=None: torch.nn.functional.linear(a, b, c)) if linear else (lambda a, b, c=None: torch.matmul(a, b))
    how_x, how_w = x.placements[0], w.placements[0]
    how_bias = None if bias is None else bias.placements[0]
    if how_w == Shard(out_dim) and how_x == Replicate() and how_bias in (None, Shard(0)):
        columns = product(Fan.apply(_unwrap(x), group), _unwrap(w), None if bias is None else _unwrap(bias))
        return wrapped(columns, mesh, [Shard(last)], shape)
    if how_w == Shard(in_dim) and how_x == Shard(last):
        summand = wrapped(product(_unwrap(x), _unwrap(w)), mesh, [Partial()], shape)
        return summand if bias is None else _biased(summand, bias, shape, mesh)
    if how_w == Replicate() and isinstance(how_x, Shard) and how_x.dim != last and how_bias in (None, Replicate()):
        shared = None if bias is None else Fan.apply(_unwrap(bias), group)
        return wrapped(product(_unwrap(x), Fan.apply(_unwrap(w), group), shared), mesh, [how_x], shape)
    return None


def _factors(x: Any, w: Any, bias: Any = None) -> tuple[DTensor, DTensor, DTensor | None] | None:
    """Return the operands of a product if they are distributed, the second is a matrix and the first is no part of a sum; else None."""
    if not (isinstance(x, DTensor) and isinstance(w, DTensor) and (bias is None or isinstance(bias, DTensor))):
        return None
    if len(_shape(w)) != 2 or len(_shape(x)) < 2 or isinstance(x.placements[0], Partial):
        return None
    return x, w, bias


def _biased(found: DTensor, bias: DTensor, shape: tuple[int, ...], mesh: DeviceMesh) -> DTensor:
    whole = _whole(found) + _whole(bias)
    return wrapped(whole, mesh, [Replicate()], shape)


def _on_mesh_device(mesh: DeviceMesh, tensor: Tensor) -> Tensor:
    """Return a tensor moved to the mesh's device type."""
    return tensor if tensor.device.type == mesh.device_type or tensor.is_meta else tensor.to(mesh.device_type)


def distribute_tensor(
    tensor: Tensor | DTensor, device_mesh: DeviceMesh | None = None, placements: Sequence[Placement] | None = None, *,
    src_data_rank: int | None = 0
) -> DTensor:
    """Return a tensor distributed over a mesh. Rank ``src_data_rank`` of each mesh dimension's groups broadcasts its tensor; with None,
    each rank takes its shard from its own tensor."""
    if device_mesh is None:
        raise NotImplementedError("mstorch: distribute_tensor needs a device_mesh")
    if not tensor.is_leaf:
        raise RuntimeError("`distribute_tensor` should be used to distribute leaf tensors! but found non-leaf tensor!")
    tensor = _on_mesh_device(device_mesh, tensor)
    found = _normal(placements, device_mesh, tensor.dim())
    if isinstance(tensor, DTensor):
        return tensor.redistribute(device_mesh, found)
    whole = tensor.detach().contiguous()
    with torch.no_grad():
        if device_mesh.get_coordinate() is None:
            return wrapped(whole.new_empty(0), device_mesh, found, tensor.shape)
        if src_data_rank is not None:
            whole = whole.clone()
            for dim in range(device_mesh.ndim):
                group = device_mesh.get_group(dim)
                group.broadcast([whole], src_data_rank).wait()
        local = move(whole, whole.shape, device_mesh, (Replicate(),) * device_mesh.ndim, found)
        local = local.clone() if local._ms_storage is tensor._ms_storage else local
    made = wrapped(views.alias(local), device_mesh, found, tensor.shape)
    if tensor.requires_grad:
        require_grad(made, True)
    return made
