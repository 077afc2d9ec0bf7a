"""torch.utils.benchmark: the same times give the same texts and tables; a timer measures and repeats."""
from __future__ import annotations

import importlib
import itertools
import pickle
import random

import pytest

import mstorch
from tests.against_torch import both


def benchmark(torch):
    return importlib.import_module(f"{torch.__name__}.utils.benchmark")


def times_of(generator, count, scale, spread):
    return [scale * (1 + spread * generator.random()) for _ in range(count)]


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 20, 101])
@pytest.mark.parametrize("scale", [3e-9, 1e-6, 7.7e-5, 0.02, 9.99, 1000.0])
@pytest.mark.parametrize("spread", [0.0, 0.05, 0.4, 2.0])
def test_statistics_and_text(count, scale, spread):
    times = times_of(random.Random(count), count, scale, spread)

    def body(torch):
        b = benchmark(torch)
        m = b.Measurement(7, times, b.TaskSpec("x + y", "import os", num_threads=2 if count > 4 else 1))
        text = repr(m)
        return (text[text.index("\n") :], text.split(" at ")[0].removeprefix("<"), m.median, m.mean, m.iqr, m.times, m.has_warnings,
                m.significant_figures, m.meets_confidence(0.2), m.as_row_name, m.title, m.num_threads, m.env, m.metadata)  # fmt: skip

    both(body)


@pytest.mark.parametrize("task", [
    {"stmt": "a\nb", "setup": "x = 1\ny = 2", "sub_label": "two"}, {"stmt": "a", "setup": "", "label": "L", "description": "d\ne"},
    {"stmt": "", "setup": "x = 1", "sub_label": "s", "label": "L"}, {"stmt": "a\nb", "setup": "pass", "env": "e"},
])  # fmt: skip
def test_tasks(task):
    def body(torch):
        b = benchmark(torch)
        spec = b.TaskSpec(**task)
        text = repr(b.Measurement(1, [1.0, 2.0], spec))
        return spec.title, spec.setup_str(), spec.summarize(), spec == b.TaskSpec(**task), hash(spec) == hash(b.TaskSpec(**task)), text[text.index('\n') :]

    both(body)


def results(torch, scale=2e-5, missing=False, environments=(None,)):
    b, generator = benchmark(torch), random.Random(5)
    made = []
    for threads, env, name, size, repeat in itertools.product((1, 4), environments, ("add", "multiply"), ("n=1", "n=100", "n=9"), (1, 2)):
        if missing and name == "add" and size == "n=100":
            continue
        factor = scale * (1 + 3 * generator.random()) * {"n=1": 1, "n=100": 40, "n=9": 9}[size]
        task = b.TaskSpec(f"x {name}", "", label="Sums" if size != "n=9" else None, sub_label=name, description=size, env=env, num_threads=threads)
        made.append(b.Measurement(10 * repeat, times_of(generator, 6, factor, generator.choice([0.02, 0.9])), task))
    return made


@pytest.mark.parametrize("colour", [None, False, True])
@pytest.mark.parametrize("trim", [False, True])
@pytest.mark.parametrize("warn", [False, True])
@pytest.mark.parametrize("kind", [{}, {"missing": True}, {"environments": ("one", "another")}, {"scale": 1e-8}, {"scale": 3.0}])
def test_tables(colour, trim, warn, kind):
    def body(torch):
        compare = benchmark(torch).Compare(results(torch, **kind))
        if colour is not None:
            compare.colorize(rowwise=colour)
        if trim:
            compare.trim_significant_figures()
        if warn:
            compare.highlight_warnings()
        return str(compare)

    both(body)


def test_units_and_figures():
    for value in (1e-10, 1e-9, 9.99e-7, 1e-6, 2e-6, 0.001, 0.999, 1.0, 5000.0, 0.0, float("nan")):
        both(lambda torch, value=value: benchmark(torch).select_unit(value))
    for value, figures in itertools.product((3.14159, 0.1, 1.0, 10.0, 99.96, -2.5, 123456.0, 1e-20, 0.0), (1, 2, 4)):
        both(lambda torch, value=value, figures=figures: benchmark(torch).trim_sigfig(value, figures), rtol=0)
    both(lambda torch: benchmark(torch).trim_sigfig(1.0, 1.5))
    both(lambda torch: [benchmark(torch).unit_to_english(unit) for unit in ("ns", "us", "ms", "s")])
    both(lambda torch: benchmark(torch).ordered_unique([3, 1, 3, 2, 1]))
    both(lambda torch: str(benchmark(torch).Compare([3])), message="Expected an instance of `Measurement`")
    both(lambda torch: benchmark(torch).Measurement(1, [1.0], None).nothing)
    both(lambda torch: pickle.loads(pickle.dumps(results(torch)[3])).median)


class Clock:
    """A clock that moves on by 1 ms at each run of a statement; the readings themselves take 1 ns."""

    def __init__(self, slow=()):
        self.now, self.runs, self.slow = 0.0, 0, slow

    def __call__(self):
        self.now += 1e-9
        return self.now

    def run(self):
        self.runs += 1
        self.now += 1e-3 * (20 if self.runs in self.slow else 1)


@pytest.mark.parametrize("slow", [(), range(1, 400, 2)])
@pytest.mark.parametrize("call", [
    "timeit(10)", "timeit(1000)", "blocked_autorange()", "blocked_autorange(min_run_time=2.0)", "blocked_autorange(callback=seen)",
    "adaptive_autorange()", "adaptive_autorange(0.3, min_run_time=0.5, max_run_time=1.5)", "adaptive_autorange(callback=seen)",
    "repeat()", "autorange()",
])  # fmt: skip
def test_how_often_a_timer_runs(call, slow):
    def body(torch):
        clock, told = Clock(slow), []
        timer = benchmark(torch).Timer("run()", timer=clock, globals={"run": clock.run})
        got = eval(f"timer.{call}", {"timer": timer, "seen": lambda number, time: told.append((number, time))})
        return got.number_per_run, got.raw_times, clock.runs, told

    both(body)


def test_a_timer_runs_what_it_is_given():
    def body(torch):
        b, seen = benchmark(torch), []
        code = """
            seen.append((int(x.sum()), torch.get_num_threads()))
        """
        before = torch.get_num_threads()
        timer = b.Timer(code, "\n    x = torch.ones(3)\n", globals={"seen": seen}, label="L", sub_label="s", description="d", num_threads=1)
        task = timer.timeit(2).task_spec
        return set(seen), len(seen), task.stmt, task.setup, task.summarize(), torch.get_num_threads() == before

    both(body)


@pytest.mark.parametrize("given", [
    {"stmt": len}, {"global_setup": "int x;"}, {"language": "rust"}, {"stmt": "a b"}, {"stmt": "undefined_name"},
])  # fmt: skip
def test_refusals(given):
    both(lambda torch: benchmark(torch).Timer(**given).timeit(1))


def test_what_is_not_there():
    b = benchmark(mstorch)
    with pytest.raises(NotImplementedError):
        b.Timer("1", language="c++")
    with pytest.raises(NotImplementedError):
        b.Timer("1").collect_callgrind()
