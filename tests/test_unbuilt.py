"""Names of torch that can be imported, and raise when they are used."""
from __future__ import annotations

import contextlib
import importlib
import importlib.util
import inspect
import pathlib
import pkgutil
import types
import warnings
from collections.abc import Iterator

import pytest

import mstorch
from mstorch._commands.scan.names import lack_of
from mstorch._src import hook as _hook
from mstorch._src import unbuilt
from mstorch._src.unbuilt import UnbuiltClass, is_unbuilt, names
from tools.modules import LEFT_OUT, left_out

LISTED = [(_hook.theirs(module), name) for module, home in names().items() for name, kind in home.items() if kind in ("class", "function")]
OPERATORS = [(module, name) for module, name in LISTED if module.startswith("torch.ops.")]
IMPORTED = [(module, name) for module, name in LISTED if not module.startswith("torch.ops.")]
BY_HAND = [
    (line.partition(":")[0], word.removesuffix("()"))
    for line in pathlib.Path(unbuilt.__file__).with_name("names.txt").read_text().splitlines()[1:] if not line.startswith("torch.ops.")
    for word in line.partition(":")[2].split() if "=" not in word
]  # fmt: skip
"""The names of names.txt; a tool writes the other lists."""


def test_operators_raise_by_name() -> None:
    for module, name in OPERATORS:
        found = getattr(getattr(mstorch.ops, module.rpartition(".")[2]), name)
        with pytest.raises(NotImplementedError, match=name):
            found(mstorch.ones(1))
        with pytest.raises(NotImplementedError, match=name):
            getattr(found, found.overloads()[0])(mstorch.ones(1))


def _room(module: str) -> str:
    return ".".join(module.split(".")[:2])


@pytest.mark.parametrize("room", sorted({_room(module) for module, _ in IMPORTED}))
def test_names_are_there_and_raise(room: str) -> None:
    for module, name in IMPORTED:
        if _room(module) != room:
            continue
        home = importlib.import_module(_hook.ours(module))
        found = getattr(home, name)
        if isinstance(found, types.ModuleType):  # a function's name, in whose place the import of the module has put it
            with pytest.raises(NotImplementedError, match=f"{module}.{name}"):
                found(1)
            continue
        assert is_unbuilt(found) and found.__name__ == name and found.__module__ == module
        assert getattr(home, name) is found
        with pytest.raises(NotImplementedError, match=f"{module}.{name}"):
            found(1, key=2)
        if isinstance(found, UnbuiltClass):
            derived = type("Derived", (found,), {})
            assert issubclass(derived, found) and not isinstance(1, found)
            with pytest.raises(NotImplementedError, match=f"{module}.{name}"):
                derived()
            with pytest.raises(AttributeError, match="anything"):
                _ = found.anything
        assert lack_of(f"{module}.{name}") is not None or {"xpu", "mps", "mtia"} & set(module.split("."))


def test_what_is_listed_is_torchs() -> None:
    """Each listed name is one of torch's, and of its kind: a function, or a class or an object."""
    wrong = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for module, name in BY_HAND:
            if module.startswith(("torch._inductor", "torch.testing._internal.distributed", "torch.nn.attention.experimental")):
                continue  # torch's own need compilers to be imported
            try:
                found = getattr(importlib.import_module(module), name)
            except (ImportError, AttributeError):
                wrong.append(f"{module}.{name}")
                continue
            function = not inspect.isclass(found) and callable(found) and hasattr(found, "__name__")
            stands_for = getattr(importlib.import_module(_hook.ours(module)), name)
            if inspect.ismodule(found) or inspect.ismodule(stands_for):
                continue  # the import of a module has put it in the place of a function of the same name
            if function is not isinstance(stands_for, types.FunctionType) and callable(found) and not inspect.isclass(found):
                wrong.append(f"{module}.{name}")
    assert not [one for one in wrong if "out_dtype" not in one and "QConfigAny" not in one]


def test_other_names_are_not_there() -> None:
    for module in ("mstorch.nested", "mstorch._inductor.ir", "mstorch._dynamo", "mstorch.library"):
        assert not hasattr(importlib.import_module(module), "no_such_name")
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("mstorch._inductor.no_such_module")
    with pytest.raises(AttributeError, match="no_such_operator"):
        _ = mstorch.ops.aten.no_such_operator
    assert lack_of("torch.nn.Linear") is None


def test_exceptions_can_be_caught() -> None:
    """An except clause may name any placeholder of an exception."""
    found = [getattr(importlib.import_module(_hook.ours(module)), name) for module, name in IMPORTED if name.endswith(("Error", "Exception"))]
    assert found
    for kind in found:
        with pytest.raises(ZeroDivisionError):
            try:
                _ = 1 / 0
            except kind:
                raise AssertionError from None


def _lines(file: str) -> list[str]:
    return pathlib.Path(unbuilt.__file__).with_name(file).read_text().splitlines()[1:]


def _on_disk(package: str, path: list[str]) -> Iterator[str]:
    """Yield the names of a package's modules, none of which is imported."""
    for item in pkgutil.iter_modules(path):
        name = f"{package}.{item.name}"
        if not left_out(name):
            yield name
            if item.ispkg:
                yield from _on_disk(name, [str(pathlib.Path(path[0], item.name))])


def test_every_module_that_torch_can_import_is_here_or_left_out_with_a_reason() -> None:
    torch = pytest.importorskip("torch")
    names = list(_on_disk("torch", list(torch.__path__)))
    assert len(names) > 1500 and all(LEFT_OUT.values())
    lacking = [name for name in names if not _is_here(name)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert [name for name in lacking if _is_in_torch(name)] == [], "python -m tools.modules"


def _is_here(name: str) -> bool:
    try:
        return importlib.util.find_spec(_hook.ours(name)) is not None
    except ModuleNotFoundError:
        return False


def _is_in_torch(name: str) -> bool:
    with contextlib.redirect_stdout(None), contextlib.redirect_stderr(None):
        try:
            importlib.import_module(name)
        except BaseException:  # noqa: BLE001 - a program ends, or a package is not installed
            return False
    return True


@pytest.mark.parametrize("file", ["modules.txt", "newer.txt"])
def test_every_module_of_the_lists_can_be_imported_and_its_names_raise(file: str) -> None:
    lines = _lines(file)
    assert len(lines) > 200
    for line in lines:
        name, _, rest = line.partition(":")
        module = importlib.import_module(f"mstorch{name.removeprefix('torch')}")
        for word in rest.split():
            own, there, home = word.partition("=")
            value = getattr(module, own.removesuffix("()"))
            if isinstance(value, types.ModuleType) and callable(value):
                continue  # a function's name, in whose place the import of the module has put it
            if there:
                assert value is getattr(importlib.import_module(f"mstorch{home.removeprefix('torch')}"), own), word
            else:
                assert unbuilt.is_unbuilt(value), word


def test_the_list_of_modules_is_of_modules_that_torch_has_and_no_file_is_for() -> None:
    for line in _lines("modules.txt"):
        name = line.partition(":")[0]
        with contextlib.suppress(ValueError):  # a module that torch makes without a file
            assert importlib.util.find_spec(name) is not None, name
        path = pathlib.Path(mstorch.__file__).parent.joinpath(*name.split(".")[1:])
        assert not path.with_suffix(".py").exists() and not (path / "__init__.py").exists(), f"{name}: python -m tools.modules"


def test_the_list_of_absent_names_is_of_names_that_torch_alone_has() -> None:
    """The line of torch itself whole, and the first name of each other one."""
    lines = _lines("absent.txt")
    assert len(lines) > 200
    for line in lines:
        module, _, rest = line.partition(":")
        if not rest:
            assert importlib.util.find_spec(module) is not None, module
            continue
        theirs, ours = (importlib.import_module(root + module.removeprefix("torch")) for root in ("torch", "mstorch"))
        for name in rest.split() if module == "torch" else rest.split()[:1]:
            assert hasattr(theirs, name) and not hasattr(ours, name), f"{module}.{name}: python -m tools.modules"
