"""Types of tensors with unknown dimensions, compared with torch."""
from __future__ import annotations

import importlib


def test_types_are_compared(both):
    def body(torch):
        types = importlib.import_module(f"{torch.__name__}.fx.tensor_type")
        dyn, kind = types.Dyn, types.TensorType
        values = [1, 2, "a", dyn, kind([1, 2]), kind((1, dyn)), kind([dyn, dyn]), kind([1]), kind([kind([dyn])]), kind([kind([1])])]
        asked = (types.is_consistent, types.is_more_precise, lambda a, b: a == b)
        return [repr(one) for one in (*values, kind[1, 2], kind[3])], [ask(a, b) for ask in asked for a in values for b in values]

    both(body)
