"""Calls of torch functions and methods that match none of their signatures: unknown keywords, too many arguments, or too few."""
from __future__ import annotations

import ast
import functools
import inspect
from typing import Any

from ..._src.core.call_forms import NUMPY_NAMES, Form, forms_of
from . import names

_ROOMS = {"torch": "torch", "torch.nn.functional": "functional", "torch.functional": "torch", "torch.linalg": "linalg", "torch.fft": "fft",
          "torch.special": "special", "torch.Tensor": "Tensor"}  # fmt: skip


@functools.cache
def _forms(dotted: str) -> tuple[Form, ...]:
    room, _, last = dotted.rpartition(".")
    return forms_of(_ROOMS[room], last) if room in _ROOMS else ()


@functools.cache
def _signature(dotted: str) -> inspect.Signature | None:
    value: Any = names.found(dotted)[0]
    if not callable(value) or (isinstance(value, type) and "__call__" in vars(type(value)) and type(value) is not type):
        return None
    try:
        return inspect.signature(value)
    except (ValueError, TypeError):
        return None


def wrong(dotted: str, call: ast.Call) -> tuple[str, str] | None:
    """Return why no signature matches a call, as a category and a sentence; None if a signature matches, or if that cannot be determined.
    """
    method = dotted.startswith("torch.Tensor.")
    signature = _signature(dotted)
    if signature is None:
        return None
    parameters = list(signature.parameters.values())[method:]
    open_words = any(item.kind is item.VAR_KEYWORD for item in parameters)
    forms = _forms(dotted)
    if open_words and not forms:
        return None
    known = {item.name for item in parameters if item.kind not in (item.VAR_KEYWORD, item.VAR_POSITIONAL)}
    known |= {name for form in forms for name in form.names}
    known |= {other for name, others in NUMPY_NAMES.items() if name in known for other in others}
    words = [item.arg for item in call.keywords if item.arg is not None]
    strange = [word for word in words if word not in known]
    if strange:
        return f"{dotted}({strange[0]}=)", f"takes no argument {strange[0]!r}"
    if any(isinstance(item, ast.Starred) for item in call.args) or len(words) < len(call.keywords):
        return None
    if _fits(signature, method, len(call.args), words) or any(_fits_form(form, len(call.args), words) for form in forms):
        return None
    return f"{dotted}({', '.join(['…'] * len(call.args) + [f'{word}=' for word in words])})", "has no form of these arguments"


def _fits(signature: inspect.Signature, method: bool, places: int, words: list[str]) -> bool:
    try:
        signature.bind(*[None] * (places + method), **dict.fromkeys(words))
    except TypeError:
        return False
    return True


def _fits_form(form: Form, places: int, words: list[str]) -> bool:
    if form.spread:
        return True
    if places > form.by_place:
        return False
    given = {item.name for item in form.parameters[:places]} | set(words)
    aliases = {other: name for name, others in NUMPY_NAMES.items() for other in others}
    given = {aliases.get(name, name) for name in given}
    return all(item.optional or item.name in given for item in form.parameters)
