"""Generation of Python code from a graph."""
from __future__ import annotations

import builtins
import enum
import inspect
import keyword
import math
import operator
import re
import sys
import types
import typing
from collections.abc import Iterable, Mapping, Sequence
from types import ModuleType
from typing import Any, NamedTuple

from .._src.core.device import device
from .._src.core.dtype import dtype
from .._src.core.formats import layout, memory_format
from .._tensor import Tensor
from ..utils import _pytree as pytree
from ..utils._pytree import tree_unflatten
from ..utils._trees.spec import TreeSpec
from . import _pytree
from ._pytree import tree_flatten_spec
from .node import Node, _get_qualified_name

BINARY = {
    "add": "+", "sub": "-", "mul": "*", "floordiv": "//", "truediv": "/", "mod": "%", "pow": "**", "lshift": "<<", "rshift": ">>",
    "and_": "&", "or_": "|", "xor": "^", "matmul": "@", "eq": "==", "ne": "!=", "lt": "<", "gt": ">", "le": "<=", "ge": ">=",
}  # fmt: skip
COMPARISONS = [name for name, sign in BINARY.items() if sign in ("<", ">") or sign[-1] == "="]
UNARY = {"pos": "+", "neg": "-", "invert": "~"}
INFIX: dict[Any, str] = {getattr(operator, name): f"{{}} {sign} {{}}" for name, sign in BINARY.items()}
INFIX |= {getattr(operator, name): f"{sign}{{}}" for name, sign in UNARY.items()}
INFIX[operator.getitem] = "{}[{}]"
_IN_PLACE: dict[Any, str] = {
    getattr(operator, f"i{name.rstrip('_')}"): f"{sign}=" for name, sign in BINARY.items() if hasattr(operator, f"i{name.rstrip('_')}")
}


_GENERIC: dict[Any, str] = {list: "List", dict: "Dict", set: "Set", frozenset: "FrozenSet", tuple: "Tuple"}


class PythonCode(NamedTuple):
    """The source of a ``forward``, and the values of its global names."""

    src: str
    globals: dict[str, Any]


_TAKEN = frozenset({"inf", "nan", "NoneType", "torch", "device", "fx_pytree", "pytree", *keyword.kwlist, *dir(builtins)})


class Namespace:
    """Creates unique names."""

    def __init__(self) -> None:
        self._names: dict[Any, str] = {}
        self._used: set[str] = set()
        self._counts: dict[str, int] = {}

    def create_name(self, candidate: str, obj: Any) -> str:
        """Return an unused name close to the candidate, reserved for the object."""
        if obj is not None and obj in self._names:
            return self._names[obj]
        candidate = re.sub(r"[^0-9a-zA-Z_]+", "_", candidate) or "_unnamed"
        if candidate[0].isdigit():
            candidate = f"_{candidate}"
        match = re.fullmatch(r"(.*)_(\d+)", candidate)
        base, number = (match[1], int(match[2])) if match else (candidate, 0)
        number = number or self._counts.get(base, 0)
        while candidate in self._used or (candidate in _TAKEN and getattr(builtins, candidate, self) is not obj):
            number += 1
            candidate = f"{base}_{number}"
        self._used.add(candidate)
        self._counts[base] = number
        if obj is not None:
            self._names[obj] = candidate
        return candidate

    def associate(self, name: str, obj: Any) -> None:
        """Set the name of an object."""
        self._names[obj] = name
        self._used.add(name)


def _package() -> ModuleType:
    return sys.modules[__name__.partition(".")[0]]


# A graph may come from a file or a stranger: what it names becomes source only as an identifier or as a quoted text.


def _is_name(text: str) -> bool:
    return text.isidentifier() and not keyword.iskeyword(text)


def _quoted(text: str) -> str:
    """Return a text as a literal; in double quotes, as torch's code has them, unless it has characters that need escapes."""
    literal = repr(str(text))
    return literal if "\\" in literal or '"' in literal else f'"{literal[1:-1]}"'


def _attribute(base: str, name: str) -> str:
    """Return an attribute as source code, with ``getattr`` for a name that is not an identifier."""
    return f"{base}.{name}" if _is_name(name) else f"getattr({base}, {_quoted(name)})"


class _Writer:
    """Generates the code of one graph."""

    def __init__(self, root: str) -> None:
        self.root = root
        self.names = Namespace()
        self.globals: dict[str, Any] = {"torch": _package()}
        self.wrapped: dict[str, None] = {}  # functions registered by `wrap`, in the order in which they are called
        self.inputs: list[str] = []
        self.given: set[str] = set()
        self.result = ""
        self.returned = ""

    def global_name(self, hint: str, value: Any) -> str:
        """Return the name by which the code refers to a value."""
        if hint.startswith("torch.") and all(map(_is_name, hint.split("."))):
            found: Any = _package()
            for part in hint.split(".")[1:]:
                found = getattr(found, part, None)
            if found is value:
                return hint
        if getattr(builtins, hint, None) is value:
            return hint
        wanted = re.sub(r"[^0-9a-zA-Z_]+", "_", hint)
        for name, known in self.globals.items():
            if known is value and (name == wanted or name.startswith(f"{wanted}_")):
                return name
        name = self.names.create_name(wanted, None)
        self.globals[name] = value
        return name

    def text(self, value: Any) -> str:
        """Return an argument as source code."""
        if isinstance(value, Node):
            return self.names.create_name(value.name, value)
        if isinstance(value, tuple):
            if hasattr(value, "_fields"):
                return f"{self.global_name(type(value).__name__, type(value))}({', '.join(map(self.text, value))})"
            return f"({', '.join(map(self.text, value))}{',' if len(value) == 1 else ''})"
        if isinstance(value, list):
            return f"[{', '.join(map(self.text, value))}]"
        if isinstance(value, dict):
            return "{" + ", ".join(f"{self.text(key)}: {self.text(item)}" for key, item in value.items()) + "}"
        if isinstance(value, slice):
            return f"slice({self.text(value.start)}, {self.text(value.stop)}, {self.text(value.step)})"
        if isinstance(value, float) and not math.isfinite(value):
            name = str(abs(value))
            self.globals[name] = abs(value)
            return f"-{name}" if value < 0 else name
        if isinstance(value, (dtype, layout, memory_format)):
            return str(value)
        if isinstance(value, enum.Enum):
            return _attribute(self.global_name(type(value).__name__, type(value)), value.name)
        if isinstance(value, type) or inspect.isroutine(value):
            return self.global_name(_get_qualified_name(value), value)
        if value is None or isinstance(value, (bool, int, float, complex, str, bytes, range, type(Ellipsis))):
            return repr(value)
        if type(value).__name__ == "device":
            return self.global_name("torch.device", type(value)) + f"({str(value)!r})"
        return self.global_name(type(value).__name__.lower(), value)

    def annotation(self, kind: Any) -> str:
        """Return a type annotation as code, and register the names that it uses as globals of the code."""
        arguments, origin = getattr(kind, "__args__", ()), getattr(kind, "__origin__", None)
        if isinstance(kind, types.UnionType):
            return "|".join(map(self.annotation, arguments))
        if arguments and origin is not None:
            named = None if isinstance(kind, types.GenericAlias) else _GENERIC.get(origin)
            base = getattr(typing, named) if named else origin
            hint = f"typing.{named}" if named else repr(base) if not isinstance(base, type) else _get_qualified_name(base)
            return f"{self.global_name(hint, base)}[{','.join(map(self.annotation, arguments))}]"
        if kind is Ellipsis:
            self.globals["_"] = kind
            return "_"
        if kind is type(None):
            self.globals["NoneType"] = kind
            return "NoneType"
        if kind is device:
            self.globals["device"] = kind
            return "device"
        return self.global_name(_get_qualified_name(kind) if isinstance(kind, type) else repr(kind), kind)

    def call(self, head: str, args: Iterable[Any], kwargs: Mapping[str, Any]) -> str:
        """Return a call as source code."""
        texts = {name: self.text(value) for name, value in kwargs.items()}
        named = [f"{name} = {value}" if _is_name(name) else f"**{{{_quoted(name)}: {value}}}" for name, value in texts.items()]
        return f"{head}({', '.join([*map(self.text, args), *named])})"

    def line(self, node: Node) -> str | None:
        """Return a node's line of code; None for nodes without one. In-place operators also bind their first operand anew."""
        if node.op == "call_function" and node.target in _IN_PLACE and not node.kwargs and isinstance(node.args[0], Node):
            first, second = map(self.text, node.args)
            return f"{first} {_IN_PLACE[node.target]} {second};  {node.name} = {first}"
        value = self.value(node)
        return None if value is None else f"{node.name} = {value}"

    def value(self, node: Node) -> str | None:
        """Return the right-hand side of a node's line of code; None for nodes without one."""
        if node.op == "placeholder":
            star = re.match(r"\**", node.target)
            prefix = "" if star is None else star[0]
            default = f" = {self.text(node.args[0])}" if node.args else ""
            kind = f" : {self.annotation(node.type)}" if node.type is not None else ""
            # Callers may pass the argument by keyword, so that the parameter keeps its name if the node has another one.
            given = node.target.removeprefix(prefix)
            if not _is_name(given) or given in self.given:
                given = self.names.create_name(node.name, node)
            self.given.add(given)
            self.inputs.append(f"{prefix}{given}{kind}{default}")
            return None if given == node.name else given
        if node.op == "output":
            self.result = self.text(node.args[0])
            self.returned = f" -> {self.annotation(node.type)}" if node.type is not None else ""
            return None
        if node.op == "get_attr":
            return self.attribute(self.root, node.target)
        if node.op == "call_module":
            return self.call(self.attribute(self.root, node.target), node.args, node.kwargs)
        if node.op == "call_method":
            return self.call(_attribute(self.text(node.args[0]), node.target), node.args[1:], node.kwargs)
        if node.target in INFIX and not node.kwargs and len(node.args) == INFIX[node.target].count("{}"):
            return INFIX[node.target].format(*map(self.text, node.args))
        if node.target is getattr and len(node.args) == 2 and isinstance(node.args[1], str) and _is_name(node.args[1]):
            return f"{self.text(node.args[0])}.{node.args[1]}"
        name = self.global_name(_get_qualified_name(node.target), node.target)
        if node.meta.get("is_wrapped"):
            self.wrapped[name] = None
        return self.call(name, node.args, node.kwargs)

    @staticmethod
    def attribute(base: str, target: str) -> str:
        """Return a dotted attribute as source code."""
        for part in target.split("."):
            base = _attribute(base, part)
        return base


def _last_uses(nodes: Iterable[Node]) -> dict[Node, list[Node]]:
    """Return for each node the values that are not needed after it."""
    found: dict[Node, list[Node]] = {}
    seen: set[Node] = set()
    for node in reversed(list(nodes)):
        for used in node.all_input_nodes:
            if used not in seen:
                seen.add(used)
                found.setdefault(node, []).append(used)
    return found


class CodeGen:
    """Generates the code of graphs. Subclasses change the function's head, inputs and outputs."""

    def gen_fn_def(self, free_vars: list[str], maybe_return_annotation: str) -> str:
        """Return the function's first line."""
        if not free_vars or free_vars[0] != "self":
            free_vars.insert(0, "self")
        return f"def forward({', '.join(free_vars)}){maybe_return_annotation}:"

    def generate_output(self, output_args: Any, *, descs: Sequence[str] | None = None) -> str:
        """Return the function's last line."""
        return f"return {output_args!r}"

    def process_inputs(self, *args: Any) -> tuple[Tensor | int, ...]:
        """Convert the inputs to the values of the placeholders."""
        return args

    def process_outputs(self, outputs: Any) -> Any:
        """Convert the outputs to the return value of the function."""
        return outputs

    def additional_globals(self) -> list[tuple[str, Any]]:
        """Return extra globals that the generated code needs."""
        return []

    def result(self, values: str) -> str:
        """Return the function's last line, given the source of the graph's result."""
        return f"return {values}"

    def write(self, nodes: list[Node], root: str) -> PythonCode:
        """Return the function's code, in which each value is deleted after its last use."""
        writer = _Writer(root)
        for name, value in self.additional_globals():
            writer.globals[name] = value
        for node in nodes:
            writer.names.associate(node.name, node)
        last = _last_uses(nodes)
        lines = []
        for node in nodes:
            line = writer.line(node)
            if line is None:
                continue
            if node.op == "placeholder":
                lines.append(line)
                continue
            done = [used.name for used in last.get(node, ())]
            if not node.users:
                done.append(node.name)
            if done:
                line += f";  {' = '.join([*done, 'None'])}"
            lines.append(line)
        lines.append(self.result(writer.result) if writer.result else "pass")
        body = "\n".join(f"    {line}" for line in lines)
        head = self.gen_fn_def(list(writer.inputs), writer.returned)
        wraps = "\n".join(f'torch.fx._symbolic_trace.wrap("{name}")' for name in writer.wrapped)
        return PythonCode(f"\n{wraps}\n\n{head}\n{body}\n    ", writer.globals)


class PyTreeCodeGen(CodeGen):
    """Generates code that flattens nested arguments by a TreeSpec, and unflattens the result."""

    def __init__(self, names: list[str], in_spec: TreeSpec, out_spec: TreeSpec) -> None:
        self.names, self.in_spec, self.out_spec = names, in_spec, out_spec

    def gen_fn_def(self, free_vars: list[str], maybe_return_annotation: str) -> str:
        """Return the function's first line, and the line that flattens its arguments."""
        head = super().gen_fn_def(list(self.names), maybe_return_annotation)
        return f"{head}\n    {', '.join(free_vars)}, = fx_pytree.tree_flatten_spec([{', '.join(self.names)}], self._in_spec)"

    def process_inputs(self, *args: Any) -> Any:
        """Return the leaves of the arguments."""
        return tree_flatten_spec(list(args), self.in_spec)

    def process_outputs(self, outputs: Any) -> Any:
        """Return the outputs, unflattened."""
        return tree_unflatten(list(outputs), self.out_spec)

    def additional_globals(self) -> list[tuple[str, Any]]:
        """Return the globals that flatten and unflatten the arguments."""
        return [("fx_pytree", _pytree), ("pytree", pytree)]

    def result(self, values: str) -> str:
        """Return the function's last line."""
        return f"return pytree.tree_unflatten({values}, self._out_spec)"
