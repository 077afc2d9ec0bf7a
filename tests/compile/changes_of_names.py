"""Programs that compile a function and change something between two calls: computed names, classes, modules without a file."""
from __future__ import annotations

import builtins
import functools
import inspect
import operator
import sys
import types
from typing import Any

import mstorch as torch
from mstorch import nn
from tests.compile.changes import RESTORE, Case, case

FACTOR = 2.0
CONFIG = types.ModuleType("config_without_a_file")
CONFIG.factor = 2.0  # type: ignore[attr-defined]
CONFIG.inner = types.ModuleType("config_without_a_file.inner")  # type: ignore[attr-defined]
CONFIG.inner.factor = 2.0  # type: ignore[attr-defined]
_TEXT = """
FACTOR = 2.0
class Scale:
    factor = 2.0
    def __call__(self, x):
        return x * self.factor * FACTOR
def function(x):
    return x * FACTOR
def computed(x):
    return x * globals()["FAC" + "TOR"]
"""


def _space(name: str) -> dict[str, Any]:
    """Return the names that a text defines, as in a notebook's cell."""
    space: dict[str, Any] = {"__name__": name}
    exec(compile(_TEXT, f"<{name}>", "exec"), space)
    return space


def _global(name: str, value: Any) -> Any:
    before = globals()[name]
    RESTORE.append(lambda: globals().__setitem__(name, before))
    return lambda: globals().__setitem__(name, value)


def _config(name: str, value: Any) -> Any:
    before = getattr(CONFIG, name)
    RESTORE.append(lambda: setattr(CONFIG, name, before))
    return lambda: setattr(CONFIG, name, value)


@case
def module_without_a_file() -> Case:
    return lambda x: x * CONFIG.factor, _config("factor", 3.0)


@case
def module_in_a_module_without_a_file() -> Case:
    RESTORE.append(lambda: setattr(CONFIG.inner, "factor", 2.0))
    return lambda x: x * CONFIG.inner.factor, lambda: setattr(CONFIG.inner, "factor", 3.0)


@case
def module_in_a_dictionary() -> Case:
    table = {"config": CONFIG}
    return lambda x: x * table["config"].factor, _config("factor", 3.0)


@case
def module_of_an_attribute() -> Case:
    class Holder:
        config = CONFIG

    item = Holder()
    return lambda x: x * item.config.factor, _config("factor", 3.0)


@case
def module_of_a_closure() -> Case:
    config = CONFIG
    return lambda x: x * config.factor, _config("factor", 3.0)


@case
def name_that_is_computed() -> Case:
    return lambda x: x * getattr(CONFIG, "fac" + "tor"[:3]), _config("factor", 3.0)


@case
def name_that_comes_from_a_list() -> Case:
    names = ["factor"]
    return lambda x: x * getattr(CONFIG, names[0]), _config("factor", 3.0)


@case
def name_of_a_module_in_a_module_that_is_computed() -> Case:
    RESTORE.append(lambda: setattr(CONFIG.inner, "factor", 2.0))
    names = ["inner", "factor"]
    return lambda x: x * functools.reduce(getattr, names, CONFIG), lambda: setattr(CONFIG.inner, "factor", 3.0)


@case
def name_by_an_attribute_getter() -> Case:
    get = operator.attrgetter("factor")
    return lambda x: x * get(CONFIG), _config("factor", 3.0)


@case
def name_by_an_attribute_getter_of_its_own() -> Case:
    names = ["factor"]
    return lambda x: x * operator.attrgetter(names[0])(CONFIG), _config("factor", 3.0)


@case
def name_by_getattr_under_another_name() -> Case:
    get, names = getattr, ["factor"]
    return lambda x: x * get(CONFIG, names[0]), _config("factor", 3.0)


@case
def name_that_appears() -> Case:
    RESTORE.append(lambda: vars(CONFIG).pop("late", None))
    names = ["late"]
    return lambda x: x * getattr(CONFIG, names[0], 2.0), lambda: setattr(CONFIG, "late", 3.0)


@case
def names_of_globals() -> Case:
    return lambda x: x * globals()["FAC" + "TOR"], _global("FACTOR", 3.0)


@case
def names_of_vars() -> Case:
    return lambda x: x * vars(CONFIG)["fac" + "tor"], _config("factor", 3.0)


@case
def names_of_a_dictionary_of_a_module() -> Case:
    names = ["factor"]
    return lambda x: x * CONFIG.__dict__[names[0]], _config("factor", 3.0)


@case
def names_of_dir() -> Case:
    RESTORE.append(lambda: vars(CONFIG).pop("late", None))
    return lambda x: x * len(dir(CONFIG)), lambda: setattr(CONFIG, "late", 3.0)


@case
def text_that_is_evaluated() -> Case:
    text = "FACTOR"
    return lambda x: x * eval(text), _global("FACTOR", 3.0)


@case
def text_that_is_executed() -> Case:
    def function(x: Any) -> Any:
        space: dict[str, Any] = {}
        exec("found = config.factor", {"config": CONFIG}, space)
        return x * space["found"]

    return function, _config("factor", 3.0)


@case
def module_by_its_name() -> Case:
    sys.modules["config_without_a_file"] = CONFIG
    RESTORE.append(lambda: sys.modules.pop("config_without_a_file", None))
    return lambda x: x * sys.modules["config_without_a_file"].factor, _config("factor", 3.0)


@case
def module_that_is_imported_within() -> Case:
    sys.modules["config_without_a_file"] = CONFIG
    RESTORE.append(lambda: sys.modules.pop("config_without_a_file", None))

    def function(x: Any) -> Any:
        import config_without_a_file as config

        return x * config.factor

    return function, _config("factor", 3.0)


@case
def name_that_is_imported_within() -> Case:
    sys.modules["config_without_a_file"] = CONFIG
    RESTORE.append(lambda: sys.modules.pop("config_without_a_file", None))

    def function(x: Any) -> Any:
        from config_without_a_file import factor

        return x * factor

    return function, _config("factor", 3.0)


@case
def module_that_is_exchanged() -> Case:
    sys.modules["config_without_a_file"] = CONFIG
    RESTORE.append(lambda: sys.modules.pop("config_without_a_file", None))
    other: Any = types.ModuleType("config_without_a_file")
    other.factor = 3.0

    def function(x: Any) -> Any:
        import config_without_a_file as config

        return x * config.factor

    return function, lambda: sys.modules.__setitem__("config_without_a_file", other)


@case
def names_of_a_function() -> Case:
    def other() -> float:
        return FACTOR

    return lambda x: x * other.__globals__["FACTOR"], _global("FACTOR", 3.0)


@case
def names_of_a_caller() -> Case:
    return lambda x: x * inspect.currentframe().f_globals["FACTOR"], _global("FACTOR", 3.0)  # type: ignore[union-attr]


@case
def cell_by_its_function() -> Case:
    factor = 2.0

    def other() -> float:
        return factor

    def change() -> None:
        nonlocal factor
        factor = 3.0

    return lambda x: x * other.__closure__[0].cell_contents, change  # type: ignore[index]


@case
def built_in_function_patched() -> Case:
    before = builtins.oct
    RESTORE.append(lambda: setattr(builtins, "oct", before))
    return lambda x: x * len(oct(8)), lambda: setattr(builtins, "oct", lambda number: "eight")


@case
def built_in_function_hidden() -> Case:
    RESTORE.append(lambda: globals().pop("min", None))
    return lambda x: x * min(2.0, 5.0), lambda: globals().__setitem__("min", lambda *args: 7.0)


@case
def built_in_name_that_appears() -> Case:
    RESTORE.append(lambda: vars(builtins).pop("LATE_FACTOR", None))

    def function(x: Any) -> Any:
        try:
            return x * LATE_FACTOR  # type: ignore[name-defined]
        except NameError:
            return x * 2

    return function, lambda: setattr(builtins, "LATE_FACTOR", 7.0)


@case
def global_that_appears() -> Case:
    RESTORE.append(lambda: globals().pop("LATE", None))

    def function(x: Any) -> Any:
        try:
            return x * LATE  # type: ignore[name-defined]
        except NameError:
            return x * 2

    return function, lambda: globals().__setitem__("LATE", 7.0)


@case
def global_of_a_cell() -> Case:
    space = _space("a_cell")
    return space["function"], lambda: space.update(FACTOR=3.0)


@case
def computed_global_of_a_cell() -> Case:
    space = _space("a_cell")
    return space["computed"], lambda: space.update(FACTOR=3.0)


@case
def class_of_a_cell() -> Case:
    space = _space("a_cell")
    item = space["Scale"]()
    return lambda x: item(x), lambda: setattr(space["Scale"], "factor", 3.0)


@case
def global_of_a_class_of_a_cell() -> Case:
    space = _space("a_cell")
    item = space["Scale"]()
    return lambda x: item(x), lambda: space.update(FACTOR=3.0)


@case
def class_that_says_it_is_of_a_library() -> Case:
    space = _space("torch.nn")
    item = space["Scale"]()
    space["Scale"].__module__ = "functools"
    return lambda x: item(x), lambda: setattr(space["Scale"], "factor", 3.0)


@case
def bases_of_a_class() -> Case:
    class One:
        factor = 2.0

    class Two:
        factor = 3.0

    class Local(One): ...

    return lambda x: x * Local.factor, lambda: setattr(Local, "__bases__", (Two,))


@case
def bases_of_the_class_of_an_object() -> Case:
    class One:
        def scaled(self, x: Any) -> Any:
            return x * 2

    class Two:
        def scaled(self, x: Any) -> Any:
            return x * 3

    class Local(One): ...

    item = Local()
    return lambda x: item.scaled(x), lambda: setattr(Local, "__bases__", (Two,))


@case
def name_of_a_class() -> Case:
    class Local: ...

    item = Local()
    return lambda x: x * len(type(item).__name__), lambda: setattr(Local, "__name__", "Longer_name")


@case
def text_of_a_function() -> Case:
    def other() -> None:
        """Two"""

    return lambda x: x * len(other.__doc__ or ""), lambda: setattr(other, "__doc__", "Three")


@case
def attribute_of_a_class_of_classes() -> Case:
    class Meta(type):
        factor = 2.0

    class Local(metaclass=Meta): ...

    return lambda x: x * Local.factor, lambda: setattr(Meta, "factor", 3.0)


@case
def descriptor_of_its_own() -> Case:
    class Gives:
        def __init__(self) -> None:
            self.factor = 2.0

        def __get__(self, item: Any, kind: Any) -> float:
            return self.factor

    class Local:
        given = Gives()

    item = Local()
    return lambda x: x * item.given, lambda: setattr(vars(Local)["given"], "factor", 3.0)


@case
def layer_of_ours_patched() -> Case:
    net, before = nn.Linear(3, 3), nn.Linear.forward
    RESTORE.append(lambda: setattr(nn.Linear, "forward", before))
    return lambda x: net(x), lambda: setattr(nn.Linear, "forward", lambda self, x: x * 3)


@case
def subclass_of_tensor_changes() -> Case:
    class Local(torch.Tensor):
        factor = 2.0

    held: Any = torch.ones(3).as_subclass(Local)
    return lambda x: x * held.factor, lambda: setattr(Local, "factor", 3.0)


@case
def module_that_makes_its_names() -> Case:
    table = {"factor": 2.0}
    config: Any = types.ModuleType("config_that_makes")
    config.__getattr__ = lambda name: table["factor"]
    return lambda x: x * config.made, lambda: table.update(factor=3.0)


@case
def function_that_a_cache_keeps() -> Case:
    table = {"factor": 2.0}

    @functools.lru_cache
    def kept() -> dict[str, float]:
        return table

    return lambda x: x * kept()["factor"], lambda: table.update(factor=3.0)


@case
def more_objects_than_are_looked_at() -> Case:
    many = [[float(i)] for i in range(250_000)]
    return lambda x: x * many[-1][0], lambda: many[-1].__setitem__(0, 3.0)
