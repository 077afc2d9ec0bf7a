"""Operations whose tensors have to be on one device: torch's refusals of positions, masks, targets and numbers that lie elsewhere.

Kernels refuse operands of two devices by themselves (``_tape/operands.py``). They do not see where the others come from: what is read on
the host before a kernel is chosen, and numbers, which go with any device in most operations. Where MindSpore computes on a device, the
public forms of the operations below look at all of their tensors; where it computes on the CPU they are as they were.
"""
from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Iterator
from typing import Any

from .._backend.raw import ON_CPU
from .modes import modes
from .storage import DeviceMemory, Storage
from .tensor_base import TensorBase

Function = Callable[..., Any]
_ALL = """
bincount bucketize clamp clamp_max clamp_min clip complex cosine_similarity cross_entropy embedding_bag equal fractional_max_pool2d
fractional_max_pool2d_with_indices fractional_max_pool3d fractional_max_pool3d_with_indices gather gcd huber_loss igamma igammac gammainc
gammaincc index_add index_copy index_reduce index_select inner lcm linear logaddexp logaddexp2 lu_solve lu_unpack masked_scatter
masked_select max_unpool1d max_unpool2d max_unpool3d multi_margin_loss multilabel_margin_loss native_dropout_backward nextafter nll_loss
nll_loss2d normal polar prelu put repeat_interleave scatter scatter_add scatter_reduce searchsorted take take_along_dim
""".split()
_TWO = """
addcdiv addcmul binary_cross_entropy binary_cross_entropy_with_logits index_fill l1_loss lerp logical_and logical_or logical_xor
mse_loss smooth_l1_loss soft_margin_loss index_put
""".split()  # whose kernels walk over all operands at once, and find out there
# Arguments that may be numbers of the CPU all the same, with their place.
_NUMBERS = {
    "masked_fill": ((2, "value"),), "index_fill": ((3, "value"),), "lerp": ((2, "weight"),), "addcmul": ((2, "tensor2"),),
    "linear": ((2, "bias"),), "soft_margin_loss": ((1, "target"),), "index_put": ((2, "values"),),
    "binary_cross_entropy_with_logits": ((0, "input"),), **dict.fromkeys(("logical_and", "logical_or", "logical_xor"), ((1, "other"),)),
}  # fmt: skip
_ANYWHERE = {"index_put": ((1, "indices"),)}  # which may be the CPU's, whatever their shape
_OF_TORCH = {"input": "self"}
_HOME = __name__.partition(".")[0]
_WAYS_IN = tuple(
    f"{_HOME}.{room}" for room in
    "_core.overriding _core.built_in _core.one_device _namespace.out_history _aten. _library. ops".split()
)
# The kernels that torch names in its errors, where these are not the operation.
_METHODS = {
    "bincount": "_bincount", "bucketize": "Tensor_bucketize", "clamp": "clamp_Tensor", "clamp_max": "clamp_max_Tensor",
    "clamp_min": "clamp_min_Tensor", "clip": "clamp_Tensor", "complex": "out_complex_out", "cosine_similarity": "clamp_min__Tensor",
    "cross_entropy": "nll_loss_forward", "embedding_bag": "__embedding_bag_forward_only", "equal": "_equal",
    "huber_loss": "_huber_loss", "index_select": "_index_select", "gammainc": "igamma", "gammaincc": "igammac", "linear": "addmm",
    "lu_solve": "linalg_lu_solve", "masked_scatter": "_masked_scatter_", "masked_select": "_masked_select",
    "max_unpool1d": "_max_unpool2d", "max_unpool2d": "_max_unpool2d", "max_unpool3d": "_max_unpool3d",
    "multi_margin_loss": "_multi_margin_loss", "multilabel_margin_loss": "_multilabel_margin_loss_forward",
    "native_dropout_backward": "_native_dropout_backward", "nll_loss": "nll_loss_forward", "normal": "Tensor_Tensor_normal",
    "polar": "out_polar_out", "prelu": "__prelu_kernel", "put": "_put_", "repeat_interleave": "_index_select", "scatter": "scatter_src",
    "scatter_reduce": "scatter_reduce_two", "searchsorted": "Tensor_searchsorted", "take": "_take",
}  # fmt: skip
_signed: dict[str, Function] = {}  # the operations whose signatures name the arguments, by name


def _masked_fill(first: Any, name: str, other: Any) -> str:
    return f"expected self and mask to be on the same device, but got mask on {other.device} and self on {first.device}"


def _meshgrid(first: Any, name: str, other: Any) -> str:
    return "meshgrid expects all tensors to have the same device"


def _embedding(indices: Any, name: str, weight: Any) -> str:
    return _of_method(weight, "index", indices, "_index_select")


def _found_two(first: Any, name: str, other: Any) -> str:
    place, far = (first, other) if first._storage.__class__ is DeviceMemory else (other, first)
    return f"Expected all tensors to be on the same device, but found at least two devices, {place.device} and {far.device}!"


def _of_method(first: Any, name: str, other: Any, method: str) -> str:
    kind = (first if first._storage.__class__ is DeviceMemory else other).device.type.upper()
    return _got(name, other, first) + f" (when checking argument in method wrapper_{kind}_{method})"


def _got(name: str, other: Any, first: Any) -> str:
    text = f"Expected all tensors to be on the same device, but got {name} is on {other.device}"
    return f"{text}, different from other tensors on {first.device}"


_WORDS: dict[str, Callable[[Any, str, Any], str]] = {
    **{name: functools.partial(_of_method, method=_METHODS.get(name, name)) for name in _ALL}, **dict.fromkeys(_TWO, _found_two),
    "embedding": _embedding, "masked_fill": _masked_fill, "meshgrid": _meshgrid,
}  # fmt: skip


def on_one_device(function: Function, name: str) -> Function:
    """Return the public form of an operation, which refuses tensors of the CPU beside those of a device where torch does."""
    plain = name.rpartition(".")[2].rstrip("_")
    if ON_CPU or plain not in _WORDS:
        return function
    if inspect.Parameter.VAR_POSITIONAL not in {parameter.kind for parameter in inspect.signature(function).parameters.values()}:
        _signed.setdefault(plain, function)

    @functools.wraps(function)
    def checked(*args: Any, **named: Any) -> Any:
        seen = None
        for value in (*args, *named.values()) if named else args:
            if isinstance(value, TensorBase):
                kind = value._storage.__class__
            elif (value.__class__ is tuple or value.__class__ is list) and value and isinstance(value[0], TensorBase):
                kind = _kind_of_parts(value)
            else:
                continue
            if kind is DeviceMemory or kind is Storage:
                if seen is None:
                    seen = kind
                elif seen is not kind:
                    _refuse(function, plain, args, named)
                    break
            elif kind is None:
                _refuse(function, plain, args, named)
                break
        return function(*args, **named)

    return checked


def _kind_of_parts(parts: Any) -> type | None:
    """Return the storage class that all tensors in a sequence share, or None if some are on the CPU and some on a device."""
    kinds = {part._storage.__class__ for part in parts if isinstance(part, TensorBase)}
    return None if {DeviceMemory, Storage} <= kinds else next(iter(kinds))


def _named_tensors(function: Function, name: str, args: tuple[Any, ...], named: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """The tensors of a call that have to be on one device, with the names of their arguments."""
    words = list(inspect.signature(_signed.get(name, function)).parameters)
    given = [(words[place] if place < len(words) else "", place, value) for place, value in enumerate(args)]
    given += [(key, -1, value) for key, value in named.items() if key != "out"]
    for word, place, value in given:
        if any(place == at or word == free for at, free in _ANYWHERE.get(name, ())):
            continue
        number = any(place == at or word == free for at, free in _NUMBERS.get(name, ()))
        for item in value if isinstance(value, (tuple, list)) else (value,):
            kind = item._storage.__class__ if isinstance(item, TensorBase) else None
            if kind is DeviceMemory or (kind is Storage and (item._shape or not number)):
                yield _OF_TORCH.get(word, word), item


def _is_called_from_inside(frame: Any) -> bool:
    """Return whether the caller is this library itself rather than a program or a layer, which passes on a program's tensors."""
    while frame is not None:
        room = frame.f_globals.get("__name__", "")
        if not room.startswith(_WAYS_IN):
            return room.startswith(f"{_HOME}.") and not room.startswith(f"{_HOME}.nn.modules")
        frame = frame.f_back
    return False


def _refuse(function: Function, name: str, args: tuple[Any, ...], named: dict[str, Any]) -> None:
    if modes.native is not None or _is_called_from_inside(sys._getframe(2)):
        return  # within a block of MindSpore's all values are one device's
    first: Any = None
    for word, tensor in _named_tensors(function, name, args, named):
        if first is None:
            first = tensor
        elif tensor._storage.__class__ is not first._storage.__class__:
            raise RuntimeError(_WORDS[name](first, word, tensor))


def check_one_device(result: TensorBase, target: TensorBase, name: str = "") -> None:
    """Raise torch's error if a result is to be stored (``out=``, in place) on another device than it was computed on."""
    here, there = result._storage.__class__, target._storage.__class__
    if here is not there and modes.native is None and {here, there} == {DeviceMemory, Storage}:
        if name:
            raise RuntimeError(_got(name, target, result))
        raise RuntimeError(_found_two(result, "", target))


def check_index(indexed: TensorBase, index: Any) -> None:
    """Raise torch's error where a tensor of the CPU is indexed by one of a device."""
    there = isinstance(index, TensorBase) and index._storage.__class__ is DeviceMemory
    if there and indexed._storage.__class__ is Storage and modes.native is None:
        raise RuntimeError(f"indices should be either on cpu or on the same device as the indexed tensor ({indexed.device})")
