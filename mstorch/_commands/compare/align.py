"""Comparison of the records of two runs of a script: finds the first module, gradient or optimizer step whose result is out of tolerance.

A result may deviate by a hundred times the deviation of its inputs: rounding errors grow through a network and its training, whereas a
fault appears suddenly. At kinks (ReLU at 0) rounding errors change gradients entirely: one element in fifty may be out of tolerance, and
one in ten of a parameter's gradient, each element of which is a sum of many."""
from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

Event = dict[str, Any]
_GROWTH = 100.0
_SHARE, _OWN_SHARE = 0.98, 0.9
_FORWARD, _GRADIENT, _UPDATE = 1e-4, 2e-3, 0.05


class Found(NamedTuple):
    """First difference: ``where`` names a module, an optimizer, or a line; ``phase`` is forward, backward, step, or reading."""

    phase: str
    step: int
    where: str
    what: str
    deviation: float
    inputs: float


class _Own(NamedTuple):
    """Deviation of a parameter or buffer of a module at one of its calls; ``is_initial`` at the first one."""

    name: str
    deviation: float
    is_fault: bool
    is_initial: bool


class Layer(NamedTuple):
    """Deviation of one call of a module: of its result, and of the gradients of its inputs."""

    step: int
    module: str
    forward: float
    backward: float


def deviation(want: Event | None, have: Event | None, share: float = 1.0, least: float = 0.0) -> float:
    """Return the largest difference of two tensors' elements, relative to the first one's largest element.

    Only the fraction ``share`` of elements with the smallest differences counts. Different shapes or dtypes, and different integers, give
    infinity.
    """
    if want is None or have is None:
        return 0.0 if want is have else math.inf
    if want["shape"] != have["shape"] or want["dtype"] != have["dtype"]:
        return math.inf
    first, second = want["sample"], have["sample"]
    if not first.size:
        return 0.0
    if want["dtype"].startswith(("int", "uint", "bool")):
        return 0.0 if np.array_equal(first, second) else math.inf
    same = (first == second) | (np.isnan(first) & np.isnan(second))
    with np.errstate(invalid="ignore"):
        apart = np.where(same, 0.0, np.abs(first - second))
    if np.isnan(apart).any():
        return math.inf
    scale = max(_finite(want["largest"]), least, 1e-30)
    furthest = float(np.sort(apart)[int(share * (apart.size - 1))]) / scale
    if share < 1.0 and first.size == math.prod(want["shape"]):
        return furthest  # all elements are available: comparing norms would include the elements that ``share`` excludes
    norms = [_finite(want["norm"]), _finite(have["norm"])]
    return max(furthest, abs(norms[0] - norms[1]) / max(*norms, least * math.sqrt(first.size), 1e-30))


def _finite(value: float) -> float:
    return value if math.isfinite(value) else 0.0


def _largest_deviation(want: Iterable[Any], have: Iterable[Any]) -> float:
    first, second = list(want), list(have)
    if len(first) != len(second):
        return math.inf
    return max(map(deviation, first, second), default=0.0)


class Alignment:
    """Comparison of the records of two runs; the last step of a run that did not finish (``ended`` is False) is ignored."""

    def __init__(
        self, want: list[Event], have: list[Event], tolerance: float = _FORWARD, names: tuple[str, str] = ("torch", "mstorch"),
        ended: bool = True,
    ) -> None:  # fmt: skip
        self._ended = ended
        self.tolerance, self.names = tolerance, names
        self.layers: list[Layer] = []
        self._known: dict[str, float] = {}  # deviation of parameters and buffers when they were last compared
        self._steady: dict[str, Any] = {}  # the elements of parameters whose gradients have agreed so far
        self._drift = 0.0
        self.steps = 0  # the optimizer's steps that were compared
        self.calls = 0  # the calls of modules after the last step, or of a script without steps
        self.losses = [_losses(want), _losses(have)]
        self.found = self._compare(want, have)

    def _compare(self, want: list[Event], have: list[Event]) -> Found | None:
        first = None
        pairs = list(zip(_split_steps(want), _split_steps(have)))
        for number, (one, two) in enumerate(pairs if self._ended else pairs[:-1]):
            stepped = any(event["kind"] == "step" for event in one)
            self.steps += stepped
            self.calls = 0 if stepped else sum(event["kind"] == "forward" for event in one)
            found = self._part(number, one, two)
            first = first or found
            if first is not None and number > first.step + 2:
                break  # a few steps after the difference are kept for the chart
        kinds = [[event["kind"] for event in events if event["kind"] not in ("gradient", "parameter", "read")] for events in (want, have)]
        if first is None and self._ended and len(kinds[0]) != len(kinds[1]):
            text = f"{len(kinds[0])} calls, losses and steps in {self.names[0]}, {len(kinds[1])} in {self.names[1]}"
            return Found("forward", self.steps, "the script", text, math.inf, 0.0)
        return first

    def _part(self, step: int, want: list[Event], have: list[Event]) -> Found | None:
        self._drift = 0.0
        calls = [[event for event in events if event["kind"] == "forward"] for events in (want, have)]
        gradients = [_gradients(events) for events in (want, have)]
        first_calls = [min((event["call"] for event in events), default=0) for events in calls]
        found = self._draws(step, *calls)
        forward = self._forward(step, *calls)
        if forward is not None and (found is None or forward[1] < found[1]):
            found = forward
        result = None if found is None else found[0]
        result = result or self._loss(step, want, have)
        grads = [[event for event in events if event["kind"] == "grads"] for events in (want, have)]
        params = [_first_gradients(events) for events in (want, have)]
        backward = self._backward(step, calls, gradients, first_calls, params)
        result = result or backward
        if result is None:
            result = self._handled(step, params, *grads)
        for one, two in zip(*([event for event in events if event["kind"] in ("grads", "step")] for events in (want, have))):
            updated = self._options(step, one, two) if one["kind"] == "grads" else self._update(step, grads, one, two)
            result = result or updated
        return result or self._read(step, want, have)

    # Forward

    def _draws(self, step: int, want: list[Event], have: list[Event]) -> tuple[Found, int] | None:
        """Return the first module before which different random numbers were drawn."""
        before: Event | None = None
        ordered = [sorted(events, key=lambda event: event["call"]) for events in (want, have)]
        for one, two in zip(*ordered):
            if one["module"] != two["module"]:
                return None
            if one["random"] != two["random"]:
                where = before["module"] if before is not None else "the script"
                text = f"random numbers: {self.names[1]} drew more or fewer than {self.names[0]} between {where} and {one['module']}"
                if before is None and step == 0:
                    text = f"random numbers: another seed, or other draws before the first call of a module{self._weights(want, have)}"
                return Found("forward", step, where, text, math.inf, 0.0), one["call"]
            before = one
        return None

    def _weights(self, want: list[Event], have: list[Event]) -> str:
        """Return the end of a sentence that names the first weight whose initial value differs; "" if there is none."""
        for one, two in zip(want, have):
            for name, value in one["own"].items():
                if deviation(value, two["own"].get(name)) > self.tolerance:
                    return f"; initial values differ, the first that of {one['module']}.{name}"
        return ""

    def _forward(self, step: int, want: list[Event], have: list[Event]) -> tuple[Found, int] | None:
        first: tuple[Found, int] | None = None
        pairs = list(zip(want, have))
        for one, two in pairs:
            if one["module"] != two["module"] or one["class"] != two["class"]:
                text = f"{self.names[0]} calls {one['module']} ({one['class']}), {self.names[1]} {two['module']} ({two['class']})"
                return first or (Found("forward", step, two["module"], text, math.inf, 0.0), one["call"])
            given, result = _largest_deviation(one["in"], two["in"]), _largest_deviation(one["out"], two["out"])
            own = self._own(one, two)
            worst_own = max((item.deviation for item in own), default=0.0)
            self.layers.append(Layer(step, one["module"], result, 0.0))
            fault = self._fault(one, two, own, given, result, pairs)
            if fault is not None and first is None:
                first = Found("forward", step, *fault[:2], result, max(fault[2], worst_own)), one["call"]
            if first is None:
                self._drift = max(self._drift, min(result, 1.0))
        return first

    def _fault(
        self, one: Event, two: Event, own: list[_Own], given: float, result: float, pairs: list[tuple[Event, Event]]
    ) -> tuple[str, str, float] | None:
        """Return the name of the faulty module in a differing call, a description of the fault, and the deviation of the module's inputs;
        None if the call is correct.
        """
        name, kind, other = one["module"], one["class"], self.names[0]
        changed = next((item for item in own if item.is_fault), None)
        if changed is not None:
            text = f"{changed.name} of {kind} is another before the module is called"
            if one["settings"] != two["settings"]:
                text += f": {kind}({two['settings']}) where {other} has {kind}({one['settings']})"
            elif changed.is_initial:
                text = f"{changed.name} of {kind} is another from the start: how it is initialised, loaded or changed before the first call"
            return name, text, given
        before = max(given, *(item.deviation for item in own), 0.0)
        if given > max(self.tolerance, _GROWTH * self._drift):
            inner, around = name, _caller(one, pairs)
            while around is not None and _largest_deviation(around[0]["in"], around[1]["in"]) > self.tolerance:
                inner, around = around[0]["module"], _caller(around[0], pairs)
            if around is None:
                return inner, f"what the script gives to {inner} differs: the data, or what is done with it", given
            where = around[0]["module"]
            other_argument = self._argument(*around, pairs)
            if other_argument:
                return where, other_argument, given
            return where, f"what {where} computes itself, outside of modules, before it calls {inner}", self._drift
        if result > self.tolerance and _nested_calls(one["call"], [pair[0] for pair in pairs]):
            before = max(before, self._drift)  # the results of inner modules, none of which was faulty
        if result > max(self.tolerance, _GROWTH * before):
            if one["training"] != two["training"]:
                return name, f"{kind} with training={two['training']} where {other} has training={one['training']}", given
            if one["settings"] != two["settings"]:
                return name, f"{kind}({two['settings']}) where {other} has {kind}({one['settings']})", given
            other_argument = self._argument(one, two, pairs)
            if other_argument:
                return name, other_argument, given
            draws = one["random"] == two["random"] and one["random after"] != two["random after"]
            return name, f"the result of {kind}({one['settings']}){', which draws other random numbers' if draws else ''}", given
        return None

    def _argument(self, one: Event, two: Event, pairs: list[tuple[Event, Event]]) -> str:
        """Return a sentence about the first argument of a call, a number, text, bool or None, that differs; "" if none does."""
        above = _caller(one, pairs)
        giver = "the script" if above is None else above[0]["module"]
        for key, value in one["plain"].items():
            have = two["plain"].get(key, "a value of another kind")
            if not _equal(value, have):
                named = f"argument {key}" if key.isdigit() else key
                return f"{giver} calls {one['module']} with {named} = {have!r} where {self.names[0]} has {value!r}"
        return ""

    def _own(self, one: Event, two: Event) -> list[_Own]:
        """Return the deviation of each parameter and buffer of a module. It is a fault if the earlier ones do not explain it.

        Batch statistics may be pure rounding error, such as a mean of zero: they are compared relative to the batch's elements."""
        items = []
        size = max((given["largest"] for given in one["in"] if "float" in given["dtype"]), default=0.0)
        for name, value in one["own"].items():
            full = f"{one['module']}.{name}"
            is_initial = full not in self._known
            least = _finite(size) if name in one["buffers"] and full in self._known else 0.0
            apart = deviation(value, two["own"].get(name), least=least)
            drift = max(self._known[full], self._drift) if full in self._known else 0.0
            allowed = max(self.tolerance, _GROWTH * drift)
            items.append(_Own(name, apart, apart > allowed, is_initial))
            self._known[full] = apart
        return items

    def _loss(self, step: int, want: list[Event], have: list[Event]) -> Found | None:
        losses = [[event["value"] for event in events if event["kind"] == "loss"] for events in (want, have)]
        apart = _largest_deviation(*losses)
        if apart > max(10 * self.tolerance, _GROWTH * self._drift):
            text = "the loss that backward starts from, computed outside of the modules"
            return Found("forward", step, "the loss", text, apart, self._drift)
        return None

    def _read(self, step: int, want: list[Event], have: list[Event]) -> Found | None:
        """Return the first line of the script that reads other values, though all that modules computed agrees."""
        lines = [_reads(events) for events in (want, have)]
        for line, events in lines[0].items():
            others = lines[1].get(line, [])
            if len(others) != len(events):
                continue  # one of the two libraries reads for reasons of its own
            apart = max(_read_deviation(one["value"], two["value"]) for one, two in zip(events, others))
            if apart > max(10 * self.tolerance, _GROWTH * self._drift):
                text = f"what {events[0]['method']}() reads in line {line}, computed outside of the modules"
                return Found("reading", step, line, text, apart, self._drift)
        return None

    # Backward

    def _backward(self, step: int, calls: Any, gradients: Any, first: list[int], params: list[dict[str, Any]]) -> Found | None:
        """Return the module whose backward is wrong: its incoming gradients agree in both runs, its outgoing gradients do not."""
        limit = max(_GRADIENT, _GROWTH * self._drift)
        largest = _largest(params[0])
        wrong: list[tuple[int, int, int, Found]] = []
        own_fault: dict[int, Found] = {}
        worst: dict[str, float] = {}
        for one in calls[0]:
            came, came_most, left = _of_call(gradients, first, one["call"])
            names = [name for name in _names(one) if name in params[0]]
            own = max((deviation(params[0][name], params[1].get(name), _OWN_SHARE, 1e-3 * largest) for name in names), default=0.0)
            worst[one["module"]] = max(worst.get(one["module"], 0.0), left, own)
            time = gradients[0].get((one["call"], "out", 0), (10**9, None))[0]
            allowed = max(limit, _GROWTH * came_most)
            if came <= limit and (left > allowed or own > allowed):
                side = "its input" if left > allowed else "its parameters"
                text = f"the gradient that {one['class']} gives {side}"
                own_fault[one["call"]] = Found("backward", step, one["module"], text, max(left, own), came_most)
                wrong.append((time, -one["depth"], one["call"], own_fault[one["call"]]))
            elif came > limit and self._agreed_before(gradients, first, one["call"], limit):
                text = f"the gradient of what is computed from the result of {one['module']}, outside of modules"
                wrong.append((time + 1, -one["depth"], one["call"], Found("backward", step, one["module"], text, came, 0.0)))
        self.layers = [layer._replace(backward=worst.get(layer.module, 0.0)) if layer.step == step else layer for layer in self.layers]
        if not wrong:
            return None
        *_, call, found = min(wrong, key=lambda item: item[:2])
        while call in own_fault and (inner := [other for other in _nested_calls(call, calls[0]) if other in own_fault]):
            call = max(inner)  # backward reaches the last one first
            found = own_fault[call]
        return found

    def _agreed_before(self, gradients: Any, first: list[int], call: int, limit: float) -> bool:
        """Return whether all gradients that backward computed before those of this call agree."""
        time = gradients[0].get((call, "out", 0), (0, None))[0]
        for (other, side, number), (at, value) in gradients[0].items():
            if at < time:
                have = gradients[1].get((other - first[0] + first[1], side, number), (0, None))[1]
                if deviation(value, have, _SHARE) > limit:
                    return False
        return True

    # Optimizers

    def _handled(self, step: int, given: list[dict[str, Any]], want: list[Event], have: list[Event]) -> Found | None:
        """Return the first gradient that agreed after backward and differs at the optimizer's step; None if there is none."""
        limit = max(_GRADIENT, _GROWTH * self._drift)
        for one, two in zip(want, have):
            largest = _largest(one["value"])
            apart = {name: deviation(value, two["value"].get(name), _SHARE, 1e-3 * largest) for name, value in one["value"].items()}
            before = {name: deviation(given[0].get(name), given[1].get(name), 1.0, 1e-3 * largest) for name in apart}
            name = next((name for name, value in apart.items() if value > max(limit, _GROWTH * min(before[name], 1.0))), None)
            if name is not None:
                text = f"the gradient of {name}, right as backward gave it, differs at the step: clipping, scaling, or no zero_grad"
                return Found("step", step, f"{one['class']} (optimizer {one['optimizer']})", text, apart[name], 0.0)
        return None

    def _options(self, step: int, one: Event, two: Event) -> Found | None:
        for mine, other in zip(one["options"], two["options"]):
            for name in mine:
                if name in other and not _equal(mine[name], other[name]):
                    text = f"{name} is {other[name]} where {self.names[0]} has {mine[name]}: the optimizer's options, or a scheduler"
                    return Found("step", step, f"{one['class']} (optimizer {one['optimizer']})", text, math.inf, 0.0)
        return None

    def _update(self, step: int, grads: Any, one: Event, two: Event) -> Found | None:
        """Return the first parameter whose update differs in an optimizer step; None if all agree."""
        asked = [next(event for event in events if event["optimizer"] == one["optimizer"]) for events in grads]
        found = None
        for name, after in one["value"].items():
            have = two["value"].get(name)
            self._known[name] = deviation(after, have)
            values = [event["value"].get(name) for event in asked]
            before = [event["before"].get(name) for event in asked]
            if have is None or None in values or None in before or found is not None:
                continue
            first, second = (value["sample"] for value in values)
            agree = np.abs(first - second) <= 0.01 * np.abs(first)
            steady = self._steady[name] = self._steady.get(name, np.ones(first.shape, bool)) & agree & (first != 0)
            moved = [end["sample"] - start["sample"] for end, start in zip((after, have), before)]
            size = float(np.abs(moved[0]).max(initial=0.0))
            apart = float(np.abs(moved[0] - moved[1])[steady].max(initial=0.0))
            if apart > _UPDATE * size + 1e-5 * after["largest"]:
                text = f"the step of {one['class']} changes {name} otherwise"
                where = f"{one['class']} (optimizer {one['optimizer']})"
                found = Found("step", step, where, text, apart / max(size, 1e-30), deviation(*values))
        return found


def _caller(one: Event, pairs: list[tuple[Event, Event]]) -> tuple[Event, Event] | None:
    """Return the pair of calls, one per run, that directly encloses the call ``one``; None if there is none."""
    above = [pair for pair in pairs if pair[0]["call"] < one["call"] and pair[0]["depth"] == one["depth"] - 1]
    return max(above, key=lambda pair: pair[0]["call"]) if above else None


def _nested_calls(call: int, events: list[Event]) -> list[int]:
    """Return the numbers of the calls that were made during the given call."""
    depths = {event["call"]: event["depth"] for event in events}
    after = [other for other in sorted(depths) if other > call]
    return list(itertools.takewhile(lambda other: depths[other] > depths[call], after))


def _reads(events: list[Event]) -> dict[str, list[Event]]:
    """Return the values that the script reads, by line."""
    lines: dict[str, list[Event]] = {}
    for event in events:
        if event["kind"] == "read":
            lines.setdefault(event["line"], []).append(event)
    return lines


def _read_deviation(want: Event | None, have: Event | None) -> float:
    """Return the deviation of two tensors that are read. Rounding may turn over one decision in fifty: indices, counts of right answers."""
    if want is None or have is None or want["shape"] != have["shape"] or not want["dtype"].startswith(("int", "uint", "bool")):
        return deviation(want, have, _SHARE)
    first, second = want["sample"], have["sample"]
    if first.size == 1:
        return 0.0 if abs(first[0] - second[0]) <= max(1.0, (1 - _SHARE) * abs(first[0])) else math.inf
    return 0.0 if np.count_nonzero(first != second) <= (1 - _SHARE) * first.size else math.inf


def _losses(events: list[Event]) -> list[float]:
    values = [event["value"]["sample"] for event in events if event["kind"] == "loss"]
    return [float(value[0]) for value in values if value.size == 1]


def _split_steps(events: list[Event]) -> list[list[Event]]:
    """Split the events into steps: each ends with the last optimizer step before the next module call, and what is read in between."""
    parts: list[list[Event]] = [[]]
    has_ended = False
    for event in events:
        if event["kind"] == "forward" and has_ended:
            parts.append([])
        has_ended = event["kind"] == "step" or has_ended and event["kind"] == "read"
        parts[-1].append(event)
    return parts


def _gradients(events: list[Event]) -> dict[tuple[int, str, int], tuple[int, Any]]:
    """Return a dict from (call, side, number) to (time, value) of the gradient. If there are several backward passes, the first counts."""
    found: dict[tuple[int, str, int], tuple[int, Any]] = {}
    for time, event in enumerate(events):
        if event["kind"] == "gradient":
            found.setdefault((event["call"], event["side"], event["number"]), (time, event["value"]))
    return found


def _of_call(gradients: Any, first: list[int], call: int) -> tuple[float, float, float]:
    """Return the largest deviations for one call: of its results' gradients without outliers, of its results' gradients with all elements,
    and of its arguments' gradients without outliers."""
    pairs: dict[str, list[tuple[Any, Any]]] = {"out": [], "in": []}
    for (other, side, number), (_, value) in gradients[0].items():
        if other == call:
            pairs[side].append((value, gradients[1].get((call - first[0] + first[1], side, number), (0, None))[1]))
    came, came_most, left = (max((deviation(*pair, share) for pair in pairs[side]), default=0.0)
                             for side, share in (("out", _SHARE), ("out", 1.0), ("in", _SHARE)))  # fmt: skip
    return came, came_most, left


def _names(event: Event) -> list[str]:
    return [f"{event['module']}.{name}" for name in event["own"]]


def _first_gradients(events: list[Event]) -> dict[str, Any]:
    """Return the parameters' gradients by name. If there are several backward passes, the first counts."""
    found: dict[str, Any] = {}
    for event in events:
        if event["kind"] == "parameter":
            found.setdefault(event["name"], event["value"])
    return found


def _largest(values: dict[str, Any]) -> float:
    return max((value["largest"] for value in values.values() if value is not None), default=0.0)


def _equal(first: Any, second: Any) -> bool:
    if isinstance(first, float) and isinstance(second, float):
        return math.isclose(first, second, rel_tol=1e-6, abs_tol=1e-12)
    return bool(first == second)
