"""Files of torch.nn.parallel: functions that programs import from the files in which torch defines them."""
from __future__ import annotations

import importlib

import mstorch


def _part(torch, name):
    return importlib.import_module(f"{torch.__name__}.nn.parallel.{name}")


def test_the_first_tensor_of_inputs(both):
    def body(torch):
        part, x = _part(torch, "parallel_apply"), torch.arange(6.0)
        return part.get_a_var([(), {"a": (x,)}]), part.get_a_var({"a": 1}), part.get_a_var(3), part.get_a_var(x)

    both(body)


def test_networks_and_inputs_of_the_one_device():
    """torch supports this with an accelerator only."""
    net, x = mstorch.nn.Flatten(0), mstorch.arange(6.0).reshape(2, 3)
    copies, apply = _part(mstorch, "replicate"), _part(mstorch, "parallel_apply")
    assert copies.replicate(net, [0]) == [net] and mstorch.nn.parallel.replicate is copies.replicate
    assert [one.tolist() for one in apply.parallel_apply([net, net], [x, (x + 1,)])] == [[0, 1, 2, 3, 4, 5], [1, 2, 3, 4, 5, 6]]
    assert mstorch.nn.parallel.parallel_apply is apply.parallel_apply
