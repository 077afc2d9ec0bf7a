"""torch.distributed without a group: parameters, and errors of functions that need one; stores, settings, options."""
from __future__ import annotations

import datetime
import inspect
import threading
import warnings

import pytest
import torch as real_torch

import mstorch
from mstorch.distributed import _collectives, _objects, _point_to_point
from tests.against_torch import both

pytestmark = pytest.mark.slow

FUNCTIONS = [
    name for module in (_collectives, _objects, _point_to_point) for name in module.__all__
    if name not in ("Work", "P2POp", "batch_isend_irecv")
] + ["get_backend", "get_backend_config", "get_process_group_ranks", "get_rank", "get_world_size", "new_group",
     "new_subgroups_by_enumeration", "shrink_group"]  # fmt: skip

REAL, OURS = real_torch.distributed, mstorch.distributed


def parameters(function):
    return [(p.name, p.default if p.default is None or isinstance(p.default, bool) or p.name != "op" else int(p.default.value))
            for p in inspect.signature(function).parameters.values()]  # fmt: skip


@pytest.mark.parametrize("name", [name for name in FUNCTIONS if hasattr(REAL, name)])
def test_parameters_and_errors_of_collectives(name):
    own = parameters(getattr(OURS, name))
    if name.startswith(("all_gather_object", "broadcast_object", "gather_object", "recv_object", "scatter_object", "send_object")):
        own = [item for item in own if item[0] != "weights_only"]  # of torch 2.14
    assert own == parameters(getattr(REAL, name))
    required = [p.name for p in inspect.signature(getattr(REAL, name)).parameters.values() if p.default is p.empty]

    def body(torch):
        x = torch.ones(1)
        given = {"output_tensor_lists": [[x]], "object_list": [1], "ranks_per_subgroup_list": [[0]], "ranks_to_exclude": [0], "group": None}
        lists = dict.fromkeys(("tensor_list", "input_tensor_list", "output_tensor_list", "tensors", "input_list"), [x])
        return getattr(torch.distributed, name)(*((given | lists).get(word, x) for word in required))

    if name != "get_process_group_ranks":  # torch finds in another way that there is none
        both(body)
    both(lambda torch: getattr(torch.distributed, name)(no_such_parameter=1), message="")


def test_old_names_warn():
    for name, given in (("all_gather_into_tensor", 2), ("reduce_scatter_tensor", 2), ("all_reduce_coalesced", 1), ("all_gather_coalesced", 2)):
        told = []
        for library in (real_torch, mstorch):
            with warnings.catch_warnings(record=True) as seen, pytest.raises(ValueError):
                warnings.simplefilter("always")
                x = library.ones(1)
                values = {1: [[x]], 2: [[[x]], [x]] if "coalesced" in name else [x, x]}[given]
                getattr(library.distributed, name)(*values)
            told.append([(item.category, str(item.message)) for item in seen])
        assert told[0] == told[1] and told[0]


CALLS = [
    "d.P2POp(len, x, 0)", "d.P2POp(d.isend, 3, 0)", "d.P2POp(d.isend, x)", "d.batch_isend_irecv([])", "d.batch_isend_irecv([3])",
    "d.new_subgroups()", "d.new_subgroups(2)", "d.split_group()", "d.split_group(split_ranks=[[0]])", "d.get_pg_count()",
    "d.get_global_rank(None, 3)", "d.get_group_rank(None, 3)", "d.get_global_rank(3, 0)", "d.get_group_rank(3, 0)",
    "d.get_default_backend_for_device('cpu')", "d.get_default_backend_for_device('cuda:1')", "d.get_default_backend_for_device('meta')",
    "[d.supports_complex(getattr(d.ReduceOp, n)) for n in ('SUM', 'AVG', 'PRODUCT', 'MIN', 'BAND', 'PREMUL_SUM')]",
    "int(d.reduce_op.MAX.value)", "d.reduce_op.NOTHING", "list(d.reduce_op.__members__)", "d.default_pg_timeout",
    "d.register_rendezvous_handler('env', len)", "d.rendezvous(3)", "d.rendezvous('x://', rank='a')", "d.rendezvous('unknown://h')",
    "str(d.DebugLevel.INFO), int(d.DebugLevel.DETAIL), list(d.DebugLevel.__members__)", "str(d.BuiltinCommHookType.ALLREDUCE)",
]  # fmt: skip


@pytest.mark.parametrize("call", CALLS)
def test_calls(call):
    both(lambda torch: eval(call, {"d": torch.distributed, "x": torch.ones(1)}))


def test_a_rendezvous_of_ones_own():
    def body(torch):
        d = torch.distributed
        d.register_rendezvous_handler(f"own{id(torch)}", lambda url, **more: iter([(url.split(":", 1)[1], more)]))
        address = f"own{id(torch)}://host"
        return [next(d.rendezvous(address, **more)) for more in ({}, {"rank": 1, "world_size": 2}, {"rank": 0}, {"timeout": 3})]

    both(body)


@pytest.mark.parametrize("value", ["INFO", "detail", "off", "bad", ""])
def test_debug_levels(value, monkeypatch):
    monkeypatch.setenv("TORCH_DISTRIBUTED_DEBUG", value)

    def body(torch):
        d = torch.distributed
        try:
            d.set_debug_level_from_env()
            return str(d.get_debug_level())
        finally:
            d.set_debug_level(d.DebugLevel.OFF)

    both(body)


@pytest.mark.parametrize("name", [name for name in OURS.__all__ if name.endswith("Options")])
def test_options(name):
    def body(torch):
        options = getattr(torch.distributed, name)()
        fields = sorted(field for field in dir(options) if not field.startswith("_"))
        return fields, [getattr(options, field) for field in fields if field != "reduceOp"]

    both(body)


STORE = [
    "s.timeout", "s.set('a', '1')", "s.get('a')", "s.set('b', b'\\xff')", "s.get('b')", "s.add('n', 3)", "s.add('n', -1)", "s.get('n')",
    "s.num_keys()", "s.check(['a', 'n'])", "s.check(['a', 'zz'])", "s.delete_key('a')", "s.delete_key('a')", "s.get('a')", "s.wait(['b'])",
    "s.wait(['a'], short)", "s.compare_set('c', '', 'new')", "s.compare_set('c', 'new', 'newer')", "s.compare_set('c', 'bad', 'x')",
    "s.compare_set('q', 'bad', 'x')", "s.check(['q'])", "s.get('c')", "s.append('c', '++')", "s.append('fresh', 'z')", "s.get('c')",
    "s.multi_set(['k1', 'k2'], ['1', '2'])", "s.multi_get(['k1', 'k2'])", "s.multi_set(['k1'], ['1', '2'])", "s.has_extended_api()",
    "s.queue_push('Q', '1')", "s.check(['Q'])", "s.queue_push('Q', '2')", "s.queue_len('Q')", "s.queue_pop('Q')",
    "s.queue_pop('Q', block=False)", "s.queue_pop('Q', block=False)", "s.queue_pop('Q')", "s.queue_len('none')", "sorted(s.list_keys())",
    "p.set('a', 'P')", "p.get('a')", "s.get('pre/a')", "p.num_keys()", "p.list_keys()", "p.timeout", "p.underlying_store is s",
    "p.check(['a'])", "p.add('m', 1)", "p.delete_key('m')", "p.queue_push('Q', 'x')", "p.queue_len('Q')", "s.queue_len('pre/Q')",
    "p.compare_set('a', 'P', 'R')", "p.wait(['a'])", "s.add('b', 1)", "s.multi_get(['nope'])", "d.PrefixStore('x', p).get('y')",
    "d.PrefixStore('x', p).set('y', '5')", "s.get('pre/x/y')", "p.get('x/y')", "s.clone().get('b')",
]  # fmt: skip
STORE_TYPES = ["s.set(1, 2)", "s.set('a', 2)", "s.add('b', 1.5)", "s.get(1)", "d.PrefixStore(1, s)", "d.PrefixStore('a', 1)"]


def test_a_store_from_beginning_to_end():
    def body(torch):
        d = torch.distributed
        s = d.HashStore()
        names = {"d": d, "s": s, "p": d.PrefixStore("pre", s), "short": datetime.timedelta(milliseconds=5)}
        first = s.timeout
        s.set_timeout(datetime.timedelta(milliseconds=10))
        seen = []
        for call in STORE:
            try:
                seen.append((call, eval(call, names)))
            except Exception as error:  # noqa: BLE001 - compared with torch's
                seen.append((call, type(error).__name__, str(error)))
        return first, seen

    both(body)


@pytest.mark.parametrize("call", STORE_TYPES)
def test_types_of_keys(call):
    both(lambda torch: eval(call, {"d": torch.distributed, "s": torch.distributed.HashStore()}), message="incompatible")


def test_stores_wait_for_other_threads():
    def body(torch):
        store = torch.distributed.HashStore()
        store.set_timeout(datetime.timedelta(seconds=20))
        got = []
        threads = [threading.Thread(target=lambda: got.append(store.get("late"))), threading.Thread(target=lambda: got.append(store.queue_pop("late queue"))),
                   threading.Thread(target=lambda: (store.barrier("all", 2), got.append("met")))]  # fmt: skip
        for thread in threads:
            thread.start()
        store.set("late", "1")
        store.queue_push("late queue", "2")
        store.barrier("all", 2)
        for thread in threads:
            thread.join()
        return sorted(map(str, got))

    both(body)
