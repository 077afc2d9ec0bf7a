"""The rooms of the package: who imports whom, how long files are, what names may appear where."""
from __future__ import annotations

import ast
import importlib
import pathlib

import pytest

import mstorch

pytestmark = pytest.mark.core

ROOT = pathlib.Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "mstorch"
FILES = sorted(PACKAGE.rglob("*.py"))
ALL_FILES = FILES + sorted((ROOT / "tests").rglob("*.py")) + sorted((ROOT / "benchmarks").rglob("*.py"))

# Each room may import from itself and from the rooms before it.
ROOMS = ["_version", "_leaving", "_quiet", "_mt19937", "_backend", "_core", "_tape", "return_types", "_ops", "_tensor_str", "_methods", "_tensor", "autograd"]

# Circles of imports: the files on them besides the first, and why they stay.
CIRCLES = {
    "mstorch": ("mstorch.distributions", "mstorch.testing", "mstorch._namespace.foreach"),  # written as programs are, with the package's names
    "mstorch.cuda": ("mstorch.cuda",),  # its modules repeat names that the package defines before it imports them
}
# What is imported within functions: what few processes need and what takes long to load, and packages that need not be there.
LATE = {
    "mstorch/_hook.py": ["importlib.metadata"], "mstorch/utils/tensorboard/summary.py": ["PIL"],
    "mstorch/utils/tensorboard/writer.py": ["matplotlib", "matplotlib.backends.backend_agg"],
    "mstorch/ops.py": ["mstorch._library.aten_layers"], "mstorch/__main__.py": ["mstorch._devices.check"],
    "mstorch/_debug/oracle.py": ["torch"],
    "mstorch/_backend/kernels/special.py": ["scipy.special", "scipy.special", "scipy.special"],
    "mstorch/backends/opt_einsum.py": ["opt_einsum"], "mstorch/utils/_import_utils.py": ["dill"],
    "mstorch/utils/data/datapipes/dataframe/dataframe_wrapper.py": ["pandas"],
}
# Files that import modules by names known only as they run.
BY_NAME = {
    "mstorch/__main__.py": "the program that is run, and what a program's names stand for",
    "mstorch/_devices/check/__init__.py": "the files of the groups, in a worker alone",
    "mstorch/_hook.py": "torch's modules as ours, and modules that load when they are asked for",
    "mstorch/_namespace/process.py": "the module of a device of any kind",
    "mstorch/_serialization/names.py": "classes that a pickle names",
    "mstorch/fx/graph_module.py": "functions that a pickled graph names",
    "mstorch/_unbuilt/__init__.py": "modules below those that names.txt lists",
    "mstorch/ops.py": "the operators of namespaces other than aten",
    "mstorch/onnx/_exporting.py": "onnx and onnxruntime, which need not be there",
    "mstorch/fx/node.py": "the public modules in which a function is looked for",
    "mstorch/nn/parallel/__init__.py": "process groups, when they are asked for",
    "mstorch/utils/_trees/kinds.py": "classes that a dumped tree names",
    "mstorch/utils/_trees/text.py": "classes that a dumped tree names",
    "mstorch/utils/data/datapipes/dataframe/dataframes.py": "functions that a pickled frame names",
    "mstorch/utils/data/datapipes/utils/decoder.py": "decoders of packages that need not be there",
}


def _room(path: pathlib.Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def _module(path: pathlib.Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {_module(path): path for path in FILES}


class _Imports(ast.NodeVisitor):
    """The modules that a file imports, by name: statements, and calls of ``import_module`` and ``__import__``."""

    def __init__(self, path: pathlib.Path) -> None:
        self.package = _module(path) if path.name == "__init__.py" else _module(path).rpartition(".")[0]
        self.found: list[tuple[str, int, bool]] = []  # the name, the line, and whether it is within a function
        self.by_name: list[int] = []  # lines that import what only the running program names
        self._depth = 0
        self.visit(ast.parse(path.read_text()))

    def _add(self, name: str, node: ast.AST) -> None:
        self.found.append((name, node.lineno, self._depth > 0))  # type: ignore[attr-defined]

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> None:
        self._depth += 1
        self.generic_visit(node)
        self._depth -= 1

    visit_AsyncFunctionDef = visit_Lambda = visit_FunctionDef  # type: ignore[assignment]

    def visit_If(self, node: ast.If) -> None:
        if ast.unparse(node.test) != "TYPE_CHECKING":  # what only type checkers read is no import
            self.generic_visit(node)

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            self._add(alias.name, node)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        base = node.module or ""
        if node.level:
            above = self.package.split(".")[: len(self.package.split(".")) - node.level + 1]
            base = ".".join([*above, base] if base else above)
        for name in dict.fromkeys(f"{base}.{alias.name}" if f"{base}.{alias.name}" in MODULES else base for alias in node.names):
            self._add(name, node)

    def visit_Call(self, node: ast.Call) -> None:
        if ast.unparse(node.func) in ("importlib.import_module", "import_module", "__import__") and node.args:
            name = node.args[0]
            if isinstance(name, ast.Constant):
                self._add(str(name.value), node)
            else:
                self.by_name.append(node.lineno)
        self.generic_visit(node)


IMPORTS = {name: _Imports(path) for name, path in MODULES.items()}


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_imports_run_one_way(path: pathlib.Path) -> None:
    room = _room(path)
    if room not in ROOMS:
        return
    for name, line, _ in IMPORTS[_module(path)].found:
        if name.split(".")[0] != "mstorch":
            continue
        target = name.split(".")[1]
        if target == "_methods" and room == "_tensor":
            continue
        assert target in ROOMS, f"line {line}: {room} imports {target}, which stands above it"
        assert ROOMS.index(target) <= ROOMS.index(room), f"line {line}: {room} imports {target}, which stands above it"


def _circles(graph: dict[str, set[str]]) -> list[set[str]]:
    """The sets of files each of which leads to every other."""

    def reached(start: str) -> set[str]:
        seen: set[str] = set()
        ahead = [start]
        while ahead:
            new = graph[ahead.pop()] - seen
            seen |= new
            ahead += new
        return seen

    while any(not targets for targets in graph.values()):  # what leads nowhere is on no circle
        ends = {name for name, targets in graph.items() if not targets}
        graph = {name: targets - ends for name, targets in graph.items() if name not in ends}
    found: list[set[str]] = []
    for name in graph:
        if not any(name in circle for circle in found):
            circle = {other for other in reached(name) if name in reached(other)}
            if circle:
                found.append(circle)
    return found


def test_imports_make_no_circles_but_the_listed_ones() -> None:
    graph = {name: {found for found, _, _ in imports.found if found in MODULES and found != name} for name, imports in IMPORTS.items()}
    for circle in _circles(graph):
        start = min(circle, key=len)
        assert start in CIRCLES, f"a circle of imports: {sorted(circle)}"
        outside = {name for name in circle if name != start and not name.startswith(CIRCLES[start])}
        assert not outside, f"on the circle of {start}: {sorted(outside)}"


def test_what_is_imported_within_functions_is_listed() -> None:
    late = {MODULES[module].relative_to(ROOT).as_posix(): sorted(name for name, _, within in imports.found if within)
            for module, imports in IMPORTS.items()}  # fmt: skip
    assert {path: names for path, names in late.items() if names} == LATE
    by_name = {MODULES[module].relative_to(ROOT).as_posix() for module, imports in IMPORTS.items() if imports.by_name}
    assert by_name == set(BY_NAME)


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_only_the_backend_imports_mindspore(path: pathlib.Path) -> None:
    if _room(path) == "_backend":
        return
    for node in ast.walk(ast.parse(path.read_text())):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names = [node.module or ""]
        assert not any(name.split(".")[0] in ("mindspore", "torch") for name in names), f"line {node.lineno}: {names}"


@pytest.mark.parametrize("path", ALL_FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_files_are_short_and_plain(path: pathlib.Path) -> None:
    text = path.read_text()
    assert len(text.splitlines()) <= 600, "over 600 lines"
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom):
            assert all(alias.name != "*" for alias in node.names), f"line {node.lineno}: star import"
        if isinstance(node, ast.ExceptHandler):
            assert node.type is not None, f"line {node.lineno}: bare except"


def test_private_names_of_mindspore_stay_in_the_tape() -> None:
    for path in FILES:
        if "_pynative_executor" in path.read_text() or "_c_expression" in path.read_text():
            assert _room(path) == "_backend", path


@pytest.mark.parametrize("path", sorted((PACKAGE / "_ops").glob("[a-z]*.py")), ids=lambda path: path.stem)
def test_functions_of_families_stand_in_the_torch_namespace(path: pathlib.Path) -> None:
    family = importlib.import_module(f"mstorch._ops.{path.stem}")
    missing = [name for name in getattr(family, "FUNCTIONS", ()) if name not in vars(mstorch)]
    assert not missing, f"import them from ._ops.{path.stem} in mstorch/__init__.py"


# Files that write names of a module by ``globals()``, or hand them to what does, and why. All names of others are bound by a statement, once.
BY_GLOBALS = {
    "mstorch/__init__.py": "the public forms of functions, and functions of lists (_foreach_*)",
    "mstorch/nn/functional.py": "the public forms of functions",
    "mstorch/return_types.py": "a type of its own for results written with out=, of each type",
    "mstorch/_namespace/legacy_types.py": "reads the types that it lists",
    "mstorch/_utils.py": "torch's rebuilding functions, which the serialization makes",
    "mstorch/backends/cudnn.py": "flags, which programs set as names of the module",
    "mstorch/backends/mkldnn.py": "flags, which programs set as names of the module",
    "mstorch/backends/nnpack.py": "a flag, which programs set as a name of the module",
    "mstorch/classes.py": "namespaces that come as they are asked for",
    "mstorch/ops.py": "namespaces that come as they are asked for",
    "mstorch/cuda/__init__.py": "what is not there without a GPU",
    "mstorch/cuda/memory.py": "what is not there without a GPU",
    "mstorch/cuda/nvtx.py": "what is not there without a GPU",
    "mstorch/cuda/sparse.py": "what is not there without a GPU",
    "mstorch/mps/__init__.py": "what is not there without its device",
    "mstorch/mtia/__init__.py": "what is not there without its device",
    "mstorch/xpu/__init__.py": "what is not there without its device",
    "mstorch/distributed/__init__.py": "torch's names of distributed_c10d",
    "mstorch/distributed/distributed_c10d.py": "names of the files behind it",
    "mstorch/nn/modules/module.py": "global hooks, which programs look for under torch's names",
    "mstorch/sparse/__init__.py": "legacy types",
    "mstorch/storage.py": "reads the class of the default dtype",
}


def _bound(statements: list[ast.stmt]) -> list[tuple[str, int]]:
    """The names that statements of a module or class bind, with their lines; second forms of one definition do not count."""
    found: list[tuple[str, int]] = []
    for node in statements:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            decorators = " ".join(map(ast.unparse, node.decorator_list))
            if not any(word in decorators for word in ("overload", ".setter", ".deleter", ".register")):
                found.append((node.name, node.lineno))
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            found += [(alias.asname or alias.name, node.lineno) for alias in node.names]
        elif isinstance(node, ast.Assign) or isinstance(node, ast.AnnAssign) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            found += [(name.id, node.lineno) for target in targets for name in ast.walk(target)
                      if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store)]  # fmt: skip
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_nothing_is_rebound_after_its_definition(path: pathlib.Path) -> None:
    tree = ast.parse(path.read_text())
    for body in [tree.body, *(node.body for node in ast.walk(tree) if isinstance(node, ast.ClassDef))]:
        first: dict[str, int] = {}
        for name, line in _bound(body):
            assert name == "_" or name not in first, f"line {line}: {name} is bound in line {first[name]} already"
            first[name] = line
    calls = [node.lineno for node in ast.walk(tree) if isinstance(node, ast.Call) and ast.unparse(node.func) in ("globals", "locals")]
    assert not calls or path.relative_to(ROOT).as_posix() in BY_GLOBALS, f"line {calls[:1]}: names by globals()"
