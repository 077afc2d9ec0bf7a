"""Functions written in Python in torch that classes and modes may override: collectives, functions of numbers, and filling functions."""
import importlib

import pytest

import mstorch

DISTRIBUTED = {  # a call with a tensor
    "broadcast": lambda f, a: f(a, 0), "all_reduce": lambda f, a: f(a), "reduce": lambda f, a: f(a, 0), "all_gather": lambda f, a: f([a], a),
    "all_gather_single": lambda f, a: f(a, a), "all_gather_into_tensor": lambda f, a: f(a, a), "all_reduce_coalesced": lambda f, a: f([a]),
    "all_gather_coalesced": lambda f, a: f([[a]], [a]), "all_to_all": lambda f, a: f([a], [a]), "all_to_all_single": lambda f, a: f(a, a),
    "gather": lambda f, a: f(a, [a]), "scatter": lambda f, a: f(a, [a]), "reduce_scatter": lambda f, a: f(a, [a]),
    "reduce_scatter_single": lambda f, a: f(a, a), "reduce_scatter_tensor": lambda f, a: f(a, a), "send": lambda f, a: f(a, 0, tag=3),
    "recv": lambda f, a: f(a, 0), "isend": lambda f, a: f(a, 0), "irecv": lambda f, a: f(a, 0),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", DISTRIBUTED)
def test_collectives_are_taken_over(both, name):
    """A class, or a mode, receives the name, tensors by position and other arguments by keyword."""

    def body(torch):
        seen = []

        class Duck:
            @classmethod
            def __torch_function__(cls, func, types, args=(), kwargs=None):
                return func.__name__, len(args), sorted(kwargs), [kwargs[key] for key in ("src", "dst", "tag", "async_op") if key in kwargs]

        class Mode(torch.overrides.TorchFunctionMode):
            def __torch_function__(self, func, types, args=(), kwargs=None):
                seen.append((func.__name__, len(args), sorted(kwargs)))

        function = getattr(importlib.import_module(f"{torch.__name__}.distributed.distributed_c10d"), name)
        found, tensor = DISTRIBUTED[name](function, Duck()), torch.ones(2)
        with Mode():
            DISTRIBUTED[name](function, tensor)
        return found, seen

    both(body)


@pytest.mark.parametrize("name", ["_sym_sqrt", "_sym_cos", "_sym_atan", "_sym_log2"])
def test_functions_of_numbers_are_taken_over(both, name):
    def body(torch):
        class Duck:
            @classmethod
            def __torch_function__(cls, func, types, args=(), kwargs=None):
                return func.__name__, len(args)

        class Silent:
            @classmethod
            def __torch_function__(cls, func, types, args=(), kwargs=None):
                return NotImplemented

        function = getattr(torch, name)
        found = function(Duck())
        with pytest.raises(TypeError, match="no implementation found for 'torch"):
            function(Silent())
        return found, function(0.5)

    both(body)


def test_testing_overrides_hold_collectives_and_what_fills_tensors():
    stubs = {function.__name__ for function in mstorch.overrides.get_testing_overrides()}
    assert {"uniform_", "kaiming_uniform_", "_sym_sqrt", "broadcast", "reduce_scatter_single", "irecv"} <= stubs and "_sym_log2" not in stubs
