"""``torch._logging``: valid settings, their effect on loggers, and the messages of ``torch.compile``."""
from __future__ import annotations

import io
import logging
import os
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch as real_torch

import mstorch
import mstorch._logging
from tests import warm

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    yield
    mstorch._logging.set_logs()
    real_torch._logging.set_logs()


def test_settings_are_checked_as_in_torch() -> None:
    for settings in (
        {"dynamo": logging.DEBUG}, {"dynamo": "x"}, {"dynamo": True}, {"graph_breaks": 5}, {"graph_breaks": True}, {"foo": 1}, {},
        {"all": logging.INFO, "output_code": True}, {"modules": {"torch.nn": logging.DEBUG}}, {"aot": 11},
    ):  # fmt: skip
        found = []
        for library in (real_torch, mstorch):
            try:
                library._logging.set_logs(**settings)
                found.append("taken")
            except (TypeError, ValueError) as error:
                found.append(f"{type(error).__name__}: {error}")
        assert found[0] == found[1], settings
    for library in (real_torch, mstorch):
        with pytest.raises(ValueError, match="Artifact name: 'nope' not registered"):
            library._logging.getArtifactLogger("torch.nn", "nope")
        with pytest.raises(ModuleNotFoundError):
            library._logging.set_logs(modules={"nowhere_at_all.x": 10})


def test_levels_come_and_go() -> None:
    logger = logging.getLogger("torch._dynamo")
    mstorch._logging.set_logs(dynamo=logging.DEBUG)
    assert logger.level == logging.DEBUG
    mstorch._logging.set_logs(aot=logging.INFO)
    assert logger.level == logging.NOTSET and logging.getLogger("torch._functorch.aot_autograd").level == logging.INFO
    artifact = mstorch._logging.getArtifactLogger("torch.nn", "guards")
    assert not artifact.isEnabledFor(logging.DEBUG)
    mstorch._logging.set_logs(guards=True)
    assert artifact.isEnabledFor(logging.DEBUG)
    mstorch._logging.set_logs()
    assert not artifact.isEnabledFor(logging.DEBUG)


def _written(call: Any) -> str:
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    logger = logging.getLogger("torch._dynamo")
    logger.addHandler(handler)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            call()
    finally:
        logger.removeHandler(handler)
    return stream.getvalue()


def test_what_compile_says() -> None:
    def plain(x: Any) -> Any:
        return x * 2

    def broken(x: Any) -> Any:
        return x * 2 if x.sum().item() > 0 else x

    compiled = mstorch.compile(plain, backend="mindspore")
    assert _written(lambda: (compiled(mstorch.ones(2)), compiled(mstorch.ones(3)))) == ""
    mstorch._logging.set_logs(recompiles=True, graph_breaks=True)
    again = mstorch.compile(plain, backend="mindspore")
    assert _written(lambda: (again(mstorch.ones(2)), again(mstorch.ones(2)))) == ""
    assert "Recompiling function" in _written(lambda: again(mstorch.ones(3)))
    text = _written(lambda: mstorch.compile(broken, backend="mindspore")(mstorch.ones(2)))
    assert "Graph break in user code at" in text and "Graph Break Reason: " in text


def test_small_things() -> None:
    assert str(mstorch._logging.LazyString(lambda value: f"<{value}>", 3)) == "<3>"
    assert mstorch._logging.DEFAULT_LOGGING == real_torch._logging.DEFAULT_LOGGING
    names = real_torch._logging._internal.log_registry
    assert set(mstorch._logging.LOGS) == set(names.log_alias_to_log_qnames)
    assert set(mstorch._logging.ARTIFACTS) == set(names.artifact_names)
    stream = io.StringIO()
    logger = logging.getLogger("mstorch.tests.once")
    handler = logging.StreamHandler(stream)
    logger.addHandler(handler)
    logger.propagate = False
    for _ in range(2):
        mstorch._logging.warning_once(logger, "said once")
    logger.removeHandler(handler)
    assert stream.getvalue() == "said once\n"


@pytest.mark.slow
def test_the_environment() -> None:
    program = (
        "import logging, warnings; import mstorch as torch; print(logging.getLogger('torch._dynamo').level)\n"
        "with warnings.catch_warnings(record=True) as found:\n    warnings.simplefilter('always'); torch._logging.set_logs()\n"
        "print(len(found), logging.getLogger('torch._dynamo').level)\n"
        "torch.compile(lambda x: x + x.sum().item(), backend='mindspore')(torch.ones(2))\n"
    )
    found = {}
    for words in ("+dynamo,graph_breaks", "nonsense"):
        environment = {**os.environ, "TORCH_LOGS": words, "PYTHONPATH": str(ROOT), "GLOG_v": "3", "PYTHONWARNINGS": "ignore"}
        found[words] = warm.done("-c", program, environment=environment, library="mindspore")
    done = found["+dynamo,graph_breaks"]
    assert done.returncode == 0 and done.stdout.split() == ["10", "1", "10"], done.stderr[-2000:]
    assert "Graph Break Reason: " in done.stderr
    assert found["nonsense"].returncode and "Invalid log settings: nonsense" in found["nonsense"].stderr
