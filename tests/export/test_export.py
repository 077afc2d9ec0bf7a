"""torch.export: programs compared with the modules that were exported, and with torch's messages; files, also read in another process."""
from __future__ import annotations

import collections
import enum
import io
import json
import pathlib
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import mstorch
from mstorch.ops import whole
from tests import warm
from tests.export import former_files
from tests.fx.test_make_fx import NETWORKS, _agree, _tensors

Both = Callable[..., Any]


def _nested(torch: Any) -> Any:
    class Nested(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear, self.norm = torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4)
            self.register_buffer("shift", torch.ones(4))
            self.register_buffer("hidden", torch.ones(4), persistent=False)

        def forward(self, x: Any, pair: Any = None, *, scale: float = 2.0, last: Any = None) -> Any:
            found = self.norm(self.linear(x)) * scale + self.shift * self.hidden
            return {"out": found.relu(), "n": 3, "pair": (pair[0] + 1, last)}

    torch.manual_seed(0)
    return Nested().eval()


def _arguments(torch: Any) -> tuple[Any, Any]:
    x, y = torch.arange(6.0).reshape(2, 3), torch.ones(2)
    return (x, (y, y * 2)), {"last": y * 3, "scale": 3.0}


def test_the_signature_and_the_state_are_torchs(both: Both) -> None:
    def body(torch: Any) -> Any:
        args, kwargs = _arguments(torch)
        program = torch.export.export(_nested(torch), args, kwargs)
        signature = program.graph_signature
        inputs = [(spec.kind.name, spec.arg.name, spec.target, spec.persistent) for spec in signature.input_specs]
        return (
            inputs, list(program.state_dict), signature.parameters, signature.buffers, signature.user_inputs,
            [name for name, _ in program.named_buffers()], len(signature.output_specs), signature.inputs_to_buffers,
        )  # fmt: skip

    both(body)


def test_a_program_computes_what_the_module_does(both: Both) -> None:
    def body(torch: Any) -> Any:
        args, kwargs = _arguments(torch)
        module = torch.export.export(_nested(torch), args, kwargs).module()
        found = module(args[0] + 1, args[1], scale=3.0, last=kwargs["last"])
        return found["out"], found["n"], found["pair"], sorted(module.state_dict())

    both(body)


WRONG: dict[str, Callable[[Any, Any, Any, Any], Any]] = {
    "another shape": lambda module, torch, args, kwargs: module(torch.ones(5, 3), args[1], **kwargs),
    "a keyword less": lambda module, torch, args, kwargs: module(*args, scale=3.0),
    "another number": lambda module, torch, args, kwargs: module(*args, **{**kwargs, "scale": 4.0}),
}


@pytest.mark.parametrize("name", WRONG)
def test_inputs_of_another_form_are_refused(both: Both, name: str) -> None:
    def body(torch: Any) -> None:
        args, kwargs = _arguments(torch)
        WRONG[name](torch.export.export(_nested(torch), args, kwargs).module(), torch, args, kwargs)

    both(body, message="mismatch" if name == "a keyword less" else "Guard failed")


def test_a_branch_on_data_is_refused(both: Both) -> None:
    def body(torch: Any) -> None:
        class Branch(torch.nn.Module):
            def forward(self, x: Any) -> Any:
                return x if x.sum() > 0 else -x

        torch.export.export(Branch(), (torch.ones(2),))

    both(body, message="Could not guard on data-dependent expression")


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.on_the_cpu
def test_networks_are_exported_saved_and_loaded(name: str) -> None:
    network, args = NETWORKS[name]
    network.eval()
    program = mstorch.export.export(network, args)
    assert len(program.graph.nodes) > len(list(network.parameters()))
    others = tuple(mstorch.randn_like(arg) for arg in args)
    _agree(program.module()(*others), network(*others))
    file = io.BytesIO()
    mstorch.export.save(program, file)
    file.seek(0)
    again = mstorch.export.load(file)
    _agree(again.module()(*others), network(*others))
    assert str(again.graph_signature) == str(program.graph_signature) and again.graph_module.code == program.graph_module.code


def test_training_statistics_move_in_the_program_alone() -> None:
    network = mstorch.nn.Sequential(mstorch.nn.Linear(3, 4), mstorch.nn.BatchNorm1d(4)).train()
    module = mstorch.export.export(network, (mstorch.randn(5, 3),)).module()
    module(mstorch.randn(5, 3))
    module(mstorch.randn(5, 3))
    state = module.state_dict()
    assert int(state["1.num_batches_tracked"]) == 2 and int(network[1].num_batches_tracked) == 0
    assert state["1.running_mean"].abs().sum() > 0 and network[1].running_mean.abs().sum() == 0


def test_another_process_reads_a_program(tmp_path: pathlib.Path) -> None:
    network, args = NETWORKS["encoder"]
    network.eval()
    mstorch.export.save(mstorch.export.export(network, args), tmp_path / "program")
    mstorch.save(args, tmp_path / "arguments")
    code = (
        "import sys, mstorch; program, args = mstorch.export.load(sys.argv[1]), mstorch.load(sys.argv[2])\n"
        "mstorch.save(program.module()(*args).detach(), sys.argv[3])"
    )
    paths = [str(tmp_path / name) for name in ("program", "arguments", "found")]
    warm.said("-c", code, *paths, seconds=300)
    np.testing.assert_allclose(mstorch.load(paths[2]).numpy(), _tensors(network(*args))[0].detach().numpy(), 1e-5, 1e-6)


def test_a_program_without_a_graph_raises(tmp_path: pathlib.Path) -> None:
    class Uneven(mstorch.nn.Module):  # type: ignore[misc, name-defined]
        def forward(self, x: Any) -> Any:
            return x.relu() if x.size(0) % 2 else x + 1

    flexible = mstorch.export.export(Uneven(), (mstorch.ones(2),), dynamic_shapes=({0: mstorch.export.Dim.AUTO},))
    assert flexible.module()(mstorch.ones(5)).shape == (5,)
    with pytest.raises(NotImplementedError, match="sizes may vary"):
        str(flexible.graph)
    with pytest.raises(NotImplementedError):
        mstorch.export.save(flexible, tmp_path / "program")
    mstorch.save({"weight": mstorch.ones(2)}, tmp_path / "other")
    with pytest.raises(ValueError, match="no program"):
        mstorch.export.load(tmp_path / "other")


def test_code_can_tell_that_it_is_exported(both: Both) -> None:
    def body(torch: Any) -> Any:
        seen = []

        class Asks(torch.nn.Module):
            def forward(self, x: Any) -> Any:
                compiler = torch.compiler
                seen.append((compiler.is_exporting(), compiler.is_compiling(), compiler.is_dynamo_compiling()))
                return x + 1 if compiler.is_exporting() else x

        module = Asks()
        program = torch.export.export(module, (torch.ones(2),))
        module(torch.ones(2))
        return seen[0], seen[-1], program.module()(torch.ones(2))

    both(body)


class Pair(NamedTuple):
    first: Any
    second: Any


mstorch.utils._pytree._register_namedtuple(Pair, serialized_type_name="tests.export.Pair")
STRUCTURES: dict[str, Callable[[Any], Any]] = {
    "nested": lambda x: {"a": [x, (x + 1, None)], "b": {"c": 3}}, "ordered": lambda x: collections.OrderedDict(z=x, a=x + 1),
}  # fmt: skip
OTHERS: dict[str, Callable[[Any], Any]] = {  # which torch 2.13 fails to write
    "named": lambda x: Pair(x, x + 1), "default": lambda x: collections.defaultdict(list, {"k": [x]}),
}  # fmt: skip


@pytest.mark.parametrize("name", [*STRUCTURES, *OTHERS])
def test_structures_are_read_as_they_were(both: Both, name: str) -> None:
    make = {**STRUCTURES, **OTHERS}[name]

    def body(torch: Any) -> Any:
        class Gives(torch.nn.Module):
            def forward(self, given: Any) -> Any:
                return make(torch.utils._pytree.tree_leaves(given)[0] * 2)

        file = io.BytesIO()
        given = make(torch.ones(2))
        torch.export.save(torch.export.export(Gives(), (given,)), file)
        file.seek(0)
        found = torch.export.load(file).module()(given)
        return type(found), torch.utils._pytree.tree_leaves(found), list(found)

    if name in STRUCTURES:
        both(body)
        return
    kind, leaves, items = body(mstorch)
    wanted = make(mstorch.ones(2) * 2)
    assert kind is type(wanted) and list(wanted)[:1] == items[:1] if name == "default" else len(items) == 2
    assert [leaf.tolist() for leaf in leaves] == [leaf.tolist() for leaf in mstorch.utils._pytree.tree_leaves(wanted)]


class Colour(enum.Enum):
    RED = 1


def test_a_file_imports_nothing(tmp_path: pathlib.Path) -> None:
    class Gives(mstorch.nn.Module):
        def forward(self, x: Any) -> Any:
            return {Colour.RED: x * 2}

    program = mstorch.export.export(Gives(), (mstorch.ones(2),))
    with pytest.raises(NotImplementedError, match="no form for"):
        former_files.save(program, tmp_path / "program")
    plain = mstorch.export.export(mstorch.nn.ReLU(), (mstorch.ones(2),))
    former_files.save(plain, tmp_path / "program")
    data = mstorch.load(tmp_path / "program")
    for kind, context in (
        ("builtins.dict", '[{"__enum__": true, "fqn": "antigravity:a", "name": "b"}]'),
        ("collections.defaultdict", {"default_factory_module": "antigravity", "default_factory_name": "a", "dict_context": ["k"]}),
    ):
        described = {"type": kind, "context": context, "children_spec": [{"type": None, "context": None, "children_spec": []}]}
        mstorch.save({**data, "nested": json.dumps([1, described])}, tmp_path / "bad")
        with pytest.raises(ValueError, match="names a module to import"):
            mstorch.export.load(tmp_path / "bad")
    assert "antigravity" not in sys.modules


def test_files_of_the_first_form_are_read(tmp_path: pathlib.Path) -> None:
    program = mstorch.export.export(mstorch.nn.ReLU(), (mstorch.ones(2),))
    former_files.save(program, tmp_path / "program")
    data = mstorch.load(tmp_path / "program")
    assert data["form"] == "mstorch.export 2"
    data.update(form="mstorch.export 1", nested=0, example=((mstorch.ones(2),), {}))
    mstorch.save(data, tmp_path / "first")
    assert mstorch.export.load(tmp_path / "first").module()(mstorch.tensor([-1.0, 2.0])).tolist() == [0.0, 2.0]


def test_an_operator_of_no_name_in_torch_is_refused_at_once(tmp_path: pathlib.Path) -> None:
    class Whole(mstorch.nn.Module):
        def forward(self, x: Any) -> Any:
            return whole(lambda t: t * 2, "doubled")(x)

    program = mstorch.export.export(Whole(), (mstorch.ones(2),))
    assert "mstorch.doubled" in str(program.graph)
    with pytest.raises(NotImplementedError, match="no mstorch.doubled.default"):
        mstorch.export.save(program, tmp_path / "program")
    assert not (tmp_path / "program").exists()


CODE = "__import__('pathlib').Path('ran').touch()"


@pytest.mark.parametrize("change", [
    {"kwargs": {f"approximate='none') if {CODE} else dict(a": "none"}}, {"kwargs": {"memory": 1}},
    {"target": "aten.from_file.default", "args": [True, "ran"], "kwargs": {"shared": True, "size": 4}},
    {"target": "aten.save.default", "args": [True, 1, "ran"], "kwargs": {}}, {"target": "aten.load.default", "args": [True, "ran"], "kwargs": {}},
])  # fmt: skip
def test_a_file_runs_nothing(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, change: dict[str, Any]) -> None:
    monkeypatch.chdir(tmp_path)
    former_files.save(mstorch.export.export(mstorch.nn.GELU(), (mstorch.ones(2),)), "program")
    data = mstorch.load("program")
    (place,) = (place for place, node in enumerate(data["nodes"]) if node["op"] == "call_function")
    data["nodes"][place].update(change)
    mstorch.save(data, "changed")
    with pytest.raises(ValueError, match="has no argument|opens files|is no operator"):
        mstorch.export.load("changed")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["changed", "program"]


@pytest.mark.parametrize("name", ["forward", "__class__", "a.forward.b"])
def test_a_file_changes_no_member_of_a_module(tmp_path: pathlib.Path, name: str) -> None:
    former_files.save(mstorch.export.export(mstorch.nn.GELU(), (mstorch.ones(2),)), tmp_path / "program")
    data = mstorch.load(tmp_path / "program")
    for kind in ("constants", "parameters", "buffers"):
        mstorch.save({**data, kind: {name: mstorch.ones(2)}}, tmp_path / "changed")
        with pytest.raises(ValueError, match="is no tensor of a program"):
            mstorch.export.load(tmp_path / "changed")
