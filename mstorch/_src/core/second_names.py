"""Map from torch's aliases and Python's operators to the names of operations."""
from __future__ import annotations

import functools

# torch's aliases of operators.
ALIASES = {
    "absolute": "abs", "arccos": "acos", "arccosh": "acosh", "arcsin": "asin", "arcsinh": "asinh", "arctan": "atan",
    "arctan2": "atan2", "arctanh": "atanh", "clip": "clamp", "concat": "cat", "concatenate": "cat", "divide": "div", "fix": "trunc",
    "greater": "gt", "greater_equal": "ge", "less": "lt", "less_equal": "le", "moveaxis": "movedim", "multiply": "mul",
    "negative": "neg", "not_equal": "ne", "subtract": "sub", "true_divide": "div", "swapaxes": "transpose", "swapdims": "transpose",
    "vector_norm": "linalg_vector_norm",
}  # fmt: skip
# The operator that each Python operator calls, by the word in the name of its method.
OF_PYTHON = {
    "add": "add", "sub": "sub", "mul": "mul", "matmul": "matmul", "truediv": "div", "div": "div", "floordiv": "floor_divide",
    "mod": "remainder", "pow": "pow", "and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor", "lshift": "bitwise_left_shift",
    "rshift": "bitwise_right_shift", "neg": "neg", "pos": "positive", "abs": "abs", "invert": "bitwise_not",
    **{name: name for name in ("eq", "ne", "lt", "le", "gt", "ge")},
}  # fmt: skip


def aliases_of(operation: str) -> list[str]:
    """Return torch's other names of an operation."""
    return [alias for alias, name in ALIASES.items() if name == operation]


@functools.cache
def operation_of(name: str) -> str:
    """Return the operation's name for an alias or an operator: ``mul_`` for ``multiply_`` and ``__imul__``.

    Reflected operators get the name of the plain one, except for ``rsub``.
    """
    if not name.startswith("__"):
        base = name.removesuffix("_")
        return ALIASES.get(base, base) + name[len(base) :]
    word = name.strip("_")
    if word in OF_PYTHON or word == "rsub":
        return OF_PYTHON.get(word, word)
    found = OF_PYTHON.get(word[1:])
    return name if found is None or word[0] not in "ri" else found + "_" * (word[0] == "i")
