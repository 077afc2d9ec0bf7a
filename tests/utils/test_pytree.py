"""torch.utils._pytree compared with torch's own."""
from __future__ import annotations

import dataclasses
import enum
import importlib
import uuid
from collections import OrderedDict, defaultdict, deque, namedtuple

import pytest

from tests.against_torch import both

Point = namedtuple("Point", "x y")


class Colour(enum.Enum):
    RED = 1


def _pytree(torch):
    return importlib.import_module(f"{torch.__name__}.utils._pytree")


def _trees(torch):
    return [
        3, None, [], [1, (2, None), {}], {"b": [1], "a": OrderedDict(z=3)}, defaultdict(list, {1: [2]}), deque([1, 2], maxlen=3),
        Point(1, [2]), torch.max(torch.tensor([[1.0, 3.0]]), 1), torch.Size([2, 3]), {Colour.RED: (1,)},
    ]  # fmt: skip


@pytest.mark.parametrize("name, sample", [
    ("list", [1, 2]), ("tuple", (1, 2)), ("dict", {"b": 1, "a": 2}), ("ordereddict", OrderedDict(z=3)), ("namedtuple", Point(1, [2])),
    ("defaultdict", defaultdict(list, {1: [2]})), ("deque", deque([1, 2], maxlen=3)),
])  # fmt: skip
def test_functions_of_a_container(name, sample):
    def body(torch):
        tree = _pytree(torch)
        leaves, context = getattr(tree, f"_{name}_flatten")(sample)
        pairs, again = getattr(tree, f"_{name}_flatten_with_keys")(sample)
        back = getattr(tree, f"_{name}_unflatten")(iter(leaves), context)
        return leaves, repr(context), [(str(key), leaf) for key, leaf in pairs], repr(again), repr(back), type(back) is type(sample)

    both(body)


def test_a_named_tuple_registered_by_the_functions_of_named_tuples():
    def body(torch):
        tree = _pytree(torch)
        State = namedtuple("State", "v i")
        Kind = type("Kind", (State,), {})
        tree.register_pytree_node(Kind, tree._namedtuple_flatten, tree._namedtuple_unflatten)
        mapped = tree.tree_map(lambda one: one + 1, Kind(1, [2]))
        tree._deregister_pytree_node(Kind)
        return type(mapped).__name__, tuple(mapped), tree._is_namedtuple_instance(Kind(1, 2)), tree._is_namedtuple_instance((1, 2))

    both(body)


def test_flatten_and_back():
    def body(torch):
        tree = _pytree(torch)
        results = []
        for sample in _trees(torch):
            leaves, spec = tree.tree_flatten(sample)
            back = tree.tree_unflatten(leaves, spec)
            results.append((leaves, repr(spec), spec.num_leaves, spec.num_nodes, spec.num_children, type(back).__name__, repr(back)))
            assert spec == tree.tree_structure(sample) and hash(spec) == hash(tree.tree_structure(sample))
        return results

    both(body)


def test_paths():
    def body(torch):
        tree = _pytree(torch)
        results = []
        for sample in _trees(torch):
            pairs, spec = tree.tree_flatten_with_path(sample)
            results.append([(tree.keystr(path), repr(path), tree.key_get(sample, path)) for path, _ in pairs])
            results.append(repr(tree.tree_map_with_path(lambda path, leaf: tree.keystr(path), sample)))
        return results

    both(body)


@pytest.mark.parametrize(
    "pair",
    [([1, 2], [3, 4]), ([1, 2], [3]), ([1, 2], (3, 4)), ({"a": 1}, {"b": 2}), ({"a": 1, "b": 2}, OrderedDict(b=1, a=2)),
     ([1, 2], [3, [4, 5]]), (deque([1], 2), deque([1], 3)), (defaultdict(list, a=1), {"a": 3})],
    ids=str,
)  # fmt: skip
def test_maps_of_two_trees(pair):
    both(lambda torch: _pytree(torch).tree_map(lambda a, b: (a, b), *pair))


def test_selective_maps():
    def body(torch):
        tree = _pytree(torch)
        sample = [1, 2.0, True, (torch.ones(2),)]
        seen = []
        tree.tree_map_only_(float, seen.append, sample)
        return [
            tree.tree_map_only(int, lambda x: x + 1, sample), tree.tree_map_only((int, float), lambda x: x + 1, sample),
            tree.tree_map_only(int | float, lambda x: x + 1, sample), tree.tree_map_only(torch.Tensor, lambda x: x + 1, sample),
            tree.tree_map_only(lambda x: x is True, lambda x: 7, sample), seen,
            tree.tree_all_only(int, lambda x: x > 0, sample), tree.tree_any_only(float, lambda x: x > 2, sample),
            tree.tree_all(callable, sample), tree.tree_any(callable, [len]),
            tree.tree_leaves([1, [2]], is_leaf=lambda x: x == [2]), tree.arg_tree_leaves(1, [2], a=3),
            tree._broadcast_to_and_flatten([1, 5], tree.tree_structure([1, (2, 3)])),
            tree._broadcast_to_and_flatten([1], tree.tree_structure([1, (2, 3)])),
        ]  # fmt: skip

    both(body)
    both(lambda torch: _pytree(torch).tree_map_only(3, len, []))
    both(lambda torch: _pytree(torch).tree_unflatten([1], 3))
    both(lambda torch: _pytree(torch).tree_unflatten([1], _pytree(torch).tree_structure([1, 2])))


def test_text():
    def body(torch):
        tree = _pytree(torch)
        texts = []
        for sample in ([1, (2, {"a": 3})], defaultdict(list, a=1), deque([1], 3), OrderedDict(z=1), 5):
            spec = tree.tree_structure(sample)
            text = tree.treespec_dumps(spec)
            assert tree.treespec_loads(text) == spec
            texts += [text, tree.treespec_pprint(spec)]
        return texts

    both(body)
    both(lambda torch: _pytree(torch).treespec_dumps(_pytree(torch).tree_structure(Point(1, 2))))


def test_text_of_named_tuples():
    def body(torch):
        tree = _pytree(torch)
        pair = namedtuple("pair", "a b")
        name = f"tests.pair{uuid.uuid4()}"
        tree._register_namedtuple(pair, serialized_type_name=name)
        spec = tree.tree_structure(pair(1, 2))
        assert tree.treespec_loads(tree.treespec_dumps(spec)) == spec
        return tree.treespec_dumps(spec).replace(name, "")

    both(body)


def test_own_containers():
    def body(torch):
        tree = _pytree(torch)

        class Bag:
            def __init__(self, *items):
                self.items = items

        @dataclasses.dataclass
        class Pair:
            first: int
            second: int | None = None

        class Unit:
            def __eq__(self, other):
                return isinstance(other, Unit)

            def __hash__(self):
                return 1

        tree.register_pytree_node(Bag, lambda bag: (list(bag.items), None), lambda items, _: Bag(*items))
        tree.register_dataclass(Pair)
        tree.register_constant(Unit)
        results = [
            tree.tree_map(lambda x: x + 1, Bag(1, [2])).items,
            repr(tree.tree_map(lambda x: x + 1, Pair(1, 2))).rpartition(".")[2],
            [(tree.keystr(path), leaf) for path, leaf in tree.tree_leaves_with_path(Pair(1))],
            tree.tree_leaves([Unit(), 3]), tree.is_constant_class(Unit), tree.is_constant_class(Bag),
        ]  # fmt: skip
        for call in (
            lambda: tree.register_pytree_node(Bag, None, None), lambda: tree.register_constant(Bag),
            lambda: tree.tree_leaves_with_path(Bag(1)), lambda: tree.register_dataclass(str),
        ):  # fmt: skip
            try:
                call()
            except (ValueError, TypeError) as error:
                results.append((type(error), str(error)))
        tree._deregister_pytree_node(Bag)
        results.append(len(tree.tree_leaves(Bag(1, 2))))
        return results

    both(body)


def test_kinds():
    def body(torch):
        import time

        tree = _pytree(torch)
        top = torch.max(torch.ones(1, 2), 1)
        samples = [Point, Point(1, 2), (1, 2), top, type(top), time.localtime(), tuple, 3]
        names = ["is_namedtuple", "is_namedtuple_class", "is_namedtuple_instance", "is_structseq", "is_structseq_class", "is_structseq_instance"]
        return [[bool(getattr(tree, name)(sample)) for name in names] for sample in samples]

    both(body)


def test_structures():
    def body(torch):
        tree = _pytree(torch)
        spec = tree.treespec_tuple([tree.treespec_leaf(), tree.treespec_dict({"a": tree.treespec_leaf()})])
        return [
            spec == tree.tree_structure((1, {"a": 2})), repr(spec), spec.child(0).is_leaf(), repr(spec.children()),
            spec.unflatten([1, 2]), spec.flatten_up_to((1, {"a": [2]})), tree.PyTreeSpec is tree.TreeSpec,
            isinstance(tree.LeafSpec(), tree.TreeSpec), tree.tree_structure(4) == tree.LeafSpec(),
            tree._get_node_type(Point(1, 2)) is namedtuple, tree.tree_is_leaf(None), tree.tree_is_leaf([]),
        ]  # fmt: skip

    both(body)
