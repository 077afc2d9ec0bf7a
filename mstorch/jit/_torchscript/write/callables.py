"""Calls in a script's functions: of operators, methods, modules, classes, the script's functions, and Python's own words."""

from __future__ import annotations

import ast
import builtins
import collections
import enum
import inspect
import re
from collections.abc import Callable
from typing import Any

from ...._jit_internal import is_scripting
from ...._src.core.above import above
from ...._src.core.device import device
from ...._src.core.size import Size
from ...._tensor import Tensor
from ....nn.modules.container import ModuleDict, ModuleList, ParameterDict, ParameterList, Sequential
from ....nn.modules.module import Module
from ..types import TENSOR, Type, is_kind, read_type
from .annotations import BOOL, DEVICE, FLOAT, INT, NONE, STR, fits, of_annotation, of_value
from .known import has_operator, is_packet, operator_text, packet_result, takes_sizes, takes_tensors
from .library import node_of
from .pieces import NOTHING, Items, Method, ParentOf, Piece, attribute, implied, of_library, plain_of
from .results import BUILTINS, INTS, of_builtin, of_method, of_turn
from .values import Unwritable, quoted
from .writer import Function

Pieces = list[Piece]
_MAGIC = {"len": "__len__", "str": "__str__", "bool": "__bool__", "int": "__int__", "float": "__float__", "abs": "__abs__"}
_WITHOUT = {
    "return_indices": "{}_with_indices", "return_inverse": "torch.unique_consecutive or sort",
    "return_counts": "torch.unique_consecutive or sort",
}  # fmt: skip
"""Parameters that make a function return more, which the library's must not: what to call in its place"""
_OVER_MODULES = ("enumerate", "zip", "reversed", "list", "tuple", "range")

CASTS = {
    "byte": 0, "char": 1, "short": 2, "int": 3, "long": 4, "half": 5, "float": 6, "double": 7, "cfloat": 9, "cdouble": 10, "bool": 11,
    "bfloat16": 15,
}  # fmt: skip
"""Methods of tensors that convert them, and the numbers of their dtypes."""


class Callables(Function):
    """Writes calls."""

    def spread(self, nodes: list[ast.expr]) -> Pieces:
        """Return the pieces of arguments; a tuple with a star becomes its elements."""
        pieces = []
        for node in nodes:
            if not isinstance(node, ast.Starred):
                pieces.append(self.expression(node))
                continue
            piece = self.expression(node.value)
            if isinstance(piece.static, Items):
                pieces.extend(piece.static)
            elif piece.kind is not None and piece.kind.kind == "Tuple":
                pieces.extend(Piece(f"{piece.text}[{place}]", kind) for place, kind in enumerate(piece.kind.of))
            elif len(nodes) == 1 and piece.kind is not None and piece.kind.kind == "List":
                pieces.append(piece)  # an operator takes the list itself
            else:
                raise self.unwritable("a star before a value of unknown length", node)
        return pieces

    def _of_Call(self, node: ast.Call) -> Piece:
        if any(one.arg is None for one in node.keywords):
            raise self.unwritable("a call with **", node)
        callee = self.expression(node.func)
        value = callee.static
        special = self._special(value, node)
        if special is not None:
            return special
        args = self.spread(node.args)
        kwargs = {str(one.arg): self.expression(one.value) for one in node.keywords}
        if isinstance(value, Method):
            return self._of_method(value, args, kwargs, node)
        if isinstance(value, Module):
            return self._own_method(value, "forward", callee.text, args, kwargs, node)
        if value is NOTHING:
            raise self.unwritable(f"a call of a value ({ast.unparse(node.func)})", node)
        return self.called(value, args, kwargs, node)

    def called(self, value: Any, args: Pieces, kwargs: dict[str, Piece], node: ast.Call) -> Piece:
        """Return the call of a function or class of Python."""
        program = self.program
        value = getattr(value, "__original_fn", value)
        if type(value).__name__ == "ScriptFunction":
            value = value.__wrapped__
        value = dict if value is collections.OrderedDict else value  # TorchScript's dictionaries keep their order
        if getattr(builtins, getattr(value, "__name__", ""), None) is value:
            return self._builtin(value, args, kwargs, node)
        for piece in (*args, *kwargs.values()):
            if not (isinstance(piece.static, (type(len), type(is_scripting)))):
                self._runtime(piece, node)
        if isinstance(value, type):
            return self._constructed(value, args, kwargs, node)
        text = operator_text(value)
        if text is None:
            if not inspect.isfunction(value):
                raise self.unwritable(
                    f"a call of '{getattr(value, '__name__', type(value).__name__)}', which is no operator of torch,", node
                )
            try:
                name, returns = program.function(value, self.place(node))
            except Unwritable as error:
                if of_library(value) and not of_library(self.function):
                    raise self.unwritable(f"a call of '{value.__name__}' ({error})", node) from None
                raise
            return Piece(f"{name}({self._listed(args, kwargs)})", returns)
        if text.startswith("__torch__"):
            name = text.rpartition(".")[2]
            kind = program.library_function(name)
            args, kwargs = self._fitted(name, args, kwargs, node)
            return Piece(f"{text}({self._listed(args, kwargs)})", kind)
        if text.startswith("ops.") and is_packet(value):
            return Piece(f"{text}({self._listed(args, kwargs)})", packet_result(value))
        return self._operator(text, args, kwargs, node)

    def _fitted(self, name: str, args: Pieces, kwargs: dict[str, Piece], node: ast.Call) -> tuple[Pieces, dict[str, Piece]]:
        """Return the arguments of a function of the library; one number for all dimensions becomes a list."""
        wanted = {one.arg: read_type(one.annotation) for one in node_of(name).args.args if one.annotation is not None}
        kwargs = {key: piece for key, piece in kwargs.items() if key != "_stacklevel"}
        if len(args) > len(wanted) or any(key not in wanted for key in kwargs):
            raise self.unwritable(f"these arguments of {name}", node)
        given = {**dict(zip(wanted, args)), **kwargs}
        for key, piece in given.items():
            if key in _WITHOUT and piece.static is not False:
                raise self.unwritable(f"{name} with {key}: call {_WITHOUT[key].format(name)}", node)
            given[key] = fitting = self._as_declared(piece, wanted[key])
            is_tuple_for_list = is_kind(fitting.kind, "Tuple") and _without_none(wanted[key]).kind == "List"
            if not is_tuple_for_list and not fits(fitting.kind, wanted[key]):
                raise self.unwritable(f"{name} with '{key}' of {fitting.kind!r}, where {wanted[key]!r} is declared,", node)
        return [given[key] for key in list(wanted)[: len(args)]], {key: given[key] for key in kwargs}

    def _as_declared(self, piece: Piece, wanted: Type) -> Piece:
        """Return an argument as the declared type: an int as a float, one number as a list."""
        kind = _without_none(wanted)
        if kind.kind == "List" and is_kind(piece.kind, "int", "float"):
            is_widened = kind.of[0].kind == "float" and piece.kind.kind == "int"
            return Piece(f"[float({piece.text})]" if is_widened else f"[{piece.text}]", kind)
        if kind.kind == "List" and repr(piece.kind) in ("Optional[int]", "Optional[float]"):
            return self._listed_or_none(piece, kind, wanted)
        if kind.kind == "float" and is_kind(piece.kind, "int"):
            return Piece(f"float({piece.text})", FLOAT)
        return implied(piece, kind)

    def _listed_or_none(self, piece: Piece, kind: Type, wanted: Type) -> Piece:
        """Return a number that may be None as a list that may be None."""
        name = piece.text
        if not name.isidentifier():
            name = self.fresh()
            self.line(f"{name} = {piece.text}")
        item = f"float({name})" if kind.of[0].kind == "float" and piece.kind is not None and piece.kind.of[0].kind == "int" else name
        return Piece(f"annotate({wanted!r}, [{item}] if {name} is not None else None)", wanted)

    def _operator(self, text: str, args: Pieces, kwargs: dict[str, Piece], node: ast.Call) -> Piece:
        name = text.rpartition(".")[2]
        if "input" in kwargs and text.startswith("torch."):
            kwargs = {"self" if key == "input" else key: piece for key, piece in kwargs.items()}
        if name == "einsum" and len(args) > 1 and not is_kind(args[1].kind, "List", "Tuple"):
            args = [args[0], self._as_list(args[1:])]
        elif len(args) > 1 and not is_kind(args[0].kind, "List", "Tuple") and takes_tensors(name):
            args = [self._as_list(args)]
        elif args and is_kind(args[0].kind, "int") and takes_sizes(name, 0):
            args = [self._as_list(args)]
        if "device" in kwargs:
            kwargs = {**kwargs, "device": _device_of(kwargs["device"])}
        if text.startswith("ops."):
            return Piece(f"{text}({self._listed(args, kwargs)})", None)
        if "self" in kwargs and not args:
            args, kwargs = [kwargs["self"]], {key: piece for key, piece in kwargs.items() if key != "self"}
        return Piece(f"{text}({self._listed(args, kwargs)})", self.tensor_of(name, args, kwargs, node))

    @staticmethod
    def _as_list(args: Pieces) -> Piece:
        kind = args[0].kind
        return Piece(f"[{', '.join(one.text for one in args)}]", None if kind is None else Type("List", (kind,)))

    def _listed(self, args: Pieces, kwargs: dict[str, Piece]) -> str:
        return ", ".join([*(one.text for one in args), *(f"{key}={one.text}" for key, one in kwargs.items())])

    # Methods

    def has_method(self, kind: Type, name: str) -> bool:
        """Return whether values of a type have a method."""
        return has_operator(name) or kind.kind == "Future" or kind.kind == "Tensor" and name in CASTS

    def _of_method(self, method: Method, args: Pieces, kwargs: dict[str, Piece], node: ast.Call) -> Piece:
        owner = method.owner
        if isinstance(owner, Module):
            return self._own_method(owner, method.name, method.text, args, kwargs, node)
        if isinstance(owner, ParentOf):
            return self._own_method(owner.owner, method.name, "self", args, kwargs, node, after=owner.kind)
        for piece in (*args, *kwargs.values()):
            self._runtime(piece, node)
        kind, name = owner.kind, method.name
        if kind is not None and self.program.is_class(kind):
            returns = self.program.result_of(kind, name, self.place(node))
            return Piece(f"{owner.text}.{name}({self._listed(args, kwargs)})", returns)
        if is_kind(kind, "Optional", "NoneType"):
            raise self.unwritable(f"a call of '{name}' of {kind!r}: check for None before", node)
        if name in CASTS and is_kind(kind, "Tensor") and not args and not kwargs:
            return Piece(f"{owner.text}.to({CASTS[name]})", TENSOR)
        if not has_operator(name) and not is_kind(kind, "Future"):
            raise self.unwritable(f"a call of '{name}', which is no method of {'a value' if kind is None else repr(kind)},", node)
        if name == "stft":
            return self.called(above.torch.stft, [Piece(owner.text, kind), *args], kwargs, node)
        if name == "format" and is_kind(kind, "str"):
            return Piece(f"torch.format({self._listed([Piece(owner.text), *args], kwargs)})", STR)
        args, kwargs = self._as_operator_takes(name, kind, args, kwargs)
        self.here = node
        if kind is None:  # a value of any type: these three are methods of tensors alone
            result = {"size": INT if args else None, "dim": INT, "numel": INT}.get(name)
        else:
            result = of_method(kind, name, [one.kind for one in args], {key: one.kind for key, one in kwargs.items()})
        return Piece(f"{owner.text}.{name}({self._listed(args, kwargs)})", result)

    def _as_operator_takes(self, name: str, kind: Type | None, args: Pieces, kwargs: dict[str, Piece]) -> tuple[Pieces, dict[str, Piece]]:
        """Return the arguments of a method as the operator of that name takes them: devices for their names, sizes as one list."""
        if "device" in kwargs:
            kwargs = {**kwargs, "device": _device_of(kwargs["device"])}
        if name == "to" and args:
            args = [_device_of(args[0]), *args[1:]]
        if args and is_kind(args[0].kind, "int") and (kind is None or kind.kind == "Tensor") and takes_sizes(name, 1):
            args = [self._as_list(args)]
        return args, kwargs

    def magic(self, piece: Piece, name: str, args: Pieces, node: ast.AST) -> Piece | None:
        """Return the call of a special method of an object of the script's classes; None for other values."""
        if piece.kind is None or not self.program.is_class(piece.kind) or name not in self.program.methods_of(piece.kind):
            return None
        return Piece(f"{piece.text}.{name}({self._listed(args, {})})", self.program.result_of(piece.kind, name, self.place(node)))

    # Modules

    def items(self, piece: Piece) -> Items | None:
        """Return the elements of a piece that is a list of modules or parameters; None for others."""
        value, text = piece.static, piece.text
        if isinstance(value, Items):
            return value
        if isinstance(value, (ModuleList, Sequential)):
            return Items(
                Piece(attribute(text, name), None if child is not None else NONE, plain_of(child)) for name, child in value._modules.items()
            )
        if isinstance(value, ParameterList):
            return Items(Piece(attribute(text, name), TENSOR) for name in value._parameters)
        return None

    def over(self, piece: Piece) -> Piece:
        """Return a piece that a loop goes over; a list of modules as its elements."""
        items = self.items(piece)
        return piece if items is None else Piece("", None, items)

    def of_module(self, holder: Piece, name: str, node: ast.AST) -> Piece:
        """Return an attribute of a module."""
        module, text = holder.static, attribute(holder.text, name)
        if name in module._modules:
            child = plain_of(module._modules[name])
            return Piece(text, NONE if child is None else None, child)
        if (
            isinstance(module, ModuleDict)
            and name in ("items", "keys", "values")
            or name in ("children", "named_children", "modules", "named_modules", "parameters")
        ):
            return Piece("", None, Method(module, name, holder.text))
        if isinstance(module, ParameterDict) and name in ("items", "keys", "values"):
            return Piece("", None, Method(module, name, holder.text))
        own = inspect.getattr_static(type(module), name, None) if name not in module.__dict__ else None
        if isinstance(own, property):
            getter, returns = self.program.method(module, name, self.place(node), getter=True)
            return Piece(f"{holder.text}.{getter}()", returns)
        if callable(getattr(own, "__func__", own)) and own is not None and not isinstance(own, type):
            return Piece(text, None, Method(module, name, holder.text))
        value = module.__dict__.get(name, NOTHING)
        if callable(value) and not isinstance(value, Module):
            return Piece("", None, value)
        if name not in module._parameters and name not in module._buffers and name != "training":
            if value is NOTHING and own is None:
                raise self.unwritable(f"'{name}', which {type(module).__name__} does not have,", node)
            if isinstance(own, type):
                return Piece("", None, own)
        kind = self.program.attribute(module, name, self.place(node))
        fixed = self.program.constant_text(module, name)
        if fixed is not None:
            value = getattr(module, name)
            listed = tuple(value) if isinstance(value, list) else value
            return Piece(
                fixed, of_value(listed, self.program.named), value if type(value) in (bool, int, float, str, type(None)) else NOTHING
            )
        static: Any = None if kind.kind == "NoneType" else NOTHING
        return Piece(text, kind, static)

    def _own_method(
        self, module: Any, name: str, text: str, args: Pieces, kwargs: dict[str, Piece], node: ast.Call, after: Any = None
    ) -> Piece:
        if isinstance(module, (ModuleDict, ParameterDict)) and name in ("items", "keys", "values"):
            return Piece("", None, _table(module._modules if isinstance(module, ModuleDict) else module._parameters, name, text))
        if name in ("children", "named_children") and isinstance(module, Module):
            return Piece("", None, _table(module._modules, "values" if name == "children" else "items", text))
        for piece in (*args, *kwargs.values()):
            self._runtime(piece, node)
        own, returns = self.program.method(module, name, self.place(node), after=after)
        return Piece(f"{attribute(text, own)}({self._listed(args, kwargs)})", returns)

    # Python's words, and torch.jit's

    def _special(self, value: Any, node: ast.Call) -> Piece | None:
        """Return a call whose arguments are no values: types, names; None for others."""
        jit = above.torch.jit
        if value is is_scripting or value is above.torch.jit.is_scripting:
            return Piece("True", BOOL, True)
        if value is jit.is_tracing or getattr(value, "__name__", "") in ("_is_tracing", "is_tracing", "_get_tracing_state"):
            return Piece("False", BOOL, False)
        if value is jit.annotate:
            kind = of_annotation(self.evaluated(node.args[0]), self.program.named)
            inner = self.value(node.args[1], kind)
            if not fits(inner.kind, kind):
                raise self.unwritable(f"a value of {inner.kind!r} that is annotated {kind!r}", node)
            return Piece(f"annotate({kind!r}, {inner.text})", kind)
        if value is builtins.isinstance or value is jit.isinstance:
            return self._isinstance(node)
        if value in (builtins.hasattr, builtins.getattr) if callable(value) else False:
            return self._named_attribute(value, node)
        if value is builtins.super:
            own: Any = self.evaluated(node.args[0]) if node.args else self.scope.get("__class__")
            return Piece("self", None, ParentOf(self.owner, own))
        if value is builtins.type and len(node.args) == 1:
            piece = self.expression(node.args[0])
            if isinstance(piece.static, Module):
                return Piece("", None, type(piece.static))
        if getattr(value, "__name__", "") == "_unwrap_optional":
            piece = self.value(node.args[0])
            return Piece(
                f"ops.prim.unchecked_unwrap_optional({piece.text})",
                piece.kind.of[0] if piece.kind is not None and piece.kind.of else piece.kind,
            )
        if value is above.torch._assert and len(node.args) == 2:
            self.asserted(node.args[0], node.args[1])
            return Piece("None", NONE, None)
        if value is jit.fork:
            return self._forked(node)
        if value is jit.wait:
            future = self.value(node.args[0])
            return Piece(f"torch.wait({future.text})", future.kind.of[0] if future.kind is not None and future.kind.of else None)
        return None

    def _forked(self, node: ast.Call) -> Piece:
        """Return the call of ``torch.jit.fork``."""
        callee, args = self.expression(node.args[0]), self.spread(node.args[1:])
        value = callee.static
        if node.keywords:
            raise self.unwritable("a fork with named arguments", node)
        if isinstance(value, Method) and isinstance(value.owner, Module):
            name, returns = self.program.method(value.owner, value.name, self.place(node))
            text = attribute(value.text, name)
        elif isinstance(value, Module):
            name, returns = self.program.method(value, "forward", self.place(node))
            text = attribute(callee.text, name)
        elif inspect.isfunction(value) or type(value).__name__ == "ScriptFunction":
            text, returns = self.program.function(getattr(value, "__wrapped__", value), self.place(node))
        else:
            raise self.unwritable("a fork of this", node)
        listed = ", ".join([text, *(self._runtime(one, node).text for one in args)])
        return Piece(f"fork({listed})", None if returns is None else Type("Future", (returns,)))

    def _isinstance(self, node: ast.Call) -> Piece:
        piece = self.expression(node.args[0])
        listed = node.args[1].elts if isinstance(node.args[1], ast.Tuple) else [node.args[1]]
        kinds = [self.evaluated(one) for one in listed]
        if isinstance(piece.static, Module):
            truth = isinstance(piece.static, tuple(kinds))
            return Piece(str(truth), BOOL, truth)
        self._runtime(piece, node)
        texts = [kind.__name__ if kind in (list, tuple) else repr(of_annotation(kind, self.program.named)) for kind in kinds]
        if piece.kind is not None and piece.kind.kind not in ("Any", "Optional", "Union", "number"):
            names = [
                Type(text) if text in ("list", "tuple") else of_annotation(kind, self.program.named) for text, kind in zip(texts, kinds)
            ]
            if not any("." in name.kind for name in names) or self.program.is_class(piece.kind):
                truth = any(fits(piece.kind, name) for name in names)
                return Piece(str(truth), BOOL, truth)
        return Piece(f"isinstance({piece.text}, {texts[0] if len(texts) == 1 else '(' + ', '.join(texts) + ')'})", BOOL)

    def _named_attribute(self, value: Any, node: ast.Call) -> Piece:
        holder, name = self.expression(node.args[0]), self.expression(node.args[1]).static
        if type(name) is not str:
            raise self.unwritable(f"{value.__name__} with a computed name", node)
        if value is builtins.hasattr:
            if isinstance(holder.static, Module):
                truth = hasattr(holder.static, name)
            elif holder.kind is not None and self.program.is_class(holder.kind):
                truth = name in self.program.fields(holder.kind) or name in self.program.methods_of(holder.kind)
            else:
                raise self.unwritable("hasattr of a value", node)
            return Piece(str(truth), BOOL, truth)
        if len(node.args) > 2 and isinstance(holder.static, Module) and not hasattr(holder.static, name):
            return self.expression(node.args[2])
        return self.expression(ast.copy_location(ast.Attribute(node.args[0], name, ast.Load()), node))

    def _builtin(self, value: Any, args: Pieces, kwargs: dict[str, Piece], node: ast.Call) -> Piece:
        name = value.__name__
        lists = [self.items(piece) for piece in args]
        if name == "len" and (lists[0] is not None or isinstance(args[0].static, (ModuleDict, ParameterDict))):
            count = len(lists[0]) if lists[0] is not None else len(args[0].static)
            return Piece(str(count), INT, count)
        if name in _OVER_MODULES and any(one is not None for one in lists):
            return self._over_modules(name, args, lists, kwargs, node)
        for piece in (*args, *kwargs.values()):
            self._runtime(piece, node)
        own = self.magic(args[0], _MAGIC[name], [], node) if name in _MAGIC and len(args) == 1 else None
        if own is not None:
            return own
        self.here = node
        if name == "tuple" and args and is_kind(args[0].kind, "Tuple"):
            return args[0]
        if name not in BUILTINS or kwargs and name in ("dict", "sorted"):
            raise self.unwritable(f"a call of Python's {name}", node)
        empty = {"list": "[]", "dict": "{}"}.get(name) if not args else None
        text = f"{name}({self._listed(args, kwargs)})" if empty is None else empty
        return Piece(text, of_builtin(name, [piece.kind for piece in args]))

    def _over_modules(self, name: str, args: Pieces, lists: list[Items | None], kwargs: dict[str, Piece], node: ast.Call) -> Piece:
        count = min(len(one) for one in lists if one is not None)
        if name in ("list", "tuple"):
            return Piece("", None, lists[0])
        if name == "reversed":
            return Piece("", None, Items(reversed(lists[0] or [])))
        if name == "enumerate":
            start = (args[1] if len(args) > 1 else kwargs.get("start", Piece("0", INT, 0))).static
            if type(start) is not int or lists[0] is None:
                raise self.unwritable("enumerate with a computed start", node)
            return Piece(
                "", None, Items(Piece("", None, Items([Piece(str(place), INT, place), one])) for place, one in enumerate(lists[0], start))
            )
        turns = []
        for place in range(count):
            turn = []
            for piece, listed in zip(args, lists):
                if listed is not None:
                    turn.append(listed[place])
                elif piece.kind is not None and piece.kind.kind == "Tuple":
                    turn.append(Piece(f"{piece.text}[{place}]", piece.kind.of[place]))
                else:
                    if not re.fullmatch(r"[\w.]+", piece.text):
                        raise self.unwritable("zip over modules and a computed value: give it a name before", node)
                    turn.append(Piece(f"{piece.text}[{place}]", of_turn(piece.kind)))
            turns.append(Piece("", None, Items(turn)))
        return Piece("", None, Items(turns))

    # Classes

    def _constructed(self, kind: type, args: Pieces, kwargs: dict[str, Piece], node: ast.Call) -> Piece:
        if kind is device:
            return Piece(f"torch.device({self._listed(args, kwargs)})", DEVICE)
        if kind is Size:
            return Piece(f"list({args[0].text})", INTS)
        if getattr(kind, "__name__", "") in ("no_grad", "enable_grad") and of_library(kind):
            return Piece(f"{self.program.library_class(kind.__name__)}()", None)
        if issubclass(kind, (Module, Tensor)) or not issubclass(kind, (object,)):
            raise self.unwritable(f"a new {kind.__name__}", node)
        own = self.program.named(kind)
        if own is None:
            raise self.unwritable(f"a new {kind.__name__}, which is no class of TorchScript,", node)
        if issubclass(kind, enum.Enum):
            return Piece(f"{own!r}({self._listed(args, kwargs)})", own)
        if issubclass(kind, tuple):
            fields = self.program.fields(own)
            defaults: dict[str, Any] = getattr(kind, "_field_defaults", {})
            given = {**dict(zip(fields, args)), **kwargs}
            listed = []
            for name, wanted in fields.items():
                piece = given.pop(name, None) or (self.static(defaults[name], node) if name in defaults else None)
                if piece is None or not fits(piece.kind, wanted):
                    raise self.unwritable(f"a {kind.__name__} without '{name}' of {wanted!r}", node)
                listed.append(piece)
            if given:
                raise self.unwritable(f"a {kind.__name__} with '{next(iter(given))}'", node)
            return Piece(f"{own!r}({', '.join(piece.text for piece in listed)})", own)
        return Piece(f"{own!r}({self._listed(args, kwargs)})", own)


def _device_of(piece: Piece) -> Piece:
    """Return the name of a device as a device."""
    return Piece(f"torch.device({piece.text})", DEVICE) if is_kind(piece.kind, "str") else piece


def _without_none(kind: Type) -> Type:
    return kind.of[0] if kind.kind == "Optional" else kind


def _table(table: dict[str, Any], name: str, text: str) -> Items:
    keys = [Piece(quoted(key), STR, key) for key in table]
    values = [
        Piece(attribute(text, key), TENSOR if isinstance(item, Tensor) else None, NOTHING if isinstance(item, Tensor) else plain_of(item))
        for key, item in table.items()
    ]
    if name == "keys":
        return Items(keys)
    return Items(values) if name == "values" else Items(Piece("", None, Items(pair)) for pair in zip(keys, values))


Called = Callable[..., Piece]
