"""Datapipes compared with torch's: functional forms, one live iterator, snapshots, graphs, pickling, loaders over them."""
from __future__ import annotations

import functools
import importlib
import importlib.util
import inspect
import io
import pickle
import random
import warnings

import numpy as np
import pytest
import torch as reference

import mstorch

NAMES = [
    "IterDataPipe", "MapDataPipe", "DFIterDataPipe", "DataChunk", "functional_datapipe", "argument_validation", "runtime_validation",
    "runtime_validation_disabled", "non_deterministic", "guaranteed_datapipes_determinism",
]  # fmt: skip
pytestmark = pytest.mark.filterwarnings("ignore:This DataLoader will create", "ignore:.*multi-threaded.*fork", "ignore:`shuffle=True`")


def wrap(torch, items=range(10), **options):
    return torch.utils.data.datapipes.iter.IterableWrapper(items, **options)


def keyed(torch, items=range(10)):
    return torch.utils.data.datapipes.map.SequenceWrapper(items)


def test_names_and_signatures():
    for name in NAMES:
        assert name in mstorch.utils.data.__all__
    assert set(mstorch.utils.data.__all__) >= {n for n in reference.utils.data.__all__ if not n.startswith("_")}
    for module in ("iter", "map"):
        want, got = (getattr(t.utils.data.datapipes, module) for t in (reference, mstorch))
        assert want.__all__ == got.__all__
        for name in want.__all__:
            parameters = [
                [(p.name, p.kind) for p in inspect.signature(getattr(side, name)).parameters.values()] for side in (want, got)
            ]
            assert parameters[0] == parameters[1], name
    for kind in ("IterDataPipe", "MapDataPipe"):
        assert set(getattr(reference.utils.data, kind).functions) == set(getattr(mstorch.utils.data, kind).functions)


FORMS = {
    "map": lambda p: p.map(lambda x: x * 2),
    "filter": lambda p: p.filter(lambda x: x % 3 == 0),
    "batch": lambda p: p.batch(4),
    "batch_drop": lambda p: p.batch(4, drop_last=True),
    "unbatch": lambda p: p.batch(2).batch(2).unbatch(2),
    "unbatch_all": lambda p: p.batch(2).batch(2).unbatch(-1),
    "unbatch_deep": lambda p: p.unbatch(1),
    "shuffle": lambda p: p.shuffle(buffer_size=4),
    "shuffle_batches": lambda p: p.batch(3).shuffle(unbatch_level=1),
    "shuffle_seed": lambda p: p.shuffle().set_seed(7),
    "shuffle_off": lambda p: p.shuffle().set_shuffle(False),
    "collate": lambda p: p.map(float).batch(3).collate(lambda b: sum(b)),
    "sharding": lambda p: p.sharding_filter(),
    "groupby": lambda p: p.groupby(lambda x: x % 3),
    "groupby_size": lambda p: p.groupby(lambda x: x % 3, group_size=2, keep_key=True),
    "groupby_full": lambda p: p.groupby(lambda x: x % 4, buffer_size=4, group_size=3, guaranteed_group_size=2, drop_remaining=True),
    "groupby_fails": lambda p: p.groupby(lambda x: x, buffer_size=3, group_size=2),
    "groupby_largest": lambda p: p.groupby(lambda x: x % 3, buffer_size=3, keep_key=True),
    "zip": lambda p: p.zip(p.map(lambda x: -x)),
    "fork_one": lambda p: p.fork(1),
    "columns": lambda p: p.map(lambda x: (x, x + 1, x + 2)).map(lambda a, b: a * b, input_col=[0, 2]),
    "column_to": lambda p: p.map(lambda x: (x, x + 1)).map(lambda a: a * 10, input_col=1, output_col=-1),
    "column_key": lambda p: p.map(lambda x: {"a": x}).map(lambda a: a * 10, input_col="a", output_col="b"),
    "filter_col": lambda p: p.map(lambda x: (x, x % 2 == 0)).filter(lambda b: b, input_col=1),
    "filter_number": lambda p: p.filter(lambda x: x),
    "map_arity": lambda p: p.map(lambda a, b: a),
    "map_keyword": lambda p: p.map(lambda a, *, b: a),
    "map_partial": lambda p: p.map(functools.partial(lambda a, b: a + b, b=3)),
    "map_output": lambda p: p.map(lambda a: a, output_col=1),
    "map_no_function": lambda p: p.map(3),
    "batch_none": lambda p: p.batch(0),
    "unknown": lambda p: p.no_such_pipe(),
    "fork_none": lambda p: p.fork(0),
    "fork_copy": lambda p: p.fork(2, copy="thin"),
    "demux_none": lambda p: p.demux(0, lambda x: x),
    "enumerate": lambda p: p.enumerate(),
}


@pytest.mark.parametrize("name", FORMS)
def test_functional_forms(both, name):
    def body(torch):
        pipe = FORMS[name](wrap(torch))
        try:
            length = len(pipe)
        except TypeError as error:
            length = str(error)
        first = list(pipe)
        return repr(pipe), length, first, list(pipe)

    both(body)


def test_tensors_and_default_collate(both):
    def body(torch):
        pipe = wrap(torch, [1.0, 2.0, 3.0, 4.0, 5.0]).map(torch.tensor).batch(2).collate()
        rows = wrap(torch, range(4)).map(lambda i: {"x": torch.full((2,), float(i)), "y": i}).batch(2).collate()
        return list(pipe), list(rows)

    both(body)


def test_shuffle_draws_as_torch(both):
    def body(torch):
        pipe = wrap(torch, range(50)).shuffle(buffer_size=7)
        mapped = keyed(torch, range(20)).shuffle()
        passes = [list(pipe), list(pipe), list(mapped), list(mapped)]
        rest = torch.randint(0, 1000, (3,))
        return passes, rest, list(pipe.set_seed(3)), list(mapped.set_seed(3)), list(mapped.set_shuffle(False))

    both(body)


def test_children_of_one_pipe(both):
    def body(torch):
        a, b = wrap(torch).fork(2)
        turns = [x for pair in zip(a, b) for x in pair]
        even, odd = wrap(torch).demux(2, lambda x: x % 2)
        small, none = wrap(torch).demux(2, lambda x: 0 if x < 5 else None, drop_none=True)
        c, d = wrap(torch, [[1], [2]]).fork(2, copy="deep")
        again = [list(a), list(b), list(a), len(a)]
        apart = [x is y for x, y in zip(list(c), list(d))]
        return turns, list(odd), list(even), list(small), list(none), again, apart, list(even.mux(odd)), list(even.concat(odd))

    both(body)


@pytest.mark.parametrize("split", ["fork", "demux"])
def test_buffers_overflow(both, split):
    def body(torch):
        pipe = wrap(torch)
        a, b = pipe.fork(2, buffer_size=3) if split == "fork" else pipe.demux(2, lambda x: int(x > 4), buffer_size=2)
        got = []
        try:
            for x in a if split == "fork" else b:
                got.append(x)
        except BufferError as error:
            return got, str(error).split("\n")[0]
        return got

    both(body)


def test_a_new_iterator_ends_the_old_one(both):
    def body(torch):
        class Own(torch.utils.data.IterDataPipe):
            def __init__(self, n):
                self.n = n

            def __iter__(self):
                return iter(range(self.n))

        class Next(torch.utils.data.IterDataPipe):
            def __init__(self, n):
                self.n, self.i = n, 0

            def __iter__(self):
                return self

            def __next__(self):
                if self.i >= self.n:
                    raise StopIteration
                self.i += 1
                return self.i

            def reset(self):
                self.i = 0

        said = []
        for pipe in (wrap(torch), Own(4), Next(4), wrap(torch).fork(2)[0], wrap(torch).demux(2, lambda x: x % 2)[1]):
            first = iter(pipe)
            seen = [next(first)]
            second = iter(pipe)
            seen += [next(second), pipe._number_of_samples_yielded]
            try:
                next(first)
            except RuntimeError as error:
                said.append(str(error))
            said.append([seen, list(pipe), list(pipe)])
        return said

    both(body)


def test_errors_tell_the_pipe(both):
    def body(torch):
        def fails(x):
            if x == 3:
                raise ValueError("three")
            return x

        pipe = wrap(torch).map(fails)
        got = []
        try:
            for x in pipe:
                got.append(x)
        except ValueError as error:
            return got, str(error), pipe._number_of_samples_yielded

    both(body)


def test_children_warn_when_started_again(both):
    def body(torch):
        a, b = wrap(torch).fork(2, buffer_size=-1)
        next(iter(a))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            list(a)
            wrap(torch).fork(2, buffer_size=-1)
        return [(w.category.__name__, str(w.message)) for w in caught]

    both(body)


def test_files_and_streams(both, tmp_path):
    for name in ("b.txt", "a.txt", "c.json", "deep/d.txt", "e.pkl"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(pickle.dumps([1]) if name.endswith("pkl") else b'{"k": [1, 2]}' if name.endswith("json") else name.encode())

    def body(torch):
        pipes = torch.utils.data.datapipes.iter
        listed = list(pipes.FileLister(str(tmp_path), "*.txt", recursive=True))
        opened = pipes.FileOpener(pipes.FileLister(str(tmp_path)).filter(lambda n: n.endswith("txt")), mode="rb")
        read = list(opened.read_from_stream())
        pieces = list(wrap(torch, [("s", io.StringIO("abcde"))]).read_from_stream(chunk=2))
        decoded = list(wrap(torch, sorted(listed) + [str(tmp_path / "c.json")]).open_files(mode="b").routed_decode())
        return listed, read, pieces, decoded

    both(body)
    both(lambda torch: torch.utils.data.datapipes.iter.FileOpener(["x"], mode="w"))
    both(lambda torch: torch.utils.data.datapipes.iter.FileOpener(["x"], mode="rb", encoding="utf-8"))


def test_images(both):
    image = pytest.importorskip("PIL.Image")
    stream = io.BytesIO()
    image.fromarray(np.arange(60, dtype=np.uint8).reshape(4, 5, 3)).save(stream, "PNG")

    def body(torch):
        decoder = torch.utils.data.datapipes.utils.decoder
        found = {}
        for kind in ("torch", "torchrgb8", "torchrgba", "rgb", "l8", "rgba8", "torchl"):
            try:
                found[kind] = decoder.imagehandler(kind)("png", stream.getvalue())
            except ValueError as error:
                found[kind] = str(error)
        return found, decoder.handle_extension("tar.gz txt", len)("a.txt", "xy"), decoder.basichandlers("cls", b"7")

    for library in (reference, mstorch):
        importlib.import_module(f"{library.__name__}.utils.data.datapipes.utils.decoder")
    both(body)


def test_pipes_by_key(both):
    def body(torch):
        pipe = keyed(torch).map(lambda x: x * 3)
        batches = pipe.batch(4)
        zipped = pipe.zip(keyed(torch, "abc"))
        joined = pipe.concat(keyed(torch, "ab"))
        return (
            list(pipe), list(batches), len(batches), [zipped[i] for i in range(3)], joined[11], len(joined), batches[2].as_str("> "),
            keyed(torch, {"k": 5})["k"], repr(pipe),
        )  # fmt: skip

    both(body)
    both(lambda torch: keyed(torch).zip(keyed(torch, "abc"))[3])
    both(lambda torch: keyed(torch).batch(4)[3])
    both(lambda torch: keyed(torch).batch(4, drop_last=True)[2])
    both(lambda torch: keyed(torch).concat(keyed(torch))[20])
    both(lambda torch: keyed(torch).concat([1]))


def test_sharding(both):
    def body(torch):
        settings = importlib.import_module(f"{torch.__name__}.utils.data.graph_settings")
        priorities = importlib.import_module(f"{torch.__name__}.utils.data.datapipes.iter.sharding").SHARDING_PRIORITIES
        shares = []
        for i in range(3):
            pipe = wrap(torch).map(lambda x: x + 1).sharding_filter()
            settings.apply_sharding(pipe, 3, i)
            shares.append((list(pipe), len(pipe)))
        pipe = wrap(torch, range(20)).sharding_filter()
        pipe.apply_sharding(2, 1, sharding_group=priorities.DISTRIBUTED)
        pipe.apply_sharding(5, 3, sharding_group=priorities.MULTIPROCESSING)
        return shares, list(pipe), len(pipe)

    both(body)

    def twice(torch):
        settings = importlib.import_module(f"{torch.__name__}.utils.data.graph_settings")
        settings.apply_sharding(wrap(torch).sharding_filter().map(str).sharding_filter(), 2, 0)

    both(twice)
    both(lambda torch: wrap(torch).sharding_filter().apply_sharding(2, 2))


def test_graph(both):
    def shape(graph):
        return [(repr(pipe), shape(sources)) for pipe, sources in graph.values()]

    def body(torch):
        graph = importlib.import_module(f"{torch.__name__}.utils.data.graph")
        settings = importlib.import_module(f"{torch.__name__}.utils.data.graph_settings")
        a, b = wrap(torch).map(str).fork(2)
        end = a.zip(b.shuffle()).batch(2)
        found = graph.traverse_dps(end)
        pipes = [repr(pipe) for pipe in settings.get_all_graph_pipes(found)]
        settings.apply_shuffle_settings(end, shuffle=False)
        still = list(end)
        settings.apply_shuffle_settings(end, shuffle=True)
        settings.apply_random_seed(end, torch.Generator().manual_seed(3))
        return shape(found), pipes, still, list(end)

    both(body)
    both(lambda torch: importlib.import_module(f"{torch.__name__}.utils.data.graph").traverse_dps([1]))


def test_snapshots(both):
    def body(torch):
        restore = importlib.import_module(f"{torch.__name__}.utils.data.datapipes.utils.snapshot")._simple_graph_snapshot_restoration
        pipe = wrap(torch).shuffle().map(double).batch(2)
        restore(pipe, 2, torch.Generator().manual_seed(1))
        first, second = list(pipe), [len(list(pipe))]
        copy = pickle.loads(pickle.dumps(pipe))
        restore(copy, 3)
        said = []
        for steps in (1, 9):
            try:
                restore(copy, steps)
            except RuntimeError as error:
                said.append(str(error))
            iter(copy)
            copy = pickle.loads(pickle.dumps(wrap(torch)))
            copy = copy if steps == 9 else copy.batch(3)
        return first, second, said

    both(body)


def double(x):
    return x * 2


def parity(x):
    return x % 2


@pytest.mark.parametrize("form", ["map", "filter", "groupby", "shuffle", "fork", "demux", "mux", "by_key"])
def test_pickles(both, form):
    def body(torch):
        source = wrap(torch)
        pipe = {
            "map": lambda: source.map(double).batch(3),
            "filter": lambda: source.filter(bool_of_parity),
            "groupby": lambda: source.groupby(parity),
            "shuffle": lambda: source.shuffle().set_seed(5),
            "fork": lambda: source.fork(2)[1],
            "demux": lambda: source.demux(2, parity)[1],
            "mux": lambda: source.mux(wrap(torch, range(10, 20))),
            "by_key": lambda: keyed(torch).map(double),
        }[form]()
        copy = pickle.loads(pickle.dumps(pipe))
        used = next(iter(pipe))
        later = pickle.loads(pickle.dumps(pipe))
        return list(copy), used, list(later)

    both(body)


def bool_of_parity(x):
    return bool(x % 2)


def test_lambdas_are_pickled_by_dill(both):
    pytest.importorskip("dill")

    def body(torch):
        module = importlib.import_module(f"{torch.__name__}.utils.data.datapipes.datapipe")
        wrapper = module._IterDataPipeSerializationWrapper(wrap(torch).map(lambda x: x + 1))
        again = pickle.loads(pickle.dumps(wrapper))
        return list(again), len(again)

    both(body)


def test_decorators(both):
    def body(torch):
        data = torch.utils.data

        class Halves(data.IterDataPipe):
            def __init__(self, source):
                self.source = source

            def __iter__(self):
                for x in self.source:
                    yield x / 2

        name = f"halves_of_{torch.__name__}"
        data.functional_datapipe(name)(Halves)
        got = [list(getattr(wrap(torch), name)())]
        try:
            data.functional_datapipe(name)(Halves)
        except Exception as error:  # noqa: BLE001 - torch raises Exception itself
            got.append((type(error).__name__, str(error).replace("mstorch", "torch")))
        finally:
            del data.IterDataPipe.functions[name]
        unsure = data.non_deterministic(Halves)
        got.append(list(unsure([2])))
        sometimes = data.non_deterministic(lambda source: len(source) > 1)(Halves)
        for make in (lambda: unsure([2]), lambda: sometimes([1, 2]), lambda: sometimes([2]), lambda: data.non_deterministic(3)):
            with data.guaranteed_datapipes_determinism():
                try:
                    got.append(list(make()))
                except TypeError as error:
                    got.append(str(error))
        return got

    both(body)


def test_validation(both):
    def body(torch):
        data = torch.utils.data
        typing = importlib.import_module(f"{torch.__name__}.utils.data.datapipes._typing")

        class Ints(data.IterDataPipe):
            type = typing._DataPipeType(tuple[int, str])

            def __init__(self, items):
                self.items = items

            @data.runtime_validation
            def __iter__(self):
                yield from self.items

        def first(source):
            return next(iter(source))

        first.__annotations__ = {"source": Ints}
        checked = data.argument_validation(first)
        got = [list(Ints([(1, "a")])), checked(Ints([(2, "b")]))]
        for attempt in (lambda: list(Ints([(1, 2)])), lambda: checked([1]), lambda: checked(wrap(torch)), lambda: data.runtime_validation(first)):
            try:
                got.append(attempt())
            except Exception as error:  # noqa: BLE001 - the types are compared
                got.append((type(error).__name__, str(error).split("\n")[0].replace("mstorch", "torch")))
        with data.runtime_validation_disabled():
            got.append(list(Ints([(1, 2)])))
        pairs = [(bool, int), (int, float | int), (list[int], list), (list[str], list[int]), (dict, dict[str, int])]
        got.append([typing.issubtype(a, b) for a, b in pairs])
        return got

    both(body)


@pytest.mark.parametrize("workers", [0, 2])
def test_loaders_over_pipes(both, workers):
    def body(torch):
        def loader(pipe, **options):
            return torch.utils.data.DataLoader(pipe, num_workers=workers, **options)

        shared = wrap(torch, range(40)).shuffle().map(lambda x: x * 2).sharding_filter().batch(4)
        plain = loader(wrap(torch, range(12)).sharding_filter(), batch_size=3)
        by_key = loader(keyed(torch, range(12)).map(lambda x: x + 1), batch_size=5, shuffle=True)
        random_one = loader(shared, batch_size=None)
        off = loader(wrap(torch, range(9)).shuffle().sharding_filter(), shuffle=False)
        added = loader(wrap(torch, range(9)), shuffle=True)
        got = [list(plain), list(random_one), list(random_one), list(by_key), list(off), list(added), torch.rand(2)]
        generator = torch.Generator().manual_seed(4)
        got += [list(loader(shared, batch_size=None, generator=generator)), torch.rand(2, generator=generator)]
        return got, len(plain), type(random_one.dataset).__name__

    both(body)


def test_persistent_workers_draw_a_seed_for_each_pass(both):
    def body(torch):
        pipe = wrap(torch, range(16)).shuffle().sharding_filter()
        loader = torch.utils.data.DataLoader(pipe, num_workers=2, persistent_workers=True, batch_size=4)
        return list(loader), list(loader), torch.rand(1)

    both(body)


def test_workers_keep_the_users_function(both):
    def body(torch):
        def init(worker):
            random.seed(worker)

        pipe = wrap(torch, range(8)).sharding_filter().map(lambda x: x + random.randint(0, 100))
        return list(torch.utils.data.DataLoader(pipe, num_workers=2, worker_init_fn=init))

    both(body)


def test_streams_close_themselves(both):
    def body(torch):
        common = importlib.import_module(f"{torch.__name__}.utils.data.datapipes.utils.common")
        parent = common.StreamWrapper(io.StringIO("abc"), name="p")
        child = common.StreamWrapper(io.StringIO("x"), parent)
        parent.autoclose()
        open_yet = parent.closed
        child.close()
        nested = common.StreamWrapper(io.StringIO("y"))
        common.StreamWrapper.close_streams({"a": [nested]})
        unread = common.StreamWrapper(io.StringIO("z"))
        list(wrap(torch, [unread], deepcopy=False).filter(lambda s: False))
        return open_yet, parent.closed, nested.closed, unread.closed, repr(common.StreamWrapper("f", name="n")), "read" in dir(parent)

    both(body)


@pytest.mark.skipif(importlib.util.find_spec("pandas") is None, reason="needs pandas")
def test_data_frames(both):
    def body(torch):
        pairs = wrap(torch, range(30)).map(lambda i: (i, i % 3))
        frames = pairs._to_dataframes_pipe(columns=["i", "j"], dataframe_size=7)
        frames["k"] = frames["j"] + frames.i * 3 - 1
        random.seed(3)
        rows = [tuple(row) for row in frames]
        batches = [[tuple(row) for row in batch] for batch in pairs._to_dataframes_pipe(columns=["i", "j"], dataframe_size=7).batch(8)]
        chosen = list(pairs._to_dataframes_pipe(columns=["i", "j"], dataframe_size=7).filter(lambda x: x.i > 15))
        mixed = [tuple(r) for r in pairs._to_dataframes_pipe(columns=["i", "j"], dataframe_size=7).shuffle()]
        sums = [
            tuple(r)
            for r in pairs._to_dataframes_pipe(columns=["i", "j"])
            .batch(4)
            .collate({"i": lambda c: int(c.sum()), "j": lambda c: int(c.prod())})
        ]
        return rows, batches, [tuple(c) for c in chosen], mixed, sums, list(frames.columns)

    both(body)


def test_data_frames_without_pandas_say_so(both):
    if importlib.util.find_spec("pandas") is not None:
        pytest.skip("pandas is there")
    both(lambda torch: list(torch.utils.data.datapipes.dataframe.datapipes.ExampleAggregateAsDataFrames(wrap(torch))))


def test_noted_work_reads_as_text(both):
    def body(torch):
        frames = torch.utils.data.datapipes.dataframe.dataframes
        frames.CaptureVariable.names_idx = 0
        frame = frames.CaptureDataFrame()
        frame["c"] = frame.b + frame["a"] * 7
        return str(frame), frame._ops_str()

    both(body)
