"""torch's operator schemas as Python signatures with types."""
from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

import torch

# Kinds of schema parameters → the name in mstorch/_src/stubs/names.pyi.
KINDS = {
    "Tensor": "Tensor", "int": "Int", "SymInt": "IntLike", "float": "Float", "bool": "Bool", "str": "Text", "Scalar": "Scalar",
    "ScalarType": "DType", "Layout": "Layout", "Device": "Place", "MemoryFormat": "MemoryFormat", "Generator": "Generator",
    "complex": "Complex", "SymBool": "Bool", "Storage": "Storage", "QScheme": "Any",
}  # fmt: skip
LISTS = {
    "Tensor": "Tensors", "int": "Ints", "SymInt": "Ints", "Scalar": "Sequence[Scalar]", "float": "Sequence[Float]",
    "bool": "Sequence[Bool]", "Tensor?": "OptionalTensors",
}  # fmt: skip


@dataclass(frozen=True)
class Parameter:
    """One parameter; ``default`` is its text, None where it has to be given. ``kind``: "plain", "named" (keyword only) or "star"."""

    name: str
    type: str
    default: str | None = None
    kind: str = "plain"

    def text(self) -> str:
        """Return the parameter as text in a signature."""
        star = "*" if self.kind == "star" else ""
        return f"{star}{self.name}: {self.type}" + ("" if self.default is None else f" = {self.default}")


@dataclass(frozen=True)
class Form:
    """One way to call a function."""

    parameters: tuple[Parameter, ...]
    result: str
    names: tuple[str, ...] = field(default=(), compare=False)  # of the results, where the schema gives them

    def text(self, name: str, method: bool = False) -> str:
        """Return the line of a stub: a function called ``name``, or a method with ``self``."""
        shown = ["self"] if method else []
        named = False
        for parameter in self.parameters:
            if parameter.kind == "star":
                named = True
            elif parameter.kind == "named" and not named:
                shown.append("*")
                named = True
            shown.append(parameter.text())
        return f"def {name}({', '.join(shown)}) -> {self.result}: ..."


def union(*types: str) -> str:
    """Return the union of types, each member once, ``None`` last."""
    members: dict[str, None] = {}
    for kind in types:
        members.update(dict.fromkeys(_members(kind)))
    last = members.pop("None", ...) is None
    return " | ".join([*members, *(["None"] if last else [])])


def _members(kind: str) -> list[str]:
    parts, depth, start = [], 0, 0
    for position, letter in enumerate(kind):
        depth += (letter == "[") - (letter == "]")
        if letter == "|" and not depth:
            parts.append(kind[start:position].strip())
            start = position + 1
    return [*parts, kind[start:].strip()]


def python_type(kind: str) -> str:
    """Return the Python type of a schema's parameter."""
    if kind.endswith("?"):
        return union(python_type(kind[:-1]), "None")
    sized = re.fullmatch(r"(\w+)\[\d+\]", kind)
    if sized:
        return union(KINDS[sized[1]], LISTS[sized[1]])
    if kind.endswith("[]"):
        return LISTS[kind[:-2]]
    return KINDS[kind]


def _result(kind: str) -> str:
    if kind == "Tensor[]":
        return "tuple[Tensor, ...]"
    if kind.endswith("[]"):
        return f"list[{_result(kind[:-2])}]"
    return {"IntLike": "Int", "Scalar": "Scalar"}.get(KINDS[kind], KINDS[kind])


def _default(kind: str, text: str | None) -> str | None:
    if text is None:
        return None
    if kind.rstrip("?") in ("int", "SymInt", "float", "bool", "str", "Scalar") or text == "None":
        try:
            return repr(ast.literal_eval(text))
        except ValueError:
            return "..."
    if re.fullmatch(r"\w+\[\d+\]\??", kind):  # one number stands for all
        values = set(text.strip("[]").split(","))
        return values.pop() if len(values) == 1 and text != "[]" else "..."
    return "..."


def _split(text: str) -> list[str]:
    parts, depth, start, quoted = [], 0, 0, False
    for position, letter in enumerate(text):
        quoted ^= letter == '"'
        depth += (letter in "([") - (letter in ")]")
        if letter == "," and not depth and not quoted:
            parts.append(text[start:position].strip())
            start = position + 1
    return [part for part in (*parts, text[start:].strip()) if part]


def forms_of(operator: str) -> list[Form]:
    """Return the forms of one of torch's operators, without ``out=`` and named dimensions."""
    found = []
    for schema in torch._C._jit_get_schemas_for_operator(f"aten::{operator}"):
        text = re.sub(r"\((?:\w+!?(?:\|\w+)?|\w+ -> \*)\)", "", str(schema))
        if any(argument.is_out for argument in schema.arguments) or re.search(r"Dimname|Stream|__torch__|Dict|Future", text):
            continue
        try:
            torch._C._dispatch_find_schema_or_throw(schema.name, schema.overload_name)
        except RuntimeError:
            continue
        found.append(_form(text))
    return found


def _form(text: str) -> Form:
    given, _, results = text.partition("(")[2].rpartition(") -> ") if ") -> (" not in text else _of_several(text)
    parameters, kind = [], "plain"
    for part in _split(given):
        if part == "*":
            kind = "named"
            continue
        declared, _, default = part.partition("=")
        type_name, name = declared.split(" ")
        name = {"from": "from_", "lambda": "lambda_"}.get(name, name)
        shown = _default(type_name, default or None)
        if default == "[]":  # None stands for it
            type_name, shown = type_name + "?", "None"
        parameters.append(Parameter(name, python_type(type_name), shown, kind))
    if not results.startswith("("):
        return Form(tuple(parameters), _result(results))
    each = [part.split(" ") for part in _split(results.strip("()"))]
    if not each:
        return Form(tuple(parameters), "None")
    names = tuple(part[1] for part in each if len(part) > 1)
    return Form(tuple(parameters), f"tuple[{', '.join(_result(part[0]) for part in each)}]", names)


def _of_several(text: str) -> tuple[str, str, str]:
    given, _, results = text.partition("(")[2].partition(") -> (")
    return given, "", "(" + results


def merged(forms: Iterable[Form]) -> list[Form]:
    """Return the forms; those that differ only in parameter types become one, with unions of types."""
    found: dict[tuple[object, ...], Form] = {}
    for form in forms:
        key = (tuple((p.name, p.kind == "star") for p in form.parameters), form.result)
        other = found.get(key)
        if other is None:
            found[key] = form
            continue
        both = tuple(
            replace(
                one, type=union(one.type, two.type), kind="named" if "named" in (one.kind, two.kind) else one.kind,
                default=one.default if one.default is not None else two.default,
            )
            for one, two in zip(other.parameters, form.parameters)
        )  # fmt: skip
        found[key] = replace(other, parameters=both)
    return list(found.values())
