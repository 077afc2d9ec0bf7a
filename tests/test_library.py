"""torch.library and torch.ops: custom operators."""

import copy
import itertools

import pytest

import mstorch
from tests.against_torch import both

_numbers = itertools.count()


@pytest.fixture
def ns():
    return f"mstorch_tests_{next(_numbers)}"


def test_custom_operators(ns):
    def body(torch):
        @torch.library.custom_op(f"{ns}::wave", mutates_args=())
        def wave(x: torch.Tensor, n: int = 2, *, shift: float = 0.5) -> torch.Tensor:
            return x.sin() * n + shift

        @wave.register_fake
        def _(x, n=2, *, shift=0.5):
            return torch.empty_like(x)

        x = torch.linspace(0, 1, 5, requires_grad=True)
        with pytest.raises(RuntimeError, match="no autograd formula was registered"):
            wave(x).sum().backward()

        def setup(ctx, inputs, keyword_only_inputs, output):
            ctx.save_for_backward(inputs[0])
            ctx.n = inputs[1]
            assert ctx.needs_input_grad[0] and keyword_only_inputs == {"shift": 0.5}

        wave.register_autograd(lambda ctx, grad: (grad * ctx.saved_tensors[0].cos() * ctx.n, None), setup_context=setup)
        wave(x, 3).sum().backward()
        op = getattr(torch.ops, ns).wave
        return [x.grad, wave(x.detach()), op(x.detach(), n=3, shift=1.0), op.default(x.detach()), repr(wave), repr(op), repr(op.default),
                str(op.default._schema), wave(x).requires_grad]  # fmt: skip

    both(body)


def test_lists_of_tensors_and_several_results(ns):
    def body(torch):
        @torch.library.custom_op(f"{ns}::pair", mutates_args=())
        def pair(xs: list[torch.Tensor], k: float) -> tuple[torch.Tensor, torch.Tensor]:
            return xs[0] * k, xs[1] + k

        pair.register_autograd(lambda ctx, a, b: ([a * ctx.k, b], None), setup_context=lambda ctx, inputs, output: setattr(ctx, "k", inputs[1]))
        xs = [torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)]
        first, second = pair(xs, 3.0)
        (first.sum() + (second**2).sum()).backward()
        return [x.grad for x in xs]

    both(body)


def test_operators_that_write(ns):
    def body(torch):
        @torch.library.custom_op(f"{ns}::bump", mutates_args={"x"})
        def bump(x: torch.Tensor) -> None:
            x.add_(1)

        y = torch.zeros(2)
        bump(y)
        with pytest.raises(RuntimeError, match="Cannot register autograd formula for non-functional operator"):
            bump.register_autograd(lambda ctx: None)
        return y

    both(body)


def test_libraries(ns):
    def body(torch):
        lib = torch.library.Library(ns, "DEF")
        names = [lib.define("add1(Tensor x, int n=1) -> Tensor"), lib.define("two.over(Tensor x) -> Tensor")]
        lib.impl("add1", lambda x, n=1: x + n, "CompositeImplicitAutograd")
        lib.impl("two.over", lambda x: x * 2, "CPU")
        x = torch.ones(2, requires_grad=True)
        op = getattr(torch.ops, ns)
        op.add1(x, n=2).sum().backward()
        results = [names, x.grad, op.add1(x, 4), op.two.over(x), op.two.overloads()]
        torch.library.define(f"{ns}::third", "(Tensor x) -> Tensor")
        torch.library.impl(f"{ns}::third", "cpu")(lambda x: x + 5)
        results.append(op.third(x.detach()))
        lib._destroy()
        return results

    both(body)


def test_a_deleted_library(ns):
    """Its operators and kernels are removed, and another library may own the namespace."""

    def body(torch):
        op, seen = getattr(torch.ops, ns), []
        for step in (1, 2):
            lib = torch.library.Library(ns, "DEF")
            lib.define("own(Tensor x) -> Tensor")
            kernels = torch.library.Library(ns, "IMPL")
            kernels.impl("own", lambda x, step=step: x + step, "CPU")
            seen.append(op.own(torch.ones(2)))
            del kernels
            with pytest.raises(NotImplementedError, match="from the 'CPU' backend"):
                op.own(torch.ones(2))
            del lib
            with pytest.raises(AttributeError, match="own"):
                op.own(torch.ones(2))
        return seen

    both(body)


def test_decorators_of_a_library(ns):
    def body(torch):
        lib = torch.library.Library(ns, "FRAGMENT")
        lib.define("first(Tensor x) -> Tensor")

        @torch.library.impl(lib, "first", "CPU")
        def first(x):
            return x + 1

        @torch.library.define(lib, "second(Tensor x) -> Tensor")
        def second(x):
            return x + 2

        op = getattr(torch.ops, ns)
        return op.first(torch.ones(2)), op.second(torch.ones(2)), first(torch.zeros(1)), second(torch.zeros(1))

    both(body)


def test_what_libraries_refuse(ns):
    for kind in ("DEF", "FRAGMENT"):
        both(lambda torch, kind=kind: torch.library.Library("prim", kind))
    both(lambda torch: torch.library.Library(ns, "DEF").define("own(Tensor x) -> Tensor", "SOME"))
    both(
        lambda torch: torch.library.Library("aten", "IMPL", "CPU").impl("sum", lambda x: x, "CUDA"),
        message='impl("sum", ...): Explicitly provided dispatch key (CUDA) is inconsistent with the dispatch key of the enclosing',
    )


def test_a_kernel_for_an_operator_of_torch():
    with pytest.warns(UserWarning, match="the kernel registered for aten::sum is never called"):
        mstorch.library.Library("aten", "IMPL").impl("aten::sum", lambda x: x, "CPU")


def test_errors(ns):
    @mstorch.library.custom_op(f"{ns}::same", mutates_args=())
    def same(x: mstorch.Tensor) -> mstorch.Tensor:
        return x

    with pytest.raises(RuntimeError, match="must not also be an input"):
        same(mstorch.ones(1))
    for call in (lambda: same(1), lambda: same(), lambda: same(mstorch.ones(1), 2), lambda: same(y=1)):
        with pytest.raises(RuntimeError, match=f"{ns}::same"):
            call()
    both(lambda torch: torch.ops.no_such_namespace.nothing)
    both(lambda torch: torch.library.Library("a", "OTHER"))
    both(lambda torch: torch.library.Library("aten", "DEF"), message="Only a single TORCH_LIBRARY can be used to register the namespace aten")
    both(lambda torch: torch.ops.load_library("nothing_there.so"), message="Could not load this library")
    mstorch.library.define(f"{ns}::empty", "(Tensor x) -> Tensor")
    with pytest.raises(NotImplementedError, match=f"Could not run '{ns}::empty' with arguments from the 'CPU' backend"):
        getattr(mstorch.ops, ns).empty(mstorch.ones(1))
    with pytest.raises(RuntimeError, match="multiple times"):
        mstorch.library.define(f"{ns}::empty", "(Tensor x) -> Tensor")


def test_inferred_schemas():
    def body(torch):
        Tensor = torch.Tensor

        def one(x: Tensor, ys: list[Tensor], n: int = 3, s: float | None = None, *, k: str = "a", b: bool = True, d: torch.dtype = torch.float32) -> tuple[Tensor, Tensor]: ...
        def two(x: Tensor) -> None: ...
        def three(x: Tensor, y: int | None, z: list[int]) -> list[Tensor]: ...

        infer = torch.library.infer_schema
        return [infer(one, mutates_args=()), infer(one, mutates_args={"x"}), infer(two, mutates_args="unknown", op_name="my"), infer(three, mutates_args=())]

    both(body)
    both(lambda torch: torch.library.infer_schema(lambda x: x, mutates_args=()))


def test_tags():
    both(lambda torch: [(repr(tag), str(tag), int(tag), tag.name) for tag in torch.Tag.__members__.values()])

    def body(torch):
        @torch.library.custom_op(f"tagged{id(torch)}::twice", mutates_args=(), tags=(torch.Tag.pointwise,))
        def twice(x: torch.Tensor) -> torch.Tensor:
            return x * 2

        return twice(torch.ones(2))

    both(body)


def test_a_tensor_that_is_written_without_a_letter() -> None:
    mstorch.library.define("mstorch_tests::fill_ones", "(Tensor! out, Tensor x) -> ()")
    first, second = mstorch.ops.mstorch_tests.fill_ones.default._schema.arguments
    assert (first.name, str(first.type), first.alias_info.is_write) == ("out", "Tensor", True) and second.alias_info is None


def test_overloads_of_the_profilers_operations(both):
    both(lambda torch: [torch.ops.profiler._record_function_exit.overloads(), str(torch.ops.profiler._record_function_exit._RecordFunction)])


CALLS = """
torch.vmap(f, (0, None))(x, y) | torch.vmap(f, (None, 0))(y, x) | torch.vmap(lambda a: f(a, a, 3))(x) | torch.vmap(lambda a: f(a, y), out_dims=1)(x) |
torch.vmap(lambda a: f(a, torch.ones(2)), in_dims=1)(x) | torch.vmap(lambda a: f(a, y, n=5))(x) | torch.vmap(lambda a: f(y, y) + a)(x) |
torch.vmap(lambda a: torch.vmap(lambda b: f(b, y[:1]))(a[:, None]))(x) | torch.vmap(lambda a: f(a, y))(x[:0]) | torch.vmap(two)(x) |
torch.vmap(lambda a: listed([a, y]))(x) | torch.vmap(lambda a: written(a, y))(x.clone()) | torch.vmap(op, (0, None))(x, y)
"""


@pytest.mark.filterwarnings("ignore")  # of slices, which torch reports on stderr
@pytest.mark.parametrize("rule", [False, True])
@pytest.mark.parametrize("call", [call.strip() for call in CALLS.replace("\n", " ").split("|")])
def test_vmap(ns, rule, call):
    def body(torch):
        @torch.library.custom_op(f"{ns}::f", mutates_args=())
        def f(x: torch.Tensor, y: torch.Tensor, n: int = 2) -> torch.Tensor:
            return torch.from_numpy(x.numpy() * n) + y

        @torch.library.custom_op(f"{ns}::two", mutates_args=())
        def two(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            return x * 2, x.sum()

        @torch.library.custom_op(f"{ns}::listed", mutates_args=())
        def listed(xs: list[torch.Tensor]) -> torch.Tensor:
            return xs[0] + xs[1]

        @torch.library.custom_op(f"{ns}::written", mutates_args={"x"})
        def written(x: torch.Tensor, y: torch.Tensor) -> None:
            x.add_(y)

        torch.library.define(f"{ns}::op", "(Tensor x, Tensor y) -> Tensor")
        torch.library.impl(f"{ns}::op", "cpu", lambda x, y: x * y.sum())
        seen = []

        def of_f(info, in_dims, *args):
            seen.append((info.batch_size, info.randomness, in_dims, len(args)))
            moved = [one if dim is None else one.movedim(dim, 0) for one, dim in zip(args, in_dims)]
            return f(*moved), 0

        if rule:
            f.register_vmap(of_f)
            assert two.register_vmap(lambda info, in_dims, x: ((x * 2, x.sum(-1)), (0, 0))) is None
            torch.library.register_vmap(listed)(lambda info, in_dims, xs: (seen.append(in_dims), (xs[0] + xs[1], 0))[1])
            torch.library.register_vmap(f"{ns}::op", lambda info, in_dims, x, y: (x * y.sum(), in_dims[0]))
        x, y = torch.arange(6.0).reshape(2, 3), torch.arange(3.0)
        known = {"torch": torch, "f": f, "two": two, "listed": listed, "written": written, "op": getattr(torch.ops, ns).op, "x": x, "y": y}
        return eval(call, known), seen

    both(body)


def test_rules_of_vmap_that_do_not_fit(ns):
    for call in ("torch.library.register_vmap(3, print)", f"torch.library.register_vmap('{ns}::nothing', print)"):
        both(lambda torch, call=call: eval(call, {"torch": torch}))


def test_autocast_of_operators(both, ns):
    """In an autocast region of the device, operators receive cast tensors, however they are called, and run without autocast."""

    def body(torch):
        seen = []

        @torch.library.custom_op(f"{ns}::scaled", mutates_args=())
        def scaled(x: torch.Tensor, k: float = 2.0) -> torch.Tensor:
            seen.append(torch.is_autocast_enabled("cpu"))
            return x * k

        scaled.register_autograd(lambda ctx, g: (g * 3, None))
        torch.library.register_autocast(f"{ns}::scaled", "cpu", torch.bfloat16)
        torch.library.register_autocast(scaled, "cpu", torch.float16)  # which comes too late
        x = torch.ones(2, requires_grad=True)
        with torch.autocast("cpu"):
            found = [f(x.to(kind)) for f in (scaled, getattr(torch.ops, ns).scaled, scaled._opoverload) for kind in (torch.float32, torch.float64)]
            found.append(scaled(torch.arange(2), 3.0))
        found[0].sum().backward()
        return found, x.grad, scaled(x.detach()), seen

    both(body)


@pytest.mark.parametrize("call", ["'{ns}::scaled', 'nowhere'", "scaled, 3", "3, 'cpu'"])
def test_autocast_of_operators_that_is_refused(both, ns, call):
    def body(torch):
        @torch.library.custom_op(f"{ns}::scaled", mutates_args=())
        def scaled(x: torch.Tensor) -> torch.Tensor:
            return x * 2

        eval(f"torch.library.register_autocast({call.format(ns=ns)}, torch.float16)", {"torch": torch, "scaled": scaled})

    both(body)


def _checkable(torch, ns):
    """Return operators, each with something that opcheck detects."""
    made = {}

    def operator(name, fake=None, mutates=(), gives=True):
        def add(kernel):
            kernel.__annotations__ = {"a": torch.Tensor, "return": torch.Tensor if gives else None}
            made[name] = torch.library.custom_op(f"{ns}::{name}", mutates_args=mutates)(kernel)
            if fake is not None:
                made[name].register_fake(fake)

        return add

    operator("right", torch.empty_like)(lambda a: a * 2)
    made["right"].register_autograd(lambda ctx, g: g * 2)
    operator("no_fake")(lambda a: a * 2)
    operator("other_shape", lambda a: a.new_empty(5))(lambda a: a * 2)
    operator("other_dtype", lambda a: a.new_empty(2, dtype=torch.float64))(lambda a: a * 2)
    operator("writes", torch.empty_like)(lambda a: a.add_(1) * 2)
    operator("may_write", None, {"a"}, False)(lambda a: [a.add_(1)].clear())
    operator("sizes_of_values", lambda a: a.new_empty((torch.library.get_ctx().new_dynamic_size(), 1), dtype=torch.int64))(lambda a: a.nonzero())
    operator("other_sizes_of_values", lambda a: a.new_empty((torch.library.get_ctx().new_dynamic_size(min=3), 2), dtype=torch.int64))(lambda a: a.nonzero())
    torch.library.define(f"{ns}::plain", "(Tensor x) -> Tensor")
    torch.library.impl(f"{ns}::plain", "cpu", lambda x: x * 2)
    return {**made, "plain": getattr(torch.ops, ns).plain, "sin": torch.ops.aten.sin.default}


@pytest.mark.parametrize("tracked", [False, True])
@pytest.mark.parametrize("name", ["right", "no_fake", "other_shape", "other_dtype", "writes", "may_write", "plain", "sin", "sizes_of_values", "other_sizes_of_values"])
def test_opcheck(both, ns, name, tracked):
    """Each test's outcome: SUCCESS, or the class of the error and the beginning of its message."""
    if tracked and name == "may_write":
        pytest.skip("in-place writes to leaves")

    def body(torch):
        found = torch.library.opcheck(_checkable(torch, ns)[name], (torch.ones(2, requires_grad=tracked),), raise_exception=False)
        return {key: value if isinstance(value, str) else (type(value).__name__, str(value).replace("mstorch", "torch")[:110]) for key, value in found.items()}

    both(body)


def test_contexts_of_fake_functions(both, ns):
    """A size that depends on values has no number on meta tensors."""

    def body(torch):
        with pytest.raises(RuntimeError, match="to run this operator with meta Tensors"):
            _checkable(torch, ns)["sizes_of_values"](torch.ones(2, device="meta"))
        return torch.library.get_ctx()

    both(body)


def test_fake_tensors_are_given_to_fake_functions(both, ns):
    def body(torch):
        made, found = _checkable(torch, ns), []
        for name in ("other_shape", "sizes_of_values"):
            with torch._subclasses.fake_tensor.FakeTensorMode():
                try:
                    found.append(tuple(made[name](torch.ones(2)).shape))
                except RuntimeError as error:
                    found.append(type(error).__name__)
        return found

    both(body)


CHECKS = ["right, (x,), test_utils='test_schema'", "right, (x,), test_utils=('test_schema', 'test_faketensor')", "right, (x,), test_utils=('nothing',)",
          "'right', (x,)", "no_fake, (x,)", "writes, (x,)"]  # fmt: skip


@pytest.mark.parametrize("call", CHECKS)
def test_opcheck_raises(both, ns, call):
    both(lambda torch: eval(f"torch.library.opcheck({call})", {"torch": torch, "x": torch.ones(2), **_checkable(torch, ns)}), message="opcheck(op, ...")


@pytest.mark.parametrize("kernel", ["a", "a.view(-1)", "a[:1]", "a.detach()", "a * 2", "a.T"])
def test_results_that_share_memory_with_arguments(both, ns, kernel):
    def body(torch):
        def f(a):
            return eval(kernel, {"a": a})

        f.__annotations__ = {"a": torch.Tensor, "return": torch.Tensor}
        return torch.library.custom_op(f"{ns}::f", mutates_args=())(f)(torch.ones(2))

    both(body, message="The output of this custom operator (1) must not also be an input")


def test_rules_of_a_mode_for_an_operator(both, ns):
    def body(torch):
        class Mode(torch.utils._python_dispatch.TorchDispatchMode):
            def __torch_dispatch__(self, func, types, args=(), kwargs=None):
                return func(*args, **(kwargs or {})) * 10

        @torch.library.custom_op(f"{ns}::once", mutates_args=())
        def once(x: torch.Tensor) -> torch.Tensor:
            return x.clone()

        @torch.library.register_torch_dispatch(f"{ns}::once", Mode)
        def _(mode, func, types, args, kwargs):
            assert type(mode) is Mode and str(func) == f"{ns}.once.default" and kwargs == {}
            return args[0] + 1

        x = torch.ones(2)
        with Mode():
            inside = once(x), x.sin()
        return once(x), *inside

    both(body)


def test_kernels_that_are_asked_for(both, ns):
    def body(torch):
        library = torch.library.Library(ns, "DEF")
        library.define("twice(Tensor x) -> Tensor")
        library.impl("twice", lambda x: x * 2, "CPU")
        keys = torch._C.DispatchKeySet(torch._C.DispatchKey.CPU)
        return [
            torch.library.get_kernel(op, key).call_boxed(keys, torch.ones(2))
            for op, key in ((f"{ns}::twice", "CPU"), (torch.ops.aten.sin.default, torch._C.DispatchKey.CPU), ("aten::sin", "CPU"))
        ]

    both(body)


@pytest.mark.parametrize("call", ["'aten::nope', 'CPU'", "'aten::sin', 'Nope'", "'sin', 'CPU'", "3, 'CPU'"])
def test_kernels_that_are_not_there(both, call):
    both(lambda torch: eval(f"torch.library.get_kernel({call})", {"torch": torch}))


def test_excluded_keys(both):
    def body(torch):
        key = torch._C.DispatchKey.FuncTorchBatched
        has = lambda: torch._C._dispatch_tls_local_exclude_set().has(key)
        with torch._C._ExcludeDispatchKeyGuard(torch._C.DispatchKeySet(key)):
            inside = has(), torch.vmap(lambda x: x.sum(0))(torch.ones(3))
        return *inside, has()

    both(body)


def test_numbers_beside_tensors_below_a_mode(both, ns):
    """Selective checkpoints dispatch each operator, also one that returns a number."""

    def body(torch):
        @torch.library.custom_op(f"{ns}::with_number", mutates_args=())
        def with_number(x: torch.Tensor) -> tuple[torch.Tensor, int]:
            return x.sin(), 2

        with_number.register_autograd(
            lambda ctx, gradient, _: gradient * ctx.saved_tensors[0].cos(), setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs)
        )
        module = torch.utils.checkpoint
        context = lambda: module.create_selective_checkpoint_contexts(lambda ctx, op, *args, **kwargs: module.CheckpointPolicy.PREFER_RECOMPUTE)
        x = torch.ones(2, requires_grad=True)
        y = module.checkpoint(lambda x: with_number(x)[0] * x.sin().exp(), x, use_reentrant=False, context_fn=context)
        return y, torch.autograd.grad(y.sum(), x)

    both(body)


def test_tables_of_operators_are_copied(ns):
    """Counters of operations copy a table by operator for each run; the operators in the copy are the same objects."""

    def body(torch):
        library = torch.library.Library(ns, "DEF")
        library.define("twice(Tensor x) -> Tensor")
        own = getattr(torch.ops, ns).twice
        table = {torch.ops.aten.add: 1, torch.ops.aten.add.Tensor: 2, own: 3, own.default: 4}
        return copy.deepcopy(table) == table, [copy.deepcopy(operator) is operator for operator in table]

    assert both(body) == (True, [True] * 4)
