"""Forward derivatives of the elementwise part of a step of an LSTM and of a GRU."""
from __future__ import annotations

from typing import Any

import numpy as np

from .. import vocabulary as v
from ..forward import Call, forward_rule


def _parts(value: Any, count: int) -> list[Any]:
    """The gates, which lie next to one another."""
    if value is None:
        return [None] * count
    shape = v.shape_of(value)
    size = shape[-1] // count
    found = []
    for number in range(count):
        key = (Ellipsis, slice(number * size, (number + 1) * size))

        def part(array: np.ndarray, key: Any = key) -> np.ndarray:
            return np.ascontiguousarray(array[key])

        def placed(array: np.ndarray, key: Any = key) -> np.ndarray:
            whole = np.zeros(shape, array.dtype)
            whole[key] = array
            return whole

        found.append(v.mapped(value, part, placed, "SplitBackward0"))
    return found


def _total(*terms: Any) -> Any:
    """The sum of products (pairs of factors), of which those with a factor that is None count nothing."""
    found = None
    for first, second in terms:
        if first is not None and second is not None:
            term = v.mul(first, second)
            found = term if found is None else v.add(found, term)
    return found


def _through_sigmoid(result: Any, tangent: Any) -> Any:
    return None if tangent is None else v.mul(tangent, v.mul(result, v.plus(v.neg(result), 1)))


def _through_tanh(result: Any, tangent: Any) -> Any:
    return None if tangent is None else v.mul(tangent, v.plus(v.neg(v.mul(result, result)), 1))


def _either(first: Any, second: Any) -> Any:
    return second if first is None else first if second is None else v.add(first, second)


@forward_rule("lstm_cell")
def lstm_cell(call: Call) -> Any:
    gates = _parts(call.x(0), 4)
    i, f, o = (v.sigmoid(gates[number]) for number in (0, 1, 3))
    g = v.tanh(gates[2])
    ti, tf, tg, to = _parts(call.t(0), 4)
    by_cell = _total(
        (_through_sigmoid(f, tf), call.x(1)), (f, call.t(1)), (_through_sigmoid(i, ti), g), (i, _through_tanh(g, tg)),
    )  # fmt: skip
    shown = v.tanh(call.y(1))
    return _total((_through_sigmoid(o, to), shown), (o, _through_tanh(shown, by_cell))), by_cell


@forward_rule("gru_cell")
def gru_cell(call: Call) -> Any:
    xs, hs = _parts(call.x(0), 3), _parts(call.x(1), 3)
    txs, ths = _parts(call.t(0), 3), _parts(call.t(1), 3)
    reset, update = v.sigmoid(v.add(xs[0], hs[0])), v.sigmoid(v.add(xs[1], hs[1]))
    new = v.tanh(v.add(xs[2], v.mul(reset, hs[2])))
    by_reset = _through_sigmoid(reset, _either(txs[0], ths[0]))
    by_update = _through_sigmoid(update, _either(txs[1], ths[1]))
    by_new = _through_tanh(new, _either(txs[2], _total((by_reset, hs[2]), (reset, ths[2]))))
    kept = v.plus(v.neg(update), 1)
    return _total((by_new, kept), (by_update, v.sub(call.x(2), new)), (update, call.t(2)))
