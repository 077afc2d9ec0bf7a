"""The dimensions of inputs that vary, as torch's exporters take them, and inputs of other sizes."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .tensor_base import TensorBase
from .trees import tree_flatten

Dims = list[tuple[int, int, str]]
"""The dimensions that vary: the input's number, the axis and the name."""


def _axes(given: Any, number: int, name: str) -> dict[int, str]:
    """Return the dynamic axes of one input, with their names."""
    if given is None:
        return {}
    if isinstance(given, Mapping):
        named = dict(given)
    else:
        named = dict(enumerate(given)) if any(not isinstance(one, int) for one in given) else dict.fromkeys(given, True)
    found = {}
    for axis, word in named.items():
        if word is None or (type(word).__name__ == "_DimHint" and "STATIC" in repr(word)):
            continue
        label = word if isinstance(word, str) else getattr(word, "__name__", None)
        found[axis] = label if isinstance(label, str) and label not in ("AUTO", "DYNAMIC") else f"{name}_dim_{axis}"
    return found


def dims_of(
    arguments: Any, names: Sequence[str], dynamic_axes: Any, dynamic_shapes: Any, parameters: Sequence[str], error: type[Exception]
) -> Dims:
    """Return the dynamic axes, from ``dynamic_axes`` by input name or ``dynamic_shapes`` in the structure of the arguments."""
    leaves = [leaf for leaf in tree_flatten(arguments)[0] if isinstance(leaf, TensorBase)]
    dims: Dims = []

    def take(number: int, axes: dict[int, str]) -> None:
        for axis, word in axes.items():
            rank = len(leaves[number].shape)
            if not -rank <= axis < rank:
                raise error(f"input {names[number]!r} has no dimension {axis} to vary")
            dims.append((number, axis % rank, word))

    if dynamic_shapes is not None:
        words = dynamic_shapes
        if isinstance(words, Mapping):
            words = [words.get(parameter) for parameter in parameters]
        for number, one in enumerate(_flat_shapes(words, len(leaves), error)):
            take(number, _axes(one, number, names[number]))
    elif dynamic_axes:
        for name, axes in dynamic_axes.items():
            if name in names:
                take(names.index(name), _axes(axes, names.index(name), name))
    return dims


def _flat_shapes(words: Any, count: int, error: type[Exception]) -> list[Any]:
    """Return one entry per input, with nested lists flattened."""
    found: list[Any] = []
    for one in words:
        nested = isinstance(one, (list, tuple)) and one and all(isinstance(part, (Mapping, list, tuple)) for part in one)
        found.extend(_flat_shapes(one, count, error) if nested else [one])
    if len(found) > count:
        raise error(f"dynamic_shapes names {len(found)} inputs, the model has {count} tensors as arguments")
    return found
