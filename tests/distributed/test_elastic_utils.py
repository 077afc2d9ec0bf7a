"""Outputs of processes, free ports and samplers of torch.distributed.elastic, compared with torch."""
from __future__ import annotations

import importlib
import socket

import pytest

import mstorch


def _module(torch, name):
    return importlib.import_module(f"{torch.__name__}.distributed.elastic.{name}")


@pytest.mark.parametrize("text", ["0", "3", "0:3,1:0,2:1", "4", "0:4", "", "1,2"])
def test_outputs_by_text(both, text):
    def body(torch):
        found = _module(torch, "multiprocessing").Std.from_str(text)
        return {rank: int(outputs) for rank, outputs in found.items()} if isinstance(found, dict) else int(found)

    both(body)


def test_outputs_of_all_ranks(both):
    def body(torch):
        module = _module(torch, "multiprocessing")
        found = module.to_map(module.Std.OUT, 2), module.to_map({1: module.Std.ALL}, 3)
        return [sorted((rank, int(outputs)) for rank, outputs in one.items()) for one in found]

    both(body)


def test_an_iterator_over_epochs(both):
    def body(torch):
        kind = _module(torch, "utils.data").CyclingIterator
        return [list(kind(*args)) for args in ((3, lambda epoch: iter([epoch, -epoch])), (0, lambda epoch: iter([7])), (4, lambda epoch: iter([epoch]), 2))]

    both(body)


@pytest.mark.parametrize(("count", "replicas", "start"), [(10, 3, 0), (10, 3, 4), (7, 2, 6), (5, 1, 5)])
def test_a_sampler_that_goes_on(both, count, replicas, start):
    def body(torch):
        found = []
        for rank in range(replicas):
            sampler = _module(torch, "utils.data").ElasticDistributedSampler(list(range(count)), replicas, rank, start)
            sampler.set_epoch(2)
            found.append((len(sampler), list(sampler)))
        return found

    both(body)


def test_free_ports_and_stores():
    utils = _module(mstorch, "utils.distributed")
    with utils.get_socket_with_port() as taken:
        port = utils.get_free_port()
        assert port != taken.getsockname()[1]
    with socket.socket() as own:
        own.bind(("localhost", port))
    store = utils.create_c10d_store(True, "localhost", timeout=10)
    store.set("key", "value")
    assert store.get("key") == b"value"
    with pytest.raises(ValueError, match="server_port must be specified when world_size > 1"):
        utils.create_c10d_store(True, "localhost", world_size=2)
