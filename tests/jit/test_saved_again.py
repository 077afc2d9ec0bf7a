"""Archives that torch wrote, loaded by mstorch, changed and saved again: torch loads them, and computes what mstorch does."""
from __future__ import annotations

import io
from typing import Any

import pytest
import torch

import mstorch
from tests.against_torch import same
from tests.jit import torchscript_operators  # noqa: F401 - registers its samples
from tests.jit.test_torchscript_archives import ours
from tests.jit.torchscript_samples import SAMPLES
from tests.saved import saved

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.mark.sweep
@pytest.mark.parametrize("name", list(SAMPLES))
def test_torch_loads_what_is_saved_again(name: str) -> None:
    torch.manual_seed(0)
    program, args = SAMPLES[name]()
    own = mstorch.jit.load(saved(torch.jit.save, program))
    with mstorch.no_grad():
        for parameter in own.parameters():
            parameter.mul_(0.5)
    file = saved(mstorch.jit.save, own)
    theirs, again = torch.jit.load(io.BytesIO(file.getvalue())), mstorch.jit.load(file)
    assert list(theirs.state_dict()) == list(own.state_dict()) == list(again.state_dict())
    assert [name for name, _ in theirs.named_modules()] == [name for name, _ in own.named_modules()]
    for one in (again, own):
        same(torch.jit.load(io.BytesIO(file.getvalue()))(*args), one(*ours(args)), rtol=1e-4, atol=1e-5, strides=False)


def test_files_beside_the_program_and_shared_submodules() -> None:
    program, _ = SAMPLES["shared_modules"]()
    own = mstorch.jit.load(saved(torch.jit.save, program))
    file = io.BytesIO()
    own.save(file, _extra_files={"note.txt": "text"})
    want: dict[str, Any] = {"note.txt": ""}
    theirs = torch.jit.load(io.BytesIO(file.getvalue()), _extra_files=want)
    assert want == {"note.txt": b"text"}
    assert [name for name, _ in theirs.named_parameters()] == [name for name, _ in program.named_parameters()]
    assert theirs.first.weight.data_ptr() == theirs.second.weight.data_ptr()


class _Tied(mstorch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.table, self.out = mstorch.nn.Embedding(5, 3), mstorch.nn.Linear(3, 5, bias=False)
        self.out.weight = self.table.weight

    def forward(self, x: mstorch.Tensor) -> mstorch.Tensor:
        return self.out(self.table(x))


def test_tied_weights_stay_one() -> None:
    for program in (mstorch.jit.script(_Tied()), mstorch.jit.trace(_Tied(), mstorch.tensor([1, 2]))):
        theirs = torch.jit.load(saved(mstorch.jit.save, program))
        assert len(list(theirs.parameters())) == 1 and theirs.table.weight.data_ptr() == theirs.out.weight.data_ptr()


def test_a_frozen_module_of_an_archive_has_no_state() -> None:
    program, args = SAMPLES["convolutions"]()
    frozen = mstorch.jit.freeze(mstorch.jit.load(saved(torch.jit.save, program)).eval())
    theirs = torch.jit.load(saved(mstorch.jit.save, frozen))
    assert not theirs.state_dict() and not list(theirs.parameters())
    same(theirs(*args), frozen(*ours(args)), rtol=1e-4, atol=1e-5, strides=False)


def test_what_the_text_does_not_declare_is_refused(tmp_path: Any) -> None:
    program, _ = SAMPLES["mlp"]()
    own = mstorch.jit.load(saved(torch.jit.save, program))
    (tmp_path / "own.pt").write_bytes(b"before")
    own.more = mstorch.nn.Linear(2, 2)
    with pytest.raises(RuntimeError, match="'more', which the text of .*Sequential does not declare"):
        mstorch.jit.save(own, tmp_path / "own.pt")
    assert (tmp_path / "own.pt").read_bytes() == b"before"
    own = mstorch.jit.load(saved(torch.jit.save, program))
    setattr(own, "0", mstorch.nn.Linear(6, 8))
    with pytest.raises(RuntimeError, match="which is a Linear that the archive did not hold"):
        mstorch.jit.save(own, tmp_path / "own.pt")


def test_code_comes_with_the_tensors_that_it_names() -> None:
    scale = [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]

    def traced(library: Any) -> Any:
        constant = library.tensor(scale)

        class Scaled(library.nn.Module):  # type: ignore[name-defined, misc]
            def forward(self, x: Any) -> Any:
                return x * constant

        return library.jit.trace(Scaled(), library.ones(2, 3))

    theirs = traced(torch)
    loaded = mstorch.jit.load(saved(torch.jit.save, theirs))
    for one in (theirs, traced(mstorch), loaded, mstorch.jit.script(mstorch.nn.Linear(2, 2))):
        code, constants = one.code_with_constants
        assert code == one.code
        assert all(f"CONSTANTS.{name}" in code for name in constants.const_mapping)
        assert type(constants).__name__ == "ConstMap"
    assert loaded.code_with_constants[1].c0.tolist() == theirs.code_with_constants[1].c0.tolist() == scale
    assert scale in [value.tolist() for value in traced(mstorch).code_with_constants[1].const_mapping.values()]
    for library in (torch, mstorch):
        with pytest.raises(AttributeError, match="'ScriptFunction' object has no attribute 'code_with_constants'"):
            library.jit.trace(lambda x: x * 2, library.ones(2)).code_with_constants  # noqa: B018
