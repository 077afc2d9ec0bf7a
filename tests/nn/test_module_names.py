"""A Module is a Cell without visible effects: names of Cell's attributes are free, and the class can be combined with others."""

from __future__ import annotations

import copy
import pickle

import mindspore
import pytest

import mstorch
from mstorch import nn
from tests.against_torch import is_tensor

TAKEN = set(dir(__import__("torch").nn.Module())) | {"compile"}
NAMES = sorted(name for name in {*dir(mindspore.nn.Cell), *vars(mindspore.nn.Cell())} - TAKEN if not name.startswith("__"))


def check(torch, make, name):
    module = torch.nn.Module()
    make(torch, module)
    twin = copy.deepcopy(module)
    again = pickle.loads(pickle.dumps(module))
    results = []
    for one in (module, twin, again):
        value = getattr(one, name)
        results += [value if is_tensor(value) or isinstance(value, float) else type(value).__name__, name in vars(one)]
        results += [list(one.state_dict()), [n for n, _ in one.named_modules()], hasattr(one, name)]
    delattr(module, name)
    results += [list(module.state_dict()), [n for n, _ in module.named_modules()]]
    setattr(module, name, 1.5)
    results += [getattr(module, name), vars(module)[name]]
    return results


KINDS = {
    "child": lambda name: lambda torch, module: setattr(module, name, torch.nn.Linear(2, 1)),
    "children": lambda name: lambda torch, module: setattr(module, name, torch.nn.ModuleList([torch.nn.ReLU()])),
    "add_module": lambda name: lambda torch, module: module.add_module(name, torch.nn.ReLU()),
    "parameter": lambda name: lambda torch, module: setattr(module, name, torch.nn.Parameter(torch.ones(2))),
    "register_parameter": lambda name: lambda torch, module: module.register_parameter(name, torch.nn.Parameter(torch.ones(2))),
    "buffer": lambda name: lambda torch, module: module.register_buffer(name, torch.zeros(3)),
    "tensor": lambda name: lambda torch, module: setattr(module, name, torch.ones(3)),
    "number": lambda name: lambda torch, module: setattr(module, name, 0.5),
    "none": lambda name: lambda torch, module: setattr(module, name, None),
}


@pytest.mark.parametrize("kind", KINDS)
def test_cells_names_are_free(both, kind):
    for name in NAMES:
        both(lambda torch, name=name: check(torch, KINDS[kind](name), name))


@pytest.mark.parametrize("kind", ["method", "property", "number"])
def test_cells_names_in_classes(both, kind):
    def body(torch, name):
        def method(self, x):
            return x + 1

        def init(self):
            torch.nn.Module.__init__(self)
            self.inner = torch.nn.Linear(2, 2)

        def forward(self, x):
            value = getattr(self, name)
            return self.inner(x) * (value(2.0) if callable(value) else value)

        results = []
        member = {"method": method, "property": property(lambda self: 7.0), "number": 3.0}[kind]
        net = type("Net", (torch.nn.Module,), {"__init__": init, "forward": forward, name: member})()
        out = net(torch.ones(1, 2))
        out.sum().backward()
        results += [out, net.inner.weight.grad, [n for n, _ in net.named_parameters()], type(copy.deepcopy(net)).__name__]
        return results

    for name in NAMES:
        both(lambda torch, name=name: body(torch, name))


def test_a_network_of_such_names_learns(both):
    def body(torch):
        class Net(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.cells = torch.nn.ModuleList([torch.nn.Linear(4, 4) for _ in range(2)])
                self.construct = torch.nn.Linear(4, 1)
                self.phase = 0.5
                self._params = {"a": 1}
                self._cells = [1, 2]
                self._id = 7
                self.cell_type = torch.nn.Parameter(torch.ones(4))

            def forward(self, x):
                for cell in self.cells:
                    x = torch.tanh(cell(x)) * self.phase
                return self.construct(x * self.cell_type)

        net = Net()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            loss = (net(torch.ones(2, 4)) ** 2).mean()
            loss.backward()
            optimizer.step()
        twin = pickle.loads(pickle.dumps(net.state_dict()))
        copied = copy.deepcopy(net)
        return [loss, list(twin), net._params, net._cells, copied._id, copied._cells, copied(torch.ones(1, 4)), sorted(vars(net))]

    both(body, rtol=1e-4)


def test_other_bases_and_metaclasses(both):
    def body(torch):
        import abc
        from typing import Generic, Protocol, TypeVar

        T = TypeVar("T")

        class Base(torch.nn.Module, abc.ABC):
            @abc.abstractmethod
            def forward(self, x): ...

        class Net(Base):
            def forward(self, x):
                return x * 2

        class Sized(Protocol):
            size: int

        class Typed(torch.nn.Module, Sized, Generic[T]):
            size = 3

        class Meta(type):
            pass

        class Metric(torch.nn.Module, metaclass=Meta):
            pass

        results = [type(torch.nn.Module) is type, type(Net).__name__, type(Metric).__name__, Typed[int]().size]
        results += [Net()(torch.ones(2)), isinstance(Net(), Base), abc.ABC in Net.__mro__]
        try:
            Base()
        except TypeError as error:
            results.append("abstract" in str(error))
        return results

    both(body)


def test_attributes_of_an_instance(both):
    both(lambda torch: list(vars(torch.nn.Linear(2, 3))))
    both(lambda torch: [list(vars(torch.nn.Module())), list(torch.nn.Linear(2, 3).__getstate__())])

    def early(torch):
        class Early(torch.nn.Module):
            def __init__(self):
                self.before = 1
                super().__init__()
                super().__init__()

        return Early().before

    both(early)


def test_names_of_nn_modules_module(both):
    def body(torch):
        home = torch.nn.modules.module
        keys = home._IncompatibleKeys(["a"], [])
        seen = []
        handles = [
            home.register_module_forward_pre_hook(lambda module, args: seen.append("pre")),
            home.register_module_forward_hook(lambda module, args, out: seen.append("forward")),
            home.register_module_full_backward_pre_hook(lambda module, grad: seen.append("back pre")),
            home.register_module_full_backward_hook(lambda module, gi, go: seen.append("back")),
            home.register_module_parameter_registration_hook(lambda module, name, value: seen.append(name)),
            home.register_module_buffer_registration_hook(lambda module, name, value: seen.append(name)),
            home.register_module_module_registration_hook(lambda module, name, value: seen.append(name)),
        ]
        try:
            net = torch.nn.Sequential(torch.nn.Linear(2, 1), torch.nn.BatchNorm1d(1))
            x = torch.ones(2, 2, requires_grad=True)
            net(x).sum().backward()
        finally:
            for handle in handles:
                handle.remove()
        count = len(seen)
        torch.nn.Linear(1, 1)(torch.ones(1))
        assert len(seen) == count
        fresh = torch.nn.Linear(2, 1)
        loaded = fresh.load_state_dict(fresh.state_dict())
        assert isinstance(loaded, home._IncompatibleKeys)
        return [repr(keys), repr(loaded), seen, home._EXTRA_STATE_KEY_SUFFIX, home.__all__, home._addindent("a\n\n \nb", 2)]

    both(body)


def test_repr_of_extra_lines(both):
    """Blank lines of ``extra_repr`` stay empty at each depth."""

    def body(torch):
        class Layer(torch.nn.Module):
            def extra_repr(self):
                return "one\n\ntwo\n   \n"

        nn = torch.nn
        made = (nn.Sequential(Layer(), nn.ReLU()), nn.ModuleList([Layer(), Layer()]), nn.ModuleDict({"a": nn.Sequential(Layer())}))
        return [repr(Layer()), *map(repr, made), repr(nn.Sequential(*made))]

    both(body)


def test_duplicates_of_modules(both):
    def body(torch):
        net = torch.nn.Sequential(torch.nn.ReLU())
        net.append(net[0])
        return [len(list(net.modules())), len(list(net.modules(remove_duplicate=False)))]

    both(body)


def test_utils(both):
    def body(torch):
        utils = torch.nn.modules.utils
        state = torch.nn.Sequential(torch.nn.Linear(1, 1)).state_dict(prefix="module.")
        state["other"] = 1
        state._metadata["module.0"] = {"a": 1}
        utils.consume_prefix_in_state_dict_if_present(state, "module.")
        return [
            utils._single(3), utils._pair(3), utils._triple((1, 2)), utils._quadruple("a"), utils._ntuple(5)(0), utils._pair.__name__,
            utils._reverse_repeat_tuple((1, 2, 3), 2), utils._list_with_default((None, 4), (7, 8, 9)), utils._list_with_default(3, ()),
            list(state), dict(state._metadata), utils.__all__,
        ]  # fmt: skip

    both(body)
    both(lambda torch: torch.nn.modules.utils._list_with_default((None, 4), (7, 8)))


def test_common_types(both):
    both(lambda torch: sorted(n for n in vars(__import__(f"{torch.__name__}.nn.common_types", fromlist=["x"])) if n.startswith(("_size", "_ratio"))))
    both(lambda torch: str(__import__(f"{torch.__name__}.nn.common_types", fromlist=["x"])._size_2_t))


def test_devices_that_are_not_there(both):
    for name in ("xpu", "mtia", "ipu", "cuda"):
        both(lambda torch, name=name: getattr(torch.nn.Linear(1, 1), name)())


def test_the_cell_side_stays():
    net = nn.Linear(2, 1)
    assert isinstance(net, mindspore.nn.Cell) and net.phase == "train" and net.cells() is not None
    assert [p.name for p in net.trainable_params()] == ["weight", "bias"]
    net.set_grad()
    assert net.requires_grad is True and list(mstorch.nn.ReLU().get_parameters()) == []
