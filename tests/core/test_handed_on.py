"""Calls that ``__torch_function__`` receives from functions that torch writes in Python: name, positional arguments and keywords are
torch's."""
import functools
import inspect
import types
import warnings

import pytest
import torch as real_torch

import mstorch
from tests.against_torch import both

FACES = ("", "nn.functional", "nn.init", "Tensor")
# Arguments that torch's own functions drop; symbolic sizes, private names and names of deprecated functions that call others.
APART = {
    "l1_loss", "chain_matmul", "dim_order", "sym_fresh_size", "sym_sqrt", "sym_sum", "set_default_device", "threshold", "grouped_mm",
    "constant", "kaiming_uniform", "normal", "uniform", "index", "scaled_mm", "scaled_grouped_mm",
}  # fmt: skip


class Recorded:
    """A stand-in for an argument that records the calls that it receives."""

    def __init__(self, name, calls):
        self.name, self.calls = name, calls

    def __repr__(self):
        return f"<{self.name}>"

    def __iter__(self):
        return iter((self, self))

    @classmethod
    def __torch_function__(cls, func, kinds, args=(), kwargs=None):
        found = next(value for value in (*args, *(kwargs or {}).values()) if isinstance(value, cls))
        found.calls.append((func.__name__, repr(args), {key: repr(value) for key, value in (kwargs or {}).items()}))
        return cls("result", [])


def _at(library, face):
    return functools.reduce(getattr, face.split(".") if face else (), library)


def _parameters(function):
    cells = inspect.getclosurevars(function).nonlocals
    return list(inspect.signature(cells.get("if_false", function)).parameters.values())


def _calls(function, parameters, form, method):
    """Return the first calls that arrive when a function is called with all arguments, with the required ones, or by keyword."""
    calls, args, named = [], [], {}
    for place, parameter in enumerate(parameters):
        value = Recorded(parameter.name, calls)
        if parameter.kind is parameter.VAR_POSITIONAL:
            args += [value, Recorded(f"{parameter.name} 2", calls)]
        elif parameter.kind is parameter.VAR_KEYWORD or form == "needed" and parameter.default is not parameter.empty:
            continue
        elif parameter.kind is parameter.KEYWORD_ONLY or form == "named" and not (method and place == 0):
            named[parameter.name] = value
        else:
            args.append(value)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            function(*args, **named)
        except Exception as error:  # noqa: BLE001 - what is refused is no matter here
            return calls[:1] or type(error).__name__
    return calls[:1]


@pytest.mark.parametrize("face", FACES)
def test_functions_hand_on_what_torchs_do(face):
    theirs, ours, seen, wrong = _at(real_torch, face), _at(mstorch, face), 0, []
    known = {*real_torch.functional.__all__, *(f.__name__ for f in real_torch.overrides.get_testing_overrides())} if not face else None
    for name, function in sorted(vars(theirs).items()):
        if type(function) is not types.FunctionType or name.startswith("_") or name in APART or known and name not in known or not hasattr(ours, name):
            continue
        for form in ("needed", "all", "named"):
            want, got = (_calls(f, _parameters(function), form, face == "Tensor") for f in (function, getattr(ours, name)))
            if isinstance(want, list):
                seen += 1
                if want != got:
                    wrong.append((name, form, want, got))
    assert not wrong
    assert seen >= {"": 60, "nn.functional": 230, "nn.init": 9, "Tensor": 50}[face]


def test_graphs_have_the_arguments_that_torchs_have():
    def body(t):
        def computed(x):
            f = t.nn.functional
            x = f.layer_norm(f.dropout(x, 0.5, training=False), (3,), eps=1e-4)
            x = t.einsum("ij,jk", [x, x]) + t.norm(x) + f.interpolate(x, scale_factor=2).sum() + t.relu(x)
            return t.split(x, 1)[0] + f.max_pool2d(x[None], 2, return_indices=True)[1] + t.clamp(x, 0, max=2) + f.sigmoid(x)

        made = t.fx.symbolic_trace(computed)
        return [
            (node.op, node.target if isinstance(node.target, str) else node.target.__name__, repr(node.args), repr(node.kwargs))
            for node in made.graph.nodes
        ]  # fmt: skip

    assert body(mstorch) == body(real_torch)


def test_a_handed_call_can_be_made_again():
    """A mode that repeats the received call gets torch's result."""

    def body(t):
        class Twice(t.overrides.TorchFunctionMode):
            def __torch_function__(self, func, kinds, args=(), kwargs=None):
                result = func(*args, **(kwargs or {}))
                return result * 2 if isinstance(result, t.Tensor) and result.is_floating_point() else result

        x = t.arange(12.0).reshape(1, 3, 4) - 5
        with Twice():
            f = t.nn.functional
            return [
                f.cross_entropy(x[0], t.tensor([0, 1, 2])), f.max_pool1d(x, 2, return_indices=True)[1], f.tanh(x),
                t.unique(x, return_counts=True)[1], x.split(2, -1)[0], t.nn.init.constant_(t.zeros(2), 3.0), t.tensordot(x, x, 3),
            ]  # fmt: skip

    both(body)
