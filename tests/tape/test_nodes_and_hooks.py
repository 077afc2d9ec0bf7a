"""Nodes, hooks, edges and errors of autograd as users see them, compared with torch."""
from __future__ import annotations

import threading
import warnings

import pytest

import mstorch


def test_hooks_see_all_outputs(both):
    def body(t):
        seen = []
        x = t.ones(3, requires_grad=True)
        first, second, _ = x.unbind()
        first.register_hook(seen.append)
        first.grad_fn.register_prehook(lambda g: seen.append([item is None for item in g]))
        second.backward()
        return seen, x.grad

    both(body)


def test_hooks_of_nodes_and_tensors_in_order(both):
    def body(t):
        log = []

        def three(g):
            log.append(3)
            return g * 3

        def two(gs):
            log.append(2)
            return tuple(g * 2 for g in gs)

        a = t.tensor(1.0, requires_grad=True)
        b = a.clone()
        b.grad_fn.register_prehook(two)
        b.register_hook(three)
        end = b.grad_fn.next_functions[0][0]
        a.register_hook(three)
        end.register_prehook(two)
        b.sum().backward(retain_graph=True)
        t.autograd.grad(b.sum(), (a,), retain_graph=True)
        b.sum().backward(inputs=(b,))
        return log, a.grad, b.grad, b.retains_grad

    both(body)


def test_edges(both):
    def body(t):
        edge = t.autograd.graph.get_gradient_edge
        x, y = (t.ones(2, requires_grad=True).clone() for _ in range(2))
        out, places = x.clone(), (edge(x), edge(y))
        for inputs in ((places[0], y), (x, y), (x, places[1])):
            t.autograd.backward(out.sum(), inputs=inputs)
        leaf = t.ones(2, requires_grad=True)
        return x.grad, y.grad, t.autograd.grad(edge((leaf * 3).sum()), leaf)

    both(body)


@pytest.mark.parametrize("result", [3, "tensor"])
def test_hooks_after_accumulation_return_nothing(result, both):
    def body(t):
        x = t.ones(2, requires_grad=True)
        x.register_post_accumulate_grad_hook(lambda tensor: tensor if result == "tensor" else result)
        (x * 2).sum().backward()

    both(body)


def _function(t, returns):
    class Own(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return returns(x)

        @staticmethod
        def backward(ctx, g):
            return g * 3

    return Own


VIEWS = {"view": lambda x: x.view_as(x), "input": lambda x: x}
WRITES = {
    "direct": lambda base, view: view.mul_(2),
    "to a view": lambda base, view: view[0:1].mul_(2),
    "indirect": lambda base, view: (base.mul_(2), view.grad_fn),
    "none": lambda base, view: (view * 2).sum().backward(),
}


@pytest.mark.parametrize("kind", VIEWS)
@pytest.mark.parametrize("write", WRITES)
def test_views_that_a_function_gives(kind, write, both):
    def body(t):
        x = t.ones(2, requires_grad=True)
        base = x.clone()
        view = _function(t, VIEWS[kind]).apply(base)
        seen = view._is_view(), view._base is base, view.grad_fn.name()
        WRITES[write](base, view)
        return seen, x.grad

    both(body)


MADE = {
    "no_grad": lambda t, base: t.no_grad()(lambda: base.view(4))(),
    "inference": lambda t, base: t.inference_mode()(lambda: base.view(4))(),
    "several": lambda t, base: base.unbind()[0],
    "several without grad": lambda t, base: t.no_grad()(base.unbind)()[0],
}


@pytest.mark.parametrize("made", MADE)
@pytest.mark.parametrize("way", ["direct", "indirect", "leaf", "late"])
def test_views_that_cannot_be_written(made, way, both):
    def body(t):
        base = t.ones(2, 2, requires_grad=way not in ("late",))
        base = base if way in ("leaf", "late") else base.clone()
        view = MADE[made](t, base)
        if way in ("direct", "leaf"):
            view.add_(1)
        else:
            base.mul_(t.ones(2, requires_grad=True))
        return view.grad_fn

    both(body)


def test_the_text_of_a_view_without_history(both):
    def body(t):
        x = t.ones(2, requires_grad=True)
        with t.no_grad():
            view = x[:]
            view *= 2
        return repr(view)

    both(body)


@pytest.mark.parametrize("name", ["unsafe_split", "unsafe_split_with_sizes", "unsafe_chunk"])
def test_parts_apart(name, both):
    def body(t):
        a = t.ones(3, 3, requires_grad=True)
        b = a + a
        parts = getattr(b, name)((1, 1, 1) if name.endswith("sizes") else 3 if name.endswith("chunk") else 1)
        made = parts[0].grad_fn.name(), parts[0]._is_view()
        parts[0].mul_(parts[1])
        (parts[0].sum() + parts[2].sum()).backward()
        return made, a.grad, b, b._version

    both(body)


@pytest.mark.parametrize("name", ["sin", "exp"])
def test_a_view_of_a_tensor_detached_in_place(name, both):
    def body(t):
        x = t.ones((), requires_grad=True)
        a = x.clone()
        b = getattr(a, name)()
        a.detach_()
        b.backward()
        return x.grad

    both(body)


def test_data_keeps_the_count_of_writes(both):
    def body(t):
        x = t.ones(2, 3)
        view = x[:]
        x.data = t.zeros(2, 3)
        x.add_(1)
        view.add_(1)
        return x, view, x._version, view._version

    both(body)


def test_graphs_end_where_a_tensor_was(both):
    def body(t):
        x = t.ones(2, requires_grad=True)
        out = x.clone()
        with t.no_grad():
            x.set_(t.zeros(2))
        t.autograd.grad(out.sum(), x)

    both(body)


def test_views_in_inference_mode(both):
    def body(t):
        with t.inference_mode():
            x = t.ones(1, 2, 3, requires_grad=True)
            view = x.view(-1)
            x.resize_(1, 2)
            return view.requires_grad, view.is_inference(), view._is_view(), x.requires_grad, x.shape

    both(body)


def test_indices_are_used_up_too(both):
    def body(t):
        b = t.ones(3, requires_grad=True)
        c = b[t.tensor([1, 1])]
        c.sum().backward()
        c.sum().backward()

    both(body)


def test_saved_tensors_by_name(both):
    def body(t):
        x = t.tensor(2.0, requires_grad=True)
        a = x.clone()
        product, power = a * (a * 2), a.exp()
        raw = product.grad_fn._raw_saved_self
        raw.register_hooks(lambda tensor: tensor * 3, lambda tensor: tensor)
        found = product.grad_fn._saved_self, product.grad_fn._saved_other, power.grad_fn._saved_result, raw.data
        product.backward()
        return found, x.grad, (t.ones(2, 2, requires_grad=True) @ t.ones(2, 2)).grad_fn._saved_mat2

    both(body)


def test_saved_tensors_of_used_graphs(both):
    def body(t):
        y = t.ones(2, requires_grad=True).exp()
        y.sum().backward()
        return y.grad_fn._saved_result

    both(body)


def test_functions_with_defaults(both):
    def body(t):
        class Power(t.autograd.Function):
            @staticmethod
            def forward(x, y=3):
                return x**y

            @staticmethod
            def setup_context(ctx, inputs, output):
                ctx.save_for_backward(inputs[0])
                ctx.y = inputs[1]

            @staticmethod
            def backward(ctx, g):
                return g * ctx.y * ctx.saved_tensors[0] ** (ctx.y - 1), None

        x = t.tensor(2.0, requires_grad=True)
        Power.apply(x).backward()
        Power.apply(x, y=2).backward()
        return x.grad

    both(body)


def test_functions_that_write_to_views(both):
    def body(t):
        class Adder(t.autograd.Function):
            @staticmethod
            def forward(ctx, a, b):
                ctx.mark_dirty(a.add_(b))
                return a, a + b

            @staticmethod
            def backward(ctx, g, h):
                return g + h, g + h

        a = t.ones(2, requires_grad=True)
        Adder.apply(a.clone().view_as(a), a)

    both(body)


def test_old_functions_are_refused(both):
    def body(t):
        class Old(t.autograd.Function):
            def forward(self, x):
                return x

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            Old()(t.ones(2))

    both(body)


@pytest.mark.parametrize("name", ["grad", "data", "requires_grad"])
def test_deleted_attributes(name, both):
    def body(t):
        x = t.ones(2, requires_grad=True)
        delattr(x, name)
        return x.grad

    both(body)


def test_grad_of_a_non_leaf_warns(both):
    def body(t):
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            x = t.ones(2, requires_grad=True)
            kept, lost = x * 1, x * 2
            kept.retain_grad()
            found = x.grad, kept.grad, lost.grad
        return found, [warning.category for warning in seen]

    both(body)


def test_variables(both):
    def body(t):
        x = t.ones(2)
        made = t.autograd.Variable(x, requires_grad=True)
        return isinstance(x, t.autograd.Variable), isinstance(1, t.autograd.Variable), made

    both(body)


def test_callbacks_add_callbacks(both):
    def body(t):
        log = []
        queue = t.autograd.Variable._execution_engine.queue_callback

        class Own(t.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x.clone()

            @staticmethod
            def backward(ctx, g):
                queue(lambda: (log.append(1), queue(lambda: log.append(2))))
                return g

        Own.apply(t.ones(2, requires_grad=True)).sum().backward()
        return log

    both(body)


def test_threads_add_to_one_leaf():
    leaf = mstorch.zeros(50, 50, requires_grad=True)

    def work():
        for _ in range(40):
            (leaf * 1).sum().backward()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (leaf.grad == 160).all()


def test_second_gradients_have_the_shapes_and_dtypes_of_what_they_are_for(both):
    def body(t):
        x = t.ones(3, dtype=t.float64, requires_grad=True)
        seeds = [t.ones((), dtype=t.float64, requires_grad=True) for _ in range(3)]
        (first,) = t.autograd.grad(x.unbind(), x, seeds, create_graph=True)
        z, seed = t.full((2,), 3 + 4j).requires_grad_(), t.ones(2, requires_grad=True)
        (second,) = t.autograd.grad(z.abs(), z, seed, create_graph=True)
        return t.autograd.grad(first, seeds, t.ones(3, dtype=t.float64)), t.autograd.grad(second, (z, seed), t.full((2,), 1 + 2j))

    both(body, strides=False)


def test_a_result_given_twice_is_one_tensor(both):
    def body(t):
        class Double(t.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                y = x * 2
                return y, y

            @staticmethod
            def backward(ctx, g, h):
                return g * 2 + h * 2

        x = t.ones(2, requires_grad=True)
        a, b = Double.apply(x)
        (a + b).sum().backward()
        return a is b, a.output_nr, x.grad

    both(body)


def test_hooks_of_modules_do_not_see_second_derivatives(both):
    def body(t):
        seen = []
        x, layer = t.ones(1, requires_grad=True), t.nn.MSELoss()
        layer.register_full_backward_hook(lambda *given: seen.append(len(given)))
        (first,) = t.autograd.grad(layer(x, t.zeros(1)), x, create_graph=True)
        return t.autograd.grad(first, x), seen

    both(body)


def test_saving_goes_on_where_hooks_are_refused(both):
    def body(t):
        x = t.ones(2, requires_grad=True)
        with t.autograd.graph.disable_saved_tensors_hooks("not here"):
            (x * x).sum().backward()
        with t.autograd.graph.save_on_cpu():
            with t.autograd.graph.disable_saved_tensors_hooks(str(x.grad.tolist())):
                pass

    both(body)


def test_leaves_get_their_gradients_in_torchs_order(both):
    def body(torch):
        seen = []
        net = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.BatchNorm1d(8), torch.nn.Linear(8, 2))
        x = torch.ones(4, 6, requires_grad=True)
        leaves = dict(net.named_parameters(), x=x)
        for name, leaf in leaves.items():
            leaf.register_hook(lambda gradient, name=name: seen.append(name))
        net(x).sum().backward()
        a, b, c = (leaf.new_ones(2).requires_grad_() for leaf in (x, x, x))
        for name, leaf in {"a": a, "b": b, "c": c}.items():
            leaf.register_hook(lambda gradient, name=name: seen.append(name))
        torch.cat([c, a, b]).sum().backward()
        (a * b + c).sum().backward()
        return seen, net[2](torch.ones(1, 8)).grad_fn.next_functions[0][0].variable is net[2].bias

    both(body)


@pytest.mark.parametrize("name", ["max_pool1d", "max_pool2d", "max_pool3d", "adaptive_max_pool2d"])
@pytest.mark.parametrize("twice", [False, True])
def test_results_of_pooling_may_be_written_to(both, name, twice):
    def body(torch):
        x = (torch.arange(64.0).reshape(1, 4, 4, 4).sin() * 7).requires_grad_()
        source = x[0] if name == "max_pool1d" else x
        y = getattr(torch.nn.functional, name)(source, 2)
        kept = y * 2
        y.mul_(3).relu_()
        (first,) = torch.autograd.grad((y**2).sum(), x, create_graph=True)
        return kept, first, torch.autograd.grad((first**2).sum(), x)[0] if twice else None

    both(body)
