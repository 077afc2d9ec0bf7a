"""Schemas of operators: ``op._schema``, ``torch._C.parse_schema``, and the types in them, beside real torch's."""
from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest
import torch

import mstorch
from mstorch._src.aten import overloads
from mstorch._src.core import schemas
from mstorch._src.core.built_in import written

WORDS = (
    "bool int float complex Scalar str Device ScalarType Layout MemoryFormat Generator Tensor? int[] int[3] int[2]? Tensor?[] SymInt[] bool[3] "
    "Tensor[] SymInt Any int[1]? Stream float[]? Scalar? ScalarType? t"
).split()
SCHEMAS = (
    "a::b(Tensor x) -> Tensor", "a::b(Tensor x, int y=1) -> Tensor", "a::b(Tensor x, int y=2) -> Tensor", "a::b(Tensor x, int y) -> Tensor",
    "a::b(Tensor x, *, int y=1) -> Tensor", "a::b(Tensor x, *, int y) -> Tensor", "a::b(Tensor? x) -> Tensor", "a::b(Tensor x) -> Tensor?",
    "a::b(Tensor z) -> Tensor", "a::b(Tensor(a!) x) -> Tensor(a!)", "a::b(Tensor x, int? y=None, *, float z=1.) -> Tensor",
    "a::b(Tensor x, int y=1, int z=2) -> Tensor", "a::b(Tensor x) -> (Tensor, Tensor)", "a::b(Tensor x) -> ()", "a::b.c(Tensor x) -> Tensor",
    "a::c(Tensor x) -> Tensor", "a::b(Tensor x, int[] y=[1, 2]) -> Tensor", "a::b(Tensor x, *, int z=3, int y=1) -> Tensor",
    "a::b(Tensor x, Scalar y=1) -> Tensor", "a::b(Tensor x, float y=1.) -> Tensor", "a::b(Tensor x) -> Tensor y",
    "a::b(Tensor x, *, Tensor(a!) out) -> Tensor(a!)", "a::b(Tensor[] x) -> Tensor[]", "a::b(Tensor x, int y=1, *, int z=2) -> Tensor",
    "a::b(Tensor x, SymInt y=1) -> Tensor", "b(Tensor x) -> Tensor", "a::b.d(Tensor(a) x, Tensor(b!) y) -> (Tensor(a), Tensor(b!) q)",
)  # fmt: skip


def _told(argument: Any) -> tuple[Any, ...]:
    alias = argument.alias_info
    shared = alias and (alias.is_write, sorted(alias.before_set), sorted(alias.after_set))
    return argument.name, str(argument.type), type(argument.type).__name__, argument.default_value, argument.kwarg_only, argument.N, shared


def _whole(schema: Any) -> tuple[Any, ...]:
    parts = schema.name, schema.overload_name, str(schema), repr(schema), schema.is_mutable
    flags = [(argument.has_default_value(), argument.is_out) for argument in schema.arguments]
    return *parts, [_told(argument) for argument in schema.arguments], [_told(result) for result in schema.returns], flags


@pytest.mark.parametrize("word", WORDS)
def test_types(word: str) -> None:
    text = f"a::b({word} x, *, {word} y) -> {word}"
    want, got = torch._C.parse_schema(text), mstorch._C.parse_schema(text)
    assert _told(want.arguments[0])[:2] == _told(got.arguments[0])[:2] and str(want.returns[0].type) == str(got.returns[0].type)
    kind = want.arguments[0].type
    assert got.arguments[0].type.kind() == kind.kind() or type(kind).__name__ == "Type"
    for name in ("TensorType", "ListType", "OptionalType", "IntType", "NumberType"):
        assert isinstance(got.arguments[0].type, getattr(mstorch, name)) == isinstance(kind, getattr(torch, name))


def test_schemas_of_texts() -> None:
    for text in SCHEMAS:
        assert _whole(mstorch._C.parse_schema(text)) == _whole(torch._C.parse_schema(text))


def test_which_schema_takes_the_calls_of_which() -> None:
    for library in (torch, mstorch):
        parsed = [library._C.parse_schema(text) for text in SCHEMAS]
        found = [[new.is_backward_compatible_with(old) for old in parsed] for new in parsed]
        equal = [[new == old for old in parsed] for new in parsed]
        if library is torch:
            want = found, equal
    assert (found, equal) == want


def test_operators_tell_their_schemas() -> None:
    listed = [line.partition("(")[0].partition(".") for line in overloads._PAGE.read_text().splitlines()]
    count = 0
    for name, _, which in sorted(listed):
        packet = getattr(mstorch.ops.aten, name, None)
        if packet is not None:
            which = which or "default"
            got, want = getattr(packet, which)._schema, getattr(getattr(torch.ops.aten, name), which)._schema
            assert _whole(got) == _whole(want), f"{name}.{which}"
            count += 1
    assert count > 850


def test_custom_operators_tell_theirs() -> None:
    for library in (torch, mstorch):
        home = library.library.Library("schemas_test", "DEF")
        home.define("two(Tensor x, *, float s=2.0) -> (Tensor, int)")
        schema = library.ops.schemas_test.two.default._schema
        assert (schema.name, str(schema), len(schema.returns)) == ("schemas_test::two", "schemas_test::two(Tensor x, *, float s=2.) -> (Tensor, int)", 2)


@pytest.mark.parametrize("text", ["a::b", "a::b(", "a::b(Tensor x)", "a::b(Foo x) -> Tensor", ""])
def test_texts_that_are_not_schemas(text: str) -> None:
    for library in (torch, mstorch):
        with pytest.raises(RuntimeError):
            library._C.parse_schema(text)


def test_attention_of_xformers_is_asked_about() -> None:
    ours, theirs = (library.ops.aten._efficient_attention_forward.default for library in (mstorch, torch))
    assert ours._schema.is_backward_compatible_with(mstorch._C.parse_schema(str(theirs._schema)))
    with pytest.raises(NotImplementedError, match="_efficient_attention_forward"):
        ours(mstorch.ones(1), mstorch.ones(1))


# Overloads whose arguments the Python function of that name accepts
NUMBERS_WITH_A_FACTOR = {("add", "Scalar"), ("sub", "Scalar"), ("rsub", "Scalar"), ("addmm", "dtype"), ("baddbmm", "dtype")}
"""Their last argument is taken by its keyword alone."""


def _positional(packet: Any) -> list[str] | None:
    """Return the names of positional arguments; None if there may be any number."""
    found = inspect.signature(inspect.unwrap(written(packet._function))).parameters.values()
    if any(one.kind is one.VAR_POSITIONAL for one in found):
        return None
    return [one.name for one in found if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)]


def test_positional_arguments_stand_where_the_schema_says() -> None:
    """``aten.elu(x, alpha, scale)`` once called a function whose third argument is ``inplace``."""
    wrong = []
    for name in sorted(schemas.lines(overloads._PAGE)):
        packet = getattr(mstorch.ops.aten, name, None)
        own = None if packet is None else _positional(packet)
        for schema in () if own is None else overloads.overloads(name):
            wanted = [argument.name for argument in schema.arguments if not argument.kwarg_only]
            swapped = [
                (one, other) for one, other in zip(wanted[1:], own[1:])
                if one != other and {one, other} & {"inplace", "out", "dtype", "size_average", "reduce", "reduction", "scale", "training"}
            ]
            if swapped or (len(own) < len(wanted) and (name, schema.overload) not in NUMBERS_WITH_A_FACTOR):
                wrong.append((name, schema.overload, wanted, own))
    assert not wrong


def _overload_told(operator: Any) -> tuple[Any, ...]:
    return (
        str(operator._schema), [str(tag).rpartition(".")[2] for tag in operator.tags], operator.name(), operator._name, operator._overloadname, operator._opname,
        operator.namespace, operator._namespace, operator.is_view, operator.__name__, str(operator), repr(operator), operator.overloadpacket.__name__,
        getattr(operator, "_nondeterministic_seeded", False),  # functions of C++ objects have none
    )  # fmt: skip


def test_every_overload_of_every_operator_tells_what_torchs_does() -> None:
    wrong, count = [], 0
    for name in sorted({schema.name[6:] for schema in torch._C._jit_get_all_schemas() if schema.name.startswith("aten::")}):
        theirs, ours = getattr(torch.ops.aten, name), getattr(mstorch.ops.aten, name, None)
        if ours is None:
            continue
        if theirs.overloads() != ours.overloads() or theirs._qualified_op_name != ours._qualified_op_name:
            wrong.append(name)
        for which in theirs.overloads():
            count += 1
            if _overload_told(getattr(theirs, which)) != _overload_told(getattr(ours, which)):
                wrong.append(f"{name}.{which}")
    assert not wrong
    assert count > 1800


def test_tags() -> None:
    assert [(str(tag), int(tag)) for tag in torch.Tag.__members__.values()] == [(str(tag), int(tag)) for tag in mstorch.Tag.__members__.values()]
    assert mstorch.Tag.pointwise in mstorch.ops.aten.add.Tensor.tags


def test_numbers_of_numpy_and_dtypes_are_taken_as_torch_takes_them() -> None:
    declared = "takes(Tensor x, int? d=None, float e=1., bool b=False, int[] g=[], float[] h=[], Scalar s=1, ScalarType? t=None) -> Tensor"
    calls: tuple[Any, ...] = (
        lambda at: {"d": np.int32(3)}, lambda at: {"d": np.float32(3)}, lambda at: {"d": 2.0}, lambda at: {"d": at.float16},
        lambda at: {"e": np.float16(0.5)}, lambda at: {"e": np.int32(2)}, lambda at: {"e": "2"}, lambda at: {"b": np.bool_(True)},
        lambda at: {"b": 1}, lambda at: {"g": [np.int64(2), 3]}, lambda at: {"g": np.array([1, 2])}, lambda at: {"g": [at.int8]},
        lambda at: {"h": np.array([1.0, 2.0])}, lambda at: {"s": np.float32(2)}, lambda at: {"t": 5}, lambda at: {"t": at.int8},
    )  # fmt: skip
    said = []
    for at in (torch, mstorch):
        library = at.library.Library("numbers_of", "DEF")
        library.define(declared)
        seen: list[Any] = []

        def keep(x: Any, *rest: Any, seen: list[Any] = seen) -> Any:
            seen.append([str(item) for item in (*rest, *[None, 1.0, False, [], [], 1, None][len(rest) :])])  # torch leaves defaults out
            return x

        library.impl("takes", keep, "CompositeImplicitAutograd")
        for call in calls:
            try:
                at.ops.numbers_of.takes(at.ones(2), **call(at))
            except RuntimeError:
                seen.append("refused")
        said.append(seen)
    assert [str(item).replace("mstorch.", "torch.") for item in said[1]] == [str(item) for item in said[0]]


def test_a_call_goes_to_the_first_overload_that_takes_it() -> None:
    said = []
    for at in (torch, mstorch):
        library = at.library.Library("first_of", "DEF")
        for name, text in (("", "takes(Tensor x)"), (".list", "takes.list(Tensor x, int[] y)"), (".out", "takes.out(Tensor x, *, Tensor(a!) out)")):
            library.define(f"{text} -> Tensor")
            library.impl(f"takes{name}", lambda x, *rest, name=name, **named: x * 0 + len(name), "CompositeImplicitAutograd")
        x = at.ones(1)
        said.append([at.ops.first_of.takes(*args, **named).item() for args, named in (((x,), {}), ((x, [1]), {}), ((x,), {"out": x}))])
    assert said[0] == said[1] == [0.0, 5.0, 4.0]
