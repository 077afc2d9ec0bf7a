"""Global module hooks, and the values that hooks may return."""
from __future__ import annotations

import warnings
from collections import OrderedDict, namedtuple

import pytest

Pair = namedtuple("Pair", ["first", "second"])


def test_global_hooks_stand_under_names_that_can_be_set_anew(both):
    def body(torch):
        places = torch.nn.modules.module
        seen = []
        torch.nn.modules.module.register_module_forward_pre_hook(lambda *given: seen.append("before"))
        torch.nn.modules.module.register_module_forward_hook(lambda *given: seen.append("after"))
        torch.nn.ReLU()(torch.ones(2))
        places._global_forward_pre_hooks = OrderedDict()
        places._global_forward_hooks = OrderedDict()
        torch.nn.ReLU()(torch.ones(2))
        return seen

    both(body)


def test_a_named_tuple_stays_one(both):
    class Two:
        def forward(self, x):
            return Pair(x * 2, x)

    def body(torch):
        module = type("Module", (Two, torch.nn.Module), {})()
        seen = []
        module.register_full_backward_hook(lambda m, given, made: seen.append((len(given), made)))
        result = module(torch.ones(2, requires_grad=True))
        result.first.backward(torch.ones(2))
        return seen, type(result).__name__

    both(body)


@pytest.mark.parametrize("given", [(None, None, None), (1,), None])
def test_what_a_hook_without_inputs_may_return(both, given):
    def body(torch):
        module = torch.nn.Linear(2, 2)
        module.register_full_backward_hook(lambda m, before, after: given)
        with warnings.catch_warnings(record=True) as texts:
            warnings.simplefilter("always")
            module(torch.ones(1, 2)).sum().backward()
        return [str(w.message) for w in texts if "Full backward hook" in str(w.message)]

    both(body)


@pytest.mark.parametrize("register", ["register_full_backward_hook", "register_full_backward_pre_hook"])
def test_gradients_of_another_number(both, register):
    def body(torch):
        module = torch.nn.Linear(2, 2)
        getattr(module, register)(lambda m, *gradients: gradients[0] * 2)
        module(torch.ones(1, 2, requires_grad=True)).sum().backward()

    both(body)


def test_always_called_after_an_error(both):
    def body(torch):
        seen = []

        def failing(module, args, result):
            seen.append("failing")
            raise ValueError("of the hook")

        module = torch.nn.Linear(2, 2)
        module.register_forward_hook(failing, always_call=True)
        module.register_forward_hook(lambda *given: seen.append("second"), always_call=True)
        with warnings.catch_warnings(record=True) as texts:
            warnings.simplefilter("always")
            with pytest.raises(RuntimeError):
                module(torch.ones(3, 7))
        return seen, [str(w.message) for w in texts]

    both(body)
