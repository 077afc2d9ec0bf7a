"""Private names of torch that packages use in their functions (tensordict, torchao, deepspeed, torchdata)."""
from __future__ import annotations

import importlib
import sys
import types

import pytest

import mstorch
from tests.against_torch import both


def test_guards():
    both(lambda t: (t._guards.active_fake_mode(), t._guards.detect_fake_mode([t.ones(1)]), t._guards.TracingContext.try_get()))


def test_storage_base():
    both(lambda t: (t.StorageBase is t._C.StorageBase, isinstance(t.ones(2).untyped_storage(), t.StorageBase), isinstance(3, t.StorageBase)))


def test_object_state():
    def body(t):
        class Own(t.Tensor):
            pass

        x = t.ones(2).as_subclass(Own)
        x.mark = 3
        y = t._utils._set_obj_state(t.zeros(2).as_subclass(Own), {"mark": 5})
        z = t._utils._set_obj_state(t.zeros(2), ({"mark": 6}, None))
        with pytest.raises(RuntimeError, match="Invalid serialized state"):
            t._utils._set_obj_state(z, (1, 2, 3))
        return t._utils._get_obj_state(x), y.mark, z.mark

    both(body)


def test_disabled_functions():
    def body(t):
        double = t._disable_dynamo(lambda x: x * 2)

        @t._disable_dynamo(recursive=False)
        def more(x):
            return x + 1

        with t._dynamo.utils.disable_cache_limit():
            inside = t._dynamo.config.recompile_limit
        return double(t.ones(2)), more(t.ones(2)), inside, t._dynamo.config.recompile_limit

    both(body)


def test_settings_have_other_values_for_a_while():
    def body(t):
        config, seen = importlib.import_module(f"{t.__name__}._inductor.config"), []
        with config.patch({"max_autotune": True, "triton.cudagraphs": True}), config.patch("freezing", True), config.patch(epilogue_fusion=False):
            seen.append((config.max_autotune, config.triton.cudagraphs, config.freezing, config.epilogue_fusion))
        seen.append((config.max_autotune, config.triton.cudagraphs, config.freezing, config.epilogue_fusion))
        decorated = config.patch(freezing=True)(lambda: config.freezing)
        with pytest.raises(AttributeError, match=r"torch\._inductor\.config\.nothing does not exist"), config.patch(nothing=1):
            pass
        return seen, decorated(), config.freezing

    both(body)


@pytest.mark.parametrize("name", ["_inductor.config", "_dynamo.config", "_functorch.config", "fx.experimental._config"])
@pytest.mark.filterwarnings("ignore:.*is deprecated:FutureWarning")
def test_options_have_the_values_of_torch(name):
    """mstorch has some of torch's options, with the values that torch has before a program sets them."""
    theirs, ours = (importlib.import_module(f"{home}.{name}") for home in ("torch", "mstorch"))
    listed = {key: value for key, value in vars(ours).items() if key[0] != "_" and not callable(value) and key not in ("annotations", "compile_threads")}
    known = vars(theirs)["_config"]  # without options of older versions
    for option, value in listed.items():
        if isinstance(value, types.SimpleNamespace):
            assert {key: getattr(getattr(theirs, option), key) for key in vars(value)} == vars(value)
        elif option in known:
            assert getattr(theirs, option) == value, option
    assert len(set(listed) & set(known)) > 7
    with ours.patch(**dict.fromkeys(listed, 7)):
        assert all(getattr(ours, option) == 7 for option in listed)
    assert all(getattr(ours, option) == value for option, value in listed.items())


def test_where_a_gradient_arrives():
    def body(t):
        x = t.ones(2, requires_grad=True)
        node = t.autograd.graph._get_grad_fn_or_grad_acc
        edge = t.autograd.graph.get_gradient_edge(x)
        return node(x).name(), node(x * 2).name(), node(edge).name(), node(x) is node(x)

    both(body)


@pytest.mark.parametrize("make", [
    lambda t: t.tensor(b"abc"), lambda t: t.ByteTensor(b"abc"), lambda t: t.ByteTensor([b"abc"]), lambda t: t.zeros(1).new_tensor([b"ab"]),
    lambda t: t.tensor([b"ab", [1, 2]], dtype=t.int32), lambda t: t.tensor([b"a"]), lambda t: t.tensor([[b""]], dtype=t.uint8),
    lambda t: t.tensor([bytearray(b"ab")]), lambda t: t.Tensor([b"ab"]),
])  # fmt: skip
def test_bytes_as_numbers(make):
    both(make)


def test_checks_of_quantised_tokens():
    def body(t):
        from importlib import import_module

        check = import_module(f"{t.__name__}.ao.quantization.fx._decomposed")._per_token_quant_qparam_dim_check
        with pytest.raises(AssertionError, match="num_tokens: 6 scales"):
            check(t.ones(2, 3, 4), t.ones(5), t.ones(6))
        return check(t.ones(2, 3, 4), t.ones(6), t.ones(2, 3))

    both(body)


def test_a_graph_is_demanded_of_an_argument_with_attributes():
    def body(t):
        x = t.ones(3)
        x.mark = "mine"
        return t.compile(lambda x: x * 2, fullgraph=True, backend="eager" if t.__name__ == "torch" else "mindspore")(x)

    both(body)


def test_private_classes_do_not_take_public_names() -> None:
    """Packages find torch's classes among the subclasses of their bases, by name without underscores and case."""
    schedulers, distributions = mstorch.optim.lr_scheduler, mstorch.distributions
    bases = (mstorch.nn.Module, mstorch.optim.Optimizer, schedulers.LRScheduler, distributions.Distribution, distributions.Transform)
    for base in bases:
        taken: dict[tuple[str, str], type] = {}
        waiting = [base]
        while waiting:
            for kind in type.__subclasses__(waiting.pop()):
                waiting.append(kind)
                module = kind.__module__
                if module.startswith("mstorch._companions"):
                    continue  # other packages have such names themselves: mamba_ssm has two RMSNorms
                if getattr(sys.modules.get(module), kind.__name__, None) is kind and module.startswith("mstorch"):
                    room = kind.__module__.rpartition(".")[0]
                    assert taken.setdefault((room, kind.__name__.replace("_", "").lower()), kind) is kind
