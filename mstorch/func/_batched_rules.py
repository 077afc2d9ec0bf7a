"""Batching rules for many functions: elementwise, along dimensions, and with leading batch dimensions."""
from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from typing import Any

from .._src.aten.kinds import CONVERSIONS, cuts_dimension, is_elementwise, reduces, takes_dims, tells_of_shape
from .._src.core.built_in import written
from .._src.core.overriding import public_name
from .._src.core.promotion import promote_types
from .._src.core.second_names import operation_of
from .._src.core.tensor_base import TensorBase
from .._tensor import Tensor
from ._batched import RULES, BatchedTensor, Map, Op, Rule, as_batched, batched, find_rules_by, front, is_of, wrapped
from ._batched_loop import by_slices, expanded, is_in_place, unmapped_error

Arguments = dict[str, Any]


def rules(names: str, rule: Rule, in_place: bool = False) -> None:
    """Register a rule for the functions of these names; with ``in_place``, for their in-place forms too."""
    for name in names.split():
        RULES[name] = rule
        if in_place:
            RULES[f"{name}_"] = rule


def ruled(names: str, in_place: bool = False) -> Callable[[Rule], Rule]:
    """Return a decorator that registers a function as the batching rule of these names, as ``rules`` does."""

    def enter(rule: Rule) -> Rule:
        rules(names, rule, in_place)
        return rule

    return enter


# Arguments by name

_parameters: dict[Any, tuple[list[str], dict[str, Any], str | None]] = {}
_OTHER_NAMES = {"axis": "dim", "keepdims": "keepdim", "axes": "dims"}


def _parameters_of(public: Callable[..., Any]) -> tuple[list[str], dict[str, Any], str | None]:
    found = _parameters.get(public)
    if found is None:
        names, defaults, rest = [], {}, None
        for parameter in inspect.signature(_written_out(public)).parameters.values():
            if parameter.kind is parameter.VAR_POSITIONAL:
                rest = parameter.name
            elif parameter.kind is not parameter.VAR_KEYWORD:
                if rest is None and parameter.kind is not parameter.KEYWORD_ONLY:
                    names.append(parameter.name)
                if parameter.default is not parameter.empty:
                    defaults[parameter.name] = parameter.default
        found = _parameters[public] = names, defaults, rest
    return found


def _written_out(public: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function; for a generated form (``add_``, ``unsqueeze_copy``), the function from which it is derived."""
    name = public_name(public)
    base = name.removesuffix("_copy") if name.endswith("_copy") else name[:-1] if is_in_place(name) and not name.startswith("__") else ""
    return written(getattr(Tensor, base, public) if base else public)


def bound(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Arguments:
    """Return the given arguments by name: the first as ``input``, extra positional arguments as ``*``."""
    names, _, rest = _parameters_of(op.public)
    given = dict(zip(names, args))
    if len(args) > len(names):
        if rest is None:
            raise TypeError(f"{op.name}() takes {len(names)} positional arguments but {len(args)} were given")
        given["*"] = args[len(names) :]
    for name, value in kwargs.items():
        given[_OTHER_NAMES.get(name, name) if name not in names else name] = value
    if names and names[0] != "input" and names[0] in given:
        given = {"input": given.pop(names[0]), **given}
    return given


def default_of(op: Op, name: str) -> Any:
    """Return the default value of a parameter."""
    return _parameters_of(op.public)[1].get(name)


# Elementwise


def _category_fixed(tensors: list[Any], ranks: list[int], values: list[Any], op: Op) -> None:
    """Adjust values for type promotion: a batched tensor with 0-d slices has to count as 0-d, although its value has a batch dimension."""
    kinds = [tensor._ms_dtype for tensor, rank in zip(tensors, ranks) if rank]
    if not kinds:
        for place, tensor in enumerate(tensors):
            if not is_of(tensor, op.map):
                values[place] = values[place].unsqueeze(0)
        return
    common = kinds[0]
    for kind in kinds[1:]:
        common = promote_types(common, kind)
    for place, (tensor, rank) in enumerate(zip(tensors, ranks)):
        kind = tensor._ms_dtype
        if not rank and is_of(tensor, op.map) and kind is not common and 0 < kind.category <= common.category:
            values[place] = values[place].to(common)


def in_line(op: Op, tensors: list[Any], rank: int | None = None, promote: bool = False) -> list[Any]:
    """Return the values of the tensors in shapes that broadcast: batched values have the batch dimension first, and then 1s, so that each
    slice has ``rank`` dimensions."""
    ranks = [len(tensor._ms_shape) for tensor in tensors]
    rank = max(ranks) if rank is None else rank
    values = []
    for tensor, own in zip(tensors, ranks):
        if not is_of(tensor, op.map):
            values.append(tensor)
            continue
        value = front(tensor)
        if own < rank:
            shape = value._ms_shape
            value = value.reshape(shape[0], *(1,) * (rank - own), *shape[1:])
        values.append(value)
    if promote and 0 in ranks and len(tensors) > 1:
        _category_fixed(tensors, ranks, values, op)
    return values


def pointwise(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run an elementwise function of broadcast tensors."""
    if kwargs.get("out") is not None:
        return by_slices(op, args, kwargs)
    if kwargs.get("inplace"):
        _check_target(op, args[0])
    places = [place for place, value in enumerate(args) if isinstance(value, TensorBase)]
    names = [name for name, value in kwargs.items() if isinstance(value, TensorBase)]
    tensors = [args[place] for place in places] + [kwargs[name] for name in names]
    if len(tensors) == 1:
        values, bdim = [tensors[0].value], tensors[0].bdim
    elif _same_batching(tensors, op.map):
        values, bdim = [tensor.value for tensor in tensors], tensors[0].bdim
    else:
        values, bdim = in_line(op, tensors, promote=True), 0
    given = list(args)
    for place, value in zip(places, values):
        given[place] = value
    named = dict(kwargs, **dict(zip(names, values[len(places) :])))
    if len(args) > 1 and (op.name in _BESIDE_NUMBERS or (op.name in ("pow", "copysign") and len(tensors) > 1)):
        _refuse_no_slices(op, args)
    result = op(*given, **named)
    return args[0] if named.get("inplace") else as_batched(result, bdim, op.map)


# Functions for which torch promotes the dtype by the first slice if an unbatched operand is 0-d.
_BESIDE_NUMBERS = set(
    "add sub subtract mul multiply div divide true_divide floor_divide maximum minimum fmax fmin atan2 arctan2 hypot "
    "__radd__ __rmul__ __rdiv__ __rtruediv__ __rfloordiv__ __floordiv__ __truediv__ __add__ __mul__ __sub__".split()
)


def _refuse_no_slices(op: Op, args: tuple[Any, ...]) -> None:
    """Raise torch's error for a 0-d tensor with batch size 0 combined with a number."""
    for value, other in (args[:2], args[1::-1]):
        if is_of(value, op.map) and not value._ms_shape and not is_of(other, op.map) and value.value._ms_shape[value.bdim] == 0:
            raise IndexError(f"select(): index 0 out of range for tensor of size {list(value.value._ms_shape)} at dimension {value.bdim}")


def _same_batching(tensors: list[Any], map: Map) -> bool:
    """Return whether all values have the same shape and batch dimension."""
    first = tensors[0]
    return all(
        isinstance(tensor, BatchedTensor) and tensor.map is map and tensor.bdim == first.bdim
        and tensor.value._ms_shape == first.value._ms_shape
        for tensor in tensors
    )


def _check_target(op: Op, target: Tensor) -> None:
    if not is_of(target, op.map):
        raise unmapped_error(op)


def pointwise_in_place(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor:
    """Run the in-place form of an elementwise function."""
    target = args[0]
    _check_target(op, target)
    tensors = [value for value in (*args, *kwargs.values()) if isinstance(value, TensorBase)]
    values = in_line(op, tensors, len(target._ms_shape), promote=True)
    replaced = iter(values)
    given = [next(replaced) if isinstance(value, TensorBase) else value for value in args]
    named = {name: next(replaced) if isinstance(value, TensorBase) else value for name, value in kwargs.items()}
    op(*given, **named)
    return target


rules(
    "isclose complex polar conj isreal real resolve_conj resolve_neg hardswish logsigmoid log_sigmoid_backward softsign tanhshrink "
    "imag cpu cuda alias detach zeros_like ones_like full_like empty_like fill zero",
    pointwise,
)  # fmt: skip


@ruled("type_as Tensor.to Tensor.type")
def cast_like(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor:
    """Cast; a tensor as further argument only determines the dtype."""
    first, *rest = args
    rest = [value.value if isinstance(value, BatchedTensor) else value for value in rest]
    named = {name: value.value if isinstance(value, BatchedTensor) else value for name, value in kwargs.items()}
    if not is_of(first, op.map):
        return op(first, *rest, **named)
    if str(kwargs.get("memory_format")) in ("torch.channels_last", "torch.channels_last_3d"):
        return by_slices(op, args, kwargs)
    result = op(first.value, *rest, **named)
    return as_batched(result, first.bdim, op.map)


# Along dimensions


def shifted(op: Op, dim: Any, rank: int) -> Any:
    """Return ``dim``, which counts the dimensions of a slice of ``rank`` dimensions, for a value with the batch dimension in front:
    nonnegative, plus 1."""
    if isinstance(dim, (tuple, list)):
        return tuple(shifted(op, one, rank) for one in dim)
    return wrapped(int(dim), rank) + 1


def unfolded(result: Tensor, place: int = 1) -> Tensor:
    """Squeeze dimension ``place`` of the result, or of each tensor in it; the dimension was inserted because the slices are 0-d."""
    if isinstance(result, TensorBase):
        return result.squeeze(place) if len(result._ms_shape) > place else result
    if isinstance(result, (tuple, list)):
        items = [unfolded(item, place) for item in result]
        return type(result)(*items) if hasattr(result, "_fields") and not hasattr(result, "n_fields") else type(result)(items)
    return result


def along(*names: str, of_numbers: bool = False) -> Rule:
    """Return a batching rule for functions of one tensor along dimensions, which are passed under the given names. With ``of_numbers`` they
    treat a number as a vector of one element, and return a number."""

    def rule(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        given = bound(op, args, kwargs)
        tensor = given.pop("input")
        if "*" in given or not is_of(tensor, op.map) or given.get("out") is not None or _has_tensors(given):
            return by_slices(op, args, kwargs)
        rank = len(tensor._ms_shape)
        value = front(tensor)
        for name in names:
            dim = given.get(name, default_of(op, name))
            if dim is None or dim == () and isinstance(dim, tuple):
                return by_slices(op, args, kwargs)
            given[name] = shifted(op, dim, rank)
        if rank == 0:
            if op.name in _TURNS:
                return batched(tensor.value, tensor.bdim, op.map)
            if not of_numbers:
                return by_slices(op, args, kwargs)
            return as_batched(unfolded(op(value.unsqueeze(1), **given)), 0, op.map)
        return as_batched(op(value, **given), 0, op.map)

    return rule


_TURNS = frozenset(("transpose", "swapdims", "swapaxes"))


def _has_tensors(given: Arguments) -> bool:
    return any(isinstance(value, TensorBase) for value in given.values())


# Neither torch's schemas nor its tags tell these from functions such as renorm, which need the other dimensions too.
rules(
    "cumsum cumprod cummax cummin logcumsumexp softmax log_softmax softmin sort argsort topk kthvalue mode logsumexp "
    "nn.functional.normalize special.logsumexp special.softmax special.log_softmax",
    along("dim", of_numbers=True),
)
rules("glu diff fft.fft fft.ifft fft.rfft fft.irfft fft.hfft fft.ihfft fft.fft2 fft.ifft2 fft.rfft2 fft.irfft2", along("dim"))
rules("Tensor.unfold", along("dimension"))
rules("flatten", along("start_dim", "end_dim"))
rules("diagonal diagonal_copy linalg.diagonal", along("dim1", "dim2"))
rules("movedim moveaxis", along("source", "destination"))
for _name, _dims in (("transpose", "dim0 dim1"), ("swapdims", "dim0 dim1"), ("swapaxes", "axis0 axis1")):
    rules(f"{_name} {_name}_copy", along(*_dims.split()))
RULES["msort"] = lambda op, args, kwargs: batched(front(args[0]).sort(1)[0], 0, op.map)

# Reductions: of all dimensions, or of some

_WHOLE = {"max": "amax", "min": "amin"}


def reduction(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run a reduction."""
    # ``max`` and ``min`` of two tensors are elementwise.
    if op.name in _WHOLE and (len(args) > 1 and isinstance(args[1], TensorBase) or "other" in kwargs):
        return pointwise(op, args, kwargs)
    given = bound(op, args, kwargs)
    tensor = given.pop("input")
    if given.get("out") is not None or _has_tensors(given) or not isinstance(tensor, BatchedTensor) or given.get("p") == "nuc":
        return by_slices(op, args, kwargs)
    if isinstance(given.get("dim"), bool):  # var(unbiased)
        given["unbiased"] = given.pop("dim")
    dim = given.pop("dim", None)
    if "*" in given:
        dim = given.pop("*")
        dim = dim[0] if len(dim) == 1 and isinstance(dim[0], (tuple, list)) else dim
    if dim is None or isinstance(dim, (tuple, list)) and not dim:
        return _of_whole_slices(op, tensor, given)
    rank, value = len(tensor._ms_shape), front(tensor)
    given["dim"] = shifted(op, dim, rank)
    if rank == 0:
        given.pop("keepdim", None)
        value = value.unsqueeze(1)
    return as_batched(op(value, **given), 0, op.map)


def _of_whole_slices(op: Op, tensor: BatchedTensor, given: Arguments) -> Any:
    """Reduce each slice to one number."""
    rank, value = len(tensor._ms_shape), front(tensor)
    keep = given.pop("keepdim", False) and rank > 0
    name = op.key.removeprefix("Tensor.")
    if name in _WHOLE:
        return batched(getattr(value.reshape(op.map.size, -1), _WHOLE[name])(1), 0, op.map)
    if takes_dims(name.rpartition(".")[2]):
        value = value if rank else value.unsqueeze(1)
        return as_batched(op(value, dim=tuple(range(1, max(rank, 1) + 1)), **given, **({"keepdim": True} if keep else {})), 0, op.map)
    rows = value.reshape(op.map.size, math.prod(tensor._ms_shape))
    result = op(rows, dim=1, **given)
    if name in ("median", "nanmedian"):
        result = _shared(rows, result[0])
    elif keep:
        result = result.reshape(op.map.size, *(1,) * rank)
    return as_batched(result, 0, op.map)


def _shared(rows: Any, medians: Any) -> Any:
    """Return the medians of rows so that all elements that are equal to one share its gradient: one along a dimension has a single
    element's."""
    if rows._ms_dtype.is_integral:
        return medians
    medians = medians.detach()
    wanted = medians.unsqueeze(1)
    missing = rows.isnan() & wanted.isnan()
    # The filler must not equal a median: -inf would share the gradient of -inf.
    below, above = rows.where(rows == wanted, math.inf).amin(1), rows.where(rows == wanted, -math.inf).amax(1)
    of_missing = rows.where(missing, 0).sum(1) / missing.sum(1)
    return of_missing.where(medians.isnan(), below.where(medians < 0, above))


rules("count_nonzero linalg.vector_norm", reduction)
rules("nuclear_norm native_norm", by_slices)  # what follows the tensor is no dimension


@ruled("aminmax")
def aminmax(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return minima and maxima, over all elements if ``dim`` is None."""
    if kwargs.get("dim") is not None:
        return along("dim", of_numbers=True)(op, args, kwargs)
    if kwargs or len(args) > 1:
        return by_slices(op, args, kwargs)
    return as_batched(op(front(args[0]).reshape(op.map.size, -1), dim=1), 0, op.map)


@ruled("cumsum_ cumprod_ sort_")
def along_in_place(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run a cumulative function in place."""
    given = bound(op, args, kwargs)
    tensor = given.pop("input")
    _check_target(op, tensor)
    if not tensor._ms_shape or "dim" not in given:
        return by_slices(op, args, kwargs)
    given["dim"] = shifted(op, given["dim"], len(tensor._ms_shape))
    op(front(tensor), **given)
    return tensor


# Several tensors along one dimension, each of the same rank


def along_many(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor:
    """Run gather or scatter, whose tensors have equal rank and are not broadcast against each other."""
    given = bound(op, args, kwargs)
    tensors = {name: value for name, value in given.items() if isinstance(value, TensorBase)}
    ranks = {len(value._ms_shape) for value in tensors.values()}
    if len(ranks) != 1 or ranks == {0} or given.get("out") is not None or not isinstance(given.get("dim"), int):
        return by_slices(op, args, kwargs)
    target = given["input"]
    if is_in_place(op.name):
        _check_target(op, target)
    given["dim"] = shifted(op, given["dim"], ranks.pop())
    for name, value in tensors.items():
        given[name] = expanded(value, op.map)
    result = op(given.pop("input"), **given)
    return target if is_in_place(op.name) else as_batched(result, 0, op.map)


rules("gather linalg.cross", along_many)
rules("scatter scatter_add scatter_reduce", along_many, in_place=True)


# Functions that take any leading dimensions


def leading(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run a function of the last dimensions that broadcasts all dimensions before; the batch dimension becomes one of those."""
    if kwargs.get("out") is not None:
        return by_slices(op, args, kwargs)
    tensors = [value for value in (*args, *kwargs.values()) if isinstance(value, TensorBase)]
    replaced = iter(in_line(op, tensors))
    given = [next(replaced) if isinstance(value, TensorBase) else value for value in args]
    named = {name: next(replaced) if isinstance(value, TensorBase) else value for name, value in kwargs.items()}
    return as_batched(op(*given, **named), 0, op.map)


def of_matrices(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run a function of matrices with the batch dimension as a leading dimension. Tensors of fewer than two dimensions are passed slice by
    slice, so that the function raises its own error."""
    tensors = [value for value in (*args, *kwargs.values()) if isinstance(value, TensorBase)]
    alone = op.name in ("matrix_rank", "pinv", "pinverse")  # further tensors are tolerances
    if any(len(tensor._ms_shape) < 2 for tensor in tensors) or alone and len(tensors) > 1:
        return by_slices(op, args, kwargs)
    return leading(op, args, kwargs)


rules(
    "inverse det logdet slogdet cholesky cholesky_inverse cholesky_solve qr svd pinverse triangular_solve matrix_exp tril triu "
    "linalg.inv linalg.det linalg.slogdet linalg.cholesky linalg.cholesky_ex linalg.qr linalg.svd linalg.svdvals linalg.eig "
    "linalg.eigvals linalg.eigh linalg.eigvalsh linalg.inv_ex linalg.lu linalg.lu_factor linalg.lu_factor_ex linalg.matrix_exp "
    "linalg.matrix_power matrix_power linalg.solve_triangular linalg.ldl_factor geqrf "
    "linalg.matrix_rank linalg.cond adjoint cdist logdet linalg.pinv mH mT linalg.ldl_factor_ex",
    of_matrices,
)


_MATRICES_AND = {  # number of trailing dimensions of each tensor, besides leading ones
    "linalg.householder_product": (2, 1), "orgqr": (2, 1), "ormqr": (2, 1, 2), "lu_solve": (2, 2, 1), "linalg.lu_solve": (2, 1, 2),
    "linalg.ldl_solve": (2, 1, 2), "lu_unpack": (2, 1), "linalg.vecdot": (1, 1),
}  # fmt: skip


def of_matrices_and_vectors(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run a function of matrices and vectors that broadcasts leading dimensions; each argument has its own number of trailing dimensions.
    """
    own = _MATRICES_AND[op.key.removeprefix("Tensor.")]
    given = args[: len(own)]
    if kwargs.get("out") is not None or "dim" in kwargs or any(
        not isinstance(value, TensorBase) or len(value._ms_shape) < count for value, count in zip(given, own)
    ) or len(given) < len(own):  # fmt: skip
        return by_slices(op, args, kwargs)
    lead = max(len(value._ms_shape) - count for value, count in zip(given, own))
    values = []
    for value, count in zip(given, own):
        found = expanded(value, op.map)
        shape = found._ms_shape
        values.append(found.reshape(shape[0], *(1,) * (lead + count + 1 - len(shape)), *shape[1:]))
    return as_batched(op(*values, *args[len(own) :], **kwargs), 0, op.map)


rules(" ".join(_MATRICES_AND), of_matrices_and_vectors)


# Selection of the rule of a function

_NOT_SPECIAL = frozenset(("logsumexp", "softmax", "log_softmax"))


def _by_own_method(name: str) -> Rule:
    def rule(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> int:
        return getattr(args[0], name)(*args[1:], **kwargs)

    return rule


def _property(name: str) -> Rule:
    if name in vars(BatchedTensor):
        return lambda op, args, kwargs: getattr(args[0], name)
    if name in RULES:
        return lambda op, args, kwargs: RULES[name](op, args, kwargs)
    return lambda op, args, kwargs: getattr(args[0].value, name)


# Functions that only Python has.
_OF_A_SLICE = frozenset(("__len__", "__dir__", "__hash__", "nelement", "has_names", "is_tensor", "is_shared"))


def of_a_slice(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> int:
    """Return the answer to a query about shape or dtype, from an empty tensor shaped like one slice."""

    def shaped(value: Any) -> Any:
        if not is_of(value, op.map):
            return value
        return value.value.select(value.bdim, 0) if op.map.size else value.value.new_zeros(value._ms_shape)

    return op(*map(shaped, args), **{name: shaped(value) for name, value in kwargs.items()})


def find(key: str, public: Callable[..., Any]) -> Rule:
    """Return the batching rule of a function."""
    owner, _, name = key.rpartition(".")
    if name in ("__get__", "__set__", "__delete__"):
        attribute = owner.rpartition(".")[2]
        if name == "__get__":
            return _property(attribute)
        return _own_write(attribute) if attribute in vars(BatchedTensor) else by_slices
    if key in RULES:
        return RULES[key]
    if owner == "Tensor" and name in vars(BatchedTensor):
        return _by_own_method(name)
    if name in _OF_A_SLICE or (not name.startswith("_") and tells_of_shape(name)):
        return of_a_slice
    name = operation_of(name) if name.startswith("__i") else name
    if name in RULES and owner in (*_OF_OPERATORS, "_src.namespace.implicit"):
        return RULES[name]
    if owner == "special":
        return by_slices if name in _NOT_SPECIAL else pointwise
    return _by_schema(name) if owner in _OF_OPERATORS else by_slices


_OF_OPERATORS = ("", "Tensor", "functional", "nn.functional")
"""The namespaces in which a name is that of an operator."""


_ALONG_DIM = along("dim")


def _by_schema(name: str) -> Rule:
    """Return the rule of an operator without one of its own: what torch's schemas and tags tell of it."""
    if cuts_dimension(name):
        return _ALONG_DIM
    if reduces(name):
        return reduction
    if not is_in_place(name):
        return pointwise if name in CONVERSIONS or is_elementwise(name) else by_slices
    base = name[:-1]
    return pointwise_in_place if RULES.get(base) is pointwise or base in ("zero", "copy") or is_elementwise(base) else by_slices


def _own_write(name: str) -> Rule:
    def rule(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return setattr(args[0], name, args[1])

    return rule


find_rules_by(find)
