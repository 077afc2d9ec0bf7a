"""torch.Stream, torch.Event, PyTorchFileReader, swap_tensors, collect_env, and the names of forward mode."""
from __future__ import annotations

import io
import weakref

import pytest

import mstorch
from tests.against_torch import of_cpu_build

CALLS = {
    "device": lambda torch: torch.Stream("cpu:0").device,
    "elapsed": lambda torch: torch.Event().elapsed_time(torch.Event()),
    "event": lambda torch: repr(torch.Event(torch.device("cpu"), blocking=True)),
}
WITHOUT_A_DEVICE = {
    "stream": lambda torch: repr(torch.Stream()),
    "query": lambda torch: (torch.Stream().query(), torch.Event().query()),
    "record": lambda torch: torch.Event().record(),
    "wait_stream": lambda torch: torch.Stream().wait_stream(torch.Stream()),
    "waits": lambda torch: (torch.Stream().wait_event(torch.Event()), torch.Event().wait(), torch.Event().synchronize()),
    "equal": lambda torch: torch.Stream() == torch.Stream("cpu", priority=1),
    "number": lambda torch: torch.Stream(0),
    "cuda": lambda torch: torch.Event("cuda"),
}


@pytest.mark.parametrize("name", CALLS)
def test_streams_of_the_cpu(both, name):
    both(CALLS[name])


@of_cpu_build
@pytest.mark.parametrize("name", WITHOUT_A_DEVICE)
def test_streams_of_the_device_that_is_not_there(both, name):
    both(WITHOUT_A_DEVICE[name])


def test_file_reader(both, tmp_path):
    def body(torch):
        path = tmp_path / "file.pt"
        torch.save({"a": torch.arange(3.0)}, path)
        reader = torch.PyTorchFileReader(str(path))
        size = reader.get_record_size("data/0")
        return reader.has_record("data.pkl"), reader.has_record("x"), reader.get_record("data/0"), size, "data.pkl" in reader.get_all_records()

    both(body)


def test_file_reader_of_an_open_file():
    buffer = io.BytesIO()
    mstorch.save([mstorch.ones(1)], buffer)
    buffer.seek(0)
    assert mstorch.PyTorchFileReader(buffer).get_record("version") == b"3\n"
    with pytest.raises(RuntimeError, match="failed locating file x"):
        mstorch.PyTorchFileReader(buffer).get_record("x")


def test_swap_tensors(both):
    def body(torch):
        a, b = torch.nn.Parameter(torch.ones(2)), torch.arange(3.0)
        a.label = "a"
        held = [a, b]
        a.sum().backward()
        b = b * 2
        torch.utils.swap_tensors(held[1], held[0])
        kinds = [type(item).__name__ for item in held]
        return kinds, held[1].label, held[1].grad, held[0].detach(), held[1].detach(), held[0].requires_grad, hasattr(held[0], "label")

    both(body)


def test_swap_refuses_tensors_with_weak_references(both):
    def body(torch):
        a = torch.ones(2)
        known = weakref.ref(a)
        torch.utils.swap_tensors(a, torch.zeros(2))
        return known

    both(body)


def test_swap_refuses_tensors_in_a_graph():
    a = mstorch.ones(2, requires_grad=True)
    kept = a * 2
    with pytest.raises(RuntimeError, match="Expected use_count of t1"):
        mstorch.utils.swap_tensors(a, mstorch.ones(2))
    assert kept.requires_grad


def test_report_of_the_machine():
    text = mstorch.utils.collect_env.get_pretty_env_info()
    assert str(mstorch.__version__) in text and "Python version" in text


def test_a_tensor_outside_of_forward_mode_has_no_tangent(both):
    both(lambda torch: tuple(torch.autograd.forward_ad.unpack_dual(torch.ones(2))))
