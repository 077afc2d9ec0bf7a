"""Infer the types of a function's arguments and of the attributes of ``self``."""
from __future__ import annotations

import ast
from collections.abc import Callable, Iterable

from . import kinds
from .kinds import TENSOR, Kind, Name, Object, Tensor, This

Function = ast.FunctionDef | ast.AsyncFunctionDef
OF_CONTAINERS = frozenset(name for kind in (str, list, dict, tuple, set, int, bytes) for name in dir(kind)) - {"index_copy", "conjugate"}
# Methods that tensors and containers share imply nothing; those that only containers have imply that the argument is not a tensor.
_OF_TENSORS = frozenset((
    "size shape dim view reshape unsqueeze squeeze permute transpose contiguous flatten expand repeat detach requires_grad device dtype "
    "ndim mean sum std var float half long matmul mm bmm chunk split softmax sigmoid relu tanh exp sqrt pow norm numel new_zeros new_ones "
    "masked_fill to type_as cuda cpu clone backward abs max min clamp"
).split())  # fmt: skip
_NAMES = frozenset((
    "x y z h q k v x1 x2 input inputs image images img features feats query key value hidden hidden_states tensor src tgt logits"
).split())  # fmt: skip
# Names in ``OF_CONTAINERS`` that tensors have, too
_STILL_UNKNOWN = frozenset(("copy", "index", "count", "sort", "add", "clear", "real", "imag", "conjugate", "format"))


def all_arguments(arguments: ast.arguments) -> list[ast.arg]:
    """Return all arguments of a function, including ``*args`` and ``**kwargs``."""
    rest = [item for item in (arguments.vararg, arguments.kwarg) if item is not None]
    return [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, *rest]


def argument_kinds(node: Function, this: This | None, named: dict[str, Kind]) -> dict[str, Kind]:
    """Infer the types of a function's arguments from their annotations; unannotated arguments of ``forward`` are tensors if they are used
    like tensors.
    """
    arguments = node.args
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    found: dict[str, Kind] = {item.arg: kinds.of_annotation(item.annotation, named) for item in every}
    for rest in (arguments.vararg, arguments.kwarg):
        if rest is not None:
            found[rest.arg] = None
    static = any(isinstance(decorator, ast.Name) and decorator.id == "staticmethod" for decorator in node.decorator_list)
    if this is not None and every and not static:
        found[every[0].arg] = this
    if this is not None and node.name == "forward":
        without = len(every) - len(arguments.defaults) - len(arguments.kwonlyargs)
        for number, item in enumerate(every[1:], 1):
            if item.annotation is None and number < without and _looks_like_tensor(item.arg, node):
                found[item.arg] = TENSOR
    return found


def _looks_like_tensor(name: str, function: Function) -> bool:
    evidence = name in _NAMES
    for node in ast.walk(function):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == name:
            if node.attr in OF_CONTAINERS and node.attr not in _STILL_UNKNOWN:
                return False
            evidence = evidence or node.attr in _OF_TENSORS
        elif isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id == name:
            if isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str):
                return False
        elif isinstance(node, ast.Call) and any(isinstance(item, ast.Name) and item.id == name for item in node.args[:1]):
            if isinstance(node.func, ast.Name) and node.func.id in ("isinstance", "hasattr", "getattr", "callable", "type"):
                return False
        elif isinstance(node, (ast.For, ast.comprehension)) and isinstance(node.iter, ast.Name) and node.iter.id == name:
            return False
        elif isinstance(node, ast.Starred) and isinstance(node.value, ast.Name) and node.value.id == name:
            return False
    return evidence


def own_attributes(
    node: ast.ClassDef, methods: Iterable[Function], evaluate: Callable[[ast.expr, dict[str, Kind]], Kind]
) -> tuple[tuple[str, Tensor | Name | Object | None], ...]:
    """Return the attributes that a class's methods set on ``self``, if all assignments agree."""
    found: dict[str, Tensor | Name | Object | None] = {}
    for method in methods:
        if not method.args.args:
            continue
        first = method.args.args[0].arg
        local: dict[str, Kind] = dict.fromkeys((item.arg for item in [*method.args.args, *method.args.kwonlyargs]), None)
        for item in (statement for statement in ast.walk(method) if isinstance(statement, (ast.Assign, ast.AnnAssign, ast.Expr))):
            for name, value in _set(item, first):
                kind = TENSOR if value is None else evaluate(value, local)
                plain = kind if isinstance(kind, (Tensor, Name, Object)) else None
                if isinstance(plain, Name):
                    plain = None
                found[name] = plain if found.get(name, plain) == plain else None
    return tuple((name, kind) for name, kind in found.items() if kind is not None)


def _set(node: ast.stmt, first: str) -> Iterable[tuple[str, ast.expr | None]]:
    """Yield the attributes of ``self`` that a statement sets, each with its value's expression; None stands for a registered buffer, which
    is a tensor."""
    if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None:
        for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
            if isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name) and target.value.id == first:
                yield target.attr, node.value
            elif isinstance(target, ast.Tuple):
                for item in target.elts:
                    if isinstance(item, ast.Attribute) and isinstance(item.value, ast.Name) and item.value.id == first:
                        yield item.attr, ast.Constant(None)
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and ast.unparse(node.value.func) == f"{first}.register_buffer":
        given = node.value.args
        if len(given) > 1 and isinstance(given[0], ast.Constant) and not (isinstance(given[1], ast.Constant) and given[1].value is None):
            yield str(given[0].value), None
