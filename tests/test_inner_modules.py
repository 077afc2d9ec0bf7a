"""torch's private modules that packages use, compared with torch's own."""
from __future__ import annotations

import importlib
import json
import unittest
from typing import Any

import pytest

import mstorch


def inner(torch: Any, name: str) -> Any:
    return importlib.import_module(f"{torch.__name__}.{name}")


def test_members_by_name(both) -> None:
    def body(torch):
        torch.manual_seed(0)
        module = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3))
        accessor = inner(torch, "nn.utils._named_member_accessor").NamedMemberAccessor(module)
        found = [accessor.get_tensor("0.weight"), [name for name, _ in accessor.named_tensors()]]
        before = accessor.swap_tensor("0.bias", torch.ones(3))
        found += [before, module[0].bias, type(module[0].bias) is torch.Tensor, accessor.check_keys(["0.weight", "x"])]
        accessor.set_tensors_dict({"0.bias": before, "1.running_mean": torch.full((3,), 2.0)})
        found += [module[1].running_mean, list(module.state_dict())]
        old = accessor.swap_tensors_dict({"0.weight": torch.zeros(3, 2)})
        found += [old[0]["0.weight"], old[1], module[0].weight]
        accessor.del_tensor("0.bias")
        found.append("bias" in module[0]._parameters)
        return found

    both(body)


@pytest.mark.parametrize(
    "call",
    [
        lambda a, x: a.get_tensor("0.nothing"), lambda a, x: a.set_tensor("0.weight", 3), lambda a, x: a.swap_tensor("0.", x),
        lambda a, x: a.set_tensors(["0.weight"], []), lambda a, x: a.swap_tensors_dict({"0.weight": x, "0.nothing": x}),
        lambda a, x: a.swap_submodule("9", a.module), lambda a, x: a.get_submodule("7.weight"),
    ],
)  # fmt: skip
def test_members_that_are_not_there(both, call) -> None:
    def body(torch):
        accessor = inner(torch, "nn.utils._named_member_accessor").NamedMemberAccessor(torch.nn.Sequential(torch.nn.Linear(2, 2)))
        try:
            call(accessor, torch.ones(2, 2))
        except (AttributeError, TypeError, KeyError, ValueError, RuntimeError, AssertionError) as error:
            return type(error).__name__, str(error)[:60]

    both(body)


def test_ordered_sets(both) -> None:
    def body(torch):
        make = inner(torch, "utils._ordered_set").OrderedSet
        one = make([3, 1, 3, 2])
        one.add(0)
        one.discard(9)
        other = one | make([7, 1])
        return (
            list(one), repr(one), list(reversed(one)), len(one), 1 in one, list(other), list(one & make([2, 3])), list(one - make([3])),
            one == make([3, 1, 2, 0]), list(one.union([5], [6])), one.pop(), list(one), list(one.copy()),
        )  # fmt: skip

    both(body)


def test_strides_and_conversions(both) -> None:
    def body(torch):
        common = inner(torch, "_prims_common")
        wrappers = inner(torch, "_prims_common.wrappers")
        x = torch.ones(2, 3, 4, 5)
        return [
            [common.make_channels_last_strides_for(shape) for shape in ((2, 3, 4), (2, 3, 4, 5), (1, 2, 3, 4, 5))],
            common.make_contiguous_strides_for((2, 0, 3)), common.make_contiguous_strides_for((2, 4, 3), row_major=False),
            str(common.suggest_memory_format(x)), str(common.suggest_memory_format(x.to(memory_format=torch.channels_last))),
            str(common.suggest_memory_format(x[0])), wrappers._maybe_convert_to_dtype(x[0, 0, 0], torch.float64),
            wrappers._maybe_convert_to_dtype(2, torch.float32), wrappers._maybe_convert_to_dtype((x[0, 0, 0], 1), torch.int64),
        ]  # fmt: skip

    both(body)


def test_context_managers_that_decorate(both) -> None:
    def body(torch):
        base = inner(torch, "utils._contextlib")._DecoratorContextManager
        seen = []

        class Noting(base):
            def __enter__(self):
                seen.append("in")

            def __exit__(self, *exc):
                seen.append("out")

        @Noting()
        def add(a, b=1):
            seen.append("add")
            return a + b

        @Noting()
        def count():
            got = yield 1
            seen.append(got)
            yield 2
            return 3

        steps = count()
        first, second = next(steps), steps.send("sent")
        return add(2, b=5), add.__name__, first, second, list(steps), seen

    both(body)


def test_groups_of_tensors(both) -> None:
    def body(torch):
        group = inner(torch, "utils._foreach_utils")._group_tensors_by_device_and_dtype
        one, two = torch.ones(1), torch.ones(2, dtype=torch.float64)
        groups = group([[one, two, one], [None, two, one]], with_indices=True)
        return [(str(key), lists, places) for key, (lists, places) in sorted(groups.items(), key=str)]

    both(body)


def test_products_of_small_integers(both) -> None:
    def body(torch):
        torch.manual_seed(1)
        a = torch.randint(-9, 9, (5, 8), dtype=torch.int8)
        b = torch.randint(-9, 9, (8, 3), dtype=torch.int8)
        x = torch.randn(4, 8)
        found = [torch._int_mm(a, b), torch.ops.aten._int_mm(a, b), torch._weight_int8pack_mm(x, a, torch.rand(5))]
        for call in (
            lambda: torch._int_mm(a.float(), b), lambda: torch._int_mm(a, a), lambda: torch._int_mm(a[0], b), lambda: torch._int_mm(a, b.float()),
            lambda: torch._weight_int8pack_mm(a, a, torch.ones(5)), lambda: torch._weight_int8pack_mm(x, a, torch.ones(4)),
        ):  # fmt: skip
            try:
                call()
            except RuntimeError as error:
                found.append(str(error))
        return found

    both(body)


def test_test_cases_compare_as_torchs(both) -> None:
    def body(torch):
        utils = inner(torch, "testing._internal.common_utils")

        class Case(utils.TestCase):
            def runTest(self):
                pass

        case = Case()
        x = torch.tensor([1.0, 2.0])
        found = []
        for left, right, options in (
            (x, x.clone(), {}), (x, x + 1, {}), (x, [1.0, 2.0], {}), (x, x.double(), {}), (x, x.double(), {"exact_dtype": False}), (1, 1.0, {}),
            (1, 2, {}), ("a", "a", {}), ("a", "b", {}), ({"k": x}, {"k": x}, {}), ([x, 1], [x, 2], {}), (x.numpy(), x, {}), (None, None, {}),
            (x, x + 0.1, {"atol": 0.2, "rtol": 0.0}), (torch.tensor(float("nan")), float("nan"), {}),
            ({"a": {0: x, "b": None}, "c": "d"}, {"a": {0: x.clone(), "b": None}, "c": "d"}, {}), ([x, "s"], [x + 1, "s"], {}),
            ([x, None], [x, "s"], {}), ([x, None], (x.clone(), None), {}), ([x, None], [x], {}), ({"a": x, "b": "c"}, {"a": x}, {}),
            ({"a": x, "b": "c"}, {"b": "c", "a": x}, {}), ((x, object), (x, object), {}), (x, None, {}), (None, x, {}),
            ([x, "s"], [x + 0.1, "s"], {"atol": 0.2, "rtol": 0.0}), ([x, "s"], [x.double(), "s"], {}),
        ):  # fmt: skip
            try:
                case.assertEqual(left, right, **options)
                found.append("equal")
            except AssertionError:
                found.append("differ")
        return found

    both(body)


def test_parametrized_test_cases(both) -> None:
    def body(torch):
        utils = inner(torch, "testing._internal.common_utils")
        seen = []

        class Cases(utils.TestCase):
            @utils.parametrize("a", [1, 2.5])
            @utils.parametrize("b,c", [utils.subtest((3, "x"), name="first"), (4, torch.float32)])
            def test_all(self, a, b, c):
                seen.append((a, b, str(c)))

            @utils.parametrize("bias", [True, False], name_fn=lambda bias: "bias" if bias else "none")
            def test_names(self, bias):
                seen.append(bias)

        utils.instantiate_parametrized_tests(Cases)
        names = sorted(name for name in vars(Cases) if name.startswith("test"))
        result = unittest.TestResult()
        unittest.defaultTestLoader.loadTestsFromTestCase(Cases).run(result)
        return names, result.wasSuccessful(), result.testsRun, sorted(seen, key=str)

    both(body)


def test_vmap_of_registered_containers(both) -> None:
    """vmap flattens containers that a package registers in ``utils._pytree``, and a package may replace functions of vmap."""

    def body(torch):
        pytree, steps = inner(torch, "utils._pytree"), inner(torch, "_functorch.vmap")

        class Pair:
            def __init__(self, a, b):
                self.a, self.b = a, b

        pytree.register_pytree_node(Pair, lambda pair: ([pair.a, pair.b], "context"), lambda items, context: Pair(*items))
        x = torch.arange(6.0).reshape(2, 3)
        result = torch.vmap(lambda pair: Pair(pair.a + pair.b.sum(), pair.b))(Pair(x, x * 2))
        dims = torch.vmap(lambda pair, y: pair.a * y, in_dims=(1, None), out_dims=1)(Pair(x, x), torch.ones(2))
        before, seen = steps._create_batched_inputs, []

        def noting(dims, args, level, spec):
            seen.append((list(dims), level))
            return before(dims, args, level, spec)

        steps._create_batched_inputs = noting
        try:
            nested = torch.vmap(lambda row: torch.vmap(lambda one: one * 2)(row))(x)
        finally:
            steps._create_batched_inputs = before
        return result.a, result.b, dims, nested, seen

    both(body)


def test_local_parts_of_dtensors() -> None:
    from mstorch.distributed.tensor.experimental import local_map

    assert local_map(lambda a, b: a + b, out_placements=None)(1, 2) == 3
    assert local_map(out_placements=None)(lambda a: a * 2)(4) == 8
    with pytest.raises(AssertionError, match="in_placements length 2"):
        local_map(lambda a: a, out_placements=None, in_placements=(None, None))(1)


OWN_TESTS = """
lib = torch.library.Library("{space}", "FRAGMENT")
for name in ("fine", "writes", "left"):
    lib.define(f"{{name}}(Tensor x) -> Tensor")
    lib.impl(name, (lambda x: x + 1) if name == "fine" else (lambda x: x.add_(1).clone()), "CompositeExplicitAutograd")
    torch.library.register_fake(f"{space}::{{name}}", lambda x: torch.empty_like(x), lib=lib)

class TestOwn:
    def test_one(self):
        assert torch.ops.{space}.fine(torch.zeros(2)).tolist() == [1, 1]
    def test_wrong(self):
        torch.ops.{space}.writes(torch.zeros(2))
    def test_known(self):
        torch.ops.{space}.left(torch.zeros(2))
    @optests.dontGenerateOpCheckTests("it has none")
    def test_without(self):
        pass
"""


def test_checks_made_from_a_packages_tests(both, tmp_path) -> None:
    def body(torch):
        space = f"own_{torch.__name__.replace('.', '_')}"
        told = {f"{space}::left": {"TestOwn.test_faketensor__test_known": {"comment": "", "status": "xfail"},
                                   "TestOwn.test_schema__test_known": {"comment": "", "status": "xfail"}}}  # fmt: skip
        path = tmp_path / f"{space}.json"
        path.write_text(json.dumps({"_description": "This is a dict containing failures for tests autogenerated by generate_opcheck_tests. For more "
                                    "details, please see https://docs.google.com/document/d/1Pj5HRZvdOq3xpFpbEjUZp2hBovhy7Wnxw14m6lF2154/edit",
                                    "_version": 1, "data": told}, indent=2) + "\n")  # fmt: skip
        optests = inner(torch, "testing._internal.optests")
        scope: dict[str, Any] = {"torch": torch, "optests": optests}
        exec(OWN_TESTS.format(space=space), scope)
        optests.generate_opcheck_tests(scope["TestOwn"], [space], str(path), {}, ["test_schema", "test_faketensor"])
        found = {}
        for name in sorted(dir(scope["TestOwn"])):
            if name.startswith("test_"):
                try:
                    getattr(scope["TestOwn"](), name)()
                    found[name.replace(space, "own")] = "passes"
                except Exception as error:  # noqa: BLE001
                    found[name.replace(space, "own")] = type(error).__name__
        return sorted(found.items())

    both(body)


def test_an_operator_is_one_object() -> None:
    library = mstorch.library.Library("of_one_object", "DEF")
    library.define("twice(Tensor x) -> Tensor")
    packet = mstorch.ops.of_one_object.twice
    assert mstorch.ops.of_one_object.twice is packet
    library.define("twice.more(Tensor x, int n) -> Tensor")
    assert mstorch.ops.of_one_object.twice.overloads() == ["default", "more"]


def test_modes_see_custom_operators(both) -> None:
    """A mode is told of an operator, or of its overload, and not of what its kernel calls."""

    def body(torch):
        space = f"seen_{torch.__name__.replace('.', '_')}"
        library = torch.library.Library(space, "FRAGMENT")
        library.define("one(Tensor x) -> Tensor")
        library.impl("one", lambda x: torch.add(x, 1), "CompositeExplicitAutograd")
        seen = []

        class Told(torch.overrides.TorchFunctionMode):
            def __torch_function__(self, func, types, args=(), kwargs=None):
                seen.append((type(func).__name__.replace("Custom", "Op").replace("OpPacket", "OpOverloadPacket"), len(types), sorted(kwargs or {})))
                return func(*args, **(kwargs or {}))

        x = torch.zeros(2)
        with Told():
            results = getattr(torch.ops, space).one(x), getattr(torch.ops, space).one(x=x), getattr(torch.ops, space).one.default(x)
        return seen, results, library is not None

    both(body)
