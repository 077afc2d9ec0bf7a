"""Public calls with lazy conjugates and negatives: resolved for most functions, kept by views, undone for in-place writes."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..._tensor import Tensor
from ..aten.kinds import changes_view, gives_view
from ..backend.arrays import Array
from ..core.dtype import dtype
from ..core.mirrors import Mirror
from ..core.overriding import FORMED, MAPPERS, Property, public_name
from ..core.resized import resize
from ..core.storage import Counter
from ..core.tensor_base import TensorBase, as_it_lies
from ..ops.elementwise import complex_views
from ..ops.memory import copying
from ..tape.mirrored import (
    CLASSES,
    all_resolved,
    has_mirrored,
    is_mirrored,
    resolved,
    seen_alike,
    signs_of,
    turned,
    with_signs,
)
from ..tape.windows import no_view

# Queries of metadata and of autograd's state: nothing is computed.
_SAYINGS = frozenset("""
    size dim ndimension numel nelement stride storage_offset element_size is_contiguous is_floating_point is_complex is_signed is_conj
    is_neg is_inference is_same_size get_device backward register_hook register_post_accumulate_grad_hook retain_grad requires_grad_
    detach_ dim_order result_type can_cast is_tensor has_names conj resolve_conj resolve_neg _conj _neg_view
    _is_view __len__ __hash__ __iter__ __dir__ __format__ __copy__ shape ndim dtype itemsize nbytes device layout requires_grad is_leaf
    grad_fn grad _grad _version output_nr _base retains_grad names is_cpu is_cuda is_meta is_sparse is_quantized real imag
    mH H adjoint
""".split())
# Queries of the memory, not of the elements.
_OF_MEMORY = frozenset("""
    data_ptr untyped_storage storage _typed_storage storage_type is_shared share_memory_ is_pinned
""".split())
# Functions that may return their operand or a view of it, besides those whose schemas say so.
_VIEWS = frozenset("""
    __getitem__ asarray as_tensor atleast_1d atleast_2d atleast_3d cpu data T type type_as cfloat cdouble float double half bfloat16
""".split())
_OPERATORS = frozenset("__iadd__ __isub__ __imul__ __itruediv__ __ifloordiv__ __imod__ __ipow__ __imatmul__ __setitem__".split())
_NOT_CONVERTED = "torch.Tensor.view is not supported for {} when converting to a different dtype."


def _numpy(self: Tensor, *, force: bool = False) -> Array:
    """Raise RuntimeError as torch does, or return a copy with ``force``."""
    if force:
        return resolved(self.detach()).numpy()
    bit, way = ("conjugate", "resolve_conj") if signs_of(self)[0] else ("negative", "resolve_neg")
    raise RuntimeError(f"Can't call numpy() on Tensor that has {bit} bit set. Use tensor.{way}().numpy() instead.")


def _array(self: Tensor, dtype: dtype | None = None, copy: bool | None = None) -> Array:
    return _numpy(self)


def _dlpack(self: Tensor, **options: Any) -> Any:
    raise BufferError(f"Can't export tensors with the {'conjugate' if signs_of(self)[0] else 'negative'} bit set")


def _reduced(self: Tensor, protocol: Any) -> tuple[Any, ...]:
    lying = as_it_lies(self)
    lying.__dict__.update(self.__dict__)
    return restored, (*lying.__reduce_ex__(protocol), *signs_of(self))


# Methods of tensors with a conjugate or negative bit.
_METHODS: dict[str, Callable[..., Any]] = {"numpy": _numpy, "__array__": _array, "__dlpack__": _dlpack, "__reduce_ex__": _reduced}


def restored(rebuild: Callable[..., Any], arguments: Any, conj: bool, neg: bool) -> Any:
    """Rebuild a lazy conjugate or negative from a pickle."""
    return with_signs(rebuild(*arguments), conj, neg)


CLASSES.add(Tensor)


def take(public: Callable[..., Any], function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Handle a public call; return NotImplemented if none of the operands is a lazy conjugate or negative."""
    if not (has_mirrored(args) or kwargs and has_mirrored(kwargs.values())):
        return NotImplemented
    owner = getattr(public, "__self__", None)
    name = owner.__name__ if isinstance(owner, Property) else public_name(public)
    first: Any = args[0] if args else None
    named = dict(zip(kwargs, all_resolved(tuple(kwargs.values()))))
    rest = all_resolved(args[1:])
    if name == "data" and len(args) == 2:
        return function(*args)  # this assignment to ``data`` makes both share one memory
    if any(type(value) in FORMED for value in (*args, *kwargs.values())):
        return public(*all_resolved(args), **named)  # dispatches to the implementation of the other class
    if not is_mirrored(first):
        return _call_resolved(function, all_resolved(args), named, kwargs)
    if name in _METHODS:
        return _METHODS[name](first, *rest, **named)
    if name in _SAYINGS:
        return function(first, *rest, **named)
    if name in _OF_MEMORY:
        return function(as_it_lies(first), *rest, **named)
    if name in _VIEWS or gives_view(name):
        return _seen(function, name, first, rest, named)
    if changes_view(name):
        return _looks_otherwise(function, first, rest, named)
    if name.endswith("_") and not name.endswith("__") or name in _OPERATORS:
        copy = resolved(first)
        copy._ms_counter = Counter()
        function(copy, *rest, **named)
        _write_unresolved(first, copy)
        return None if name == "__setitem__" else first
    plain = resolved(first)
    found = _call_resolved(function, (plain, *rest), named, kwargs)
    return first if found is plain else found


def _call_resolved(function: Callable[..., Any], args: tuple[Any, ...], named: dict[str, Any], given: dict[str, Any]) -> Any:
    """Call a function with plain operands (``args``, ``named``). If ``out`` is lazily conjugated or negated, write the result into its
    memory with these bits undone."""
    out: Any = given.get("out")
    if not is_mirrored(out):
        return function(*args, **named)
    named["out"]._ms_counter = Counter()
    function(*args, **named)
    if out._ms_shape != named["out"]._ms_shape:
        lying = as_it_lies(out)
        resize(lying, named["out"]._ms_shape)
        out._ms_shape, out._ms_stride = lying._ms_shape, lying._ms_stride
    _write_unresolved(out, named["out"])
    return out


def _write_unresolved(target: Tensor, values: Tensor) -> None:
    """Write values into the memory of a lazy tensor, after applying the tensor's conjugate and negative bits to them."""
    conj, neg = signs_of(target)
    plain = turned(target, conj=True) if conj else target
    plain = turned(plain, neg=True) if neg else plain
    values = complex_views.conj_physical(values) if conj else values
    copying.copy_(plain, -values if neg else values)


def _seen(function: Callable[..., Any], name: str, first: Tensor, rest: tuple[Any, ...], named: dict[str, Any]) -> Any:
    if name == "view" and any(isinstance(value, dtype) for value in (*rest, *named.values())):
        raise RuntimeError(_NOT_CONVERTED.format("conjugate view tensors" if signs_of(first)[0] else "tensors with negative bit set"))
    if name == "view_as_real" and signs_of(first)[0]:
        return function(first)  # raises torch's error
    lying = as_it_lies(first)
    found = seen_alike(function(lying, *rest, **named), first, lying)
    if found is not None:
        return found
    plain = resolved(first)
    plain._ms_counter = Counter()
    found = function(plain, *rest, **named)
    return copying.clone(plain) if found is plain else no_view(found) if isinstance(found, Tensor) else found


def _looks_otherwise(function: Callable[..., Any], first: Tensor, rest: tuple[Any, ...], named: dict[str, Any]) -> Tensor:
    lying = as_it_lies(first)
    function(lying, *rest, **named)
    for part in ("_ms_shape", "_ms_stride", "_ms_offset", "_ms_counter", "_ms_node", "_ms_number", "_ms_auto"):
        setattr(first, part, getattr(lying, part))
    first._ms_storage = Mirror(lying._ms_storage, *signs_of(first))
    return first


def _conj(input: Tensor) -> TensorBase:
    """Return the conjugate as a view."""
    return complex_views.conj(input)


def _neg_view(input: Tensor) -> TensorBase:
    """Return the negative as a view."""
    return complex_views.neg_view(input)


MAPPERS.append(take)
