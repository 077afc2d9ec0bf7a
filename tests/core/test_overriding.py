"""``__torch_function__``: subclasses, duck types and modes override functions as in torch."""
from __future__ import annotations

import copy
import inspect
import operator
import pickle
import threading
import warnings

import pytest
import torch as real_torch

import mstorch
from tests import warm


def logging_class(torch):
    class Logging(torch.Tensor):
        log: list = []

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            owner = getattr(func, "__self__", None)
            name = f"{owner.__name__}.{func.__name__}" if func.__name__ in ("__get__", "__set__") else func.__name__
            name = name.removeprefix("linalg_").removeprefix("fft_").removeprefix("special_")  # names in torch._C
            # torch names plain tensors among the types if the function is written in Python.
            cls.log.append((name, [kind.__name__ for kind in types if kind is not torch.Tensor]))
            return super().__torch_function__(func, types, args, kwargs)

    return Logging


def logged(torch, body):
    """Return the calls that ``body(x, plain, torch)`` makes on the subclass, and the class of its result or of its error."""
    cls = logging_class(torch)
    x = torch.arange(1.0, 5).reshape(2, 2).as_subclass(cls)
    try:
        result = body(x, torch.ones(2, 2), torch)
    except (TypeError, RuntimeError) as error:
        return cls.log, type(error).__name__
    kinds = [type(item).__name__ for item in result] if isinstance(result, (tuple, list)) else type(result).__name__
    return cls.log, kinds


SYMBOLS = "add sub mul truediv floordiv mod pow eq ne lt le gt ge matmul iadd isub imul itruediv"
BINARY = {f"{name} {side}": (name, side) for name in SYMBOLS.split() for side in ("both", "number", "reflected", "plain")}


@pytest.mark.parametrize("name, side", BINARY.values(), ids=BINARY)
def test_operators_are_known_as_torchs_methods(both, name, side):
    function = getattr(operator, name)
    bodies = {
        "both": lambda x, plain, torch: function(x, x), "number": lambda x, plain, torch: function(x, 2),
        "reflected": lambda x, plain, torch: function(2, x), "plain": lambda x, plain, torch: function(plain, x),
    }  # fmt: skip
    if name == "matmul" and side in ("number", "reflected"):
        pytest.skip("no product of a matrix and a number")
    both(lambda torch: logged(torch, bodies[side]))


BODIES = {
    "method": lambda x, plain, torch: x.sum(dim=0),
    "method of a plain tensor": lambda x, plain, torch: plain.add(x),
    "keyword": lambda x, plain, torch: torch.add(plain, other=x),
    "function": lambda x, plain, torch: torch.exp(x),
    "in a list": lambda x, plain, torch: torch.cat([plain, x]),
    "two results": lambda x, plain, torch: x.unbind(),
    "a named tuple": lambda x, plain, torch: x.max(0),
    "functional": lambda x, plain, torch: torch.nn.functional.relu(x),
    "dropout": lambda x, plain, torch: torch.nn.functional.dropout(x, 0.5),
    "linear": lambda x, plain, torch: torch.nn.functional.linear(plain, x),
    "linalg": lambda x, plain, torch: torch.linalg.det(x),
    "fft": lambda x, plain, torch: torch.fft.fft(x),
    "special": lambda x, plain, torch: torch.special.expit(x),
    "init": lambda x, plain, torch: torch.nn.init.normal_(x),
    "shape": lambda x, plain, torch: x.shape,
    "set grad": lambda x, plain, torch: setattr(x, "requires_grad", True),
    "grad": lambda x, plain, torch: x.grad,
    "T": lambda x, plain, torch: x.T,
    "getitem": lambda x, plain, torch: x[0],
    "index": lambda x, plain, torch: plain[x > 2],
    "setitem": lambda x, plain, torch: operator.setitem(plain, 0, x[0]),
    "len": lambda x, plain, torch: len(x),
    "repr": lambda x, plain, torch: repr(x),
    "item": lambda x, plain, torch: x.sum().item(),
    "numpy": lambda x, plain, torch: x.numpy(),
    "new": lambda x, plain, torch: x.new_zeros(3),
    "like": lambda x, plain, torch: torch.zeros_like(x),
    "tensor": lambda x, plain, torch: torch.tensor(x.tolist()),
    "as_tensor": lambda x, plain, torch: torch.as_tensor(x),
    "is_tensor": lambda x, plain, torch: torch.is_tensor(x),
    "in place": lambda x, plain, torch: plain.add_(x),
    "Parameter": lambda x, plain, torch: torch.nn.Parameter(x),
    "backward": lambda x, plain, torch: x.requires_grad_().sum().backward(),
    "einsum": lambda x, plain, torch: torch.einsum("ij->i", x),
    "split": lambda x, plain, torch: torch.split(x, 1),
    "beside a Parameter": lambda x, plain, torch: torch.nn.Parameter(plain) * x,
    "disabled": lambda x, plain, torch: _disabled(x, torch),
}


def _disabled(x, torch):
    with torch._C.DisableTorchFunctionSubclass():
        return x + 1, torch.exp(x)


@pytest.mark.parametrize("name", BODIES)
def test_a_subclass_sees_torchs_calls(both, name):
    both(lambda torch: logged(torch, BODIES[name]))


def test_values_and_gradients_of_a_subclass(both):
    def body(torch):
        class Sub(torch.Tensor):
            pass

        x = torch.arange(4.0).as_subclass(Sub).requires_grad_()
        y = (x * x).sum()
        y.backward()
        return x.grad, type(x.grad).__name__, type(y).__name__, y.grad_fn.name(), type(x.detach()).__name__, str(y)

    both(body)


def units(torch):
    class Quantity:
        """A duck type: a tensor with a unit."""

        def __init__(self, value, unit):
            self.value, self.unit = value, unit

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            if func is torch.mul or func is torch.Tensor.mul:
                parts = [(a.value, a.unit) if isinstance(a, cls) else (a, "") for a in args]
                return cls(torch.mul(parts[0][0], parts[1][0]), parts[0][1] + parts[1][1])
            if func in (torch.add, torch.stack):
                values = args[0] if func is torch.stack else args
                if len({a.unit for a in values}) > 1:
                    raise ValueError("units differ")
                plain = [a.value for a in values]
                return cls(func(plain) if func is torch.stack else func(*plain), values[0].unit)
            return NotImplemented

    return Quantity


def test_a_duck_type(both):
    def body(torch):
        quantity = units(torch)
        length, time = quantity(torch.tensor([2.0, 3.0]), "m"), quantity(torch.tensor(4.0), "s")
        area = torch.mul(length, length)
        both_kinds = torch.tensor(3.0) * length
        stacked = torch.stack([length, length])
        with pytest.raises(ValueError, match="units differ"):
            torch.add(length, time)
        return area.value, area.unit, both_kinds.value, both_kinds.unit, stacked.value, torch.add(length, length).value

    both(body)


@pytest.mark.parametrize("call", ["add", "method", "functional", "operator"])
def test_refusals(both, call):
    def body(torch):
        quantity = units(torch)(torch.ones(2), "m")
        calls = {
            "add": lambda: torch.sub(torch.ones(2), quantity), "method": lambda: torch.ones(2).sub(quantity),
            "functional": lambda: torch.nn.functional.relu(quantity), "operator": lambda: torch.ones(2) - quantity,
        }  # fmt: skip
        return calls[call]()

    both(body)


def test_the_order_of_classes(both):
    def body(torch):
        asked = []

        def kind(name, *bases):
            def handler(cls, func, types, args=(), kwargs=None):
                asked.append((cls.__name__, [t.__name__ for t in types]))
                return NotImplemented

            return type(name, bases, {"__torch_function__": classmethod(handler)})

        base = kind("Base", torch.Tensor)
        derived, other = kind("Derived", base), kind("Other", torch.Tensor)
        values = [torch.ones(1).as_subclass(c) for c in (base, other, derived, base)]
        with pytest.raises(TypeError):
            torch.cat(values)
        return asked

    both(body)


def test_modes(both):
    def body(torch):
        log = []

        class Mode(torch.overrides.TorchFunctionMode):
            def __init__(self, name):
                super().__init__()
                self.name = name

            def __torch_function__(self, func, types, args=(), kwargs=None):
                log.append((self.name, func.__name__, len(torch.overrides._get_current_function_mode_stack())))
                return func(*args, **(kwargs or {}))

        with Mode("outer"):
            with Mode("inner") as inner:
                x = torch.ones(2) + 1
                torch.nn.functional.relu(x)
                x.shape  # noqa: B018
                with torch._C.DisableTorchFunctionSubclass():
                    x.add(1)
                with torch._C.DisableTorchFunction():
                    x.mul(1)
            assert torch.overrides._get_current_function_mode() is not inner
            torch.zeros(2)
        torch.zeros(2)
        return log, x

    both(body)


def test_a_mode_that_changes_results(both):
    def body(torch):
        class Doubling(torch.overrides.TorchFunctionMode):
            def __torch_function__(self, func, types, args=(), kwargs=None):
                result = func(*args, **(kwargs or {}))
                return result * 2 if func is torch.ones else result

        with Doubling():
            return torch.ones(2) + torch.zeros(2)

    both(body)


def test_a_mode_belongs_to_its_thread():
    seen = []

    class Mode(mstorch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            seen.append(func.__name__)
            return func(*args, **(kwargs or {}))

    with Mode():
        thread = threading.Thread(target=lambda: mstorch.ones(2) + 1)
        thread.start()
        thread.join()
        assert seen == []
        mstorch.ones(2)
    assert seen == ["ones"]


class Named(mstorch.Tensor):
    """A subclass at module level, so that it can be pickled."""


def test_copies_and_pickles_keep_the_class():
    x = mstorch.arange(3.0).as_subclass(Named)
    x.label = "three"
    for made in (copy.deepcopy(x), copy.copy(x), pickle.loads(pickle.dumps(x))):
        assert type(made) is Named and made.label == "three" and made.tolist() == x.tolist()


def test_parameters_and_modules_keep_a_subclass(both):
    def body(torch):
        class Sub(torch.Tensor):
            pass

        class Weighted(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.weight = torch.nn.Parameter(torch.ones(2).as_subclass(Sub))
                self.register_buffer("scale", torch.full((2,), 2.0).as_subclass(Sub))

            def forward(self, x):
                return self.weight * self.scale * x

        module = Weighted()
        result = module(torch.ones(2))
        result.sum().backward()
        own = isinstance(module.weight, torch.nn.Parameter), [type(p).__name__ for p in module.parameters()]
        module.double()
        return own, type(result).__name__, module.weight.grad, type(module.scale).__name__, list(module.state_dict()), module.weight.dtype

    both(body)


def test_make_subclass(both):
    def body(torch):
        class Sub(torch.Tensor):
            @staticmethod
            def __new__(cls, data, requires_grad=False):
                return torch.Tensor._make_subclass(cls, data, requires_grad)

        data = torch.ones(3)
        made = Sub(data, True)
        data[0] = 5
        return type(made).__name__, made.is_leaf, made.requires_grad, made.detach().as_subclass(torch.Tensor), made._version

    both(body)


@pytest.mark.parametrize("read", ["", "undefined"])
def test_wrapper_subclasses(both, read):
    def body(torch):
        class Wrapper(torch.Tensor):
            @staticmethod
            def __new__(cls, inner, **options):
                made = torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype, **options)
                made.inner = inner
                return made

            @classmethod
            def __torch_function__(cls, func, types, args=(), kwargs=None):
                if func is torch.Tensor.add:
                    return cls(func(*[a.inner if isinstance(a, cls) else a for a in args]))
                return super().__torch_function__(func, types, args, kwargs)

            @classmethod
            def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
                raise RuntimeError("Cannot access data pointer of Tensor that doesn't have storage")

        if read == "undefined":
            return torch.Tensor._make_wrapper_subclass(logging_class(torch), (2,))
        x = Wrapper(torch.arange(6.0).reshape(2, 3), strides=(1, 2), requires_grad=True)
        return x.shape, x.stride(), x.device, x.dtype, x.numel(), (x + 1).inner, type(x + 1).__name__, x.requires_grad, x.is_leaf

    both(body)


@pytest.mark.parametrize("read", ["exp", "tolist", "numpy"])
def test_elements_of_wrapper_subclasses_cannot_be_read(read):
    class Wrapper(mstorch.Tensor):
        __torch_dispatch__ = None

    made = mstorch.Tensor._make_wrapper_subclass(Wrapper, (2,), device="meta")
    assert made.device.type == "meta"
    with pytest.raises(RuntimeError, match="doesn't have storage"):
        getattr(made, read)()


def test_disabled_for_a_class(both):
    def body(torch):
        class Quiet(torch.Tensor):
            __torch_function__ = torch._C._disabled_torch_function_impl

        x = torch.ones(2).as_subclass(Quiet)
        return type(x + 1).__name__, torch.overrides.has_torch_function((x,)), torch.overrides.is_tensor_like(x)

    both(body)


def test_functions_of_ones_own(both):
    def body(torch):
        class Sub(torch.Tensor):
            pass

        @torch.overrides.wrap_torch_function(lambda x, scale=1: (x,))
        def scaled(x, scale=1):
            return x * scale

        has = torch.overrides.has_torch_function
        plain, own = torch.ones(2), torch.ones(2).as_subclass(Sub)
        return type(scaled(own, 2)).__name__, type(scaled(plain)).__name__, has((plain,)), has((plain, own)), has((1, None))

    both(body)


# The lists


SPACES = ("", "nn.functional", "linalg", "fft", "special", "Tensor")


def _at(torch, path):
    for part in filter(None, path.split(".")):
        torch = getattr(torch, part)
    return torch


def _names(torch, path):
    """Return the public names of a namespace that can be overridden."""
    place, found = _at(torch, path), torch.overrides.get_overridable_functions()
    functions = {id(function) for function in found[place]}
    names = {name for name in dir(place) if id(getattr(place, name)) in functions}
    return names | ({getattr(key, "__name__", "") for key in found if not inspect.ismodule(key) and not inspect.isclass(key)} if path == "Tensor" else set())


@pytest.mark.on_the_cpu
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("path", SPACES)
def test_overridable_functions_are_torchs(path):
    shared = {name for name in dir(_at(real_torch, path)) if hasattr(_at(mstorch, path), name)}
    want, got = _names(real_torch, path) & shared, _names(mstorch, path) & shared
    others = {"autocast", *(name for name in want if name.startswith("_sym_"))} if path == "" else set()
    assert want - got - others == set()
    assert got - want == set()


def test_testing_overrides_are_there_for_all_of_them():
    stubs = mstorch.overrides.get_testing_overrides()
    listed = [f for functions in mstorch.overrides.get_overridable_functions().values() for f in functions]
    assert all(function in stubs for function in listed)
    assert stubs[mstorch.add](1, 2) == -1 and stubs[mstorch.Tensor.shape.__get__](1) == -1
    with pytest.raises(TypeError):
        stubs[mstorch.add]()


@pytest.mark.filterwarnings("ignore")
def test_each_listed_function_comes_to_the_handler():
    """torch's own test of its list: a duck type as the first argument receives the call of each function and method."""
    sentinel = object()

    class Duck:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return sentinel

    missed = []
    for space, functions in mstorch.overrides.get_overridable_functions().items():
        if space is mstorch.Tensor or isinstance(space, property):
            continue
        missed += [function.__name__ for function in functions if function(Duck()) is not sentinel]
    assert missed == []


def test_names(both):
    def body(torch):
        names = torch.overrides.resolve_name
        is_method = torch.overrides.is_tensor_method_or_property
        functions = [
            torch.add, torch.Tensor.add, torch.nn.functional.relu, torch.linalg.det, torch.Tensor.shape.__get__, torch.Tensor.add_,
        ]  # fmt: skip
        return [names(f) for f in functions], [is_method(f) for f in functions[:6]], torch.add in torch.overrides.get_ignored_functions()

    both(body)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("path", [*SPACES, "nn.init"])
def test_functions_have_the_names_of_torchs_lists(path):
    """``resolve_name`` agrees for each function that both libraries list for tests."""
    ours, theirs = _at(mstorch, path), _at(real_torch, path)
    stubs, want, got = real_torch.overrides.get_testing_overrides(), {}, {}
    for name in dir(theirs):
        one, other = getattr(theirs, name, None), getattr(ours, name, None)
        if inspect.isroutine(one) and inspect.isroutine(other) and one in stubs:
            want[name], got[name] = real_torch.overrides.resolve_name(one), mstorch.overrides.resolve_name(other)
    # Names of one function in torch that are several here, and the reverse.
    apart = set("dsmm mm hsmm saddmm sym_int native_channel_shuffle __abs__ __idiv__ __neg__ __pos__ __rdiv__".split())
    apart |= {"psi", "modified_bessel_i0", "modified_bessel_i1", "_sym_sqrt", "segment_reduce"}
    assert {n: v for n, v in got.items() if n not in apart} == {n: v for n, v in want.items() if n not in apart}
    assert len(want) > 10 or path == "nn.init"


def test_names_of_functions_and_properties(both):
    def body(torch):
        functions = [torch.add, torch.einsum, torch.nn.functional.softsign, torch.functional.einsum]
        places = [f.__module__.replace("mstorch", "torch", 1) for f in functions]
        special = {f.__name__ for f in torch.overrides.get_testing_overrides() if f.__name__ in ("__set__", "__delete__")}
        asked = [torch.overrides.resolve_name(f) for f in functions]
        return places, special, asked, torch.Tensor.real.__qualname__, torch.einsum is torch.functional.einsum

    both(body)


def test_functions_are_pickled_under_the_name_that_imports_have():
    script = "import pickle, torch; assert torch.relu.__module__ == 'torch'; assert b'mstorch' not in pickle.dumps(torch.relu)"
    warm.said("-c", f"import mstorch\nwith mstorch.as_torch():\n    {script}\n"
                    "assert mstorch.relu.__module__ == 'mstorch'")  # fmt: skip


def test_handlers_that_are_plain_methods_are_warned_of(both):
    def body(torch):
        class Own:
            def __torch_function__(self, *args, **kwargs):
                return 1

        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            torch.nn.functional.dropout(Own())
            torch.abs(Own())
        return [(warning.category, "as a plain method is deprecated" in str(warning.message)) for warning in seen]

    both(body)


def test_overriding_on_where_it_is_off(both):
    def body(torch):
        class Own(torch.Tensor):
            pass

        with torch._C.DisableTorchFunction():
            with torch.overrides._enable_torch_function():
                inside = type(torch.sum(Own())).__name__
            return inside, type(torch.sum(Own())).__name__

    both(body)


def test_subclasses_with_slots(both):
    def body(torch):
        class Own(torch.Tensor):
            __slots__ = ["extra"]

        made = torch.Tensor._make_subclass(Own, torch.ones(2), True)
        made.extra = 3
        x = torch.arange(3.0, requires_grad=True)
        view = (x * 2).as_subclass(Own)
        (view * view).sum().backward()
        return type(made + 1).__name__, made.extra, made.requires_grad, x.grad, view._is_view(), Own([1.0]).tolist()

    both(body)


def test_stubs_require_the_arguments_of_their_functions():
    stubs = mstorch.overrides.get_testing_overrides()
    for function in (mstorch.lu_solve, mstorch.remainder, mstorch.Tensor.xlogy):
        with pytest.raises(TypeError):
            stubs[function](1)


@pytest.mark.filterwarnings("ignore")
def test_stubs_take_the_calls_that_torchs_take():
    """Each testing override accepts the arguments that torch's requires; those of in-place methods have the function's parameters."""
    named = [{}, {}]
    for stubs, library in zip(named, (real_torch, mstorch)):
        for function, stub in library.overrides.get_testing_overrides().items():
            name = library.overrides.resolve_name(function)
            stubs[name.replace("mstorch", "torch") if name else None] = stub
    theirs, ours = named
    both = theirs.keys() & ours.keys() - {None}
    assert len(both) > 1300
    for name in both:
        needed = [p for p in inspect.signature(theirs[name]).parameters.values() if p.default is p.empty]
        named = {p.name: 0 for p in needed if p.kind is p.KEYWORD_ONLY}
        assert ours[name](*(0 for p in needed if p.kind is p.POSITIONAL_OR_KEYWORD), **named) == -1, name
    for name in ("add_", "addmm_", "lerp_", "scatter_add_", "masked_fill_"):
        wanted = {p for p in inspect.signature(theirs[f"torch.Tensor.{name}"]).parameters if p != "out"}
        assert wanted <= set(inspect.signature(ours[f"torch.Tensor.{name}"]).parameters), name


def test_deep_copies_ask_the_tensor_alone(both):
    def body(torch):
        class Duck:
            @classmethod
            def __torch_function__(cls, func, types, args=(), kwargs=None):
                return NotImplemented

        class Taking(torch.Tensor):
            @classmethod
            def __torch_function__(cls, func, types, args=(), kwargs=None):
                return func.__name__, [kind.__name__ for kind in types if kind is not torch.Tensor]

        with torch.overrides.BaseTorchFunctionMode():
            under_mode = copy.deepcopy(torch.ones(2))
        # the memo holds the earlier copy
        return copy.deepcopy([Duck(), torch.ones(2)])[1], copy.deepcopy(torch.ones(2).as_subclass(Taking), {1: Duck()}), under_mode

    both(body)
