"""Errors for arguments of wrong types, in torch's words.

Arguments are checked only after a call has failed: a Python error is explained by the declared types of the arguments, and stays unchanged
if they do not explain it.
"""
from __future__ import annotations

import functools
import inspect
import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .._backend.raw import Raw
from .call_forms import kind_of, refusal, with_numbers
from .dtype import dtype
from .public_names import IN_PYTHON
from .sparse_parts import is_sparse
from .tensor_base import TensorBase

# What Python says of an operand that it did not expect, and our own operations of one that is neither a tensor nor a number.
_INSIDE = re.compile(
    "object has no attribute '|object cannot be interpreted as|not supported between instances|unsupported operand|bad operand type"
    "|missing .* required .*argument|must be real number|object is not iterable|object is not subscriptable|object is not callable"
    "|invalid literal for int|could not convert string|pop from empty list|can only concatenate|has no len|^\\(\\): argument "
    "|masked_fill\\(\\) received|abs\\(\\): argument|argument 'index' must be Tensor|normalized_shape|^argument '|^new_full\\(\\)"
)
# Functions and methods that torch has several forms of: it names none of the arguments then.
_SEVERAL = frozenset((
    "arange addbmm addcdiv addcmul addmm addmv addr all any argsort baddbmm bernoulli bitwise_and bitwise_left_shift bitwise_or "
    "bitwise_right_shift bitwise_xor bmm bucketize clamp clamp_ clamp_max clamp_min clip clip_ conv1d conv2d conv3d copysign "
    "count_nonzero ctc_loss cumulative_trapezoid dequantize divide div dsplit embedding_bag eq fill_ float_power fmod ge "
    "greater greater_equal gt histogram histogramdd hsplit index_fill index_fill_ isin le lerp lerp_ less less_equal linspace "
    "logspace lt masked_fill masked_fill_ max mean median min mm moveaxis movedim multiply nanmedian nanquantile narrow ne nonzero "
    "normal not_equal nuclear_norm pow prod quantile randint randint_like remainder repeat_interleave result_type round scatter "
    "scatter_ searchsorted sort squeeze std std_mean sum tensor_split trapezoid trapz var var_mean view view_as_complex vsplit where "
    "xlogy transpose_ to type new_tensor random_ set_ unflatten"
).split())  # fmt: skip
_TENSORS = frozenset((
    "input self other weight mat1 mat2 vec vec1 vec2 index mask source src tensor tensor1 tensor2 batch1 batch2 indices target query key "
    "elements test_elements boundaries sorted_sequence condition exponent end2 A B LU pivots Q tau grid theta input1 input2 x1 x2 x y"
).split())  # fmt: skip
_NUMBERS = frozenset("alpha beta value fill_value min max lambd negative_slope threshold ord eps".split())
_INTS = frozenset("dim k chunks n m steps start_dim end_dim diagonal dim0 dim1 dim2 dims0 repeats_ sections_ split_size_ groups".split())
_OF_INTS = frozenset("size shape dims repeats normalized_shape shifts kernel_size output_size split_sizes".split())
_LISTS = frozenset(("tensors",))
_OF_TENSORS = frozenset("meshgrid block_diag cartesian_prod broadcast_tensors".split())  # of any number of tensors
# Functions of torch.nn.functional that are torch's compiled ones; the others are written in Python and speak as it does.
_COMPILED = frozenset((
    "linear bilinear conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d avg_pool1d avg_pool2d avg_pool3d "
    "pixel_shuffle pixel_unshuffle channel_shuffle one_hot pdist cosine_similarity pairwise_distance prelu relu gelu selu "
    "celu elu logsigmoid softshrink hardshrink softplus cross_entropy embedding layer_norm group_norm "
    "scaled_dot_product_attention max_pool1d max_pool2d max_pool3d pad"
).split())  # fmt: skip
_CALLED = {"cross_entropy": "cross_entropy_loss", "unique": "_unique2"}
_SWAPPED = {("embedding", "input"): ("indices", 2), ("embedding", "weight"): ("weight", 1)}
EXPLAINED = (AttributeError, TypeError, ValueError, IndexError, RuntimeError)
"""The errors that ``explained`` looks at."""
_EMPTY = inspect.Parameter.empty


def in_numbers(
    spoken: str, args: tuple[Any, ...], named: dict[str, Any], refused: bool
) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
    """Return the arguments of a failed call with numbers for 0-d tensors where torch takes numbers; None if there are none.

    A call that was ``refused`` in torch's words is retried only if the tensors are in lists.
    """
    given = (*args, *named.values())
    if not any(_alone(item) for item in given if not refused or not isinstance(item, TensorBase)):
        return None
    if refused and any(_alone(item) for item in given if isinstance(item, TensorBase)):
        return None
    *path, last = spoken.split(".")
    room = path[-1] if path else ""
    method = room == "Tensor"
    found = with_numbers(room, last, args[method:], named)
    return None if found is None else ((*args[:method], *found[0]), found[1])


def _alone(value: Any) -> bool:
    if isinstance(value, (tuple, list)):
        return any(map(_alone, value))
    return isinstance(value, TensorBase) and not value._sparse and not value._shape


def of_mindspore(args: tuple[Any, ...], named: dict[str, Any], error: Exception) -> TypeError | None:
    """Return advice for a call that failed with ``error`` because of a mindspore.Tensor; None for other calls."""
    if not isinstance(error, (TypeError, AttributeError)) or "from_mindspore" in str(error):
        return None
    given = (*args, *named.values())
    items = [*given, *(item for value in given if isinstance(value, (list, tuple)) for item in value)]
    if not any(isinstance(item, Raw) for item in items):
        return None
    return TypeError(f"{error}. A mindspore.Tensor was given: mstorch.from_mindspore(tensor) is the same memory as a tensor of torch's")


_LIBRARIES = tuple(f"{os.sep}site-packages{os.sep}{name}{os.sep}" for name in ("mindspore", "numpy", "scipy"))


# Errors of Python and NumPy about shapes. They are raised in C, so that the traceback ends in our code, and only the text tells them.
_NOT_TOLD = re.compile(
    r"^(tuple|list) index out of range$|values to unpack \(expected|^operands could not be broadcast|^cannot reshape array of size|"
    r"^(axis|source|destination) -?\d+ is out of bounds|not aligned: |^matmul: (Input|inputs)|^could not broadcast input array|"
    r"^index -?\d+ is out of bounds for axis|^shape mismatch: (indexing arrays|objects|value array)|^all the input array|"
    r"^axes don't match array|^too many indices for array"
)


def from_below(spoken: str, args: tuple[Any, ...], named: dict[str, Any], error: Exception) -> RuntimeError | None:
    """Return torch's class of error if another library, or the interpreter within our code, refused an argument; else None."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None or isinstance(error, NotImplementedError):
        return None
    within = any(part in trace.tb_frame.f_code.co_filename for part in _LIBRARIES)
    if not within and not (isinstance(error, (IndexError, ValueError)) and _NOT_TOLD.search(str(error))):
        return None
    given = [*map(_sized, args), *(f"{key}={_sized(value)}" for key, value in named.items())]
    return RuntimeError(f"{spoken.rpartition('.')[2]}(): these arguments do not fit together: {', '.join(given)}")


def _sized(value: Any) -> str:
    return f"a tensor of shape {list(value.shape)} and {value.dtype}" if isinstance(value, TensorBase) else repr(value)[:80]


def in_python(path: list[str], name: str) -> bool:
    """Return whether torch implements a function or method in Python, which accepts no aliases of keywords."""
    if path[-2:] == ["nn", "functional"]:
        return name not in _COMPILED and not _is_compiled_layer(name)
    return _names_no_forms(name) and path[-1:] in (["torch"], ["Tensor"])


def _names_no_forms(name: str) -> bool:
    return IN_PYTHON[""].get(name, False) or IN_PYTHON["Tensor"].get(name, False)


def _is_compiled_layer(name: str) -> bool:
    return not IN_PYTHON["nn.functional"].get(name, True)


@functools.cache
def _float8_words() -> dict[str, str]:
    """Return, by function, the name of torch's kernel in its error for float8 dtypes."""
    found: dict[str, str] = {}
    for line in Path(__file__).with_name("float8_words.txt").read_text("utf-8").splitlines():
        word, _, names = line.partition(": ")
        found.update(dict.fromkeys(names.split(), word) if line[0] != "#" else {})
    return found


# Texts of NumPy's and Python's errors where a function cannot compute with an array of codes.
_OF_CODES = re.compile("ufunc|structured|void|bytes-like|data type 'float|no loop matching|not supported between instances of 'tuple'")


def of_eight_bits(spoken: str, error: Exception, given: Sequence[Any] = ()) -> NotImplementedError | None:
    """Return torch's error if a kernel refused a float8 dtype: torch names its own kernel."""
    words = str(error)
    if isinstance(error, TypeError):
        kind = next((item._dtype for item in given if isinstance(item, TensorBase) and item._dtype.ms is None), None)
        if kind is None or not _OF_CODES.search(words):
            return None
        last = spoken.rpartition(".")[2]
        return NotImplementedError(f"\"{_float8_words().get(last, last)}\" not implemented for '{kind.name.capitalize()}'")
    if not isinstance(error, NotImplementedError) or "not implemented for 'Float8_" not in words and "for 'Float4_" not in words:
        return None
    name = _float8_words().get(spoken.rpartition(".")[2])
    return None if name is None or words.startswith(f'"{name}"') else NotImplementedError(f'"{name}" {words.partition(chr(34) + " ")[2]}')


def explained(
    spoken: str, function: Callable[..., Any], args: tuple[Any, ...], named: dict[str, Any], error: Exception
) -> TypeError | None:
    """Return torch's error for a call with wrong types that ended in ``error``; None if the types do not explain it."""
    *path, last = spoken.split(".")
    unread = _unread(path[-1], last, args, named)
    if unread is not None:
        return TypeError(unread)
    if isinstance(error, RuntimeError):
        return None
    if path[-1] == "Tensor" and _names_no_forms(last) and re.match(rf"{last}\(\) (missing|got an unexpected|got multiple) ", str(error)):
        return TypeError(f"Tensor.{error}")
    if last.startswith("__") or not _INSIDE.search(str(error)) or not _foreign(error):
        return None
    room = path[-1] if path else ""
    if path[-2:] == ["nn", "functional"] and last not in _COMPILED:
        return None
    prefix = f"{room}_" if room in ("linalg", "fft", "special") else ""
    name = prefix + _CALLED.get(last, last)
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except ValueError:
        return None
    words = str(error)
    if words.startswith("argument "):
        return TypeError(f"{name}(): {words}")
    if words.startswith("(): argument "):
        return TypeError(name + words.replace("'size'", "'repeats'" if last == "repeat" else "'size'"))
    method = room == "Tensor"
    if last in _OF_TENSORS and (strange := [item for item in args if not isinstance(item, TensorBase)]):
        return TypeError(f"expected Tensor as element {args.index(strange[0])} in argument 0, but got {kind_of(strange[0])}")
    found = _first_wrong(last, parameters, args, named, method, isinstance(error, AttributeError))
    # A word where torch takes none, or a wrong one among any number of arguments.
    several = last in _SEVERAL and (
        any(parameter.kind is parameter.VAR_POSITIONAL for parameter in parameters) or str in map(type, (*args, *named.values()))
    )
    if found is None and not several:
        missing = [] if "functional" in path else _missing(parameters, args, named)
        if not missing:
            return None
        if last not in _SEVERAL and last != "add":
            plural = "s" if len(missing) == 1 else ""  # as torch has it
            return TypeError(f"{name}() missing {len(missing)} required positional argument{plural}: {', '.join(map(_quoted, missing))}")
    if found is None or last in _SEVERAL:
        return TypeError(_combination(name, args[method:], named, parameters[method:]))
    return TypeError(f"{name}(): {found}")


def _unread(room: str, name: str, args: tuple[Any, ...], named: dict[str, Any]) -> str | None:
    """Return torch's message for arguments that match no signature of its compiled function, which it checks first."""
    if _names_no_forms(name) or name.startswith("__") or (room == "functional" and not _is_compiled_layer(name)):
        return None
    given = (*args, *named.values())
    if any(hasattr(type(item), "__torch_function__") and not isinstance(item, TensorBase) for item in given):
        return None
    if any(map(is_sparse, given)):  # of sparse tensors the sparse room speaks
        return None
    try:
        return refusal(room, name, args[room == "Tensor" :], named)
    except OSError:  # the stubs cannot be read where no file can be opened: the error itself stays
        return None


def _foreign(error: Exception) -> bool:
    """Return False for an AttributeError that was not raised by a value of a built-in type."""
    return not isinstance(error, AttributeError) or error.obj.__class__ in (
        str, int, float, bool, list, tuple, dict, bytes, complex, type(None)
    )


def _quoted(word: str) -> str:
    return f'"{word}"'


def _combination(name: str, args: tuple[Any, ...], named: dict[str, Any], parameters: list[inspect.Parameter]) -> str:
    given = ", ".join([kind_of(item) for item in args] + [f"{key}={kind_of(item)}" for key, item in named.items()])
    form = ", ".join(str(parameter).partition(":")[0].partition("=")[0] for parameter in parameters)
    got = f"got ({given}{', ' if named else ''})"
    return f"{name}() received an invalid combination of arguments - {got}, but expected one of:\n * ({form})"


def _missing(parameters: list[inspect.Parameter], args: tuple[Any, ...], named: dict[str, Any]) -> list[str]:
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    wanted = [*positional[len(args):], *[p for p in parameters if p.kind is p.KEYWORD_ONLY]]
    return [p.name for p in wanted if p.default is _EMPTY and p.name not in named]


def _first_wrong(
    function: str, parameters: list[inspect.Parameter], args: tuple[Any, ...], named: dict[str, Any], method: bool, only_tensors: bool
) -> str | None:
    """Return which argument first mismatches its parameter's type, with torch's message.

    ``only_tensors``: a number as the second operand is an error.
    """
    places = next((place for place, parameter in enumerate(parameters) if parameter.kind is parameter.VAR_POSITIONAL), len(parameters))
    for place, parameter in enumerate(parameters):
        if place < len(args) and place < places and parameter.kind is not parameter.KEYWORD_ONLY:
            value, by_place = args[place], True
        elif parameter.name in named:
            value, by_place = named[parameter.name], False
        else:
            continue
        if parameter.name in ("other", "exponent") and isinstance(value, (int, float, complex)) and not only_tensors:
            continue
        wanted = _wanted(parameter, value)
        if wanted is not None:
            own, number = _SWAPPED.get((function, parameter.name), (parameter.name, place + 1 - method))
            where = f" (position {number})" if by_place else ""
            return wanted if wanted.startswith("expected") else f"argument '{own}'{where} must be {wanted}"
    return None


def _wanted(parameter: inspect.Parameter, value: Any) -> str | None:
    """Return the expected type and the argument's as ``int, not str``; None if the argument may be right."""
    kind, name = str(parameter.annotation), parameter.name
    if value is None and (parameter.default is None or "None" in kind):
        return None
    given = kind_of(value)
    if isinstance(value, (TensorBase, np.ndarray, np.generic)) or hasattr(value, "__torch_function__"):
        return f"torch.dtype, not {given}" if kind.startswith("dtype") else None
    if kind.startswith("dtype") or name == "dtype":
        return None if isinstance(value, (dtype, type)) else f"torch.dtype, not {given}"
    if name in _TENSORS and (kind == "Any" or "Tensor" in kind):
        return f"Tensor, not {given}"
    if name in _LISTS:
        return _list_of_tensors(value)
    if kind in ("int", "int | None") or (name in _INTS and (kind == "Any" or "int" in kind)):
        whole = hasattr(value, "__index__") or (isinstance(value, (list, tuple)) and parameter.default == ())
        return None if whole else f"int, not {given}"
    if kind in ("float", "float | None"):
        return None if isinstance(value, (int, float)) else f"float, not {given}"
    if kind in ("bool", "bool | None"):
        return None if isinstance(value, (bool, int)) else f"bool, not {given}"
    if name in _NUMBERS:
        return None if isinstance(value, (int, float, complex)) else f"Number, not {given}"
    if name in _OF_INTS or kind.startswith("Sequence[int]") or (name == "pad" and kind == "Any"):
        return _tuple_of_ints(value, name == "normalized_shape")
    return None


def _list_of_tensors(value: Any) -> str | None:
    if not isinstance(value, (list, tuple)):
        return f"tuple of Tensors, not {kind_of(value)}"
    return None


def _tuple_of_ints(value: Any, strictly: bool) -> str | None:
    if not isinstance(value, (list, tuple)):
        return None if hasattr(value, "__index__") and not strictly else f"tuple of ints, not {kind_of(value)}"
    for place, item in enumerate(value):
        if not hasattr(item, "__index__"):
            return f"tuple of ints, but found element of type {kind_of(item)} at pos {place}"
    return None
