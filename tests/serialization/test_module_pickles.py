"""Every layer: copies, ``__reduce__`` and pickles of every protocol, compared with torch's, and exchanged between the libraries."""
from __future__ import annotations

import os
import pickle
import warnings
from pathlib import Path
from typing import Any

import pytest
import torch

from tests import warm
from tests.serialization import module_pickles_script

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]


def _plain(value: Any) -> Any:
    """Return an argument that either torch accepts: see ``module_pickles_script``."""
    if isinstance(value, torch.Tensor):
        return "a tensor", value.tolist()
    if isinstance(value, torch.dtype):
        return "a dtype", str(value).removeprefix("torch.")
    if isinstance(value, torch.nn.Module):
        raise LookupError("a module as argument")
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return type(value)(_plain(item) for item in value) if isinstance(value, (list, tuple)) else value


@pytest.fixture(scope="module")
def arguments(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return constructor arguments for each layer in torch's database."""
    from torch.testing._internal.common_modules import module_db

    found, left_out = {}, []
    for info in module_db:
        inputs = info.module_inputs_func(info, device="cpu", dtype=torch.float32, requires_grad=False, training=True)
        given = inputs[0].constructor_input
        try:
            found[info.module_cls.__module__, info.module_cls.__name__] = _plain(given.args), _plain(given.kwargs)
        except LookupError:
            left_out.append(info.name)
    assert left_out == ["nn.TransformerEncoder"] and len(found) > 100
    path = tmp_path_factory.mktemp("modules") / "arguments"
    path.write_bytes(pickle.dumps(found))
    return str(path)


def _run(way: str, *files: str, under: tuple[str, ...] = ()) -> list[str]:
    command = [*under, module_pickles_script.__file__, way, *files]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "GLOG_v": "3"}
    return warm.said(*command, environment=environment, seconds=300).strip().splitlines()


def test_pickles_of_both_libraries(arguments: str, tmp_path: Path) -> None:
    ours, theirs = str(tmp_path / "ours"), str(tmp_path / "theirs")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module_pickles_script.write(arguments, theirs)
        assert module_pickles_script.read(arguments, theirs) == []
        assert _run("read", arguments, theirs, under=("-m", "mstorch")) == []
        assert _run("write", arguments, ours, under=("-m", "mstorch")) == []
        assert b"mstorch" not in Path(ours).read_bytes()
        assert module_pickles_script.read(arguments, ours) == []
