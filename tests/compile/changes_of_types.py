"""Programs that compile a function and change something between two calls: values that are equal but have another type or other bits."""
from __future__ import annotations

import collections
import dataclasses
import decimal
import fractions
from typing import Any

import numpy as np

import mstorch as torch
from tests.compile.changes import Case, case


def _told(value: Any) -> float:
    """Return a number that identifies a value's type."""
    return float(sum(map(ord, type(value).__name__)))


class Rate(float):
    factor = 2.0


class Name(str):
    factor = 2.0


class Row(list):  # type: ignore[type-arg]
    factor = 2.0

    def total(self) -> float:
        return sum(self) * self.factor


class Table(dict):  # type: ignore[type-arg]
    factor = 2.0


class Pair(collections.namedtuple("Pair", "one two")):
    factor: float


@case
def number_of_another_type() -> Case:
    table = {"n": 2}
    return lambda x: x * _told(table["n"]), lambda: table.update(n=2.0)  # type: ignore[dict-item]


@case
def truth_that_becomes_one() -> Case:
    table: dict[str, Any] = {"n": True}
    return lambda x: x * (2.0 if table["n"] is True else 3.0), lambda: table.update(n=1)


@case
def tuple_of_another_type() -> Case:
    table: dict[str, Any] = {"n": (2,)}
    return lambda x: x * _told(table["n"][0]), lambda: table.update(n=(2.0,))


@case
def tuple_in_a_tuple_of_another_type() -> Case:
    table: dict[str, Any] = {"n": ((True, 2), "a")}
    return lambda x: x * _told(table["n"][0][0]), lambda: table.update(n=((1, 2), "a"))


@case
def sign_of_zero() -> Case:
    table = {"n": 0.0}
    return lambda x: x.abs().copysign(torch.tensor(table["n"])), lambda: table.update(n=-0.0)


@case
def sign_of_zero_in_a_tuple() -> Case:
    table = {"n": (1.0, 0.0)}
    return lambda x: x.abs().copysign(torch.tensor(table["n"][1])), lambda: table.update(n=(1.0, -0.0))


@case
def sign_of_zero_in_a_closure() -> Case:
    zero = 0.0

    def change() -> None:
        nonlocal zero
        zero = -0.0

    return lambda x: x.abs().copysign(torch.tensor(zero)), change


@case
def sign_of_zero_in_a_list() -> Case:
    numbers = [0.0]
    return lambda x: x.abs().copysign(torch.tensor(numbers[0])), lambda: numbers.__setitem__(0, -0.0)


@case
def sign_of_a_complex_zero() -> Case:
    table = {"n": complex(1, 0.0)}
    return lambda x: x.abs().copysign(torch.tensor(table["n"].imag)), lambda: table.update(n=complex(1, -0.0))


@case
def sign_of_nan() -> Case:
    table = {"n": float("nan")}
    return lambda x: x.abs().copysign(torch.tensor(table["n"])), lambda: table.update(n=-float("nan"))


@case
def sign_of_zero_in_a_default() -> Case:
    def function(x: Any, zero: float = 0.0) -> Any:
        return x.abs().copysign(torch.tensor(zero))

    return function, lambda: setattr(function, "__defaults__", (-0.0,))


@case
def sign_of_zero_in_an_attribute() -> Case:
    class Local:
        zero = 0.0

    return lambda x: x.abs().copysign(torch.tensor(Local.zero)), lambda: setattr(Local, "zero", -0.0)


@case
def sign_of_zero_in_a_slot() -> Case:
    class Local:
        __slots__ = ("zero",)

    item = Local()
    item.zero = 0.0
    return lambda x: x.abs().copysign(torch.tensor(item.zero)), lambda: setattr(item, "zero", -0.0)


@case
def key_of_another_type() -> Case:
    table: dict[Any, Any] = {1: 2.0, "b": 1.0}
    return lambda x: x * _told(next(iter(table))), lambda: (table.clear(), table.update({True: 2.0, "b": 1.0}))


@case
def only_key_of_another_type() -> Case:
    table: dict[Any, Any] = {1: 2.0}
    return lambda x: x * _told(next(iter(table))), lambda: (table.clear(), table.update({1.0: 2.0}))


@case
def member_of_a_set_of_another_type() -> Case:
    members: set[Any] = {1}
    return lambda x: x * _told(next(iter(members))), lambda: (members.clear(), members.add(True))


@case
def frozen_set_of_another_type() -> Case:
    table: dict[str, Any] = {"n": frozenset((1,))}
    return lambda x: x * _told(next(iter(table["n"]))), lambda: table.update(n=frozenset((1.0,)))


@case
def item_of_a_deque_of_another_type() -> Case:
    queue: Any = collections.deque([1])
    return lambda x: x * _told(queue[0]), lambda: queue.__setitem__(0, True)


@case
def range_of_equal_length() -> Case:
    table = {"n": range(0, 1, 2)}
    return lambda x: x * table["n"].step, lambda: table.update(n=range(0, 1, 3))


@case
def numpy_scalar_of_another_type() -> Case:
    table: dict[str, Any] = {"n": np.float32(2)}
    return lambda x: x * np.dtype(type(table["n"])).itemsize, lambda: table.update(n=np.float64(2))


@case
def numpy_scalar_for_a_python_number() -> Case:
    table: dict[str, Any] = {"n": 2.0}
    return lambda x: x * _told(table["n"]), lambda: table.update(n=np.float64(2))


@case
def sign_of_a_numpy_zero() -> Case:
    table = {"n": np.float32(0)}
    return lambda x: x.abs().copysign(torch.tensor(float(table["n"]))), lambda: table.update(n=np.float32(-0.0))


@case
def structured_scalar() -> Case:
    record = np.zeros(1, [("factor", "f4")])[0]
    record["factor"] = 2.0
    return lambda x: x * float(record["factor"]), lambda: record.__setitem__("factor", 3.0)


@case
def structured_scalar_in_a_dictionary() -> Case:
    table = {"record": np.zeros(1, [("factor", "f4"), ("other", "O")])[0]}
    return lambda x: x + float(table["record"]["factor"]), lambda: table["record"].__setitem__("factor", 3.0)


@case
def numpy_array_of_objects() -> Case:
    items = np.array([1, "a"], object)
    return lambda x: x * _told(items[0]), lambda: items.__setitem__(0, True)


@case
def numpy_array_of_another_dtype() -> Case:
    table: dict[str, Any] = {"n": np.zeros(3, np.int32)}
    return lambda x: x * (1 + table["n"].itemsize), lambda: table.update(n=np.zeros(3, np.float64))


@case
def numpy_array_in_another_order() -> Case:
    table = {"n": np.ones((2, 3))}
    return lambda x: x * (1 + table["n"].strides[0]), lambda: table.update(n=np.asfortranarray(table["n"]))


@case
def numpy_array_that_cannot_be_written() -> Case:
    held = np.ones(3)
    return lambda x: x * (2.0 if held.flags.writeable else 3.0), lambda: held.setflags(write=False)


@case
def attribute_of_a_float() -> Case:
    rate = Rate(2.0)
    rate.factor = 2.0
    return lambda x: x * rate * rate.factor, lambda: setattr(rate, "factor", 3.0)


@case
def attribute_of_a_string() -> Case:
    name = Name("a")
    name.factor = 2.0
    return lambda x: x * len(name) * name.factor, lambda: setattr(name, "factor", 3.0)


@case
def attribute_of_the_class_of_a_float() -> Case:
    class Local(float):
        factor = 2.0

    rate = Local(2.0)
    return lambda x: x * rate.factor, lambda: setattr(Local, "factor", 3.0)


@case
def attribute_of_a_list() -> Case:
    row = Row([1.0])
    return lambda x: x * row.total(), lambda: setattr(row, "factor", 3.0)


@case
def class_of_a_list() -> Case:
    class Local(Row):
        factor = 2.0

    row = Local([1.0])
    return lambda x: x * row.total(), lambda: setattr(Local, "factor", 3.0)


@case
def attribute_of_a_dictionary() -> Case:
    table = Table(a=1.0)
    return lambda x: x * table.factor, lambda: setattr(table, "factor", 3.0)


@case
def attribute_of_a_named_tuple() -> Case:
    pair = Pair(1, 2)
    pair.factor = 2.0
    return lambda x: x * pair.factor, lambda: setattr(pair, "factor", 3.0)


@case
def float_of_a_subclass() -> Case:
    table: dict[str, Any] = {"n": 2.0}
    return lambda x: x * _told(table["n"]), lambda: table.update(n=Rate(2.0))


@case
def decimal_of_other_digits() -> Case:
    table = {"n": decimal.Decimal("1.0")}
    return lambda x: x * len(str(table["n"])), lambda: table.update(n=decimal.Decimal("1.00"))


@case
def fraction_for_a_number() -> Case:
    table: dict[str, Any] = {"n": fractions.Fraction(2)}
    return lambda x: x * _told(table["n"]), lambda: table.update(n=2)


@case
def slice_of_another_type() -> Case:
    table: dict[str, Any] = {"n": slice(0, 1)}
    return lambda x: x * _told(table["n"].start), lambda: table.update(n=slice(False, 1))


@case
def list_in_a_slice() -> Case:
    inner = [2.0]
    held = slice(inner, None)
    return lambda x: x * held.start[0], lambda: inner.__setitem__(0, 3.0)


@case
def arguments_of_an_exception() -> Case:
    error = ValueError(2.0)
    return lambda x: x * error.args[0], lambda: setattr(error, "args", (3.0,))


@case
def attribute_more_of_a_dataclass() -> Case:
    @dataclasses.dataclass
    class Local:
        factor: float = 2.0

    item: Any = Local()
    return lambda x: x * getattr(item, "extra", item.factor), lambda: setattr(item, "extra", 3.0)


@case
def lock_that_is_held() -> Case:
    import threading

    lock = threading.Lock()
    return lambda x: x * (3.0 if lock.locked() else 2.0), lock.acquire
