"""Kinds of operators, as torch's own schemas and tags tell them: views, elementwise ones, those that read values."""
from __future__ import annotations

import functools
import re

from .._library.tags import Tag
from .overloads import all_overloads

# torch's second names of operators.
ALIASES = {
    "absolute": "abs", "arccos": "acos", "arccosh": "acosh", "arcsin": "asin", "arcsinh": "asinh", "arctan": "atan",
    "arctan2": "atan2", "arctanh": "atanh", "clip": "clamp", "concat": "cat", "concatenate": "cat", "divide": "div", "fix": "trunc",
    "greater": "gt", "greater_equal": "ge", "less": "lt", "less_equal": "le", "moveaxis": "movedim", "multiply": "mul",
    "negative": "neg", "not_equal": "ne", "subtract": "sub", "true_divide": "div", "swapaxes": "transpose", "swapdims": "transpose",
    "vector_norm": "linalg_vector_norm",
}  # fmt: skip
# The operators behind Python's, whose methods have these words in their names.
_OF_PYTHON = {
    "add": "add", "sub": "sub", "mul": "mul", "matmul": "matmul", "truediv": "div", "div": "div", "floordiv": "floor_divide",
    "mod": "remainder", "pow": "pow", "and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor", "lshift": "bitwise_left_shift",
    "rshift": "bitwise_right_shift", "neg": "neg", "pos": "positive", "abs": "abs", "invert": "bitwise_not",
    **{name: name for name in ("eq", "ne", "lt", "le", "gt", "ge")},
}  # fmt: skip
CONVERSIONS = frozenset("float double half bfloat16 int long short byte bool char cfloat cdouble chalf to type type_as".split())
"""Methods that give a tensor in another dtype, or itself."""
_VIEW = re.compile(r"Tensor\(a( -> \*)?\)(\[\])?")


def _has_tag(name: str, tag: str) -> bool:
    number = int(getattr(Tag, tag))
    return any(number in tags for _, tags in all_overloads(name).values())


@functools.cache
def operation_of(name: str) -> str:
    """Return the name of the operation behind a second name or one of Python's operators: ``mul_`` for ``multiply_`` and ``__imul__``.

    Reflected operators get the name of the plain one, but for ``rsub``.
    """
    if not name.startswith("__"):
        base = name.removesuffix("_")
        return ALIASES.get(base, base) + name[len(base) :]
    word = name.strip("_")
    if word in _OF_PYTHON or word == "rsub":
        return _OF_PYTHON.get(word, word)
    found = _OF_PYTHON.get(word[1:])
    return name if found is None or word[0] not in "ri" else found + "_" * (word[0] == "i")


@functools.cache
def reads_values(name: str) -> bool:
    """Return whether an operator gives a number, or a boolean, that depends on values."""
    return _has_tag(name, "data_dependent_output")


@functools.cache
def is_shaped_by_values(name: str) -> bool:
    """Return whether the shape of an operator's result depends on values."""
    return _has_tag(name, "dynamic_output_shape")


@functools.cache
def changes_view(name: str) -> bool:
    """Return whether an operator changes in place how a tensor looks at its memory (``t_``), but no elements."""
    return _has_tag(name, "inplace_view")


@functools.cache
def gives_view(name: str) -> bool:
    """Return whether an operator's result, or each of its results, is a view of an operand, at least for some arguments."""
    return any(
        _VIEW.fullmatch(schema.returns) and any(argument.alias and not argument.is_write for argument in schema.arguments)
        for schema, _ in all_overloads(name).values()
    )


@functools.cache
def is_elementwise(name: str) -> bool:
    """Return whether an operation computes each element by itself, in all of its forms: also one of Python's, in place or ``special``."""
    plain = operation_of(name).removesuffix("_")
    if plain in ("max", "min") or reads_values(plain):  # torch marks ``max.other`` and ``equal``, too
        return False
    return plain == "floor_divide" or any(_has_tag(one, "pointwise") for one in (plain, f"special_{plain}"))
