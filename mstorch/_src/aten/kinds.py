"""Properties of operators from torch's schemas and tags: views, elementwise, data-dependent."""
from __future__ import annotations

import functools
import re

from ..._library.tags import Tag
from ..core.second_names import operation_of
from ..ops.memory import copying
from .overloads import all_overloads

CONVERSIONS = frozenset((*copying.CONVERSIONS, "chalf", "to", "type", "type_as"))
"""Methods that return the tensor cast to another dtype, or itself."""
_VIEW = re.compile(r"Tensor\(a( -> \*)?\)(\[\])?")


def _has_tag(name: str, tag: str) -> bool:
    number = int(getattr(Tag, tag))
    return any(number in tags for _, tags in all_overloads(name).values())


@functools.cache
def reads_values(name: str) -> bool:
    """Return whether an operator returns a Python number that depends on values."""
    return _has_tag(name, "data_dependent_output")


@functools.cache
def is_shaped_by_values(name: str) -> bool:
    """Return whether the output shape of an operator depends on values."""
    return _has_tag(name, "dynamic_output_shape")


@functools.cache
def changes_view(name: str) -> bool:
    """Return whether an operator changes only a tensor's metadata in place (``t_``)."""
    return _has_tag(name, "inplace_view")


@functools.cache
def gives_view(name: str) -> bool:
    """Return whether an operator returns views of an operand, at least for some arguments."""
    return any(
        _VIEW.fullmatch(schema.returns) and any(argument.alias and not argument.is_write for argument in schema.arguments)
        for schema, _ in all_overloads(name).values()
    )


@functools.cache
def is_elementwise(name: str) -> bool:
    """Return whether an operation is elementwise in all its forms, including operators, in-place and ``special`` ones."""
    plain = operation_of(name).removesuffix("_")
    if plain in ("max", "min") or reads_values(plain):  # torch also tags ``max.other`` and ``equal`` as pointwise
        return False
    return plain == "floor_divide" or any(_has_tag(one, "pointwise") for one in (plain, f"special_{plain}"))


@functools.cache
def takes_dims(name: str) -> bool:
    """Return whether an operation reduces several dimensions at once (``dim`` is a list)."""
    schemas = [schema for schema, _ in all_overloads(operation_of(name)).values()]
    return any(argument.name == "dim" and "int[" in argument.type for schema in schemas for argument in schema.arguments)


def _of_one_tensor(name: str, argument: str, kind: str) -> bool:
    """Return whether an operator has a form that takes one tensor and an argument of this name and type."""
    return any(
        any(one.name == argument and one.type == kind for one in schema.arguments)
        and sum(one.type.startswith("Tensor") for one in schema.arguments) == 1
        for schema, _ in all_overloads(name).values()
    )


@functools.cache
def cuts_dimension(name: str) -> bool:
    """Return whether an operator returns views of a tensor along one dimension, ``dim``, or copies of them."""
    plain = name.removeprefix("unsafe_").removesuffix("_copy")
    return gives_view(plain) and _of_one_tensor(plain, "dim", "int")


@functools.cache
def reduces(name: str) -> bool:
    """Return whether an operator reduces a tensor, of which it can keep the dimensions."""
    return _of_one_tensor(name, "keepdim", "bool")


@functools.cache
def tells_of_shape(name: str) -> bool:
    """Return whether an operator returns plain values (a bool, lengths, a dtype) that do not depend on the elements of a tensor."""
    if name == "is_nonzero":  # torch tags no composite operators
        return False
    schemas = [schema for schema, _ in all_overloads(name).values() if any(one.type.startswith("Tensor") for one in schema.arguments)]
    return bool(schemas) and not reads_values(name) and all(schema.returns in _PLAIN for schema in schemas)


_PLAIN = frozenset(("bool", "int", "SymInt", "int[]", "ScalarType", "float", "Device", "QScheme"))


@functools.cache
def gives_places(name: str) -> bool:
    """Return whether an operator also returns integers, which have no gradient: indices or, for ``frexp``, exponents."""
    return any(_PLACES.search(schema.returns) for schema, _ in all_overloads(name).values())


_PLACES = re.compile("indices|exponent")
