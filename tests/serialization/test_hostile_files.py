"""A sample of ``python -m tests.hostile_files``: every reader, every eighth file."""
from __future__ import annotations

import pathlib

import pytest

from tests import hostile_files


def test_each_loader_stands_in_security() -> None:
    loaders = {
        "archives": "torch.load(file)", "legacy": "torch.load(file)", "trusted": "torch.load(file, weights_only=False)", "scripted": "torch.jit.load",
        "programs": "torch.export.load", "pt2": "torch.export.load", "former_pt2": "torch.export.load",
        "torchscript": "torch.jit.load", "written_scripts": "torch.jit.load",
        "metadata": "torch.distributed.checkpoint.load", "tensors_by_name": "safetensors",
        "checkpoints": "interop.load_mindspore_checkpoint", "fetched": "torch.hub.load_state_dict_from_url", "queued": "torch.multiprocessing",
    }  # fmt: skip
    assert loaders.keys() == hostile_files.KINDS.keys()
    told = (pathlib.Path(__file__).parents[2] / "SECURITY.md").read_text("utf-8")
    assert [name for name in loaders.values() if name not in told] == []


@pytest.mark.slow
@pytest.mark.parametrize("kind", hostile_files.KINDS)
def test_hostile_files_do_no_harm(kind: str) -> None:
    count, wrong = hostile_files.check(kind, 8)
    assert wrong == [] and count >= 4
