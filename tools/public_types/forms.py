"""The call forms of each public function and of each method of Tensor."""
from __future__ import annotations

import ast
import functools
import inspect
import pathlib
import types
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch

import mstorch
from mstorch._src.core.built_in import written

from .own import own_form, with_indices
from .schemas import Form, Parameter, forms_of, merged, union

STUBS = pathlib.Path(mstorch.__file__).parent / "_src" / "stubs"
# Prefix of the operators' names by namespace.
PREFIXES = {"": "", "nn.functional": "", "linalg": "linalg_", "fft": "fft_", "special": "special_"}
# Functions whose first operand may be a number.
OF_NUMBERS = frozenset("""
    add sub mul div floor_divide true_divide divide multiply subtract remainder bitwise_and bitwise_or bitwise_xor bitwise_left_shift
    bitwise_right_shift eq ne lt le gt ge maximum_ float_power pow xlogy copysign_
""".split()) - {"maximum_", "copysign_"}
# Keywords that no schema has, and those whose default a schema leaves to the caller.
EXTRA = {"out": "Tensor | None", "requires_grad": "Bool | None", "check_invariants": "Bool | None"}
# Second operators: their forms are those of a function.
BINARY = frozenset("add sub mul div truediv floordiv mod pow matmul eq ne lt le gt ge and or xor lshift rshift".split())
_COMPARED = frozenset(("__eq__", "__ne__"))
OPERAND = "Tensor | Scalar"


@functools.cache
def by_hand(file: str) -> frozenset[str]:
    """Return the names in a hand-written stub."""
    tree = ast.parse((STUBS / file).read_text())
    body = next((node.body for node in tree.body if isinstance(node, ast.ClassDef) and node.name == "HandWritten"), tree.body)
    named = {node.name for node in body if isinstance(node, ast.FunctionDef)}
    named |= {node.target.id for node in body if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)}
    return frozenset(named)


def function_forms(face: str, name: str, function: Callable[..., Any]) -> list[Form]:
    """Return the forms of the public function ``name`` of a namespace."""
    named = {"logsigmoid": "log_sigmoid", "dsmm": "mm", "spmm": "mm", "hsmm": "mm", "saddmm": "addmm"}.get(name, name)
    theirs = functools.reduce(lambda place, part: getattr(place, part, None), (*face.split("."), name) if face else (name,), torch)
    found = [] if isinstance(theirs, types.FunctionType) else forms_of(PREFIXES[face] + named)
    if not found:
        return with_indices(own_form(function))
    known = inspect.signature(written(function)).parameters
    found = [_public(form, known, PREFIXES[face] + named) for form in found]
    if name.startswith("sparse_") and name.endswith("_tensor"):
        found = [_from_lists(form) for form in found]
    if name in OF_NUMBERS:
        found = [_with_number(form) for form in found]
    return merged(found)


def _from_lists(form: Form) -> Form:
    """Return the form with lists accepted for tensors, and None for sizes."""
    wider = {"Tensor": "Tensor | list[Any]", "Ints": "Ints | None"}
    return replace(form, parameters=tuple(replace(p, type=wider.get(p.type, p.type)) for p in form.parameters))


def _with_number(form: Form) -> Form:
    first, *rest = form.parameters
    return replace(form, parameters=(replace(first, type=OPERAND), *rest)) if first.type.startswith("Tensor") else form


def _public(form: Form, known: Any, name: str) -> Form:
    """Return a schema's form with the Python function's parameter names and its further keywords, such as ``out``."""
    several = form.result.startswith("tuple[Tensor, T") or bool(form.names)
    names = [parameter.name for parameter in form.parameters]
    parameters = [
        replace(parameter, name="input") if parameter.name == "self" and "input" not in names else parameter
        for parameter in form.parameters
    ]
    parameters = [p for p in parameters if p.name in known or p.default is None or p.name == "layout" or not known or "args" in known]
    for extra, kind in EXTRA.items():
        taken = extra in known and extra not in names and (form.result != "None")
        if extra == "requires_grad" and "dtype" not in names:
            continue
        if taken and not (extra == "out" and form.result not in ("Tensor",) and not several):
            kind = "Tensor | Tensors | None" if several and extra == "out" else kind
            parameters.append(Parameter(extra, kind, "False" if extra == "requires_grad" else "None", "named"))
    return Form(tuple(parameters), result_of(form, name), form.names)


def result_of(form: Form, name: str) -> str:
    """Return the result type: torch's named tuple if it has one, else the form's."""
    plain = name.rstrip("_")
    kind = getattr(mstorch.return_types, plain, None)
    if form.names and kind is not None and len(kind.__match_args__) == len(form.names):
        return f"return_types.{plain}"
    return form.result


def with_stars(form: Form, known: Any) -> list[Form]:
    """Return the form and, if the function takes sizes as separate arguments, a second form for that."""
    star = next((p.name for p in known.values() if p.kind is p.VAR_POSITIONAL and p.name not in ("old", "args")), None)
    place = next((i for i, p in enumerate(form.parameters) if p.type == "Ints"), None)
    if star is None or place is None or any(p.kind == "plain" for p in form.parameters[place + 1 :]):
        return [form]
    starred = replace(form.parameters[place], type="IntLike", kind="star", default=None)
    return [form, replace(form, parameters=(*form.parameters[:place], starred, *form.parameters[place + 1 :]))]


_APART = {
    "__nonzero__": Form((), "bool"), "__long__": Form((), "int"), "__setstate__": Form((Parameter("state", "Any"),), "None"),
}  # fmt: skip


def method_forms(name: str, method: Callable[..., Any]) -> list[Form]:
    """Return the forms of a method of Tensor, without the ``self`` parameter."""
    if name.startswith("__") and name.endswith("__"):
        other = Parameter("other", OPERAND)
        core = name.strip("_")
        if core in ("neg", "pos", "abs", "invert"):
            return [Form((), "Tensor")]
        if name in _APART:
            return [_APART[name]]
        if name in _COMPARED:
            return [Form((other,), "Tensor"), Form((Parameter("other", "object"),), "Bool")]
        if core in BINARY or core[:1] in "ri" and core[1:] in BINARY:
            return [Form((other,), "Tensor")]
        raise LookupError(name)
    found = [form for form in forms_of(name) if form.parameters and form.parameters[0].name in ("self", "input")]
    known = inspect.signature(method).parameters
    if not found and name.endswith("_"):
        plain = [form for form in forms_of(name[:-1]) if form.parameters and form.parameters[0].name in ("self", "input")]
        found = [replace(form, result="Tensor") for form in plain]
    if not found:
        return [own_form(method, method=True)]
    open_ended = any(p.kind is p.VAR_KEYWORD for p in known.values())
    made = []
    for form in found:
        parameters = tuple(p for p in form.parameters[1:] if open_ended or p.name in known or p.default is None or p.name == "layout")
        if "requires_grad" in known and any(p.name == "dtype" for p in parameters):
            parameters += (Parameter("requires_grad", "Bool | None", "False", "named"),)
        made.append(Form(parameters, result_of(form, name)))
    return [each for form in merged(made) for each in with_stars(form, known)]


__all__ = ["PREFIXES", "STUBS", "by_hand", "function_forms", "method_forms", "union", "with_stars"]
