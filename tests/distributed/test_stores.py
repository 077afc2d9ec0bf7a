"""TCPStore, FileStore and rendezvous compared with torch's; stores that other threads use."""
from __future__ import annotations

import datetime
import threading

import pytest

import mstorch
from tests.against_torch import both

pytestmark = pytest.mark.slow

COMMON = [
    "s.set('a', '1')", "s.get('a')", "s.get('zz')", "s.add('n', 3)", "s.add('n', -1)", "s.get('n')", "s.num_keys()", "s.check(['a'])",
    "s.check(['a', 'q'])", "s.delete_key('a')", "s.delete_key('a')", "s.wait(['n'])", "s.wait(['zz', 'yy'], short)",
    "s.compare_set('c', '', 'new')", "s.compare_set('c', 'new', 'er')", "s.compare_set('c', 'bad', 'x')", "s.compare_set('q', 'bad', 'x')",
    "s.check(['q'])", "s.append('c', '++')", "s.get('c')", "s.multi_set(['k1', 'k2'], ['1', '2'])", "s.multi_get(['k1', 'k2'])",
    "s.multi_set(['k1'], ['1', '2'])", "s.has_extended_api()", "s.queue_push('Q', '1')", "s.queue_len('Q')", "s.queue_pop('Q')",
    "s.queue_pop('Q', block=False)", "s.barrier('b', 1)", "s.set('e', '')", "s.get('e')", "s.timeout",
    "d.PrefixStore('p', s).set('k', 'v')", "d.PrefixStore('p', s).get('k')", "s.get('p/k')", "s.clone().get('n')", "s.set('a', 3)",
]  # fmt: skip


def answers(calls, names):
    """Return the results of calls, or their errors."""
    seen = []
    for call in calls:
        try:
            found = eval(call, names)
            seen.append((call, found if isinstance(found, (bytes, int, bool, list, type(None), datetime.timedelta)) else "object"))
        except TypeError as error:
            seen.append((call, "TypeError", "incompatible" in str(error)))
        except Exception as error:  # noqa: BLE001 - compared with torch's
            seen.append((call, type(error).__name__, str(error).split("\n")[0]))
    return seen


@pytest.mark.parametrize("kind", ["server", "client", "file"])
def test_a_store_from_beginning_to_end(kind, tmp_path):
    def body(torch):
        d = torch.distributed
        short = datetime.timedelta(milliseconds=400)
        if kind == "file":
            store = d.FileStore(str(tmp_path / torch.__name__), 1)
        else:
            server = store = d.TCPStore("127.0.0.1", 0, 1, True)
            if kind == "client":
                store = d.TCPStore("127.0.0.1", server.port, None, False)
        store.set_timeout(short)  # only now: on a busy machine connecting takes longer than the timeout of a missing key
        return answers(COMMON, {"s": store, "d": d, "short": short})

    both(body)


def test_servers_and_clients_that_do_not_meet():
    def body(torch):
        d, short = torch.distributed, datetime.timedelta(milliseconds=100)
        server = d.TCPStore("127.0.0.1", 0, 1, True)
        seen = []
        for arguments in (("127.0.0.1", 1, 2, False), ("127.0.0.1", 0, 2, True), ("127.0.0.1", server.port, 1, True)):
            try:
                d.TCPStore(*arguments, timeout=short)
            except Exception as error:  # noqa: BLE001 - compared with torch's
                seen.append((type(error).__name__, str(error).split("\n")[0].replace(str(server.port), "port")))
        return seen

    both(body)


ADDRESSES = [
    "env://", "env://?rank=0", "env://?rank=0&world_size=1", "tcp://127.0.0.1", "tcp://127.0.0.1:29777", "tcp://127.0.0.1:29777?rank=0",
    "file://", "file:///tmp/x", "file:///tmp/x?rank=0",
]  # fmt: skip


@pytest.mark.parametrize("address", ADDRESSES)
def test_addresses_without_what_they_need(address):
    both(lambda torch: next(torch.distributed.rendezvous(address)))


SETTINGS = [
    {}, {"backend": "nonsense"}, {"backend": "mpi"}, {"init_method": "env://", "store": 1}, {"store": 1}, {"store": 1, "world_size": 1},
    {"store": 1, "rank": 0}, {"timeout": 3, "store": 1, "rank": 0, "world_size": 1}, {"backend": 3, "store": 1, "rank": 0, "world_size": 1},
    {"backend": "gloo", "rank": 0, "world_size": 1},
]  # fmt: skip


@pytest.mark.parametrize("given", SETTINGS, ids=str)
def test_groups_that_cannot_be_made(given):
    both(lambda torch: torch.distributed.init_process_group(**given))


@pytest.mark.parametrize("backend", ["gloo", None, "cpu:gloo", "GLOO"])
def test_a_group_of_one(backend, tmp_path):
    def body(torch):
        d = torch.distributed
        d.init_process_group(backend, init_method=f"file://{tmp_path}/{torch.__name__}", rank=0, world_size=1)
        try:
            x = torch.ones(3)
            d.all_reduce(x)
            d.broadcast(x, 0)
            y = [torch.zeros(3)]
            d.all_gather(y, x)
            d.barrier()
            return x, y, d.get_rank(), d.get_world_size(), d.is_initialized(), str(d.get_backend_config()) if backend else None
        finally:
            d.destroy_process_group()

    both(body)
    assert not mstorch.distributed.is_initialized()


def test_threads_wait_for_each_other():
    d = mstorch.distributed
    server = d.TCPStore("127.0.0.1", 0, None, True)
    got = []
    clients = [d.TCPStore("127.0.0.1", server.port) for _ in range(4)]
    threads = [threading.Thread(target=lambda client=client: (got.append(client.get("late")), client.barrier("all", 5))) for client in clients]
    for thread in threads:
        thread.start()
    server.set("late", "1")
    server.barrier("all", 5)
    for thread in threads:
        thread.join()
    assert got == [b"1"] * 4
