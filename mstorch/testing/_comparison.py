"""``assert_close``: compares numbers, tensors, arrays and containers within tolerances that depend on the dtype."""
from __future__ import annotations

import cmath
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple, NoReturn

import numpy as np
from typing_extensions import deprecated

import mstorch as torch

from .._src.backend.arrays import Array, Number
from .._tensor import Tensor

_PRECISIONS = {
    torch.float16: (1e-3, 1e-5), torch.bfloat16: (1.6e-2, 1e-5), torch.float32: (1.3e-6, 1e-5), torch.float64: (1e-7, 1e-7),
    torch.complex64: (1.3e-6, 1e-5), torch.complex128: (1e-7, 1e-7),
}  # fmt: skip
_NUMBER_DTYPES = {int: torch.int64, float: torch.float64, complex: torch.complex128}
_COMPRESSED = {
    torch.sparse_csr: ("CSR", "crow_indices", "col_indices"), torch.sparse_csc: ("CSC", "ccol_indices", "row_indices"),
    torch.sparse_bsr: ("BSR", "crow_indices", "col_indices"), torch.sparse_bsc: ("BSC", "ccol_indices", "row_indices"),
}  # fmt: skip


class Options(NamedTuple):
    """The arguments of ``assert_close``."""

    allow_subclasses: bool
    rtol: float | None
    atol: float | None
    equal_nan: bool
    check_device: bool
    check_dtype: bool
    check_layout: bool
    check_stride: bool


class Mismatch(Exception):
    """Raised for a difference, with the type of the error to raise and the path in the containers."""

    def __init__(self, type: type[Exception], msg: str, *, id: tuple[Any, ...] = ()) -> None:
        super().__init__(msg)
        self.kind = type
        self.text = msg
        self.path = id

    def to_error(self, msg: str | Callable[..., Any] | None = None) -> Exception:
        """Return the error for the user; ``msg`` replaces the text, or is a function of it."""
        if isinstance(msg, str):
            return self.kind(msg)
        text = self.text
        if self.path:
            text += f"\n\nThe failure occurred for item {''.join(str([item]) for item in self.path)}"
        return self.kind(msg(text) if callable(msg) else text)


def _tolerances(kinds: Sequence[Any], options: Options) -> tuple[float, float]:
    """Return the given tolerances, or those of the less precise dtype."""
    if (options.rtol is None) != (options.atol is None):
        missing = "rtol" if options.rtol is None else "atol"
        raise Mismatch(ValueError, f"Both 'rtol' and 'atol' must be either specified or omitted, but got no {missing}.")
    if options.rtol is not None and options.atol is not None:
        return options.rtol, options.atol
    return _largest([_PRECISIONS.get(kind, (0.0, 0.0)) for kind in kinds])


def _largest(tolerances: Sequence[tuple[float, float]]) -> tuple[float, float]:
    return max(rtol for rtol, _ in tolerances), max(atol for _, atol in tolerances)


def default_tolerances(*values: Any) -> tuple[float, float]:
    """Return the relative and the absolute tolerance for values: those of the least precise dtype among them."""
    found = [(0.0, 0.0)]
    for value in values:
        if isinstance(value, (list, tuple)):
            found.append(default_tolerances(*value))
        elif isinstance(value, dict):
            found.append(default_tolerances(*value.values()))
        else:
            tensor = _as_tensor(value)
            found.append((0.0, 0.0) if tensor is None else _PRECISIONS.get(tensor.dtype, (0.0, 0.0)))
    return _largest(found)


def _text(
    what: str, extra: str, absolute: tuple[Any, Any], relative: tuple[Any, Any], tolerances: tuple[float, float]
) -> str:
    """Return the message; differences are pairs (value, index or None)."""
    exact = tolerances == (0, 0)
    lines = [f"{what} are not {'equal' if exact else 'close'}!", "", extra]
    for name, (difference, index), allowed in zip(("absolute", "relative"), (absolute, relative), reversed(tolerances)):
        line = f"{name.title()} difference: {difference}" if index is None else (
            f"Greatest {name} difference: {difference} at index {index}"
        )
        lines.append(line if exact else f"{line} (up to {allowed} allowed)")
    return "\n".join(lines)


def _scalar_text(actual: Number, expected: Number, tolerances: tuple[float, float], what: str = "Scalars") -> str:
    absolute = abs(actual - expected)
    relative = float("inf") if expected == 0 else absolute / abs(expected)
    return _text(what, f"Expected {expected} but got {actual}.", (absolute, None), (relative, None), tolerances)


def _none(actual: Tensor | float, expected: Tensor | float | Array, options: Options) -> bool:
    if actual is not None and expected is not None:
        return False
    if actual is not expected:
        raise Mismatch(AssertionError, f"None mismatch: {actual} is not {expected}")
    return True


def _booleans(actual: Tensor | float, expected: Tensor | float | Array, options: Options) -> bool:
    if not all(isinstance(value, (bool, np.bool_)) for value in (actual, expected)):
        return False
    if bool(actual) is not bool(expected):
        raise Mismatch(AssertionError, f"Booleans mismatch: {bool(actual)} is not {bool(expected)}")
    return True


def _numbers(actual: Any, expected: Any, options: Options) -> bool:
    if not all(isinstance(value, (int, float, complex, np.number)) and not isinstance(value, bool) for value in (actual, expected)):
        return False
    actual, expected = (value.item() if isinstance(value, np.number) else value for value in (actual, expected))
    tolerances = _tolerances([_NUMBER_DTYPES[type(value)] for value in (actual, expected)], options)
    if options.check_dtype and type(actual) is not type(expected):
        raise Mismatch(AssertionError, f"The (d)types do not match: {type(actual)} != {type(expected)}.")
    if actual == expected or options.equal_nan and cmath.isnan(actual) and cmath.isnan(expected):
        return True
    difference = abs(actual - expected)
    if not (cmath.isfinite(difference) and difference <= tolerances[1] + tolerances[0] * abs(expected)):
        raise Mismatch(AssertionError, _scalar_text(actual, expected, tolerances))
    return True


def _tensors(actual: Any, expected: Any, options: Options) -> bool:
    one, other = _class_of(actual), _class_of(expected)
    related = issubclass(one, other) or issubclass(other, one)
    if not related or not options.allow_subclasses and one is not other:
        return False
    made = [_as_tensor(value) for value in (actual, expected)]
    if any(tensor is None for tensor in made):
        return False
    first, second = made
    tolerances = _tolerances([first.dtype, second.dtype], options)
    _check_attributes(first, second, options)
    first, second = _alike(first, second)
    for what, left, right, allowed in _parts(first, second, tolerances):
        _check_values(what, left, right, allowed, options.equal_nan)
    return True


def _class_of(value: Tensor | type | Array) -> type:
    """Return the value's class; sparse tensors, which have a class of their own in mstorch, count as Tensor."""
    return torch.Tensor if isinstance(value, torch.Tensor) and value.layout != torch.strided else type(value)


def _as_tensor(value: Tensor | type | Array) -> Any:
    if isinstance(value, torch.Tensor):
        return value
    with suppress(TypeError, ValueError, RuntimeError):
        return torch.as_tensor(value)
    return None


def _check_attributes(actual: Any, expected: Any, options: Options) -> None:
    def compare(name: str, one: Any, other: Any) -> None:
        if one != other:
            raise Mismatch(AssertionError, f"The values for attribute '{name}' do not match: {one} != {other}.")

    compare("shape", actual.shape, expected.shape)
    if actual.layout != expected.layout:
        if options.check_layout:
            compare("layout", actual.layout, expected.layout)
    elif options.check_stride and actual.layout == torch.strided:
        compare("stride()", actual.stride(), expected.stride())
    if options.check_device:
        compare("device", actual.device, expected.device)
    if options.check_dtype:
        compare("dtype", actual.dtype, expected.dtype)


def _alike(actual: Any, expected: Any) -> tuple[Any, Any]:
    """Return both tensors, converted to a common device, dtype and layout where they differ."""
    if actual.device != expected.device:
        actual, expected = actual.cpu(), expected.cpu()
    if actual.dtype != expected.dtype:
        unsigned = (torch.uint16, torch.uint32, torch.uint64)
        kind = torch.promote_types(*(torch.int64 if t.dtype in unsigned else t.dtype for t in (actual, expected)))
        actual, expected = actual.to(kind), expected.to(kind)
    if actual.layout != expected.layout:
        actual, expected = (t if t.layout == torch.strided else t.to_dense() for t in (actual, expected))
    return actual, expected


def _parts(actual: Any, expected: Any, tolerances: tuple[float, float]) -> Iterator[tuple[str | None, Any, Any, Any]]:
    """Yield the dense tensors that make up both values, each with its name in messages (None for a strided tensor) and its tolerances."""
    exact = (0, 0)

    def compare(name: str, one: int, other: Number) -> None:
        if one != other:
            raise Mismatch(AssertionError, f"The number of {name} tensors does not match: {one} != {other}")

    if actual.layout == torch.sparse_coo:
        compare("sparse dimensions in sparse COO", actual.sparse_dim(), expected.sparse_dim())
        compare("specified values in sparse COO", actual._nnz(), expected._nnz())
        yield "Sparse COO indices", actual._indices(), expected._indices(), exact
        yield "Sparse COO values", actual._values(), expected._values(), tolerances
    elif actual.layout in _COMPRESSED:
        name, *methods = _COMPRESSED[actual.layout]
        compare(f"specified values in sparse {name}", actual._nnz(), expected._nnz())
        for method in methods:
            one, other = getattr(actual, method)(), getattr(expected, method)()
            kind = torch.promote_types(one.dtype, other.dtype)
            yield f"Sparse {name} {method}", one.to(kind), other.to(kind), exact
        yield f"Sparse {name} values", actual.values(), expected.values(), tolerances
    else:
        yield None, actual, expected, tolerances


def _check_values(
    what: str | None, actual: Tensor, expected: Tensor, tolerances: tuple[float, float], equal_nan: bool
) -> None:
    matches = torch.isclose(actual, expected, rtol=tolerances[0], atol=tolerances[1], equal_nan=equal_nan)
    if matches.all():
        return
    if not actual.shape:
        raise Mismatch(AssertionError, _scalar_text(actual.item(), expected.item(), tolerances, what or "Scalars"))
    total = matches.numel()
    wrong = total - int(matches.sum())
    flat = [t.detach().flatten() for t in (actual, expected)]
    if not (actual.dtype.is_floating_point or actual.dtype.is_complex):
        flat = [t.to(torch.int64) for t in flat]
    absolute = (flat[0] - flat[1]).abs()
    equal = matches.flatten()
    absolute[equal] = 0
    relative = absolute / flat[1].abs()
    relative[equal] = 0
    found = []
    for differences in (absolute, relative):
        largest, place = torch.max(differences, 0)
        found.append((largest.item(), tuple(int(n) for n in np.unravel_index(int(place), tuple(matches.shape)))))
    extra = f"Mismatched elements: {wrong} / {total} ({wrong / total:.1%})"
    raise Mismatch(AssertionError, _text(what or "Tensor-likes", extra, found[0], found[1], tolerances))


_KINDS: tuple[Callable[[Any, Any, Options], bool], ...] = (_none, _booleans, _numbers, _tensors)


def _leaves(actual: Any, expected: Any, path: tuple[Any, ...]) -> Iterator[tuple[Any, Any, tuple[Any, ...]]]:
    """Yield the pairs to compare in two containers, with the path to each."""
    pair = (actual, expected)
    if all(isinstance(value, Sequence) and not isinstance(value, str) for value in pair):
        if len(actual) != len(expected):
            raise _at(path, Mismatch(AssertionError, f"The length of the sequences mismatch: {len(actual)} != {len(expected)}"))
        for index in range(len(actual)):
            yield from _leaves(actual[index], expected[index], (*path, index))
    elif all(isinstance(value, Mapping) for value in pair):
        own, other = set(actual.keys()), set(expected.keys())
        if own != other:
            raise _at(path, Mismatch(
                AssertionError,
                "The keys of the mappings do not match:\n"
                f"Missing keys in the actual mapping: {sorted(other - own)}\n"
                f"Additional keys in the actual mapping: {sorted(own - other)}",
            ))  # fmt: skip
        keys: Collection[Any] = own
        with suppress(TypeError):
            keys = sorted(own)
        for key in keys:
            yield from _leaves(actual[key], expected[key], (*path, key))
    else:
        yield actual, expected, path


def _at(path: tuple[Any, ...], mismatch: Mismatch) -> Mismatch:
    mismatch.path = path
    return mismatch


def _first_mismatch(actual: Tensor | float | dict[Any, Any], expected: Any, options: Options) -> Mismatch | None:
    """Return the first difference of values, or None. Raise at once if the arguments' types or structure do not match."""
    first = None
    for one, other, path in list(_leaves(actual, expected, ())):
        try:
            if not any(compare(one, other, options) for compare in _KINDS):
                kinds = f"{type(one)} and {type(other)}"
                raise Mismatch(TypeError, f"No comparison pair was able to handle inputs of type {kinds}.")
        except Mismatch as mismatch:
            mismatch.path = path
            if mismatch.kind is not AssertionError:
                raise
            first = first or mismatch
    return first


def assert_close(
    actual: Tensor | float | dict[Any, Any], expected: Any, *, allow_subclasses: bool = True, rtol: float | None = None,
    atol: float | None = None, equal_nan: bool = False, check_device: bool = True, check_dtype: bool = True, check_layout: bool = True,
    check_stride: bool = False, msg: str | Callable[..., Any] | None = None,
) -> None:  # fmt: skip
    """Raise AssertionError, with position and size of the difference, unless the values are close.

    ``|actual - expected| <= atol + rtol * |expected|``; by default the tolerances depend on the dtypes.
    """
    __tracebackhide__ = True
    options = Options(allow_subclasses, rtol, atol, equal_nan, check_device, check_dtype, check_layout, check_stride)
    try:
        found = _first_mismatch(actual, expected, options)
    except Mismatch as wrong:
        raise wrong.to_error() from None
    if found is not None:
        raise found.to_error(msg)


# Pairs from which packages build their own comparisons


ErrorMeta = Mismatch


class UnsupportedInputs(Exception):
    """Raised if a Pair class does not support the values."""


class Pair:
    """Pair of values to compare; the constructor raises UnsupportedInputs for unsupported ones."""

    def __init__(self, actual: Any, expected: Any, *, id: tuple[Any, ...] = (), **unknown_parameters: Any) -> None:
        self.actual, self.expected, self.id = actual, expected, id
        self._unknown_parameters = unknown_parameters

    @staticmethod
    def _inputs_not_supported() -> NoReturn:
        raise UnsupportedInputs

    @staticmethod
    def _check_inputs_isinstance(*inputs: Any, cls: type | tuple[type, ...]) -> None:
        if not all(isinstance(value, cls) for value in inputs):
            raise UnsupportedInputs

    def _fail(self, type: type[Exception], msg: str, *, id: tuple[Any, ...] = ()) -> NoReturn:
        raise ErrorMeta(type, msg, id=(*self.id, *id))

    def compare(self) -> None:
        """Raise ErrorMeta unless the values agree."""
        raise NotImplementedError


class ObjectPair(Pair):
    """Pair of any values, compared by ``==``."""

    def compare(self) -> None:
        """Raise ErrorMeta unless they are equal."""
        try:
            equal = self.actual == self.expected
        except Exception as error:  # the classes are user-defined
            raise ErrorMeta(ValueError, f"{self.actual} == {self.expected} failed with:\n{error}.", id=self.id) from error
        if not equal:
            self._fail(AssertionError, f"{self.actual} != {self.expected}")


class NonePair(Pair):
    """Pair of values of which at least one is None."""

    def __init__(self, actual: Any, expected: Any, **other_parameters: Any) -> None:
        if actual is not None and expected is not None:
            self._inputs_not_supported()
        super().__init__(actual, expected, **other_parameters)

    def compare(self) -> None:
        """Raise ErrorMeta unless both are None."""
        if self.actual is not self.expected:
            self._fail(AssertionError, f"None mismatch: {self.actual} is not {self.expected}")


class BooleanPair(Pair):
    """Pair of Python or NumPy booleans."""

    def __init__(self, actual: Any, expected: Any, *, id: tuple[Any, ...] = (), **other_parameters: Any) -> None:
        self._check_inputs_isinstance(actual, expected, cls=(bool, np.bool_))
        super().__init__(bool(actual), bool(expected), id=id, **other_parameters)

    def compare(self) -> None:
        """Raise ErrorMeta unless both are the same object."""
        if self.actual is not self.expected:
            self._fail(AssertionError, f"Booleans mismatch: {self.actual} is not {self.expected}")


class _Close(Pair):
    """Pair of values that are compared within tolerances."""

    def _settle(self, dtypes: Sequence[Any], options: Options) -> None:
        try:
            self.rtol, self.atol = _tolerances(dtypes, options)
        except Mismatch as wrong:
            self._fail(wrong.kind, wrong.text)
        self.equal_nan = options.equal_nan
        self._options = options._replace(rtol=self.rtol, atol=self.atol)


class NumberPair(_Close):
    """Pair of Python or NumPy numbers."""

    def __init__(
        self, actual: Any, expected: Any, *, id: tuple[Any, ...] = (), rtol: float | None = None, atol: float | None = None,
        equal_nan: bool = False, check_dtype: bool = False, **other_parameters: Any,
    ) -> None:  # fmt: skip
        self._check_inputs_isinstance(actual, expected, cls=(int, float, complex, np.number))
        values = [value.item() if isinstance(value, np.number) else value for value in (actual, expected)]
        super().__init__(*values, id=id, **other_parameters)
        dtypes = [_NUMBER_DTYPES[int if isinstance(value, bool) else type(value)] for value in values]
        self._settle(dtypes, Options(True, rtol, atol, equal_nan, False, check_dtype, False, False))
        self.check_dtype = check_dtype

    def compare(self) -> None:
        """Raise ErrorMeta unless they are close."""
        try:
            _numbers(self.actual, self.expected, self._options)
        except Mismatch as found:
            self._fail(found.kind, found.text)


class TensorLikePair(_Close):
    """Pair of tensors, or of values convertible to tensors; one class must be a subclass of the other."""

    def __init__(
        self, actual: Any, expected: Any, *, id: tuple[Any, ...] = (), allow_subclasses: bool = True,
        rtol: float | None = None,
        atol: float | None = None, equal_nan: bool = False, check_device: bool = True, check_dtype: bool = True,
        check_layout: bool = True, check_stride: bool = False, **other_parameters: Any,
    ) -> None:  # fmt: skip
        actual, expected = self._process_inputs(actual, expected, id=id, allow_subclasses=allow_subclasses)
        super().__init__(actual, expected, id=id, **other_parameters)
        options = Options(allow_subclasses, rtol, atol, equal_nan, check_device, check_dtype, check_layout, check_stride)
        self._settle([actual.dtype, expected.dtype], options)
        self.check_device, self.check_dtype, self.check_layout, self.check_stride = options[4:]

    def _process_inputs(
        self, actual: Tensor | Array | type[Any], expected: Any, *, id: tuple[Any, ...], allow_subclasses: bool
    ) -> tuple[Any, Any]:
        """Convert the values to tensors."""
        one, other = _class_of(actual), _class_of(expected)
        if not (issubclass(one, other) or issubclass(other, one)) or not allow_subclasses and one is not other:
            self._inputs_not_supported()
        first, second = _as_tensor(actual), _as_tensor(expected)
        if first is None or second is None:
            self._inputs_not_supported()
        return first, second

    def _compare_attributes(self, actual: Any, expected: Any) -> None:
        try:
            _check_attributes(actual, expected, self._options)
        except Mismatch as found:
            self._fail(found.kind, found.text)

    def _equalize_attributes(self, actual: Any, expected: Any) -> tuple[Any, Any]:
        return _alike(actual, expected)

    def _compare_values(self, actual: Tensor, expected: Tensor) -> None:
        try:
            for what, left, right, allowed in _parts(actual, expected, (self.rtol, self.atol)):
                _check_values(what, left, right, allowed, self.equal_nan)
        except Mismatch as found:
            self._fail(found.kind, found.text)

    def compare(self) -> None:
        """Raise ErrorMeta unless attributes agree and values are close."""
        self._compare_attributes(self.actual, self.expected)
        self._compare_values(*self._equalize_attributes(self.actual, self.expected))


def originate_pairs(
    actual: Any, expected: Any, *, pair_types: Sequence[type[Pair]], id: tuple[Any, ...] = (), **options: Any
) -> list[Pair]:  # fmt: skip
    """Return the pairs of two values or of the items of two containers, each of the first Pair class that supports them. Raise ErrorMeta if
    no class does.
    """
    pairs = []
    for one, other, path in list(_leaves(actual, expected, id)):
        for kind in pair_types:
            with suppress(UnsupportedInputs):
                pairs.append(kind(one, other, id=path, **options))
                break
        else:
            raise ErrorMeta(TypeError, f"No comparison pair was able to handle inputs of type {type(one)} and {type(other)}.", id=path)
    return pairs


def not_close_error_metas(
    actual: Any, expected: Any, *, pair_types: Sequence[type[Pair]] = (ObjectPair,), **options: Any
) -> list[ErrorMeta]:  # fmt: skip
    """Return the differences of two values or containers; raise if they cannot be compared."""
    __tracebackhide__ = True
    try:
        pairs = originate_pairs(actual, expected, pair_types=pair_types, **options)
    except Mismatch as wrong:
        raise wrong.to_error() from None
    found = []
    for pair in pairs:
        try:
            pair.compare()
        except Mismatch as difference:
            found.append(difference)
        except Exception as error:  # a pair's compare may be user-defined
            raise RuntimeError(f"Comparing {pair.actual} and {pair.expected} raised an error of its own, see above") from error
    return found


_OLD_PRECISIONS = {torch.float16: (1e-3, 1e-3), torch.float32: (1e-4, 1e-5), torch.float64: (1e-5, 1e-8)}


@deprecated(
    "`torch.testing.assert_allclose()` is deprecated since 1.12 and will be removed in a future release. Please use "
    "`torch.testing.assert_close()` instead. You can find detailed upgrade instructions in "
    "https://github.com/pytorch/pytorch/issues/61844.",
    category=FutureWarning,
)
def assert_allclose(
    actual: Tensor, expected: Any, rtol: float | None = None, atol: float | None = None, equal_nan: bool = True,
    msg: str = ""
) -> None:
    """Raise AssertionError unless the values are close; deprecated form of ``assert_close``, with wider tolerances and ignoring dtypes."""
    actual = actual if isinstance(actual, torch.Tensor) else torch.tensor(actual)
    expected = expected if isinstance(expected, torch.Tensor) else torch.tensor(expected, dtype=actual.dtype)
    if rtol is None and atol is None:
        found = [_OLD_PRECISIONS.get(kind, (0.0, 0.0)) for kind in (actual.dtype, expected.dtype)]
        rtol, atol = max(r for r, _ in found), max(a for _, a in found)
    assert_close(actual, expected, rtol=rtol, atol=atol, equal_nan=equal_nan, check_dtype=False, msg=msg or None)
