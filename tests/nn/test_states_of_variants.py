"""States of a layer's variants loaded into each other, registration hooks, conversions in inference mode, files of early torch."""
from __future__ import annotations

import inspect
import warnings

import pytest
import torch as real_torch
from torch.testing._internal.common_modules import module_db

import mstorch
from tests.databases import layer_of, ours, theirs

LAYERS = {info.name: info for info in module_db}
_CHOICES = {"bias": (True, False), "affine": (True, False), "elementwise_affine": (True, False), "track_running_stats": (True, False),
            "add_bias_kv": (True, False), "num_parameters": (1, 3), "proj_size": (0, 1), "max_norm": (None, 1.0), "persistent": (True, False)}  # fmt: skip
_BASE = set(real_torch.nn.Module().__dict__)


def variants(info):
    """Return the arguments of the database's samples of a layer, each also with the switches that decide on parameters and buffers."""
    names = inspect.signature(info.module_cls).parameters
    every = {name: names.get(name) for name in _CHOICES}
    calls = []
    for training in (True, False):
        samples = info.module_inputs_func(info, device="cpu", dtype=real_torch.float32, requires_grad=False, training=training)
        calls += [(one.constructor_input.args, one.constructor_input.kwargs) for one in samples]
    for name, place in every.items():
        if place is not None and len(calls[0][0]) <= list(names).index(name):
            calls += [(calls[0][0], {**calls[0][1], name: value}) for value in _CHOICES[name]]
    distinct = {repr([(str(v), getattr(v, "shape", None)) for v in (*args, *sorted(kwargs.items()))]): (args, kwargs) for args, kwargs in calls}
    return list(distinct.values())[:14]


def outcome(module, state, strict):
    """Return what ``load_state_dict`` tells about the keys."""
    try:
        keys = module.load_state_dict(state, strict=strict)
    except RuntimeError as error:
        return str(error)
    return str(keys), list(keys.missing_keys), list(keys.unexpected_keys)


@pytest.fixture(autouse=True)
def _quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@pytest.mark.parametrize("name", LAYERS)
def test_states_of_variants(name):
    info = LAYERS[name]
    own = layer_of(info.module_cls)
    pairs = []
    for args, kwargs in variants(info):
        try:
            one = info.module_cls(*theirs(args, []), **theirs(kwargs, []))
        except (TypeError, ValueError, RuntimeError):  # a combination that the layer refuses
            continue
        pairs.append((one, own(*ours(args, []), **ours(kwargs, []))))
    assert pairs
    states = [(one.state_dict(), other.state_dict()) for one, other in pairs]
    for (want, got) in pairs:
        for number, (state, own_state) in enumerate(states):
            for strict in (True, False):
                first, second = outcome(want, state, strict), outcome(got, own_state, strict)
                assert first == second, f"state {number} into {got}, strict={strict}: {first!r} expected, {second!r} given"


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("prefix", ["", "inner."])
@pytest.mark.parametrize("key", ["p", "b", "n", "m", "p.x", "m.x", "none", "s", "s.x"])
def test_keys_of_empty_places(both, key, prefix, strict):
    def body(torch):
        inner = torch.nn.Module()
        inner.register_parameter("p", None)
        inner.register_buffer("b", None)
        inner.register_buffer("n", None, persistent=False)
        inner.register_module("m", None)
        inner.none = None
        inner.s = torch.nn.Module()
        module = inner
        if prefix:
            module = torch.nn.Module()
            module.inner = inner
        return str(module.load_state_dict({prefix + key: torch.ones(2)}, strict=strict))

    both(body)


def test_hooks_of_registrations(both):
    """Hooks see empty places of buffers and modules, never of parameters; what they return takes the place of the value."""

    def body(torch):
        log = []
        names = "parameter", "buffer", "module"
        base = torch.nn.modules.module
        hooks = [
            getattr(base, f"register_module_{kind}_registration_hook")(
                lambda module, name, value, kind=kind: log.append((kind, type(module).__name__, name, value is None)))
            for kind in names
        ]  # fmt: skip
        nn = torch.nn
        try:
            for layer in (lambda: nn.Linear(2, 2, bias=False), lambda: nn.Conv2d(1, 1, 1, bias=False), lambda: nn.LayerNorm(2, elementwise_affine=False),
                          lambda: nn.BatchNorm1d(2, affine=False, track_running_stats=False), lambda: nn.GRU(1, 1, bias=False),
                          lambda: nn.MultiheadAttention(4, 2, bias=False), lambda: nn.MultiheadAttention(4, 2, kdim=3, add_bias_kv=True),
                          lambda: nn.Bilinear(1, 1, 1, bias=False), lambda: nn.GroupNorm(1, 2, affine=False), lambda: nn.RMSNorm(2, elementwise_affine=False),
                          lambda: nn.TransformerDecoderLayer(4, 2, 4, bias=False), lambda: nn.GRUCell(1, 1, bias=False), lambda: nn.LSTM(1, 2, proj_size=1),
                          lambda: nn.InstanceNorm1d(2), lambda: nn.Transformer(4, 2, 1, 1, 4, bias=False), lambda: nn.LazyLinear(2, bias=False)):  # fmt: skip
                layer()
            log.append("set")
            module = nn.Module()
            module.register_parameter("p", None)
            module.register_buffer("b", None)
            module.add_module("m", None)
            module.register_module("m", None)
            for value in (nn.Parameter(torch.ones(1)), None):
                module.p = value
            for value in (torch.ones(1), None):
                module.b = value
            for value in (nn.ReLU(), None):
                module.m = value
            module.other = None
        finally:
            for hook in hooks:
                hook.remove()
        return log

    both(body)


@pytest.mark.parametrize("kind", ["parameter", "buffer", "module"])
def test_hooks_of_registrations_replace_values(both, kind):
    def body(torch):
        nn = torch.nn
        value, other = {
            "parameter": (nn.Parameter(torch.ones(1)), nn.Parameter(torch.zeros(2))), "buffer": (torch.ones(1), torch.zeros(2)),
            "module": (nn.ReLU(), nn.Tanh()),
        }[kind]  # fmt: skip
        hook = getattr(nn.modules.module, f"register_module_{kind}_registration_hook")(lambda module, name, value: other)
        module = nn.Module()
        try:
            getattr(module, f"register_{kind}")("x", None)
            first = str(module.x)
            module.x = value
            second = str(module.x)
            module.x = None
        finally:
            hook.remove()
        return first, second, str(module.x)

    both(body)


@pytest.mark.parametrize("method", ["double", "half", "bfloat16", "float", "cpu"])
@pytest.mark.parametrize("made", [True, False])
@pytest.mark.parametrize("converted", [True, False])
def test_conversions_in_inference_mode(both, method, made, converted):
    """``data`` brings along whether it was made in inference mode."""

    def body(torch):
        with torch.inference_mode(made):
            module = torch.nn.BatchNorm1d(2)
            module.weight.grad = torch.ones(2)
        weight = module.weight
        with torch.inference_mode(converted):
            getattr(module, method)()
        tensors = [module.weight, module.weight.grad, module.running_mean]
        return weight is module.weight, [(t.is_inference(), t.requires_grad, t.is_leaf) for t in tensors]

    both(body)


@pytest.mark.parametrize("made", [True, False])
@pytest.mark.parametrize("given", [True, False])
@pytest.mark.parametrize("use", ["version", "write", "write under no_grad", "read", "train"])
def test_data_of_inference_mode(both, made, given, use):
    def body(torch):
        with torch.inference_mode(made):
            x = torch.ones(2)
        with torch.inference_mode(given):
            y = torch.zeros(2)
        x.data = y
        if use == "version":
            return x._version
        if use == "write":
            x.add_(1)
        if use == "write under no_grad":
            with torch.no_grad():
                x.add_(1)
        if use == "train":
            x.requires_grad_()
            (x * x).sum().backward()
            return x.grad
        return x, x.is_inference()

    both(body)


@pytest.mark.parametrize("method", ["double", "half", "float", "cpu", "to"])
@pytest.mark.parametrize("layer", ["LazyBatchNorm1d", "LazyInstanceNorm1d", "LazyLinear", "LazyConv1d"])
def test_conversions_of_lazy_layers(both, layer, method):
    def body(torch):
        args = {"LazyLinear": (3,), "LazyConv1d": (3, 2)}.get(layer, ())
        module = getattr(torch.nn, layer)(*args)
        module = module.to(torch.float64) if method == "to" else getattr(module, method)()
        before = [type(value).__name__ for value in (*module.parameters(), *module.buffers())]
        kind = next(module.parameters(), torch.ones(1)).dtype
        result = module(torch.ones(2, 3, 4, dtype=torch.float32 if kind is torch.float16 else kind))
        return before, result.dtype, {name: value.dtype for name, value in module.state_dict().items()}

    both(body)


@pytest.mark.parametrize("places", [("cpu",), ("meta",), ("meta", "cpu"), ("cpu", "meta")])
def test_to_empty(both, places):
    """A tensor takes data of the same kind of device only; else the module gets a new parameter."""

    def body(torch):
        module = torch.nn.BatchNorm1d(2)
        module.weight.grad = torch.ones(2)
        result = []
        for place in places:
            tensors = module.weight, module.weight.grad, module.running_mean
            module.to_empty(device=place)
            now = module.weight, module.weight.grad, module.running_mean
            result.append([(a is b, b.requires_grad, b.is_leaf, type(b).__name__, b.is_meta, b.shape) for a, b in zip(tensors, now)])
        return result

    both(body)


@pytest.mark.parametrize(("first", "second"), [("cpu", "meta"), ("meta", "cpu"), ("meta", "meta")])
def test_data_of_another_device(both, first, second):
    def body(torch):
        x = torch.ones(2, device=first)
        x.data = torch.ones(3, device=second)
        return x.shape

    both(body)


@pytest.mark.parametrize("name", LAYERS)
def test_pickles_that_lack_an_attribute(name):
    """Early versions of torch wrote layers without some of today's attributes; for these there are defaults, for others none."""
    info = LAYERS[name]
    args, kwargs = variants(info)[0]
    modules = [info.module_cls(*theirs(args, []), **theirs(kwargs, [])), layer_of(info.module_cls)(*ours(args, []), **ours(kwargs, []))]
    for attribute in sorted(set(modules[0].__dict__) - _BASE):
        values = []
        for module in modules:
            state = {key: value for key, value in module.__getstate__().items() if key != attribute} \
                if hasattr(module, "__getstate__") else {key: value for key, value in module.__dict__.items() if key != attribute}
            again = type(module).__new__(type(module))
            try:
                again.__setstate__(state)
                value = getattr(again, attribute, "absent")
            except Exception as error:  # noqa: BLE001 - that it cannot be read is a result
                value = "absent" if isinstance(error, AttributeError) else type(error).__name__
            values.append(value if isinstance(value, (str, bool, int, float, type(None))) else getattr(value, "__name__", "another"))
        if attribute in modules[1].__dict__:
            assert values[0] == values[1], f"{attribute}: {values[0]} expected, {values[1]} given"


@pytest.mark.parametrize("kind", ["LSTM", "GRU"])
@pytest.mark.parametrize("options", [{}, {"bias": False, "num_layers": 2}, {"bidirectional": True, "num_layers": 2}])
def test_pickles_of_early_recurrent_layers(both, kind, options):
    """They hold lists of parameters under another name."""

    def body(torch):
        layer = getattr(torch.nn, kind)(2, 3, **options)
        state = {name: value for name, value in layer.__getstate__().items()
                 if name not in ("proj_size", "_all_weights", "_flat_weights", "_flat_weights_names")} if hasattr(layer, "__getstate__") else {}
        state["all_weights"] = layer.all_weights
        again = type(layer).__new__(type(layer))
        again.__setstate__(state)
        return again._all_weights, again._flat_weights_names, again(torch.ones(1, 2, 2))[0]

    both(body)


def test_generators(both):
    def tried(call):
        try:
            return type(call()).__name__
        except (TypeError, RuntimeError) as error:
            text = str(error).replace("torch._C.", "")
            return type(error).__name__, "number of arguments" if " takes " in text or " missing " in text else text

    def body(torch):
        result = []
        generator = torch.Generator()
        for name in ("get_offset", "set_offset", "graphsafe_get_state", "graphsafe_set_state", "clone_state", "set_state"):
            for args in ((), (1,), (generator,), (torch.ones(2),), ("a",), (1.5,), (-1,), (1, 2)):
                result.append((name, len(args), tried(lambda: getattr(generator, name)(*args))))
        return result

    both(body)


@pytest.mark.parametrize("bounds", [(-2.0, 2.0), (-0.1, 0.1), (1.0, 4.0)])
@pytest.mark.parametrize("kind", range(9))
def test_truncated_normal_numbers_of_strided_tensors(both, kind, bounds):
    def body(torch):
        zeros = torch.zeros
        tensor = (
            lambda: zeros(6, 8).t()[1:5], lambda: zeros(5, 5)[::2, 1:], lambda: zeros(40, 30).t()[1:25], lambda: zeros(4, 3, 2).permute(2, 0, 1)[:, 1],
            lambda: zeros(4, 5, 6).permute(2, 0, 1)[::2], lambda: zeros(2, 4, 8, 8).to(memory_format=torch.channels_last)[:, 1:],
            lambda: zeros(30, 20).t(), lambda: zeros(3, 1, 7, 6).permute(3, 1, 2, 0)[1:, :, 2:], lambda: zeros(9, 20, 2)[..., 0].t(),
        )[kind]()  # fmt: skip
        torch.nn.init.trunc_normal_(tensor, 0.0, 1.0, *bounds)
        return tensor, torch.rand(1)

    both(body)


def test_truncated_normal_numbers_without_memory(both):
    both(lambda torch: (torch.nn.init.trunc_normal_(torch.zeros(2, 3, device="meta")).shape, torch.rand(2)))


def test_parameters_are_those_of_mstorch():
    module = mstorch.nn.Linear(2, 2).to_empty(device="meta")
    assert all(isinstance(parameter, mstorch.nn.Parameter) for parameter in module.parameters())
