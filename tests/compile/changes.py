"""Programs that compile a function and change something between two calls: Python values."""
from __future__ import annotations

import array
import collections
import contextvars
import dataclasses
import enum
import functools
import itertools
import os
import random
import threading
import types
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

import mstorch as torch

Case = tuple[Callable[[Any], Any], Callable[[], Any]]  # the function, and the change
CASES: dict[str, Callable[[], Case]] = {}
RESTORE: list[Callable[[], Any]] = []  # functions that undo changes at the end of a test
GLOBAL = 2.0
TABLE = {"outer": {"inner": [1.0, 2.0]}}
LOCAL = threading.local()
VARIABLE: contextvars.ContextVar[float] = contextvars.ContextVar("VARIABLE", default=2.0)
FIRST = (random.seed(1), random.getstate()[1][1])[1]


def case(make: Callable[[], Case]) -> Callable[[], Case]:
    """Enter a case by its name."""
    CASES[make.__name__] = make
    return make


def helper(x: Any) -> Any:
    return x * 2


class Slotted:
    __slots__ = ("factor",)

    def __init__(self, factor: float) -> None:
        self.factor = factor


@dataclasses.dataclass
class Settings:
    factor: float = 2.0
    parts: list[float] = dataclasses.field(default_factory=lambda: [1.0, 2.0])


class Kind(enum.Enum):
    TWICE = 2
    THRICE = 3


class Plain:
    factor = 2.0

    def __init__(self) -> None:
        self.shift = 1.0

    def scaled(self, x: Any) -> Any:
        return x * self.factor + self.shift

    @property
    def doubled(self) -> float:
        return self.shift * 2

    @classmethod
    def kind(cls, x: Any) -> Any:
        return x * cls.factor

    @staticmethod
    def still(x: Any) -> Any:
        return x + 1

    def __call__(self, x: Any) -> Any:
        return x * self.shift


@case
def global_number() -> Case:
    return lambda x: x * GLOBAL, lambda: globals().update(GLOBAL=3.0)


@case
def global_of_nested_dictionaries() -> Case:
    return lambda x: x * TABLE["outer"]["inner"][1], lambda: TABLE["outer"]["inner"].__setitem__(1, 5.0)


@case
def function_rebound() -> Case:
    return lambda x: helper(x), lambda: globals().update(helper=lambda x: x * 3)


@case
def closure_number() -> Case:
    factor = 2.0

    def change() -> None:
        nonlocal factor
        factor = 3.0

    return lambda x: x * factor, change


@case
def closure_set() -> Case:
    members = {1, 2}
    return lambda x: x * sum(members), lambda: members.add(5)


@case
def closure_set_of_equal_length() -> Case:
    members = {1, 2}
    return lambda x: x * sum(members), lambda: (members.remove(1), members.add(7))


@case
def closure_deque() -> Case:
    queue = collections.deque([1.0, 2.0])
    return lambda x: x * queue[0], lambda: queue.rotate(1)


@case
def closure_list_length() -> Case:
    parts = [1.0]
    return lambda x: x * len(parts), lambda: parts.append(1.0)


@case
def closure_list_of_lists() -> Case:
    parts = [[1.0], [2.0]]
    return lambda x: x * parts[1][0], lambda: parts[1].__setitem__(0, 4.0)


@case
def closure_list_reordered() -> Case:
    parts = [helper, torch.neg]
    return lambda x: parts[0](x), parts.reverse


@case
def dictionary_order() -> Case:
    table = {"a": 2.0, "b": 3.0}
    return lambda x: x * next(iter(table.values())), lambda: table.update(a=table.pop("a"))


@case
def dictionary_with_a_key_more() -> Case:
    table = {"a": 2.0}
    return lambda x: x * table.get("b", 1.0), lambda: table.update(b=4.0)


@case
def ordered_dictionary_moved() -> Case:
    table = collections.OrderedDict(a=2.0, b=3.0)
    return lambda x: x * next(iter(table.values())), lambda: table.move_to_end("a")


@case
def default_dictionary() -> Case:
    table = collections.defaultdict(lambda: 1.0, a=2.0)
    return lambda x: x * table["a"], lambda: table.__setitem__("a", 3.0)


@case
def counter() -> Case:
    counts = collections.Counter("aab")
    return lambda x: x * counts["a"], lambda: counts.update("a")


@case
def chain_map() -> Case:
    inner = {"a": 2.0}
    chain = collections.ChainMap({}, inner)
    return lambda x: x * chain["a"], lambda: inner.update(a=5.0)


@case
def mapping_proxy() -> Case:
    inner = {"a": 2.0}
    proxy = types.MappingProxyType(inner)
    return lambda x: x * proxy["a"], lambda: inner.update(a=5.0)


@case
def bytes_that_change() -> Case:
    data = bytearray(b"\x02")
    return lambda x: x * data[0], lambda: data.__setitem__(0, 7)


@case
def python_array() -> Case:
    data = array.array("d", [2.0])
    return lambda x: x * data[0], lambda: data.__setitem__(0, 7.0)


@case
def memory_view() -> Case:
    data = bytearray(b"\x02")
    view = memoryview(data)
    return lambda x: x * view[0], lambda: data.__setitem__(0, 7)


@case
def numpy_array() -> Case:
    data = np.array([2.0, 3.0, 4.0], np.float32)
    return lambda x: x * torch.from_numpy(data), lambda: data.__setitem__(0, 9.0)


@case
def numpy_number_of_an_array() -> Case:
    data = np.array([2.0, 3.0, 4.0], np.float32)
    return lambda x: x * float(data[0]), lambda: data.__setitem__(0, 9.0)


@case
def numpy_array_in_a_dictionary() -> Case:
    table = {"data": np.array([2.0, 3.0, 4.0], np.float32)}
    return lambda x: x * torch.tensor(table["data"]), lambda: table["data"].__imul__(2)


@case
def slotted_object() -> Case:
    item = Slotted(2.0)
    return lambda x: x * item.factor, lambda: setattr(item, "factor", 3.0)


@case
def dataclass_field() -> Case:
    item = Settings()
    return lambda x: x * item.factor, lambda: setattr(item, "factor", 3.0)


@case
def list_in_a_dataclass() -> Case:
    item = Settings()
    return lambda x: x * item.parts[0], lambda: item.parts.insert(0, 4.0)


@case
def simple_namespace() -> Case:
    item = types.SimpleNamespace(factor=2.0)
    return lambda x: x * item.factor, lambda: setattr(item, "factor", 3.0)


@case
def enumeration_member() -> Case:
    chosen = [Kind.TWICE]
    return lambda x: x * chosen[0].value, lambda: chosen.__setitem__(0, Kind.THRICE)


@case
def partial_keywords() -> Case:
    scale = functools.partial(torch.mul, other=2.0)
    return lambda x: scale(x), lambda: scale.keywords.update(other=3.0)


@case
def compiled_partial() -> Case:
    table = {"factor": 2.0}
    scale = functools.partial(lambda x, table: x * table["factor"], table=table)
    return scale, lambda: table.update(factor=3.0)


@case
def class_attribute() -> Case:
    class Local(Plain):
        factor = 2.0

    item = Local()
    return lambda x: item.scaled(x), lambda: setattr(Local, "factor", 3.0)


@case
def class_attribute_by_name() -> Case:
    class Local:
        factor = 2.0

    return lambda x: x * Local.factor, lambda: setattr(Local, "factor", 3.0)


@case
def class_attribute_of_a_base() -> Case:
    class Base:
        factor = 2.0

    class Local(Base):
        pass

    return lambda x: x * Local.factor, lambda: setattr(Base, "factor", 3.0)


@case
def list_of_a_class() -> Case:
    class Local:
        parts = [2.0]

    return lambda x: x * Local.parts[0], lambda: Local.parts.__setitem__(0, 3.0)


@case
def class_method_patched() -> Case:
    class Local(Plain):
        def scaled(self, x: Any) -> Any:
            return x * 2

    item = Local()
    return lambda x: item.scaled(x), lambda: setattr(Local, "scaled", lambda self, x: x * 3)


@case
def method_patched_on_the_object() -> Case:
    item = Plain()
    return lambda x: item.scaled(x), lambda: setattr(item, "scaled", lambda x: x * 9)


@case
def bound_method_compiled() -> Case:
    item = Plain()
    return item.scaled, lambda: setattr(item, "shift", 5.0)


@case
def callable_object() -> Case:
    item = Plain()
    return lambda x: item(x), lambda: setattr(item, "shift", 5.0)


@case
def property_of_an_attribute() -> Case:
    item = Plain()
    return lambda x: x * item.doubled, lambda: setattr(item, "shift", 5.0)


@case
def property_replaced() -> Case:
    class Local(Plain):
        @property
        def doubled(self) -> float:
            return 2.0

    item = Local()
    return lambda x: x * item.doubled, lambda: setattr(Local, "doubled", property(lambda self: 7.0))


@case
def static_method_replaced() -> Case:
    class Local:
        @staticmethod
        def still(x: Any) -> Any:
            return x + 1

    return lambda x: Local.still(x), lambda: setattr(Local, "still", staticmethod(lambda x: x + 2))


@case
def class_of_an_object() -> Case:
    class One:
        factor = 2.0

    class Two:
        factor = 3.0

    item = One()
    return lambda x: x * item.factor, lambda: setattr(item, "__class__", Two)


@case
def attribute_by_getattr() -> Case:
    class Local:
        def __init__(self) -> None:
            self.table = {"factor": 2.0}

        def __getattr__(self, name: str) -> Any:
            return self.table[name]

    item = Local()
    return lambda x: x * item.factor, lambda: item.table.update(factor=3.0)


@case
def function_attribute() -> Case:
    def function(x: Any) -> Any:
        return x * function.factor  # type: ignore[attr-defined]

    function.factor = 2.0  # type: ignore[attr-defined]
    return function, lambda: setattr(function, "factor", 3.0)


@case
def function_attribute_of_another() -> Case:
    def other() -> None: ...

    other.factor = 2.0  # type: ignore[attr-defined]
    return lambda x: x * other.factor, lambda: setattr(other, "factor", 3.0)  # type: ignore[attr-defined]


@case
def default_argument_list() -> Case:
    parts = [2.0]

    def function(x: Any, parts: list[float] = parts) -> Any:
        return x * parts[0]

    return function, lambda: parts.__setitem__(0, 3.0)


@case
def default_arguments_replaced() -> Case:
    def function(x: Any, factor: float = 2.0) -> Any:
        return x * factor

    return lambda x: function(x), lambda: setattr(function, "__defaults__", (3.0,))


@case
def keyword_defaults_replaced() -> Case:
    def function(x: Any, *, factor: float = 2.0) -> Any:
        return x * factor

    return lambda x: function(x), lambda: function.__kwdefaults__.update(factor=3.0)


@case
def code_replaced() -> Case:
    def function(x: Any) -> Any:
        return x * 2

    return lambda x: function(x), lambda: setattr(function, "__code__", (lambda x: x * 3).__code__)


@case
def weak_reference() -> Case:
    item = Plain()
    reference = weakref.ref(item)
    held = [item]
    return lambda x: x * reference().shift, lambda: setattr(held[0], "shift", 5.0)  # type: ignore[union-attr]


@case
def weak_dictionary() -> Case:
    item = Plain()
    table = weakref.WeakValueDictionary(item=item)
    held = [item]
    return lambda x: x * table["item"].shift, lambda: setattr(held[0], "shift", 5.0)


@case
def thread_local() -> Case:
    LOCAL.factor = 2.0
    return lambda x: x * LOCAL.factor, lambda: setattr(LOCAL, "factor", 3.0)


@case
def context_variable() -> Case:
    VARIABLE.set(2.0)
    return lambda x: x * VARIABLE.get(), lambda: VARIABLE.set(3.0)


@case
def environment_variable() -> Case:
    os.environ["MY_FACTOR"] = "2"
    return lambda x: x * float(os.environ["MY_FACTOR"]), lambda: os.environ.update(MY_FACTOR="3")


@case
def environment_variable_by_function() -> Case:
    os.environ["MY_FACTOR"] = "2"
    return lambda x: x * float(os.getenv("MY_FACTOR", "1")), lambda: os.environ.update(MY_FACTOR="3")


@case
def python_random_state() -> Case:
    random.seed(1)
    return lambda x: x * random.Random(0).random() if random.getstate()[1][1] == FIRST else x, lambda: random.seed(2)


@case
def python_random_numbers() -> Case:
    def function(x: Any) -> Any:
        return x * random.random()

    random.seed(1)
    return function, lambda: random.seed(2)


@case
def numpy_random_numbers() -> Case:
    np.random.seed(1)
    return lambda x: x * float(np.random.rand()), lambda: np.random.seed(2)


@case
def generator_object() -> Case:
    generator = np.random.default_rng(0)
    return lambda x: x * float(generator.bit_generator.state["state"]["state"] % 1000), lambda: generator.random()


@case
def iterator() -> Case:
    numbers = itertools.count(1)
    return lambda x: x * float(repr(numbers)[6:-1]), lambda: next(numbers)


@case
def torch_random_state() -> Case:
    torch.manual_seed(1)
    return lambda x: x * torch.initial_seed(), lambda: torch.manual_seed(2)


def restore() -> None:
    """Undo what a case has changed for the whole process."""
    while RESTORE:
        RESTORE.pop()()
    TABLE["outer"]["inner"][:] = [1.0, 2.0]
    os.environ.pop("MY_FACTOR", None)
    globals().update(GLOBAL=2.0, helper=_HELPER)


_HELPER = helper
