"""Handle public calls for a mode or tensor below autograd: bound to an overload, or decomposed."""
from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

from ... import ops, return_types
from ..._tensor import Tensor
from ..core.formats import strided
from ..core.generator import default_generator
from ..core.modes import grad_set_to, modes
from ..core.overriding import MAPPERS, MODES, Property, public_name, spoken, state
from ..core.tensor_base import TensorBase, to_meta
from ..ops.memory.copying import as_dtype
from ..tape import engine
from . import (
    backward_operators,
    calling,
    composites_attention,
    composites_dropout,
    composites_layers,
    composites_losses,
    composites_models,
    composites_rnn,
    composites_windows,
    derivatives,
    derivatives_layers,
    derivatives_losses,
)
from .binding import Bound, bind, bind_out
from .composites import COMPOSITES, REFUSING
from .overloads import overloads
from .parts import NotInParts, in_parts

ENTERED = (  # importing them fills the tables
    backward_operators, composites_attention, composites_dropout, composites_layers, composites_losses, composites_models, composites_rnn,
    composites_windows, derivatives, derivatives_layers, derivatives_losses,
)  # fmt: skip
# Queries of metadata, and calls that only autograd or Python handles: nothing is computed below autograd.
_SAYINGS = frozenset("""
    size dim ndimension numel nelement stride storage_offset element_size is_contiguous is_floating_point is_complex is_signed is_conj
    is_neg is_inference is_pinned is_same_size get_device backward register_hook register_post_accumulate_grad_hook retain_grad
    requires_grad_ detach_ untyped_storage storage data_ptr _is_view is_shared share_memory_ as_subclass is_set_to has_names
    __len__ __repr__ __str__ __format__ __dir__ __reduce_ex__ __reduce__ __setstate__ __array__ __array_wrap__ numpy tolist
    is_tensor is_storage result_type can_cast promote_types is_distributed align_as refine_names rename typename dim_order
    __contains__ __dlpack__ __dlpack_device__ resolve_conj resolve_neg is_coalesced dense_dim sparse_dim storage_type
    get_default_dtype set_default_dtype finfo iinfo is_grad_enabled is_nonzero broadcast_shapes __iter__ reinforce _typed_storage
    module_load
""".split())
_COMPUTED_PROPERTIES = frozenset(("T", "mT", "H", "mH", "real", "imag", "data"))


def overload_of(bound: Bound) -> ops.OpOverload:
    """Return the overload that a call was bound to."""
    return getattr(getattr(ops.aten, bound.schema.name), bound.schema.overload or "default")


def _name(public: Callable[..., Any]) -> str | None:
    """Return the name of a public function, method or computed property; None for one that only returns metadata."""
    owner = getattr(public, "__self__", None)
    if isinstance(owner, Property):
        computed = owner.__name__ in _COMPUTED_PROPERTIES and public.__name__ == "__get__"
        return f"{owner.__name__} of a tensor" if computed else None
    name = public_name(public)
    return None if name in _SAYINGS else name


def _with_room(name: str, public: Callable[..., Any]) -> str:
    """Return the operator's name with its namespace: ``linalg_inv`` for torch.linalg.inv."""
    room = spoken(public).split(".")[-2]
    if room not in ("linalg", "special", "fft") or room == "special" and overloads(name):  # torch.special.erf is the operator ``erf``
        return name
    return f"{room}_{name}"


def take(public: Callable[..., Any], function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Handle a public call; return NotImplemented if nothing handles it below autograd."""
    if not (MODES and state.dispatchers or calling.takers(args, []) or kwargs and calling.takers(kwargs.values(), [])):
        return NotImplemented
    name = _name(public)
    if name is None:
        return NotImplemented
    if name == "type":  # it names the type, or converts
        wanted = kwargs.get("dtype", args[1] if len(args) > 1 else None)
        return NotImplemented if wanted is None else args[0].to(as_dtype(wanted))
    if spoken(public).startswith("torch.nn.init.") and modes.grad:
        with grad_set_to(False):
            return take(public, function, args, kwargs)
    composite = COMPOSITES.get(name) if _with_room(name, public) != "linalg_norm" else None
    if composite is not None:
        if composite in REFUSING:
            _refuse(function, args, kwargs)
        with contextlib.suppress(calling.NotInTerms):
            found = composite(*args, **kwargs)
            if found is not NotImplemented:
                return found
    name = _with_room(name, public)
    if kwargs.get("out") is not None:
        bound = bind_out(name, args, kwargs)
        if bound is None:
            raise NotImplementedError(f"mstorch: {spoken(public)} with out= is not seen below autograd (TorchDispatchMode)")
        calling.call(overload_of(bound), *bound.args, **bound.kwargs)
        return kwargs["out"]
    bound = bind(name, args, kwargs)
    if bound is None:
        found = _decomposed(function, args, kwargs)
        if found is not NotImplemented:
            return found
        bound = bind(name, args, kwargs, compositions=True)
    if bound is None:
        return calling.call(ops.whole(function, name), *args, **kwargs)
    result = calling.call(overload_of(bound), *bound.args, **bound.kwargs)
    if kwargs.get("requires_grad"):
        result.requires_grad_()
    if type(result) is tuple:
        kind = getattr(return_types, name, None)
        return result if kind is None else kind(result)
    return result


def _refuse(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Run a function on tensors without memory, of the arguments' shapes and dtypes, so that it raises its error for them."""
    tensors = [value for value in (*args, *kwargs.values()) if isinstance(value, TensorBase)]
    if any(one.is_nested or one.layout is not strided for one in tensors):
        return
    with calling.unseen(), grad_set_to(False):
        function(*map(_standing, args), **{key: _standing(value) for key, value in kwargs.items()})


def _standing(value: Any) -> Any:
    return to_meta(value) if isinstance(value, TensorBase) else value


def _decomposed(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return the result of a function whose parts are run as public calls. If a part cannot be, restore the random state and return
    NotImplemented."""
    engine = default_generator.engine
    before = engine.get_state()
    try:
        return in_parts(function)(*args, **kwargs)
    except (NotInParts, calling.NotInTerms):
        engine.set_state(before)
        return NotImplemented


def _ones_like(root: Tensor) -> Tensor:
    """Return ones like the output, the initial gradient of a backward pass."""
    return calling.call(ops.aten.ones_like.default, root.detach() if not isinstance(root, TensorBase) else root)


MAPPERS.append(take)
engine.beginnings.append(_ones_like)
