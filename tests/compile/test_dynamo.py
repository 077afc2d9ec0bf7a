"""Names of torch._dynamo, and graph breaks, compared with torch's."""
from __future__ import annotations

import importlib

import pytest

import mstorch
from tests.against_torch import both


def _dynamo(torch):
    return importlib.import_module(f"{torch.__name__}._dynamo")


def test_settings():
    def body(torch):
        config = _dynamo(torch).config
        seen = [config.cache_size_limit, config.suppress_errors, config.capture_scalar_outputs]
        with config.patch(cache_size_limit=3):
            seen.append(config.cache_size_limit)
        with config.patch("verbose", True):
            seen.append(config.verbose)
        seen.append(config.patch({"verbose": True})(lambda: config.verbose)())
        return [*seen, config.cache_size_limit, config.verbose]

    both(body)


def test_marks():
    def body(torch):
        dynamo = _dynamo(torch)
        x = torch.ones(2, 3)
        dynamo.mark_dynamic(x, 0)
        dynamo.maybe_mark_dynamic(x, [0, 1])
        dynamo.mark_static_address(x)
        dynamo.graph_break()
        dynamo.reset()
        return [dynamo.is_compiling(), torch.compiler.is_compiling(), dynamo.disable(lambda a: a + 1)(x), dynamo.allow_in_graph(len) is len]

    both(body)
    both(lambda torch: _dynamo(torch).mark_static_address(3))


def test_optimised_modules():
    net = mstorch.nn.Linear(2, 2)
    made = mstorch._dynamo.optimize("eager")(net)
    assert type(made) is mstorch._dynamo.OptimizedModule and made._orig_mod is net
    both(lambda torch: (list(torch.compile(torch.nn.Linear(2, 2), backend="eager").state_dict()),))
    made = mstorch._dynamo.optimize()(net)
    assert isinstance(made, mstorch._dynamo.OptimizedModule) and isinstance(made, mstorch._dynamo.eval_frame.OptimizedModule)


def test_break():
    def broken(x):
        mstorch._dynamo.graph_break("here")
        return x + 1

    x = mstorch.ones(2)
    with pytest.warns(UserWarning, match="graph_break"):
        assert mstorch.equal(mstorch.compile(broken, backend="mindspore")(x), x + 1)
