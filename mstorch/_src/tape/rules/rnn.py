"""Gradients and forward rules of LSTM and GRU cells."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...core.tensor_base import TensorBase
from .. import vocabulary as v
from ..apply import Applied, rule
from ..forward import Call, forward_rule
from ..operands import Operand


def _gate(number: int, width: int) -> tuple[Any, ...]:
    return ..., slice(number * width, (number + 1) * width)


def _split(value: Operand, count: int) -> list[Any]:
    """Return the gates, which are concatenated along the last dimension, as a list; for None, a list of Nones."""
    if value is None:
        return [None] * count
    width = v.shape_of(value)[-1] // count
    return [v.part_of(value, _gate(number, width), "SplitBackward0") for number in range(count)]


def _joined(values: list[Any]) -> Operand:
    """Concatenate the gates."""
    return v.cat(values, -1)


def _one_minus(y: Operand) -> Operand:
    return v.plus(v.neg(y), 1)


_sigmoid_grad = v.in_one_kernel("sigmoid_grad", lambda g, y: v.mul(g, v.mul(y, _one_minus(y))))
_tanh_grad = v.in_one_kernel("tanh_grad", lambda g, y: v.mul(g, _one_minus(v.mul(y, y))))


def _by_sigmoid(g: Operand, y: Operand) -> Operand:
    return None if g is None else _sigmoid_grad(g, y)


def _by_tanh(g: Operand, y: Operand) -> Operand:
    return None if g is None else _tanh_grad(g, y)


@rule("lstm_cell", keep=(0, 1, "result1"), label="ThnnFusedLstmCellBackward0")
def lstm_cell(node: Any, gradients: Sequence[Operand | None]) -> tuple[Operand, Operand]:
    by_hidden, by_cell = gradients
    g = by_cell if by_hidden is None else by_hidden
    gates, before, after = (node.kept(g, place) for place in range(3))
    into, keep, new, out = _split(gates, 4)
    into, keep, new, out = v.sigmoid(into), v.sigmoid(keep), v.tanh(new), v.sigmoid(out)
    bounded = v.tanh(after)
    by_out = v.times(bounded, 0)
    if by_hidden is not None:
        through = _by_tanh(v.mul(by_hidden, out), bounded)
        by_cell = through if by_cell is None else v.add(by_cell, through)
        by_out = _by_sigmoid(v.mul(by_hidden, bounded), out)
    by_gates = _joined([
        _by_sigmoid(v.mul(by_cell, new), into), _by_sigmoid(v.mul(by_cell, before), keep), _by_tanh(v.mul(by_cell, into), new), by_out,
    ])  # fmt: skip
    return by_gates, v.mul(by_cell, keep)


@rule("gru_cell", keep=(0, 1, 2), label="ThnnFusedGruCellBackward0")
def gru_cell(node: Applied, g: Operand) -> tuple[Any, ...]:
    hidden = node.kept(g, 2)
    (xr, xz, xn), (hr, hz, hn) = _split(node.kept(g, 0), 3), _split(node.kept(g, 1), 3)
    reset, update = v.sigmoid(v.add(xr, hr)), v.sigmoid(v.add(xz, hz))
    new = v.tanh(v.add(xn, v.mul(reset, hn)))
    by_new = _by_tanh(v.mul(g, _one_minus(update)), new)
    by_update = _by_sigmoid(v.mul(g, v.sub(hidden, new)), update)
    by_reset = _by_sigmoid(v.mul(by_new, hn), reset)
    return _joined([by_reset, by_update, by_new]), _joined([by_reset, by_update, v.mul(by_new, reset)]), v.mul(g, update)


def _total(*terms: Any) -> Any:
    """Return the sum of products (pairs of factors), leaving out pairs with None."""
    found = None
    for first, second in terms:
        if first is not None and second is not None:
            term = v.mul(first, second)
            found = term if found is None else v.add(found, term)
    return found


@forward_rule("lstm_cell")
def lstm_cell_forward(call: Call) -> tuple[TensorBase, TensorBase]:
    gates = _split(call.x(0), 4)
    i, f, o = (v.sigmoid(gates[number]) for number in (0, 1, 3))
    g = v.tanh(gates[2])
    ti, tf, tg, to = _split(call.t(0), 4)
    by_cell = _total(
        (_by_sigmoid(tf, f), call.x(1)), (f, call.t(1)), (_by_sigmoid(ti, i), g), (i, _by_tanh(tg, g)),
    )  # fmt: skip
    shown = v.tanh(call.y(1))
    return _total((_by_sigmoid(to, o), shown), (o, _by_tanh(by_cell, shown))), by_cell


@forward_rule("gru_cell")
def gru_cell_forward(call: Call) -> TensorBase:
    xs, hs = _split(call.x(0), 3), _split(call.x(1), 3)
    txs, ths = _split(call.t(0), 3), _split(call.t(1), 3)
    reset, update = v.sigmoid(v.add(xs[0], hs[0])), v.sigmoid(v.add(xs[1], hs[1]))
    new = v.tanh(v.add(xs[2], v.mul(reset, hs[2])))
    by_reset = _by_sigmoid(v.sum_of(txs[0], ths[0]), reset)
    by_update = _by_sigmoid(v.sum_of(txs[1], ths[1]), update)
    by_new = _by_tanh(v.sum_of(txs[2], _total((by_reset, hs[2]), (reset, ths[2]))), new)
    kept = v.plus(v.neg(update), 1)
    return _total((by_new, kept), (by_update, v.sub(call.x(2), new)), (update, call.t(2)))
