"""torch.fx: graphs, their code and their results, compared with torch's."""
from __future__ import annotations

import collections
import copy
import importlib
import io
import math
import operator

import pytest

import mstorch
from tests.against_torch import both


def _network(torch):
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.lin = torch.nn.Linear(3, 3)
            self.p = torch.nn.Parameter(torch.ones(3))
            self.seq = torch.nn.Sequential(torch.nn.ReLU(), torch.nn.Linear(3, 2))
            self.register_buffer("b", torch.ones(3))

        def forward(self, x, y=2, *, k=None):
            z = torch.relu(self.lin(x) + self.p * y).view(-1, 3)
            a, b = torch.max(z, 1), z[:, 0:2]
            w = torch.cat([z, self.b.expand_as(z)], dim=0).sum(dim=-1, keepdim=True)
            z = z + x.size(0)
            z += 1
            values, indices = torch.topk(z, 2)
            return {"o": self.seq(z), "a": (a[0], b), "w": -w, "s": z.shape[0], "n": 3 - z, "e": z == z, "m": z.mT, "v": values}

    return Net()


def test_code_graph_and_results():
    def body(torch):
        net = _network(torch)
        made = torch.fx.symbolic_trace(net)
        x = torch.randn(2, 3)
        result = made(x)
        result["o"].sum().backward()
        made.graph.lint()
        steps = [(n.op, n.name, str(n.args), str(n.kwargs), [str(u) for u in n.users]) for n in made.graph.nodes]
        return [made.code, str(made.graph), str(made), steps, result, net.lin.weight.grad, net(x), list(made.state_dict()), type(made).__name__]

    both(body, rtol=1e-4)


@pytest.mark.parametrize("body", [
    lambda torch: lambda x: x @ x // 2 % 3**x & x | x ^ x << 1 >> 2,
    lambda torch: lambda x: ~x < 1,
    lambda torch: lambda x: x[..., None, 1:2, ::2],
    lambda torch: lambda x: x.T.add(x.shape[0], alpha=2),
    lambda torch: lambda x: torch.zeros(x.shape, dtype=torch.float32, device="cpu"),
    lambda torch: lambda x: torch.add(x, other=torch.ones(2)),
    lambda torch: lambda x: torch.where(x > 0, x, torch.nan_to_num(x, float("inf"))),
    lambda torch: lambda x: -x + (+x),
    lambda torch: lambda x: {"a": [x, (x, None)], "b": slice(x, None)},
    lambda torch: lambda x, *, k=1: x + k,
    lambda torch: lambda x, y=None, z="text": x,
    lambda torch: lambda x: torch.max(x),
    lambda torch: lambda x: x.max(),
    lambda torch: lambda x: torch.max(x) + x.max(1)[0] + sum([x, x]),
    lambda torch: lambda x: x.foo.bar(1).baz,
], ids=range(15))  # fmt: skip
def test_code(body):
    def traced(torch):
        made = torch.fx.symbolic_trace(body(torch))
        return made.code, str(made.graph)

    both(traced)


def _loop(x):
    return [item for item in x]  # noqa: C416


@pytest.mark.parametrize("function", [
    lambda x: x if x else -x, _loop, len, lambda x: 3 in x, lambda x: dict(**x), lambda x: x.add({x: 1}),
], ids=range(6))  # fmt: skip
def test_functions_that_cannot_be_traced(function):
    both(lambda torch: torch.fx.symbolic_trace(lambda x: function(x)).code)


def test_concrete_arguments():
    def body(torch):
        made = torch.fx.symbolic_trace(_network(torch), concrete_args={"y": 3})
        made(torch.ones(1, 3), 4)

    both(body)
    both(lambda torch: torch.fx.symbolic_trace(lambda x, y: x if y else -x, concrete_args={"y": False})(torch.ones(2), False))


def test_tensors_with_proxies():
    def body(torch):
        made = torch.fx.symbolic_trace(lambda x: (torch.ones(2) - x) / torch.full((2,), 2.0) + torch.linalg.norm(x) * torch.ones(2).add(x))
        return made(torch.arange(2.0)), sorted(made._buffers)

    both(body)


def test_starred_inputs():
    def body(torch):
        def function(x, *rest, scale=1, **named):
            return x + rest[0] * scale + named["y"]

        made = torch.fx.symbolic_trace(function)
        return [made(torch.ones(1), torch.ones(1), scale=2, y=3), [(n.name, str(n.target)) for n in made.graph.nodes]]

    both(body)


def test_edits():
    def body(torch):
        fx = torch.fx
        made = fx.symbolic_trace(_network(torch))
        graph = made.graph
        node = next(n for n in graph.nodes if n.target is torch.relu)
        with graph.inserting_after(node):
            new = graph.call_function(torch.tanh, (node,))
            second = graph.call_method("neg", (new,))
        node.replace_all_uses_with(second, delete_user_cb=lambda user: user not in (new, second))
        with graph.inserting_before(new):
            third = graph.call_module("lin", (node,))
        new.args = (third,)
        dead = graph.find_nodes(op="call_function", target=operator.eq)
        graph.output_node().args = (second,)
        results = [graph.eliminate_dead_code(), len(dead), len(graph.nodes), [n.name for n in reversed(graph.nodes)]]
        made.recompile()
        made.delete_all_unused_submodules()
        graph.lint()
        return [*results, made.code, [name for name, _ in made.named_modules()], copy.deepcopy(made).code == made.code, new.prev.name, new.next.name]

    both(body)
    both(lambda torch: _erase(torch))
    both(lambda torch: torch.fx.symbolic_trace(lambda x: torch.reshape(x, [1])).graph.nodes.__iter__().__next__().next.args[1].append(3))


def _erase(torch):
    graph = torch.fx.symbolic_trace(lambda x: x + 1).graph
    graph.erase_node(next(iter(graph.nodes)))


def test_graphs_by_hand():
    def body(torch):
        graph = torch.fx.Graph()
        x = graph.placeholder("x")
        y = graph.placeholder("y", default_value=3)
        w = graph.get_attr("w")
        total = graph.call_function(torch.add, (x, w), {"alpha": 2})
        graph.output(graph.call_method("mul", (total, y)))
        made = torch.fx.GraphModule({"w": torch.ones(2)}, graph)
        return made.code, made(torch.zeros(2)), list(made.state_dict()), repr(made)

    both(body)
    both(lambda torch: torch.fx.GraphModule({}, torch.fx.symbolic_trace(torch.nn.Linear(1, 1)).graph) and None, message="")


def test_interpreters():
    def body(torch):
        fx = torch.fx

        class Swap(fx.Interpreter):
            def call_function(self, target, args, kwargs):
                return super().call_function(torch.sigmoid if target is torch.relu else target, args, kwargs)

        class SwapGraph(fx.Transformer):
            def call_function(self, target, args, kwargs):
                return super().call_function(torch.sigmoid if target is torch.relu else target, args, kwargs)

        made = fx.symbolic_trace(_network(torch))
        x = torch.randn(2, 3)
        other = SwapGraph(made).transform()
        return [Swap(made).run(x)["o"], fx.Interpreter(made).run(x, 3)["o"], other.code, other(x)["o"]]

    both(body, rtol=1e-4)
    both(lambda torch: torch.fx.Interpreter(torch.fx.symbolic_trace(lambda x: x + 1)).run(), message="Expected positional argument")


def test_patterns():
    def body(torch):
        def function(x, w):
            a = torch.cat([x, w]).sum()
            return torch.cat([w, x]).sum() + a.max() + torch.neg(torch.relu(x))

        made = torch.fx.symbolic_trace(function)
        matches = torch.fx.replace_pattern(made, lambda a, b: torch.cat([a, b]).sum(), lambda a, b: torch.stack([a, b]).mean())
        more = torch.fx.replace_pattern(made, lambda a: torch.neg(torch.relu(a)), lambda a: torch.nn.functional.relu(a))
        return len(matches), len(more), matches[0].anchor.name, made(torch.ones(2), torch.arange(2.0)), sorted(n.name for n in made.graph.nodes)

    both(body)


def scaled(x, n):
    return x * n if n > 1 else x


mstorch.fx.wrap("scaled")


def test_wrapped_functions_and_math():
    made = mstorch.fx.symbolic_trace(lambda x: scaled(x, x.shape[0]) * math.sqrt(x.shape[1]))
    assert mstorch.equal(made(mstorch.ones(2, 4)), mstorch.full((2, 4), 4.0))
    assert [n.target for n in made.graph.nodes if n.op == "call_function"][-2:] == [math.sqrt, operator.mul]
    assert scaled(3, 2) == 6 and math.sqrt(4) == 2
    with pytest.raises(NotImplementedError, match="top level"):
        mstorch.fx.wrap("len")


def test_nothing_stays_changed():
    before = mstorch.nn.functional.relu.__code__, mstorch.Tensor.add.__code__, mstorch.nn.Module.__dict__.get("__call__")
    with pytest.raises(mstorch.fx.proxy.TraceError):
        mstorch.fx.symbolic_trace(lambda x: 1 if mstorch.relu(x) else 2)
    assert before == (mstorch.nn.functional.relu.__code__, mstorch.Tensor.add.__code__, mstorch.nn.Module.__dict__.get("__call__"))


def test_files_and_copies():
    net = mstorch.nn.Sequential(mstorch.nn.Linear(2, 3), mstorch.nn.ReLU())
    made = mstorch.fx.symbolic_trace(net).eval()
    x = mstorch.randn(2, 2)
    target = io.BytesIO()
    mstorch.save(made, target)
    target.seek(0)
    for other in (mstorch.load(target, weights_only=False), copy.deepcopy(made), copy.copy(made)):
        assert mstorch.equal(other(x), made(x)) and not other.training and list(other.state_dict()) == list(made.state_dict())
        assert [n.op for n in other.graph.nodes] == [n.op for n in made.graph.nodes]


def test_shapes():
    def body(torch):
        shape_prop = importlib.import_module(f"{torch.__name__}.fx.passes.shape_prop")
        made = torch.fx.symbolic_trace(torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU()))
        shape_prop.ShapeProp(made).propagate(torch.ones(4, 2))
        return [(n.name, tuple(n.meta["tensor_meta"].shape), str(n.meta["tensor_meta"].dtype), n.meta["tensor_meta"].stride) for n in made.graph.nodes]

    both(body)


def test_graph_modules_that_are_scripted():
    """A GraphModule made by fx, and one whose class does not call GraphModule's ``__init__`` (as torchvision's)."""

    def body(torch):
        class Bare(torch.fx.GraphModule):
            def __init__(self, graph):
                super(torch.fx.GraphModule, self).__init__()
                self.lin = torch.nn.Linear(3, 2)
                self.graph = graph

        traced = torch.fx.symbolic_trace(torch.nn.Sequential(collections.OrderedDict(lin=torch.nn.Linear(3, 2))))
        bare = Bare(traced.graph)
        bare.load_state_dict(traced.state_dict())
        x, found = torch.ones(1, 3), []
        for made in (traced, bare):
            scripted = torch.jit.script(made)
            found += [torch.equal(scripted(x), made(x)), made._get_name().startswith(("Sequential", "Bare", "GraphModuleImpl"))]
        return found

    both(body)


def test_own_tracers():
    def body(torch):
        class Deep(torch.fx.Tracer):
            def is_leaf_module(self, m, name):
                return isinstance(m, torch.nn.ReLU)

        graph = Deep().trace(_network(torch))
        return [(n.op, n.name) for n in graph.nodes if n.op in ("get_attr", "call_module")]

    both(body)


def test_files_of_graphs_by_a_local_tracer():
    def body(torch):
        class Local(torch.fx.Tracer):
            pass

        net = torch.nn.Sequential(torch.nn.Linear(3, 2))
        made, file = torch.fx.GraphModule(net, Local().trace(net)), io.BytesIO()
        torch.save(made, file)
        file.seek(0)
        back = torch.load(file, weights_only=False)
        x = torch.rand(2, 3)
        return torch.equal(back(x), net(x)), made._tracer_cls

    both(body)


def test_tracers_made_of_the_modules_own_parts():
    """The tracer patches calls itself, like torch_geometric's."""

    def body(torch):
        st = importlib.import_module(f"{torch.__name__}.fx._symbolic_trace")

        class Tracer(torch.fx.Tracer):
            def trace(self, root, concrete_args=None):
                self.root, function = root, type(root).forward
                self.submodule_paths = {module: name for name, module in root.named_modules()}
                self.graph = torch.fx.Graph(tracer_cls=type(self))
                self.tensor_attrs = {value: name for name, value in vars(root).items() if isinstance(value, (torch.Tensor, st.ScriptObject))}
                assert isinstance(function, st.FunctionType)
                function, args = self.create_args_for_root(function, True, concrete_args)
                cache = {}

                @st.functools.wraps(st._orig_module_getattr)
                def read(module, name):
                    return self.getattr(name, st._orig_module_getattr(module, name), cache)

                @st.functools.wraps(st._orig_module_call)
                def call(module, *args, **kwargs):
                    return self.call_module(module, lambda *a, **k: st._orig_module_call(module, *a, **k), args, kwargs)

                with st._Patcher() as patcher:
                    patcher.patch_method(torch.nn.Module, "__getattr__", read, deduplicate=False)
                    patcher.patch_method(torch.nn.Module, "__call__", call, deduplicate=False)
                    st._patch_wrapped_functions(patcher)
                    st._autowrap_check(patcher, function.__globals__, self._autowrap_function_ids)
                    seen = patcher.visit_once(function.__globals__)
                    self.create_node("output", "output", (self.create_arg(function(*args)),), {})
                return self.graph, seen

        class Net(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.lin, self.scale = torch.nn.Linear(3, 2), torch.nn.Parameter(torch.ones(2))
                self.plain = torch.full((2,), 3.0)

            def forward(self, x):
                return torch.relu(self.lin(x)) * self.scale + self.plain

        before = torch.nn.Module.__call__, torch.nn.Module.__getattr__
        graph, seen = Tracer().trace(Net())
        same = (torch.nn.Module.__call__, torch.nn.Module.__getattr__) == before
        return str(graph), seen, same

    both(body)
