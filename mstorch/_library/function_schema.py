"""torch.FunctionSchema: an operator's parameters and returns, as shown by ``op._schema`` and parsed by ``torch._C.parse_schema``."""
from __future__ import annotations

import re
from typing import Any, NamedTuple

from .._src.core.schemas import Schema, parse, split
from .schema_types import JitType, type_of


class AliasInfo(NamedTuple):
    """Alias annotation of an argument or return: its alias sets, and whether it is written to."""

    is_write: bool
    before_set: frozenset[str]
    after_set: frozenset[str]


class Argument(NamedTuple):
    """Argument or return of an operator; ``N`` is the length to which a single number is repeated."""

    name: str
    type: JitType
    default_value: Any
    kwarg_only: bool
    N: int | None
    alias_info: AliasInfo | None
    has_default: bool

    @property
    def is_out(self) -> bool:
        """True for an ``out`` argument: keyword-only and written to."""
        return self.kwarg_only and self.alias_info is not None and self.alias_info.is_write

    def has_default_value(self) -> bool:
        """Return whether it has a default."""
        return self.has_default

    def takes(self, old: Argument) -> bool:
        """Return whether this argument may replace ``old`` in every call: it has the same name and alias info and the same type or a
        supertype; it may be passed by position if ``old`` may, and has the same default if ``old`` has one."""
        return (
            self.name == old.name and self.alias_info == old.alias_info and old.type.isSubtypeOf(self.type)
            and (old.kwarg_only or not self.kwarg_only)
            and (not old.has_default or (self.has_default and _same_default(self.default_value, old.default_value)))
        )  # fmt: skip

    def gives(self, old: Argument) -> bool:
        """Return whether this return value may replace ``old``: same name and alias info, and the type or a subtype."""
        return self.name == old.name and self.alias_info == old.alias_info and self.type.isSubtypeOf(old.type)


def _same_default(one: Any, other: Any) -> bool:
    """Return whether two defaults have the same type and value."""
    return type(one) is type(other) and one == other


class FunctionSchema:
    """Schema of an operator: name, arguments and returns."""

    def __init__(self, schema: Schema, as_written: bool = False) -> None:
        self.name = f"{schema.namespace}::{schema.name}" if schema.namespace else schema.name
        self.overload_name = schema.overload
        self.arguments = [
            _argument(item.name, item.type, item.alias, item.kwarg_only, item.default, item.has_default) for item in schema.arguments
        ]
        self.returns = [_result(part) for part in _parts(schema.returns)]
        self._text = str(schema) if as_written else _text(schema, self.name)

    @property
    def is_mutable(self) -> bool:
        """True if an argument is written to."""
        return any(argument.alias_info is not None and argument.alias_info.is_write for argument in self.arguments)

    def is_backward_compatible_with(self, old: FunctionSchema) -> bool:
        """Return whether every call of an older schema is valid for this one and returns values of the same types."""
        if (self.name, self.overload_name, len(self.returns)) != (old.name, old.overload_name, len(old.returns)):
            return False
        return (
            len(self.arguments) >= len(old.arguments)
            and all(new.gives(was) for new, was in zip(self.returns, old.returns))
            and all(new.takes(was) for new, was in zip(self.arguments, old.arguments))
            and all(new.has_default for new in self.arguments[len(old.arguments) :])
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FunctionSchema) and all(
            getattr(self, part) == getattr(other, part) for part in ("name", "overload_name", "arguments", "returns")
        )

    def __hash__(self) -> int:
        return hash((self.name, self.overload_name))

    def __str__(self) -> str:
        return self._text

    __repr__ = __str__


def _text(schema: Schema, name: str) -> str:
    """Return a schema as text."""
    parts = []
    for item in schema.arguments:
        if item.kwarg_only and "*" not in parts:
            parts.append("*")
        parts.append(f"{_before_brackets(item.type, item.alias)} {item.name}" + (f"={_literal(item.default)}" if item.has_default else ""))
    return f"{name}{'.' * bool(schema.overload)}{schema.overload}({', '.join(parts)}) -> {schema.returns}"


def _before_brackets(kind: str, alias: str) -> str:
    word = re.match(r"[\w.]+", kind)
    return kind if word is None else word[0] + alias + kind[word.end() :]


def _literal(value: Any) -> str:
    """Return a default as text; floats with up to 17 digits."""
    if isinstance(value, float):
        digits = f"{value:.17g}"
        return digits if re.search(r"[.en]", digits) else f"{digits}."
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_literal, value))}]"
    return f'"{value}"' if isinstance(value, str) else str(value)


def _alias(text: str, listed: bool) -> AliasInfo | None:
    """Parse an alias annotation, ``(a!)`` or ``(a -> *)``; on a list it applies to the elements."""
    if not text:
        return None
    if listed:
        return AliasInfo("!" in text, frozenset(), frozenset())
    before, _, after = text.strip("()").replace("!", "").partition("->")
    sets = [frozenset(part.strip() for part in side.split("|")) for side in (before, after or before)]
    return AliasInfo("!" in text, *sets)


def _argument(name: str, kind: str, alias: str, kwarg_only: bool, default: Any, has_default: bool) -> Argument:
    type_, length = type_of(kind)
    if has_default and length and not isinstance(default, (list, type(None))):
        default = [default] * length
    return Argument(name, type_, default, kwarg_only, length, _alias(alias, "[" in kind), has_default)


def _parts(text: str) -> list[str]:
    return split(text[1:-1]) if text.startswith("(") and text.endswith(")") else [text]


def _result(text: str) -> Argument:
    found = re.fullmatch(r"([\w.]+?)(\([^)]*\))?((?:\[\d*\]|\?)*)(?:\([^)]*\))?(?:\s+(\w+))?", text)
    if found is None:
        raise RuntimeError(f"mstorch: no result of an operator schema: {text!r}")
    return _argument(found[4] or "", found[1] + found[3], found[2] or "", False, None, False)


def parse_schema(schema: str, allow_typevars: bool = True) -> FunctionSchema:
    """Parse a schema such as ``"aten::add(Tensor self, int n=1) -> Tensor"``. Raise RuntimeError if it is invalid."""
    text = schema.strip()
    if re.fullmatch(r"[\w:.]+", text):
        raise RuntimeError("Tried to parse a function schema but only the operator name was given")
    namespace, _, rest = text.rpartition("::") if "::" in text.partition("(")[0] else ("", "", text)
    return FunctionSchema(parse(namespace, rest))
