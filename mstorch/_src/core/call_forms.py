"""Signatures that torch's compiled functions accept, with the type of each argument.

They are parsed from the type stubs (``_stubs``), one signature per line, and only after a call has failed.
"""
from __future__ import annotations

import ast
import functools
import itertools
import math
import operator
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..backend.raw import Raw
from .device import device
from .dtype import PYTHON_TYPES, dtype
from .formats import layout, memory_format
from .generator import Generator
from .schemas import Schema, lines, parse
from .size import Size
from .tensor_base import TensorBase


def kind_of(value: Any) -> str:
    """Return the name of a value's class as torch's messages show it: with its module for classes written in C, including torch's."""
    kind = type(value)
    if kind.__module__ == "builtins" or issubclass(kind, TensorBase):
        return kind.__name__
    if kind in (dtype, device, layout, memory_format, Size) or kind.__name__ in ("finfo", "iinfo"):
        return f"torch.{kind.__name__}"
    if kind.__name__ in ("TypedStorage", "UntypedStorage"):
        return f"torch.storage.{kind.__name__}"
    if issubclass(kind, Raw):
        return f"mindspore.{kind.__name__}"  # beside torch's Tensor its own name says nothing
    in_c = not kind.__flags__ & _HEAP_TYPE
    return f"{kind.__module__}.{kind.__name__}" if in_c else _OF_TORCH.get(kind, kind.__name__)


_HEAP_TYPE = 1 << 9
_OF_TORCH = {Generator: "torch._C.Generator"}
_STUBS = Path(__file__).parents[1] / "stubs"
_ROOMS = {
    "torch": ("torch_*.pyi", "by_hand.pyi"), "Tensor": ("methods*.pyi",), "linalg": ("linalg.pyi",), "fft": ("fft.pyi",),
    "special": ("special.pyi",), "functional": ("nn_functional.pyi",),
}  # fmt: skip
# Functions whose signatures in the stubs, split or merged for type checkers, differ from those that torch parses.
_BY_HAND = {
    **dict.fromkeys(
        "half float double int long short char byte bool bfloat16 cfloat cdouble cpu is_contiguous".split(),
        ("*, memory_format: MemoryFormat = ...",),
    ),
    **dict.fromkeys(["size", "stride"], ("dim: Int | None = None",)),
    **dict.fromkeys(["mm", "bmm"], ("mat2: Tensor",)),
    "cuda": ("device: Place | None = None, non_blocking: Bool = False, *, memory_format: MemoryFormat = ...",),
    "addmm": ("mat1: Tensor, mat2: Tensor, *, beta: Scalar = 1, alpha: Scalar = 1",),
    "copy_": ("other: Tensor, non_blocking: Bool = False",),
    "type": ("dtype: Any = None, non_blocking: Bool = False",),
    "new_tensor": ("data, *, dtype: DType | None = None, device: Place | None = None, requires_grad: Bool = False",),
}  # fmt: skip
_TRUTHS = (
    "*, out: Tensor | None = None", "dim: Ints | None = None, keepdim: Bool = False, *, out: Tensor | None = None",
    "dim: Int, keepdim: Bool = False, *, out: Tensor | None = None",
)  # fmt: skip
_SUMS = (
    "*, dtype: DType | None = None",
    "dim: Int | Ints | None, keepdim: Bool = False, *, dtype: DType | None = None, out: Tensor | None = None",
)  # fmt: skip
_BY_HAND_OF_BOTH = {
    "sum": _SUMS, "prod": (_SUMS[0], _SUMS[1].replace("Int | Ints | None", "Int")),
    "any": _TRUTHS, "all": _TRUTHS, "count_nonzero": ("dim: Int | None = None", "dim: Ints"),
    **dict.fromkeys(["movedim", "moveaxis"], ("source: Int, destination: Int", "source: Ints, destination: Ints")),
    **dict.fromkeys(["squeeze", "squeeze_"], ("", "dim: Int", "dim: Ints")),
    "nonzero": ("*, as_tuple: Bool = False, out: Tensor | None = None",),
}  # fmt: skip
NUMPY_NAMES = {"dim": ("axis",), "keepdim": ("keepdims",), "input": ("x", "a", "x1"), "other": ("x2",)}
in_older_orders = {"baddbmm_", "copy_"}
"""Names of functions that accept an older version's orders of arguments: ``ops/_forms.py`` adds those that declare them."""
_TOLD = frozenset(("rsub", "subtract", "baddbmm"))  # torch's messages list these orders


class Parameter(NamedTuple):
    """A parameter of a signature. ``kinds``: the types that it accepts (Tensor, Int, Ints, …); ``by_word``: it is keyword-only."""

    name: str
    kinds: frozenset[str]
    optional: bool
    by_word: bool
    empty: bool  # None is accepted


class Form(NamedTuple):
    """A signature of a function; ``spread``: a list of integers may be passed as separate arguments."""

    parameters: tuple[Parameter, ...]
    spread: bool

    @property
    def by_place(self) -> int:
        """Number of positional parameters."""
        return sum(not parameter.by_word for parameter in self.parameters)

    @property
    def names(self) -> set[str]:
        """Names of the parameters."""
        return {parameter.name for parameter in self.parameters}

    @property
    def least(self) -> int:
        """Number of required parameters."""
        return sum(not parameter.optional for parameter in self.parameters)


@functools.cache
def forms_of(room: str, name: str) -> tuple[Form, ...]:
    """Return the signatures of a function of torch, one of its namespaces or Tensor; empty if they are unknown."""
    lines = (_BY_HAND if room == "Tensor" and name in _BY_HAND else _BY_HAND_OF_BOTH if room in ("Tensor", "torch") else {}).get(name)
    if lines is not None:
        first = "self" if room == "Tensor" else "input: Tensor"
        return tuple(_read(f"def f({', '.join(filter(None, (first, line)))}): ...", room == "Tensor") for line in lines)
    found: list[Form] = []
    for line in _lines(_ROOMS.get(room, _ROOMS["torch"])).get(name, ()):
        form = _read(line, room == "Tensor")
        if form is None:
            return ()
        if form != "spread":
            found.append(form)
    if found or room not in ("torch", "Tensor"):
        return tuple(found)
    dropped = room == "Tensor"  # the tensor of the method
    return tuple(form._replace(parameters=form.parameters[dropped:]) for form in _in_schemas(name))


@functools.cache
def _lines(patterns: tuple[str, ...]) -> dict[str, list[str]]:
    """Return the functions' lines of the stubs with these names, by function."""
    found: dict[str, list[str]] = {}
    for file in sorted(file for pattern in patterns for file in _STUBS.glob(pattern)):
        for line, name in re.findall(r"^ *(def (\w+)\(.*?: \.\.\.)$", file.read_text(), re.MULTILINE | re.DOTALL):
            found.setdefault(name, []).append(line)
    return found


def _read(line: str, method: bool) -> Any:
    """Parse a stub line into a signature. Return "spread" for a signature with ``*args`` of integers, as in ``x.view(2, 3)``, and None for
    a function that torch implements in Python.
    """
    arguments = ast.parse(line).body[0].args  # type: ignore[attr-defined]
    if arguments.vararg is not None:
        return "spread" if ast.unparse(arguments.vararg.annotation) == "IntLike" else None
    placed = arguments.posonlyargs + arguments.args
    optional = len(placed) - len(arguments.defaults)
    found = [
        _parameter(item, number >= optional, False, _given(arguments.defaults, number - optional)) for number, item in enumerate(placed)
    ]
    for item, default in zip(arguments.kwonlyargs, arguments.kw_defaults):
        found.append(_parameter(item, default is not None, True, default))
    found = found[method:]
    alone = sum(not parameter.by_word for parameter in found) == 1
    return Form(tuple(found), alone and "Ints" in found[0].kinds and not found[0].optional)


def signature_of(line: str) -> tuple[Parameter, ...]:
    """Return the parameters of a line such as ``"dim: Int | None, keepdim: Bool"``."""
    form = _read(f"def f({line}): ...", False)
    assert isinstance(form, Form)
    return form.parameters


def refusal_of_one(name: str, parameter: Parameter, value: Any, position: int = 0) -> str | None:
    """Return torch's message for one argument of a type that its parameter does not take; None if it takes it. ``position``: where it was
    given, counted from 1; 0 if by name."""
    if (value is None and parameter.empty) or has_kind(value, parameter.kinds):
        return None
    return _mismatch(name, parameter, value, f" (position {position})" if position else "", position)


def _given(defaults: list[ast.expr], number: int) -> ast.expr | None:
    return defaults[number] if number >= 0 else None


def _parameter(item: ast.arg, optional: bool, by_word: bool, default: ast.expr | None) -> Parameter:
    kinds = frozenset(() if item.annotation is None else ast.unparse(item.annotation).split(" | "))
    empty = "None" in kinds or (isinstance(default, ast.Constant) and default.value is None)
    return Parameter(item.arg, kinds - {"None"}, optional, by_word, empty)


def refusal(room: str, last: str, args: tuple[Any, ...], named: dict[str, Any]) -> str | None:
    """Return torch's message for a call that matches no signature, or whose lists hold items other than integers; None for other calls.

    ``args`` exclude the tensor of a method.
    """
    forms = forms_of(room, last)
    if not forms:
        return None
    name = f"{room}_{last}" if room in ("linalg", "fft", "special") else last
    if room == "Tensor" and not forms[0].parameters and len(forms) == 1:
        return _of_nothing(last, len(args), len(named))
    wrongs = []
    for form in forms:
        wrong = _wrong(name, form, args, named)
        if wrong is None:
            return _unpacked(name, form, args, named)
        wrongs.append(wrong)
    is_folded = not (room == "Tensor" and last in _BY_HAND) and _has_several(name)
    alone = len(forms) == 1 and not is_folded
    if alone and (in_older_orders - _TOLD).isdisjoint((last, last.removesuffix("_"))):
        return wrongs[0]
    count = len(args) + len(named)
    likely = [place for place, form in enumerate(forms) if form.least <= count <= len(form.parameters)]
    strange = [key for key in named if key not in forms[0].names]
    if alone and strange and not likely:
        return f"{name}() received an invalid combination of arguments - got unrecognized keyword arguments: {', '.join(strange)}"
    if len(likely) == 1:
        stands_for_several = is_folded and (len(forms) == 1 or _is_folded(forms[likely[0]]))
        if not stands_for_several or _fits_one_schema(name, count + (room == "Tensor")):
            return wrongs[likely[0]]
    return combination(name, args, named, forms)


def of_no_tensor(last: str, args: tuple[Any, ...]) -> str | None:
    """Return Python's message for a method of Tensor that is called on something else; None if it is a tensor."""
    if not args or isinstance(args[0], TensorBase):
        return None
    return f"descriptor '{last}' for 'torch._C.TensorBase' objects doesn't apply to a '{kind_of(args[0])}' object"


def refusal_at_once(room: str, last: str, args: tuple[Any, ...], named: dict[str, Any]) -> str | None:
    """Return torch's message for a call that matches no signature, if it can be told before the call: not of keywords that only a
    function's own parameters have, or of the order of an older version."""
    forms = forms_of(room, last)
    if not forms or not {last, last.removesuffix("_"), f"{last}_"}.isdisjoint(in_older_orders):
        return None
    words = set().union(*(form.names for form in forms)).union(*NUMPY_NAMES.values())
    return None if named.keys() - words else refusal(room, last, args, named)


def _fits_one_schema(name: str, count: int) -> bool:
    """Return whether one overload alone takes that many arguments."""
    return sum(form.least <= count <= len(form.parameters) for form in _in_schemas(name)) == 1


_SCHEMA_KINDS = {
    "SymInt": "Int", "int": "Int", "float": "Float", "bool": "Bool", "str": "Text", "Tensor": "Tensor", "Scalar": "Scalar", "int[]": "Ints",
    "SymInt[]": "Ints", "Tensor[]": "Tensors",
}  # fmt: skip


# Overloads that only TorchScript has: of its own lists and numbers, and of lists of indices.
_SCRIPTED = re.compile(r"\bt(\[\])? |hacked_twin")


NUMBERS_AS_TENSORS = frozenset(("add", "sub", "mul", "div"))
"""Operators whose overloads for numbers (``add.Scalar``) are not called from Python: torch converts the numbers to tensors."""


@functools.cache
def _in_schemas(name: str) -> tuple[Form, ...]:
    """Return the signatures of an operator in torch's schemas; if an in-place operator has none, those of the operator without ``_``."""
    return tuple(map(_of_schema, _schemas(name) or _schemas(name.removesuffix("_"))))


def _schemas(name: str) -> list[Schema]:
    """Return the overloads of an operator that Python has, without those with ``out=`` or names of dimensions."""
    texts = (line.rpartition("|")[0] for line in lines().get(name, ()))
    found = [parse("aten", text) for text in texts if "Dimname" not in text and not _SCRIPTED.search(text)]
    return [schema for schema in found if any("Tensor" in one.type for one in schema.arguments)
            and not any(one.kwarg_only and one.is_write for one in schema.arguments)]  # fmt: skip


def _of_schema(schema: Schema) -> Form:
    parameters = []
    for one in schema.arguments:
        kinds = {_SCHEMA_KINDS.get(re.sub(r"\[\d*\]", "[]", one.type.rstrip("?")), "")} - {""}
        kinds |= {"Int"} if re.search(r"\[\d", one.type) else set()  # int[2]: a single number may be given for all items
        name = "input" if one.name == "self" else one.name
        parameters.append(Parameter(name, frozenset(kinds), one.has_default, one.kwarg_only, one.type.endswith("?")))
    return Form(tuple(parameters), False)


def _has_several(name: str) -> bool:
    """Return whether torch's schemas have several forms of a function; the stubs may show these as one line that accepts a tensor or a
    number.
    """
    return len(_in_schemas(name)) > 1 and name.removesuffix("_") not in NUMBERS_AS_TENSORS


def refusal_below(name: str, looks: bool, given: dict[str, tuple[Any, Any]], unseen: frozenset[str] = frozenset()) -> str | None:
    """Return the error message of the compiled function to which a Python function of torch passes its arguments; None if that accepts
    them.

    ``given``: the arguments by the Python function's names, each with its default. ``looks``: the Python function checks numbers itself.
    ``unseen``: those that are not checked."""
    forms = _in_schemas(name)
    words = list(given)
    if len(forms) > 1:  # overloads for one tensor and for any number of tensors
        forms = tuple(form for form in forms if ("Tensors" in form.parameters[0].kinds) is isinstance(given[words[0]][0], tuple))
    if not forms:
        return None
    parameters, values = [], []
    for place, parameter in enumerate(forms[0].parameters):
        own = _HANDED_ON.get((name, parameter.name), parameter.name)
        if own not in given and place:
            break
        value, usual = given.get(own) or given[words[0]]
        is_checked_there = looks and not parameter.kinds & {"Tensor", "Tensors"}
        if own in unseen or is_checked_there or (isinstance(usual, str) and "Text" not in parameter.kinds):
            parameter = parameter._replace(kinds=frozenset())  # a word that the Python function passes on as a number
        parameters.append(parameter._replace(by_word=False))
        if "Ints" in parameter.kinds and name in _OF_PAIRS:
            value = _paired(value)
        values.append(() if value is None and usual is None and "Ints" in parameter.kinds else value)
    form = Form(tuple(parameters), False)
    return _wrong(name, form, tuple(values), {}) or _unpacked(name, form, tuple(values), {})


_OF_PAIRS = frozenset(("im2col", "col2im"))
"""Functions to which torch's Python code passes pairs of numbers, from one number or anything that can be iterated over."""


def _paired(value: Any) -> Any:
    """Return what torch's Python code passes on for one number or several; an empty tuple, which is no error, for an iterator."""
    if isinstance(value, Iterator):
        return ()
    is_single = not isinstance(value, Iterable) or isinstance(value, (TensorBase, np.ndarray)) and not value.ndim
    return value if isinstance(value, (TensorBase, np.ndarray)) and is_single else (value, value) if is_single else tuple(value)


_HANDED_ON = {("embedding", "indices"): "input"}


def _is_folded(form: Form) -> bool:
    return any("Tensor" in parameter.kinds and parameter.kinds & {"Scalar", "Float"} for parameter in form.parameters)


# Before 3.11 Python binds a method that is called with keywords, and its message names the class of the object.
_NAMED_OF = "TensorBase" if sys.version_info >= (3, 11) else "Tensor"


def _of_nothing(name: str, placed: int, named: int) -> str | None:
    """Return Python's message for a method without parameters that was called with arguments."""
    if named:
        return f"{_NAMED_OF}.{name}() takes no keyword arguments"
    return f"TensorBase.{name}() takes no arguments ({placed} given)" if placed else None


def combination(name: str, args: tuple[Any, ...], named: dict[str, Any], forms: tuple[Form, ...]) -> str:
    """Return torch's message for a call that matches none of several signatures."""
    given = ", ".join([kind_of(item) for item in args] + [f"{key}={kind_of(item)}" for key, item in named.items()])
    lines = "".join(f"\n * ({', '.join(parameter.name for parameter in form.parameters)})" for form in forms)
    end = ", " if named and not args else ""  # as torch has it
    return f"{name}() received an invalid combination of arguments - got ({given}{end}), but expected one of:{lines}"


def _gathered(form: Form, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the positional arguments, with integers passed separately collected into a list."""
    return (args,) if form.spread and args and not isinstance(args[0], (tuple, list)) and has_kind(args[0], _INT) else args


_INT = frozenset(("IntLike",))


def _unpacked(name: str, form: Form, args: tuple[Any, ...], named: dict[str, Any]) -> str | None:
    """Return torch's message for a call that passes something other than integers in a list of ints, None if it passes only integers. torch
    selects the signature by the first element of the list, and fails at a later one."""
    args = _gathered(form, args)
    for place, parameter in enumerate(form.parameters):
        value = args[place] if place < len(args) else named.get(parameter.name)
        if "Ints" in parameter.kinds and isinstance(value, (tuple, list)):
            for number, item in enumerate(value):
                wrong = None if _index(item) else f"type must be tuple of ints,but got {kind_of(item)}"
                reason = OVERFLOW if beyond_64_bits(item) else wrong
                if reason is not None:
                    return f"{name}(): argument '{parameter.name}' failed to unpack the object at pos {number + 1} with error \"{reason}\""
    return None


OVERFLOW = "Overflow when unpacking long long"


def beyond_64_bits(value: Any) -> bool:
    """Return whether a value is an integer of more than 64 bits, or a tuple or list that contains one."""
    return value.__class__ is int and not -(2**63) <= value < 2**63 or isinstance(value, (tuple, list)) and any(map(beyond_64_bits, value))


def has_long_integer(room: str, last: str, args: tuple[Any, ...], named: dict[str, Any]) -> bool:
    """Return whether a call that matches a signature passes an integer of more than 64 bits where the signature has one integer."""
    if not any(map(beyond_64_bits, (*args, *named.values()))):
        return False
    for form in forms_of(room, last):
        if _wrong(last, form, args, named) is None:
            of_integers = [parameter.kinds & _INTEGERS and not parameter.kinds & _FLOATS for parameter in form.parameters]
            placed = () if form.spread else itertools.compress(args, of_integers)
            by_word = (named.get(parameter.name) for parameter in itertools.compress(form.parameters, of_integers))
            return any(map(beyond_64_bits, (*placed, *by_word)))
    return False


_INTEGERS, _FLOATS = frozenset(("Int", "IntLike")), frozenset(("Scalar", "Float"))


def _index(value: Any) -> bool:
    return not isinstance(value, (float, np.floating)) and hasattr(value, "__index__")


def _wrong(name: str, form: Form, args: tuple[Any, ...], named: dict[str, Any]) -> str | None:
    """Return torch's message for the first argument by which a call does not match a signature, or None if the call matches."""
    parameters, by_place = form.parameters, form.by_place
    args = _gathered(form, args)
    if len(args) > by_place:
        return _too_many(name, form, len(args))
    used = 0
    for place, parameter in enumerate(parameters):
        if place < len(args) and not parameter.by_word:
            value, where = args[place], f" (position {place + 1})"
        elif (key := _key(parameter.name, named)) is not None:
            value, where, used = named[key], "", used + 1
        elif parameter.optional:
            continue
        else:
            return _missing(name, parameters[place:])
        if (value is None and parameter.empty) or has_kind(value, parameter.kinds):
            continue
        return _mismatch(name, parameter, value, where, place)
    if used < len(named):
        for key in named:
            if key not in form.names:
                return f"{name}() got an unexpected keyword argument '{key}'"
            if any(parameter.name == key for parameter in parameters[: len(args)]):
                return f"{name}() got multiple values for argument '{key}'"
    return None


def _key(name: str, named: dict[str, Any]) -> str | None:
    """Return the keyword used for a parameter: torch's name, or NumPy's alias."""
    return name if name in named else next((other for other in NUMPY_NAMES.get(name, ()) if other in named), None)


def _too_many(name: str, form: Form, given: int) -> str:
    most = form.by_place
    least = sum(not parameter.optional and not parameter.by_word for parameter in form.parameters)
    takes = f"{most} positional argument{'' if most == 1 else 's'}" if least == most else f"from {least} to {most} positional arguments"
    return f"{name}() takes {takes} but {given} {'was' if given == 1 else 'were'} given"


def _missing(name: str, rest: tuple[Parameter, ...]) -> str:
    lacking = [f'"{parameter.name}"' for parameter in rest if not parameter.optional]
    plural = "s" if len(lacking) == 1 else ""  # as torch has it
    return f"{name}() missing {len(lacking)} required positional argument{plural}: {', '.join(lacking)}"


_WORDS = (
    ("Tensors", "tuple of Tensors"), ("OptionalTensors", "tuple of Tensors"), ("Ints", "tuple of ints"), ("Tensor", "Tensor"),
    ("Scalar", "Number"), ("Int", "int"), ("IntLike", "int"), ("Float", "float"), ("Bool", "bool"), ("DType", "torch.dtype"),
    ("Text", "str"), ("Layout", "torch.layout"), ("MemoryFormat", "torch.memory_format"), ("Place", "torch.device"),
    ("Generator", "torch.Generator"), ("Floats", "tuple of floats"),
)


def _mismatch(name: str, parameter: Parameter, value: TensorBase | float | Sequence[float | str | None], where: str, place: int) -> str:
    kinds, kind = parameter.kinds, kind_of(value)
    if kinds & {"Tensors", "OptionalTensors"} and isinstance(value, (tuple, list)) and "Tensor" not in kinds:
        number, item = next((number, item) for number, item in enumerate(value) if not _tensor(item))
        return f"expected Tensor as element {number} in argument {place}, but got {kind_of(item)}"
    wanted = next((word for key, word in _WORDS if key in kinds), "Tensor")
    if wanted == "tuple of ints" and isinstance(value, (tuple, list)):
        kind = f"but found element of type {kind_of(value[0])} at pos 0"
    else:
        kind = f"not {kind}"
    return f"{name}(): argument '{parameter.name}'{where} must be {wanted}, {kind}"


def has_kind(value: TensorBase | float, kinds: frozenset[str]) -> bool:
    """Return whether a value has one of the types that a parameter accepts."""
    if not kinds or any(_OF_KIND.get(kind, _anything)(value) for kind in kinds):
        return True
    return kinds >= _FOR_ALL and _is_index(value)


_FOR_ALL = frozenset(("Int", "Ints"))  # one number may be given for all items of a list


def _is_index(value: Any) -> bool:
    """Return whether a value is one whole number to Python, as a tensor of one bool is, though not a bool itself."""
    if isinstance(value, TensorBase):
        return not value._ms_sparse and math.prod(value._ms_shape) == 1 and value._ms_dtype.is_integral
    if isinstance(value, (bool, np.bool_)):
        return False
    try:
        operator.index(value)
    except Exception:  # noqa: BLE001 - an object whose __index__ raises is none to torch either
        return False
    return True


_NUMBERS = frozenset(("Int", "IntLike", "Float", "Scalar"))


def with_numbers(
    room: str, last: str, args: tuple[Any, ...], named: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
    """Return the call with 0-d tensors replaced by numbers where torch takes a number; None if there are none."""
    for form in forms_of(room, last):
        spread = _gathered(form, args) is not args
        kinds = [frozenset(("Int",))] * len(args) if spread else [parameter.kinds for parameter in form.parameters]
        by_name = {parameter.name: parameter.kinds for parameter in form.parameters}
        if len(args) > len(kinds):
            continue
        placed = tuple(_as_number(value, kind) for value, kind in zip(args, kinds))
        words = {key: _as_number(value, by_name.get(key, frozenset())) for key, value in named.items()}
        if any(new is not old for new, old in zip((*placed, *words.values()), (*args, *named.values()))):
            return placed, words
    return None


def _as_number(value: Any, kinds: frozenset[str]) -> Any:
    """Return a tensor of one element, or another object that is a number to Python, as a number, also inside lists, for a parameter of
    numbers."""
    if "Ints" in kinds and isinstance(value, (tuple, list)) and any(type(item) is not int and _is_index(item) for item in value):
        return [_as_number(item, _INT) for item in value]
    if (kinds >= _FOR_ALL or "IntLike" in kinds) and type(value) is not int and _is_index(value):
        return operator.index(value)
    if kinds & _NUMBERS or "Ints" in kinds:
        whole = not kinds & {"Float", "Scalar"}
        if _number_tensor(value) and (value._ms_dtype.category == 1 or not whole):
            return value.item()
    return value


SOME_TENSOR, SOME_ARRAY = object(), object()
"""Stand for a tensor and an array of NumPy that are no numbers, whatever their values."""


def _anything(value: Any) -> bool:
    return True


def _number_tensor(value: Any) -> bool:
    plain = isinstance(value, TensorBase) and not value._ms_sparse
    return plain and not value._ms_shape and not value.requires_grad


def _int(value: Any) -> bool:
    if isinstance(value, bool):
        return False
    return isinstance(value, (int, np.integer)) or (_number_tensor(value) and value._ms_dtype.category == 1)


def _float(value: Any) -> bool:
    return isinstance(value, (int, float, np.integer, np.floating)) or _number_tensor(value)


def _scalar(value: Any) -> bool:
    return isinstance(value, (int, float, complex, np.number, np.bool_)) or _number_tensor(value)


def _ints(value: Any) -> bool:
    return isinstance(value, (tuple, list)) and (not value or _is_index(value[0]))


def _tensor(value: Any) -> bool:
    return isinstance(value, TensorBase) or value is SOME_TENSOR


def _tensors(value: TensorBase | int | Sequence[TensorBase | float | str] | None) -> bool:
    return isinstance(value, (tuple, list)) and all(map(_tensor, value))


def _optional_tensors(value: object) -> bool:
    return isinstance(value, (tuple, list)) and all(item is None or _tensor(item) for item in value)


_OF_KIND = {
    "Tensor": _tensor, "Scalar": _scalar, "Int": _int, "IntLike": _is_index,
    "Float": _float,
    "Bool": lambda value: isinstance(value, bool), "Text": lambda value: isinstance(value, str), "Ints": _ints,
    "Storage": lambda value: type(value).__name__ in ("TypedStorage", "UntypedStorage"),
    "Tensors": _tensors, "Sequence[Float]": lambda value: isinstance(value, (tuple, list)),
    "DType": lambda value: isinstance(value, dtype) or (isinstance(value, type) and value in PYTHON_TYPES),
    "OptionalTensors": _optional_tensors,
    "Layout": lambda value: isinstance(value, layout), "MemoryFormat": lambda value: isinstance(value, memory_format),
    "Place": lambda value: isinstance(value, (device, str, int)), "Generator": lambda value: isinstance(value, Generator),
}
