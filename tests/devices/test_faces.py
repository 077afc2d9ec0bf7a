"""torch.cuda, xpu, mps, mtia, accelerator, cpu and backends in a process that has only a CPU."""
from __future__ import annotations

import inspect
import types
import warnings

import pytest
import torch

import mstorch
from tests.against_torch import of_cpu_build
from tests.cuda.attributes import USES

ARGUMENTS = {"size": 8, "fraction": 0.5, "seed": 0, "stream": None, "device": -1}
# torch checks the arguments of these before it raises the error compared here; with a device this would not matter.
OTHER_WORDS = {
    "make_graphed_callables", "load_metallib", "attach_out_of_memory_observer", "set_rng_state", "set_rng_state_all", "set_stream",
    "list_gpu_processes", "set_device", "set_device_idx", "set_device_index", "current_stream", "get_capabilities",
}  # fmt: skip
MISSING = {"cuda": {"GreenContext"}, "xpu": {"use_mem_pool"},
           "cpu": {"get_capabilities"}}  # fmt: skip
OF_THE_BUILD = ("cuda", "accelerator")
"""Modules whose functions look for a driver where torch is built for GPUs."""
MODULES = ("cuda", "xpu", "mps", "mtia", "accelerator", "cpu")


@pytest.fixture(autouse=True)
def _free_flags(monkeypatch):
    """Allow torch's flags to be set: torch's own test helpers, which other tests import, forbid it."""
    monkeypatch.setitem(torch.backends.flags_frozen.__globals__, "__allow_nonbracketed_mutation_flag", True)


def plain(value):
    return value if value is None or isinstance(value, (bool, int, str, list, dict, tuple)) else type(value).__name__


def outcome(function):
    needed = [p.name for p in inspect.signature(function).parameters.values() if p.default is p.empty and p.kind in (0, 1)]
    try:
        warnings.simplefilter("ignore", FutureWarning)
        return plain(function(*(ARGUMENTS.get(name, 0) for name in needed)))
    except Exception as error:  # noqa: BLE001 - whatever torch raises is compared
        return type(error).__name__, str(error).partition("\n")[0]


def functions(module):
    home = getattr(torch, module)
    return [n for n in home.__all__ if inspect.isfunction(getattr(home, n)) and n not in MISSING.get(module, ())]


@pytest.mark.parametrize("module", MODULES)
def test_names(module):
    assert {n for n in getattr(torch, module).__all__ if not hasattr(getattr(mstorch, module), n)} == MISSING.get(module, set())


def known(module, name):
    """Return torch's function and mstorch's, unless it is a context manager."""
    want, got = getattr(getattr(torch, module), name), getattr(getattr(mstorch, module), name)
    return None if want.__name__ == "helper" else (want, got)


ANSWERS = [(m, n) for m in MODULES for n in functions(m) if n not in OTHER_WORDS and known(m, n)]


@pytest.mark.parametrize(("module", "name"), ANSWERS)
def test_signatures(module, name):
    wanted, given = ([(p.name, p.default) for p in inspect.signature(f).parameters.values()] for f in known(module, name))
    assert given == wanted


@pytest.mark.parametrize(("module", "name"), [
    pytest.param(*answer, marks=of_cpu_build) if answer[0] in OF_THE_BUILD else answer for answer in ANSWERS
])  # fmt: skip
def test_answers_without_a_device(module, name):
    want, got = known(module, name)
    assert outcome(got) == outcome(want)


@pytest.mark.parametrize("module", [pytest.param("cuda", marks=of_cpu_build), "xpu", "mps", "mtia"])
def test_classes_that_need_a_device(module):
    home = getattr(torch, module)
    for name in home.__all__:
        kind = getattr(home, name)
        if inspect.isclass(kind) and (module, name) != ("mps", "Event") and name not in MISSING.get(module, ()):
            try:
                kind()
            except (RuntimeError, AssertionError) as error:
                with pytest.raises(type(error)) as caught:
                    getattr(getattr(mstorch, module), name)()
                assert str(caught.value) == str(error)
            except TypeError as error:
                if "not available" in str(error):
                    with pytest.raises(TypeError, match="Torch not compiled with CUDA enabled"):
                        getattr(mstorch.cuda, name)()


def test_scripts_that_ask_first(both):
    def body(torch):
        device = torch.device("cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu")
        torch.cuda.manual_seed_all(0)
        torch.cuda.empty_cache()
        torch.backends.cudnn.benchmark = True
        kept = torch.backends.cudnn.benchmark
        with torch.backends.cudnn.flags(enabled=False, deterministic=True):
            inside = [torch.backends.cudnn.enabled, torch.backends.cudnn.deterministic, torch.backends.cudnn.benchmark]
        after = [torch.backends.cudnn.enabled, torch.backends.cudnn.deterministic, torch.backends.cudnn.benchmark]
        torch.backends.cudnn.benchmark = False
        torch.backends.cuda.matmul.allow_tf32 = True
        tf32 = torch.backends.cuda.matmul.allow_tf32
        torch.backends.cuda.matmul.allow_tf32 = False
        with torch.cuda.stream(None):
            x = torch.ones(2, device=device)
        return [x, kept, inside, after, tf32, torch.cuda.memory_stats()]

    both(body)


@of_cpu_build
def test_what_a_build_says_of_itself(both):
    both(lambda torch: [torch.accelerator.current_accelerator(), torch.backends.cuda.is_built()])


@pytest.mark.parametrize("name", [n for n in dir(torch.backends) if isinstance(getattr(torch.backends, n), types.ModuleType)])
def test_backends(name):
    skipped = ("torch", "types", "contextlib", "_coreml", "_nnapi", "python_native", "xeon", "sys", "m")
    if name not in skipped and not name.startswith("__"):
        assert isinstance(getattr(mstorch.backends, name), types.ModuleType)


def test_flags_check_types(both):
    def body(torch):
        torch.backends.cudnn.benchmark = "yes"

    both(body)


def test_more_flags(both):
    both(lambda torch: [torch.backends.cpu.get_cpu_capability(), torch.backends.mha.get_fastpath_enabled()])
    both(lambda torch: [torch.backends.cuda.flash_sdp_enabled(), torch.backends.cuda.math_sdp_enabled(), torch.backends.mkldnn.is_available()])

    def body(torch):
        torch.backends.cuda.enable_flash_sdp(False)
        seen = [torch.backends.cuda.flash_sdp_enabled()]
        torch.backends.cuda.enable_flash_sdp(True)
        with torch.backends.mkldnn.flags(enabled=False):
            seen.append(torch.backends.mkldnn.enabled)
        return [*seen, torch.backends.mkldnn.enabled, torch.backends.cuda.flash_sdp_enabled()]

    both(body)


def test_streams_of_the_cpu(both):
    def body(torch):
        stream = torch.cpu.Stream()
        with torch.cpu.stream(stream):
            inside = torch.cpu.current_stream() is stream
        return [inside, torch.cpu.current_stream() is stream, torch.cpu.Event().query()]

    both(body)


def test_a_device_as_context(both):
    def body(torch):
        with torch.device("cpu") as device:
            x = torch.zeros(3)
        torch.set_default_device("cpu")
        try:
            return [x, str(device), torch.get_default_device(), torch.empty(1).device]
        finally:
            torch.set_default_device(None)

    both(body)


# torch 2.13 fails by accident where no index is given, and its words on generators go on about linkers.
@of_cpu_build
@pytest.mark.parametrize("name", USES)
def test_uses_in_public_code(name):
    """Without a GPU they answer as torch's build for the CPU does."""

    def told(library):
        try:
            with warnings.catch_warnings(record=True) as warned:
                warnings.simplefilter("always")
                return plain(USES[name](library)), [str(one.message) for one in warned]
        except Exception as error:  # noqa: BLE001 - whatever torch raises is compared
            return type(error).__name__, str(error).partition(" PyTorch splits")[0].partition("\n")[0]

    assert told(mstorch) == told(torch)
