"""``.pt2`` archives that real torch writes: mstorch loads them, and computes the same."""
from __future__ import annotations

import copy
import io
import zipfile
from typing import Any

import numpy as np
import pytest
import torch
from torch._export.serde.schema import SCHEMA_VERSION
from torch._export.serde.serialize import serialize

import mstorch
from tests.against_torch import same
from tests.export.pt2_samples import SAMPLES
from tests.jit.test_torchscript_archives import loss, ours
from tests.saved import saved

pytestmark = pytest.mark.filterwarnings("ignore")


def compare(theirs: Any, own: Any, calls: list[tuple[Any, ...]], differentiable: bool = True) -> None:
    """Compare calls of both programs: results, arguments that are written to, gradients, and the state afterwards."""
    for args in calls:
        args, given = copy.deepcopy(args), ours(args)
        want, got = theirs(*args), own(*given)
        same(want, got, rtol=1e-4, atol=1e-5, strides=False)
        same(args, given, rtol=1e-4, atol=1e-5, strides=False)
    number, other = loss(want), loss(got)
    assert (number is None) == (other is None)
    if differentiable and number is not None and np.isfinite(number.item()):
        number.backward()
        other.backward()
        for (name, one), (title, two) in zip(theirs.named_parameters(), own.named_parameters()):
            assert name == title and (one.grad is None) == (two.grad is None), name
            if one.grad is not None:
                np.testing.assert_allclose(two.grad.numpy(), one.grad.numpy(), rtol=1e-3, atol=2e-4, err_msg=name)
    same(dict(theirs.state_dict()), {name: own.state_dict()[name] for name in theirs.state_dict()}, rtol=1e-4, atol=1e-5, strides=False)


@pytest.mark.sweep
@pytest.mark.parametrize("name", list(SAMPLES))
def test_program_computes_the_same(name: str) -> None:
    torch.manual_seed(0)
    program, calls = SAMPLES[name]()
    file = saved(torch.export.save, program)
    theirs, own = torch.export.load(io.BytesIO(file.getvalue())), mstorch.export.load(file)
    assert list(theirs.state_dict) == list(own.state_dict)
    assert [str(kind) for kind in theirs.graph_signature.user_inputs] == [str(kind) for kind in own.graph_signature.user_inputs]
    assert theirs.graph_signature.buffers_to_mutate == own.graph_signature.buffers_to_mutate
    # torch refuses this backward: its program writes to buffers that the node has saved.
    compare(theirs.module(), own.module(), calls, differentiable=name != "training_batch_norm_decomposed")


def _former(program: Any, **changes: bytes) -> io.BytesIO:
    """Return a program in the layout before ``archive_format``, of the parts that torch's own serializer writes, which torch still loads."""
    parts = serialize(program)
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        records = {
            "serialized_exported_program.json": parts.exported_program, "serialized_state_dict.pt": parts.state_dict,
            "serialized_constants.pt": parts.constants, "serialized_example_inputs.pt": parts.example_inputs,
            "version": ".".join(map(str, SCHEMA_VERSION)).encode(), "extra_files/note.txt": b"text",
        }  # fmt: skip
        for name, content in {**records, **changes}.items():
            archive.writestr(name, content)
    file.seek(0)
    return file


@pytest.mark.sweep
@pytest.mark.parametrize("name", list(SAMPLES))
def test_the_former_layout_computes_the_same(name: str) -> None:
    torch.manual_seed(0)
    program, calls = SAMPLES[name]()
    file, extra = _former(program), {"note.txt": ""}
    theirs, own = torch.export.load(io.BytesIO(file.getvalue())), mstorch.export.load(file, extra_files=extra)
    assert extra == {"note.txt": "text"} and list(theirs.state_dict) == list(own.state_dict)
    assert theirs.graph_signature.buffers_to_mutate == own.graph_signature.buffers_to_mutate
    compare(theirs.module(), own.module(), calls, differentiable=name != "training_batch_norm_decomposed")


def test_damaged_files_of_the_former_layout_are_refused() -> None:
    program = torch.export.export(torch.nn.Linear(2, 2), (torch.ones(1, 2),))
    old = serialize(program).exported_program.replace(b'"major": 8', b'"major": 7').replace(b'"major":8', b'"major":7')
    for change, message in (
        ({"serialized_exported_program.json": old}, "schema version 7"),
        ({"serialized_exported_program.json": b"{"}, "JSONDecodeError"),
        ({"serialized_state_dict.pt": b"\x80\x02cos\nsystem\n(X\x02\x00\x00\x00lstR."}, "damaged program"),
        ({"serialized_constants.pt": saved(torch.save, {"a": 1}).getvalue()}, "something else than tensors"),
        ({"serialized_example_inputs.pt": b""}, "no sample inputs"),
    ):
        with pytest.raises(ValueError, match=message):
            mstorch.export.load(_former(program, **change))
    content = bytearray(_former(program).getvalue())
    content[content.index(b"serialized_state_dict.pt") + 200] ^= 1
    with pytest.raises(ValueError, match="damaged program|Bad CRC"):
        mstorch.export.load(io.BytesIO(content))


def said(call: Any) -> str:
    """Return the kind and text of the exception that a call raises; "" if it raises none."""
    try:
        call()
    except Exception as error:  # noqa: BLE001 - what it says is the result
        return f"{type(error).__name__}: {error}"
    return ""


def test_sizes_are_checked_as_in_torch() -> None:
    batch = torch.export.Dim("batch", min=3, max=8)
    program = torch.export.export(torch.nn.Linear(4, 2), (torch.randn(4, 4),), dynamic_shapes=({0: batch},))
    file = saved(torch.export.save, program)
    theirs, own = torch.export.load(io.BytesIO(file.getvalue())).module(), mstorch.export.load(file).module()
    for shape in ((3, 4), (8, 4), (2, 4), (9, 4), (4, 5)):
        x = torch.randn(shape)
        want, got = said(lambda: theirs(x)), said(lambda: own(ours(x)))
        assert want.partition("\n")[0].strip().replace("input", "x") == got.strip().replace("input", "x"), shape
    for args, named in (((), {}), ((torch.randn(4, 4),) * 2, {}), ((torch.randn(4, 4),), {"other": 1})):
        want, got = said(lambda: theirs(*args, **named)), said(lambda: own(*ours(args), **named))
        assert want.partition(":")[0] == got.partition(":")[0], (want, got)


def test_extra_files_and_signature(tmp_path: Any) -> None:
    path = tmp_path / "program.pt2"
    program = torch.export.export(torch.nn.BatchNorm1d(3), (torch.randn(2, 3),))
    torch.export.save(program, path, extra_files={"a.txt": "text"})
    want, got = {"a.txt": ""}, {"a.txt": ""}
    theirs, own = torch.export.load(path, extra_files=want), mstorch.export.load(path, extra_files=got)
    assert got == want == {"a.txt": "text"}
    for name in ("parameters", "buffers", "inputs_to_parameters", "inputs_to_buffers", "user_inputs", "user_outputs"):
        assert getattr(theirs.graph_signature, name) == getattr(own.graph_signature, name)
    assert [str(node.target) for node in theirs.graph.nodes] == [str(node.target) for node in own.graph.nodes]
    assert [node.name for node in theirs.graph.nodes] == [node.name for node in own.graph.nodes]


OURS = ["mlp", "convolutions", "training_batch_norm", "recurrent", "gru", "encoder", "decoder", "mutated_buffers", "nested_arguments", "shared_weights"]


@pytest.mark.parametrize("name", OURS)
def test_torch_reads_what_mstorch_writes(name: str, tmp_path: Any) -> None:
    """A program of torch that mstorch loads and saves again is the same program in torch."""
    torch.manual_seed(0)
    program, calls = SAMPLES[name]()
    own = mstorch.export.load(saved(torch.export.save, program))
    mstorch.export.save(own, tmp_path / "own.pt2")
    again = mstorch.export.load(tmp_path / "own.pt2")
    for one in (own, again):
        compare(torch.export.load(tmp_path / "own.pt2").module(), one.module(), calls)
    assert [node.name for node in again.graph.nodes] == [node.name for node in own.graph.nodes]


def _networks() -> dict[str, Any]:
    nn = mstorch.nn
    return {
        "mlp": (nn.Sequential(nn.Linear(4, 6), nn.GELU(), nn.LayerNorm(6), nn.Linear(6, 2), nn.Softmax(-1)), (mstorch.randn(3, 4),)),
        "convolutions": (nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten()).eval(), (mstorch.randn(2, 3, 8, 8),)),
        "training": (nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Tanh()), (mstorch.randn(3, 4),)),
        "recurrent": (nn.LSTM(4, 5, batch_first=True), (mstorch.randn(2, 3, 4),)),
        "encoder": (nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).eval(), (mstorch.randn(2, 3, 8),)),
        "embedding": (nn.Sequential(nn.Embedding(5, 3), nn.Linear(3, 5, bias=False)), (mstorch.tensor([[1, 2], [3, 4]]),)),
    }  # fmt: skip


@pytest.mark.parametrize("name", list(_networks()))
def test_torch_runs_what_mstorch_exports(name: str, tmp_path: Any) -> None:
    network, args = _networks()[name]
    program = mstorch.export.export(network, args)
    mstorch.export.save(program, tmp_path / "own.pt2", extra_files={"a.txt": "text"})
    theirs = torch.export.load(tmp_path / "own.pt2", extra_files=(extra := {"a.txt": ""}))
    assert extra == {"a.txt": "text"}
    same(theirs.module()(*(torch.tensor(arg.numpy()) for arg in args)), program.module()(*args), rtol=1e-4, atol=1e-5, strides=False)
    assert {name: tuple(value.shape) for name, value in theirs.state_dict.items()} == {name: tuple(value.shape) for name, value in network.state_dict().items()}


class _Scaled(torch.nn.Module):
    def forward(self, x: torch.Tensor, *, scale: float = 1.0, name: str = "a") -> torch.Tensor:
        return x * scale


def test_values_of_the_export_are_checked() -> None:
    file = saved(torch.export.save, torch.export.export(_Scaled(), (torch.ones(2),), {"scale": 2.0, "name": "b"}))
    theirs, own = torch.export.load(io.BytesIO(file.getvalue())).module(), mstorch.export.load(file).module()
    for named in ({"scale": 2.0, "name": "b"}, {"scale": 3.0, "name": "b"}, {"scale": 2.0, "name": "c"}):
        want, got = said(lambda: theirs(torch.ones(2), **named)), said(lambda: own(mstorch.ones(2), **named))
        assert bool(want) == bool(got) and want.partition(":")[0] == got.partition(":")[0], (want, got)
