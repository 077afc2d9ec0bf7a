"""The sizes of an exported program's inputs, as ``dynamic_shapes`` declares them: dimensions, checks at the export and of each call."""
from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Iterator
from typing import Any

from .._dynamo.exc import UserError
from .._src.hook import missing as _missing
from .._tensor import Tensor
from ..fx.experimental.symbolic_shapes import ConstraintViolationError
from ..utils._pytree import SUPPORTED_NODES, tree_flatten
from ._varying import Varying

_LINEAR = "(Only increasing linear operations with integer coefficients are supported.)"
UNDECLARED: Any = object()  # for an input without a declaration: its sizes are fixed
_KINDS = "an int, a Dim, Dim.AUTO, Dim.STATIC, or Dim.DYNAMIC"


class DimHint:
    """Hint for a dynamic size: ``Dim.AUTO``, ``Dim.DYNAMIC`` or ``Dim.STATIC``."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __call__(self, *, min: int | None = None, max: int | None = None) -> DimHint:
        return self

    def __repr__(self) -> str:
        return f"DimHint({self._name})"


class Dim:
    """A named dynamic size between ``min`` and ``max``."""

    AUTO = DimHint("AUTO")
    DYNAMIC = DimHint("DYNAMIC")
    STATIC = DimHint("STATIC")
    factor, offset = 1, 0

    def __init__(self, name: str, *, min: int | None = None, max: int | None = None) -> None:
        low, high = 0 if min is None else min, max
        if high is not None and high <= low:
            raise AssertionError(f"Cannot create Dim with inconsistent min={low}, max={high}")
        if not name.isidentifier():
            raise AssertionError(f"Dim name must be a valid identifier, got {name}")
        self.__name__ = name
        self.min = low
        self.max = high
        self.root = self

    def __repr__(self) -> str:
        low = "" if self.min == 2 else f", min={self.min}"
        return f"Dim('{self.__name__}'{low}{'' if self.max is None else f', max={self.max}'})"

    def __add__(self, other: int) -> Derived:
        if type(other) is not int:
            raise NotImplementedError(f"Attempted to add {other} to {self.__name__}, where an integer was expected. {_LINEAR}")
        return Derived(self.root, self.factor, self.offset + other)

    __radd__ = __add__

    def __sub__(self, other: int) -> Derived:
        if type(other) is not int:
            raise NotImplementedError(f"Attempted to subtract {other} from {self.__name__}, where an integer was expected. {_LINEAR}")
        return Derived(self.root, self.factor, self.offset - other)

    def __rsub__(self, other: int) -> Derived:
        raise NotImplementedError(f"Attempted to negate {self.__name__}. {_LINEAR}")

    def __mul__(self, other: int) -> Derived:
        if type(other) is not int or other <= 0:
            raise NotImplementedError(
                f"Attempted to multiply {other} with {self.__name__}, where a positive integer was expected. {_LINEAR}"
            )
        return Derived(self.root, self.factor * other, self.offset * other)

    __rmul__ = __mul__


class Derived(Dim):
    """A size that is a multiple of another, plus a number: ``2 * dim + 1``."""

    def __init__(self, root: Dim, factor: int, offset: int) -> None:
        self.root, self.factor, self.offset = root, factor, offset
        product = root.__name__ if factor == 1 else f"{factor}*{root.__name__}"
        self.__name__ = product if not offset else f"{product} {'+' if offset > 0 else '-'} {abs(offset)}"

    def __repr__(self) -> str:
        return self.__name__


def dims(*names: str, min: int | None = None, max: int | None = None) -> tuple[Dim, ...]:
    """Return a ``Dim`` for each name."""
    return tuple(Dim(name, min=min, max=max) for name in names)


class Sizes:
    """The sizes that ``dynamic_shapes`` declares for a function's inputs. The constructor raises torch's error if the inputs of the export
    do not match them."""

    def __init__(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], declared: Any) -> None:
        self.signature = inspect.signature(function)
        inputs = self._inputs(args, kwargs)
        if isinstance(declared, dict):
            if declared and list(declared) != list(inputs) and set(declared) != set(inputs):
                raise UserError(
                    "When `dynamic_shapes` is specified as a dict, its top-level keys must be the arg names "
                    f"{list(inputs)} of `inputs`, but here they are {list(declared)}. Alternatively, you could also ignore arg names "
                    "entirely and specify `dynamic_shapes` as a list/tuple matching `inputs`."
                )
            specs = {name: declared.get(name, UNDECLARED) for name in inputs}
        else:
            if len(declared) != len(inputs):
                raise UserError(
                    "Detected mismatch between the structure of `inputs` and `dynamic_shapes`: `inputs` has "
                    f"{len(inputs)} elements, but `dynamic_shapes` has {len(declared)} elements"
                )
            specs = dict(zip(inputs, declared))
        self.specs = specs
        self.equal: dict[str, list[tuple[str, int]]] = {}  # places whose sizes have to be the same, though hints declare them
        self.wanted = [(path, _example(value, spec)) for path, value, spec in self._leaves(inputs)]
        self._check_example(inputs)

    def _inputs(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        return dict(self.signature.bind(*args, **kwargs).arguments)

    def _leaves(self, inputs: dict[str, Any]) -> Iterator[tuple[str, Any, Any]]:
        for name, value in inputs.items():
            yield from _leaves(name, f"['{name}']", value, self.specs.get(name, UNDECLARED))

    def _check_example(self, inputs: dict[str, Any]) -> None:
        known: dict[str, tuple[str, int]] = {}
        for (path, sizes), (_, value, _) in zip(self.wanted, self._leaves(inputs)):
            for place, wanted in enumerate(sizes if isinstance(value, Tensor) else ()):
                size, where = value.shape[place], f"L['{path}'].size()[{place}]"
                if isinstance(wanted, int) and wanted != size:
                    raise ConstraintViolationError(
                        f"Static shape constraint of {wanted} does not match input size of {size}, for {where}"
                    )
                if type(wanted) is Dim:
                    if not wanted.min <= size <= (size if wanted.max is None else wanted.max):
                        raise ConstraintViolationError(
                            f"{size} not in range [{wanted.min}, {'int_oo' if wanted.max is None else wanted.max}]"
                        )
                    first, other = known.setdefault(wanted.__name__, (where, size))
                    if other != size:
                        raise UserError(f"{where} = {size} is not equal to {first} = {other}")

    def varying(self, args: tuple[Any, ...], kwargs: dict[str, Any], is_one: bool) -> Varying:
        """Return the sizes that vary. Those with hints have a size each or, if ``is_one``, one for those that are equal."""
        found, leaves = Varying(), tree_flatten((args, kwargs))[0]
        names: dict[Any, str] = {}
        for (path, sizes), (_, value, _) in zip(self.wanted, self._leaves(self._inputs(args, kwargs))):
            place = next((number for number, leaf in enumerate(leaves) if leaf is value), None)
            for axis, one in enumerate(sizes if isinstance(value, Tensor) and place is not None else ()):
                if isinstance(one, int) or isinstance(one, DimHint) and value.shape[axis] < 2:
                    continue
                hinted = isinstance(one, DimHint)
                key = (value.shape[axis] if is_one else (path, axis)) if hinted else one.root.__name__
                name = names.setdefault(key, f"s{len(names)}")
                least, most = (0, None) if hinted else (one.root.min, one.root.max)
                number = found.add(name, least, most)
                found.places.append((place, axis, number, *((1, 0) if hinted else (one.factor, one.offset))))
                if hinted and is_one:
                    self.equal.setdefault(name, []).append((path, axis))
        return found

    def check(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Raise torch's AssertionError for inputs with undeclared sizes."""
        known: dict[str, tuple[str, int]] = {}
        equal = {place: name for name, places in self.equal.items() for place in places}
        for (path, wanted), (_, value, _) in zip(self.wanted, self._leaves(self._inputs(args, kwargs))):
            if not isinstance(value, Tensor):
                if value != wanted:
                    raise AssertionError(f"Guard failed: {path} == {wanted!r}")
                continue
            for place, (size, declared) in enumerate(zip(value.shape, wanted)):
                where = f"{path}.size()[{place}]"
                guard = _unmet(where, size, declared, known)
                if guard is None and (path, place) in equal:
                    first, other = known.setdefault(equal[path, place], (where, size))
                    guard = None if size == other else f"{where} == {first}"
                if guard is not None:
                    raise AssertionError(f"Guard failed: {guard}")


def _unmet(where: str, size: int, declared: Any, known: dict[str, tuple[str, int]]) -> str | None:
    """Return the guard, as text, that a size violates; None if it meets its declaration. ``known`` maps each named size met so far to its
    place and value."""
    if isinstance(declared, int):
        return None if size == declared else f"{where} == {declared}"
    if not isinstance(declared, Dim):
        return None
    if type(declared) is Dim and declared.__name__ not in known:
        known[declared.__name__] = where, size
        if declared.min > 2 and size < declared.min:
            return f"{where} >= {declared.min}"
        return None if declared.max is None or size <= declared.max else f"{where} <= {declared.max}"
    first, other = known.get(declared.root.__name__, (None, 0))
    if first is None or size == declared.factor * other + declared.offset:
        return None
    product = first if declared.factor == 1 else f"{declared.factor} * {first}"
    return f"{where} == {f'{declared.offset} + ' if declared.offset else ''}{product}"


def _leaves(path: str, place: str, value: Any, spec: Any) -> Iterator[tuple[str, Any, Any]]:
    """Yield each leaf of an input with its path and its declaration."""
    if dataclasses.is_dataclass(value) and type(value) in SUPPORTED_NODES:  # torch.export.register_dataclass
        parts = SUPPORTED_NODES[type(value)].flatten_fn(value)[0]
        for number, item in enumerate(parts):
            part = UNDECLARED if spec is UNDECLARED or spec is None else spec[number]
            yield from _leaves(f"{path}.{number}", f"{place}[{number}]", item, part)
        return
    if not isinstance(value, (dict, list, tuple)):
        if isinstance(value, Tensor):
            _refuse_spec(place, value, spec)
        yield path, value, spec
        return
    if spec is not UNDECLARED and (not isinstance(spec, dict if isinstance(value, dict) else (list, tuple)) or len(spec) != len(value)):
        raise UserError(
            f"Detected mismatch between the structure of `inputs` and `dynamic_shapes`: `inputs{place}` is a {type(value)}, but "
            f"`dynamic_shapes{place}` is not"
        )
    for key, item in value.items() if isinstance(value, dict) else enumerate(value):
        yield from _leaves(f"{path}[{key!r}]", f"{place}[{key!r}]", item, UNDECLARED if spec is UNDECLARED else spec[key])


def _refuse_spec(place: str, value: Tensor, spec: Any) -> None:
    """Raise torch's error for an invalid declaration of a tensor's sizes."""
    if spec is None or spec is UNDECLARED:
        return
    if not isinstance(spec, (dict, list, tuple)):
        raise UserError(
            f"Unexpected input tensor shape {spec} specified at `dynamic_shapes{place}` (expected either a list/tuple of dimensions, or a "
            f"dict mapping indices to dimensions, where each dimension is {_KINDS})"
        )
    if not isinstance(spec, dict) and len(spec) != value.dim():
        raise UserError(
            f"Expected dynamic shape spec {spec} specified at `dynamic_shapes{place}` to have the same length as the actual tensor shape "
            f"{value.shape} (expected {value.dim()}, but got {len(spec)} instead)"
        )
    for index, one in spec.items() if isinstance(spec, dict) else enumerate(spec):
        if one is not None and not isinstance(one, (int, Dim, DimHint)):
            raise UserError(
                f"Unexpected dimension mapped to index {index} in input tensor shape {spec} specified at `dynamic_shapes{place}` (expected "
                f"None, {_KINDS},  but got {one!r} instead)"
            )


def _example(value: Any, spec: Any) -> Any:
    """Return a list with the declaration of each size of a tensor: a number, a Dim or a hint. Return any other value unchanged."""
    if not isinstance(value, Tensor):
        return value
    sizes: list[Any] = list(value.shape)
    for index, one in spec.items() if isinstance(spec, dict) else enumerate(() if spec is None or spec is UNDECLARED else spec):
        if one is not None and one is not Dim.STATIC:
            sizes[index] = one
    return sizes

__getattr__ = _missing(__name__)
