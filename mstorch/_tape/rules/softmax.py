"""Gradients of softmax."""
from __future__ import annotations

from typing import Any

from .. import vocabulary as v
from ..apply import rule


def _axes(node: Any) -> tuple[int, ...]:
    return (node.args[0],) if node.shapes[0] else ()


@rule("softmax", keep=("result",))
def softmax(node: Any, g: Any) -> Any:
    y = node.kept(g)
    return v.mul(y, v.sub(g, v.total(v.mul(g, y), _axes(node))))


@rule("log_softmax", keep=("result",))
def log_softmax(node: Any, g: Any) -> Any:
    return v.sub(g, v.mul(v.exp(node.kept(g)), v.total(g, _axes(node))))
