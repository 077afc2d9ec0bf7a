"""The rooms (subpackages) of the package: imports between them, the length of files, and the names that may appear in each.

Each rule is one test, which lists every place that breaks it.
"""
from __future__ import annotations

import ast
import functools
import pathlib
import re
from collections.abc import Iterator

import pytest

from mstorch._src.core.public_names import IN_PYTHON
from mstorch._src.ops import _public

pytestmark = pytest.mark.core

ROOT = pathlib.Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "mstorch"
FILES = sorted(PACKAGE.rglob("*.py"))
ALL_FILES = FILES + sorted((ROOT / "tests").rglob("*.py")) + sorted((ROOT / "benchmarks").rglob("*.py"))

WINGS = ("_src", "_commands", "_companions")
"""Folders beside torch's namespace: the implementation, the commands, and packages that stand in for others."""

# Each room may import from itself and from the rooms before it.
ROOMS = [
    "_src.version", "_src.hook", "_src.frames", "_src.leaving", "_src.quiet", "_src.progress", "_src.mt19937", "_src.backend", "_src.core", "_src.tape", "return_types",
    "_src.ops", "_tensor_str", "_src.methods", "_tensor", "autograd",
]  # fmt: skip

# Files that name a type of a room above them, for type checkers alone.
UPWARDS = {
    "_src/core/tensor_class.py": "the methods of Tensor, which families of operations define and a tool writes down for checkers",
    "_src/ops/memory/memory.py": "the classes of storages, which methods of Tensor return",
}
# Imports allowed within functions: modules that few processes need or that take long to load, and optional packages.
LATE = {
    "mstorch/npu/__init__.py": ["mstorch._companions.torch_npu.profiler"],  # torch_npu's package imports torch.npu
    "mstorch/_companions/flash_attn/bert_padding.py": ["einops"],
    "mstorch/_companions/torchaudio/filters.py": ["scipy.signal", "scipy.signal"], "mstorch/_companions/mamba_ssm/utils/hf.py": ["huggingface_hub"],
    "mstorch/_companions/torch_sparse/convert.py": ["scipy.sparse"], "mstorch/_companions/torch_sparse/tensor.py": ["scipy.sparse"],
    "mstorch/_src/hook.py": ["importlib.metadata"], "mstorch/_commands/environment.py": ["importlib", "mstorch._src.backend.runtime"],
    "mstorch/_src/backend/importing.py": ["mstorch._src.backend.runtime"], "mstorch/utils/tensorboard/summary.py": ["PIL"],
    "mstorch/utils/tensorboard/writer.py": ["matplotlib", "matplotlib.backends.backend_agg"],
    "mstorch/ops.py": ["mstorch._library.aten_composites", "mstorch._library.aten_layers", "mstorch._library.aten_losses", "mstorch._library.aten_windows", "mstorch._library.gradients"],
    "mstorch/_commands/debug/oracle.py": ["torch"], "mstorch/_commands/compare/page.py": ["matplotlib.figure"],
    "mstorch/_commands/compare/record.py": ["torch", "torch.optim.optimizer"],
    "mstorch/_src/backend/kernels/special.py": ["scipy.special", "scipy.special", "scipy.special"], "mstorch/_src/backend/host/fft.py": ["scipy.fft"],
    "mstorch/utils/cpp_extension.py": ["setuptools", "setuptools.command.build_ext"],
    "mstorch/backends/opt_einsum.py": ["opt_einsum"], "mstorch/utils/_import_utils.py": ["dill"],
    "mstorch/utils/data/datapipes/dataframe/dataframe_wrapper.py": ["pandas"],
}
# Files that import modules by names known only as they run.
BY_NAME = {
    "mstorch/__main__.py": "the program that is run, and the commands",
    "mstorch/companions.py": "packages, when they are asked for",
    "mstorch/npu/__init__.py": "utils, and torch_npu's profiler, when they are asked for",
    "mstorch/_commands/compare/record.py": "torch, as what a ported script imports in the run under torch",
    "mstorch/_commands/scan/names.py": "torch's modules as ours",
    "mstorch/_commands/check/__init__.py": "the files of the groups, in a worker alone",
    "mstorch/_src/devices/as_npu.py": "torch.npu, whose module programs without a device do not load",
    "mstorch/_src/former_names.py": "modules under their former names",
    "mstorch/_src/hook.py": "torch's modules as ours, and modules that load when they are asked for",
    "mstorch/_src/namespace/process.py": "the module of a device of any kind",
    "mstorch/_src/serialization/names.py": "classes that a pickle names",
    "mstorch/fx/graph_module.py": "functions that a pickled graph names",
    "mstorch/_src/ops/_public.py": "the families of operations, which are the files of the room",
    "mstorch/_src/unbuilt/__init__.py": "modules below those that names.txt lists",
    "mstorch/ao/_old_names.py": "the modules below torch.ao of those with a former name",
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
    parts = path.relative_to(PACKAGE).parts
    return ".".join(parts[: 1 + (parts[0] in WINGS and len(parts) > 1)]).removesuffix(".py")


def _module(path: pathlib.Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {_module(path): path for path in FILES}


class _Imports(ast.NodeVisitor):
    """The modules that a file imports, by name: import statements, and calls of ``import_module`` and ``__import__``."""

    def __init__(self, path: pathlib.Path) -> None:
        self.package = _module(path) if path.name == "__init__.py" else _module(path).rpartition(".")[0]
        self.found: list[tuple[str, int, bool]] = []  # the name, the line, and whether it is within a function
        self.for_checkers: list[tuple[str, int, bool]] = []  # those that type checkers alone see
        self.by_name: list[int] = []  # lines that import modules whose names are known only at run time
        self._depth = 0
        self.visit(_tree(path))

    def _add(self, name: str, node: ast.AST) -> None:
        self.found.append((name, node.lineno, self._depth > 0))  # type: ignore[attr-defined]

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> None:
        self._depth += 1
        self.generic_visit(node)
        self._depth -= 1

    visit_AsyncFunctionDef = visit_Lambda = visit_FunctionDef  # type: ignore[assignment]

    def visit_If(self, node: ast.If) -> None:
        if ast.unparse(node.test) == "TYPE_CHECKING":
            found, self.found = self.found, []
            self.generic_visit(node)
            self.for_checkers, self.found = self.for_checkers + self.found, found
        else:
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


@functools.cache
def _tree(path: pathlib.Path) -> ast.Module:
    return ast.parse(path.read_text())


@functools.cache
def _imports() -> dict[str, _Imports]:
    return {name: _Imports(path) for name, path in MODULES.items()}


def _place(path: pathlib.Path, line: int) -> str:
    return f"{path.relative_to(ROOT)}:{line}"


def test_imports_run_one_way() -> None:
    wrong = []
    for path in FILES:
        room = _room(path)
        if room not in ROOMS:
            continue
        imports = _imports()[_module(path)]
        for name, line, _ in (*imports.found, *([] if path.relative_to(PACKAGE).as_posix() in UPWARDS else imports.for_checkers)):
            package, _, rest = name.partition(".")
            parts = rest.split(".")
            target = ".".join(parts[: 1 + (parts[0] in WINGS)])
            if package != "mstorch" or (target == "_src.methods" and room == "_tensor"):
                continue
            if target not in ROOMS or ROOMS.index(target) > ROOMS.index(room):
                wrong.append(f"{_place(path, line)}: {room} imports {target}, which stands above it")
    assert not wrong, "\n".join(wrong)


def _circles(graph: dict[str, set[str]]) -> list[set[str]]:
    """Return the sets of files of which each imports every other, directly or not."""

    def reached(start: str) -> set[str]:
        seen: set[str] = set()
        ahead = [start]
        while ahead:
            new = graph[ahead.pop()] - seen
            seen |= new
            ahead += new
        return seen

    while any(not targets for targets in graph.values()):  # a file that imports no other is on no cycle
        ends = {name for name, targets in graph.items() if not targets}
        graph = {name: targets - ends for name, targets in graph.items() if name not in ends}
    found: list[set[str]] = []
    for name in graph:
        if not any(name in circle for circle in found):
            circle = {other for other in reached(name) if name in reached(other)}
            if circle:
                found.append(circle)
    return found


def test_imports_make_no_circles() -> None:
    """Those for type checkers and those in functions count too: a type that two files share stands in a third, below both."""
    graph = {name: {found for found, _, _ in (*imports.found, *imports.for_checkers) if found in MODULES and found != name}
             for name, imports in _imports().items()}  # fmt: skip
    assert not (circles := _circles(graph)), "\n".join(f"a circle of imports: {sorted(circle)}" for circle in circles)


def test_what_is_imported_within_functions_is_listed() -> None:
    late = {MODULES[module].relative_to(ROOT).as_posix(): sorted(name for name, _, within in imports.found if within)
            for module, imports in _imports().items()}  # fmt: skip
    assert {path: names for path, names in late.items() if names} == LATE
    by_name = {MODULES[module].relative_to(ROOT).as_posix() for module, imports in _imports().items() if imports.by_name}
    assert by_name == set(BY_NAME)


def test_only_the_backend_imports_mindspore() -> None:
    wrong = []
    for path in FILES:
        if _room(path) == "_src.backend":
            continue
        for node in ast.walk(_tree(path)):
            names: list[str] = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and not node.level:
                names = [node.module or ""]
            wrong += [f"{_place(path, node.lineno)}: {name}"  # type: ignore[attr-defined]
                      for name in names if name.split(".")[0] in ("mindspore", "torch")]  # fmt: skip
    assert not wrong, "\n".join(wrong)


def _plainly(path: pathlib.Path) -> Iterator[str]:
    """Return the violations in a file: more than 600 lines, functions of more than 80, star imports, bare excepts."""
    lines = path.read_text().splitlines()
    if len(lines) > 600:
        yield f"{_place(path, 600)}: {len(lines)} lines"
    for node in ast.walk(_tree(path)):
        if isinstance(node, ast.ImportFrom) and any(alias.name == "*" for alias in node.names):
            yield f"{_place(path, node.lineno)}: star import"
        elif isinstance(node, ast.ExceptHandler) and node.type is None:
            yield f"{_place(path, node.lineno)}: bare except"
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and (node.end_lineno or 0) - node.lineno >= 80:
            yield f"{_place(path, node.lineno)}: {node.name} has over 80 lines"


def test_files_are_short_and_plain() -> None:
    wrong = [line for path in ALL_FILES for line in _plainly(path)]
    assert not wrong, "\n".join(wrong)


def test_dtypes_are_asked_by_torchs_words() -> None:
    asked = re.compile(r"\.category (?:[<>=!]=? ?[23]|<= ?1|> ?1)\b")
    wrong = [f"{path.relative_to(ROOT)}: {line.strip()}" for path in FILES for line in path.read_text().splitlines() if asked.search(line)]
    assert not wrong, "write is_floating_point, is_complex or is_integral:\n" + "\n".join(wrong)


# The largest percentage of annotations that may be ``Any`` and nothing else, by folder: parameters and results that may be anything.
MOST_ANY = {"mstorch": 15, "mstorch/_src/ops": 12}


def _annotations(path: pathlib.Path) -> Iterator[str]:
    """Return the annotations of parameters, results, variables and fields in a file."""
    for node in ast.walk(_tree(path)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            named = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs, node.args.vararg, node.args.kwarg]
            found = [one.annotation for one in named if one is not None] + [node.returns]
        else:
            found = [node.annotation] if isinstance(node, ast.AnnAssign) else []
        yield from (ast.unparse(one) for one in found if one is not None)


@pytest.mark.parametrize("folder", MOST_ANY)
def test_annotations_hold_the_known_types(folder: str) -> None:
    found = [text for path in FILES if path.is_relative_to(ROOT / folder) for text in _annotations(path)]
    bare = sum(text in ("Any", "'Any'") for text in found)
    assert len(found) > 5_000
    assert 100 * bare <= MOST_ANY[folder] * len(found), f"{bare} of {len(found)} annotations in {folder} are Any, {100 * bare / len(found):.1f} %"


def test_private_names_of_mindspore_stay_in_the_tape() -> None:
    for path in FILES:
        if "_pynative_executor" in path.read_text() or "_c_expression" in path.read_text():
            assert _room(path) == "_src.backend", path


def test_families_of_operations_stand_in_rooms() -> None:
    assert not [path.name for path in (PACKAGE / "_src" / "ops").glob("*.py") if not path.name.startswith("_")]


def test_a_public_name_is_defined_by_one_family() -> None:
    found: dict[tuple[str, str], list[str]] = {}
    for family in _public.families():
        namespace = _public.namespace(family)
        for name in _public.defined(family):
            if name in IN_PYTHON.get(namespace, {}) or (namespace == "" and name in IN_PYTHON["Tensor"]):
                found.setdefault((namespace, name), []).append(family.__name__)
    assert len(found) > 600
    assert not {key: families for key, families in found.items() if len(families) > 1}


# Files that write a module's names by ``globals()``, or pass them to functions that do, and why. A statement binds each other name, once.
BY_GLOBALS = {
    "mstorch/__init__.py": "the functions of families, their public forms, and functions of lists (_foreach_*)",
    "mstorch/nn/functional.py": "the public forms of functions",
    "mstorch/return_types.py": "a type of its own for results written with out=, of each type",
    "mstorch/_src/namespace/legacy_types.py": "reads the types that it lists",
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
    "mstorch/npu/__init__.py": "what MindSpore has no equivalent of, and a type for each dtype",
    "mstorch/mtia/__init__.py": "what is not there without its device",
    "mstorch/xpu/__init__.py": "what is not there without its device",
    "mstorch/distributed/__init__.py": "torch's names of distributed_c10d",
    "mstorch/distributed/distributed_c10d.py": "names of the files behind it",
    "mstorch/nn/modules/module.py": "global hooks, which programs look for under torch's names",
    "mstorch/sparse/__init__.py": "legacy types",
    "mstorch/storage.py": "reads the class of the default dtype",
}


def _bound(statements: list[ast.stmt]) -> list[tuple[str, int]]:
    """Return the names that statements of a module or class bind, with their lines; repeated definitions count once."""
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


def test_nothing_is_rebound_after_its_definition() -> None:
    wrong = []
    for path in FILES:
        tree = _tree(path)
        for body in [tree.body, *(node.body for node in ast.walk(tree) if isinstance(node, ast.ClassDef))]:
            first: dict[str, int] = {}
            for name, line in _bound(body):
                if name != "_" and name in first:
                    wrong.append(f"{_place(path, line)}: {name} is bound in line {first[name]} already")
                first[name] = line
        if path.relative_to(ROOT).as_posix() not in BY_GLOBALS:
            wrong += [f"{_place(path, node.lineno)}: names by globals()" for node in ast.walk(tree)
                      if isinstance(node, ast.Call) and ast.unparse(node.func) in ("globals", "locals")]  # fmt: skip
    assert not wrong, "\n".join(wrong)


FACTORIES = {
    "arange", "as_tensor", "empty", "empty_strided", "eye", "full", "linspace", "ones", "rand", "randint", "randn", "randperm", "tensor", "zeros",
}  # fmt: skip


def test_new_tensors_of_distributed_name_their_device() -> None:
    """Otherwise they follow ``set_default_device``, and are next to tensors that processes exchange."""
    wrong = []
    for path in FILES:
        if path.relative_to(ROOT).parts[:2] == ("mstorch", "distributed"):
            wrong += [_place(path, node.lineno) for node in ast.walk(_tree(path))
                      if isinstance(node, ast.Call) and ast.unparse(node.func).removeprefix("torch.") in FACTORIES
                      and not any(word.arg == "device" for word in node.keywords)]  # fmt: skip
    assert not wrong, "\n".join(wrong)


# Files that distinguish errors of another library by their texts, because it has one class for all of them.
BY_TEXTS = {"mstorch/_src/backend/mindspore_errors.py"}
_ASKED = {"startswith", "endswith", "find", "index", "count", "search", "match", "fullmatch", "findall", "finditer", "fnmatch"}


class _ByTexts(ast.NodeVisitor):
    """Finds lines of a file that depend on the text of an error: comparisons, conditions and searches of ``str(error)``, its ``args`` and
    derived values."""

    def __init__(self, path: pathlib.Path) -> None:
        self.found: list[int] = []
        self._errors: set[str] = set()
        self._texts: set[str] = set()
        self.visit(_tree(path))

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        before = set(self._errors), set(self._texts)
        for argument in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs):
            kind = "" if argument.annotation is None else ast.unparse(argument.annotation)
            if argument.arg in ("error", "exception", "exc") or re.search(r"(Error|Exception)\b", kind):
                self._errors.add(argument.arg)
        self.generic_visit(node)
        self._errors, self._texts = before

    visit_AsyncFunctionDef = visit_FunctionDef  # type: ignore[assignment]

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        if node.name:
            self._errors.add(node.name)
        self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> None:
        self.generic_visit(node)
        if self._tells(node.value):
            self._texts |= {name.id for target in node.targets for name in ast.walk(target) if isinstance(name, ast.Name)}

    def _tells(self, node: ast.AST) -> bool:
        """Return whether an expression holds the text of an error."""
        for part in ast.walk(node):
            if isinstance(part, ast.Name) and part.id in self._texts:
                return True
            if isinstance(part, ast.Attribute) and part.attr in ("args", "msg", "message", "strerror") and self._is_error(part.value):
                return True
            if isinstance(part, ast.Call) and ast.unparse(part.func) in ("str", "repr", "format") and any(map(self._is_error, part.args)):
                return True
            if isinstance(part, ast.FormattedValue) and self._is_error(part.value):
                return True
        return False

    def _is_error(self, node: ast.AST) -> bool:
        return isinstance(node, ast.Name) and node.id in self._errors

    def visit_Compare(self, node: ast.Compare) -> None:
        if any(map(self._tells, (node.left, *node.comparators))):
            self.found.append(node.lineno)
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        if isinstance(node.func, ast.Attribute) and node.func.attr in _ASKED and any(map(self._tells, (node.func.value, *node.args))):
            self.found.append(node.lineno)
        self.generic_visit(node)


def test_nothing_decides_by_the_text_of_an_error() -> None:
    found = {path.relative_to(ROOT).as_posix(): lines for path in FILES if (lines := _ByTexts(path).found)}
    assert set(found) == BY_TEXTS, found


MOST_LISTS = 18
MOST_BY_NAME = 30
"""Statements that name six or more operations in any form: lists, texts, split or not, and keys of dictionaries"""


def _words(node: ast.AST) -> list[str]:
    """Return the words of a literal list, or of a text that is split."""
    if isinstance(node, (ast.List, ast.Tuple, ast.Set)):
        return [one.value for one in node.elts if isinstance(one, ast.Constant) and isinstance(one.value, str)]
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "split" and isinstance(node.func.value, ast.Constant):
        return str(node.func.value.value).split()
    return []


def _lists_of_operations(path: pathlib.Path, known: set[str]) -> Iterator[int]:
    """Yield the lines of statements that list six or more operations by name."""
    for statement in ast.walk(_tree(path)):
        if isinstance(statement, (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Expr, ast.Return)):
            for words in map(_words, ast.walk(statement)):
                named = [word for word in words if word in known or word.rstrip("_") in known]
                if len(named) >= 6 and len(named) >= 0.6 * len(words):
                    yield statement.lineno
                    break


def test_lists_of_operations_are_few_and_say_why() -> None:
    """Properties of operations are declared with them (``Record``), or read from torch's names, schemas and tags (``_src/aten/kinds.py``)."""
    schemas = (PACKAGE / "_library" / "schemas.txt").read_text("utf-8")
    known = set(re.findall(r"^\w+", schemas, re.MULTILINE))
    found = [(path, line) for path in FILES for line in _lists_of_operations(path, known)]
    assert len(found) <= MOST_LISTS, "\n".join(_place(*one) for one in found)
    silent = [_place(path, line) for path, line in found if not path.read_text().splitlines()[line - 2].lstrip().startswith("#")]
    assert not silent, "lists of operations without a reason above:\n" + "\n".join(silent)


def _named_in_any_form(path: pathlib.Path, known: set[str]) -> Iterator[int]:
    """Yield the lines of statements, decorators included, that name six or more operations in one list, text or dictionary."""
    tree = _tree(path)
    documents = {id(one.value) for one in ast.walk(tree) if isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant)}
    statements = [node for node in ast.walk(tree) if isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Expr, ast.Return))]
    statements += [one for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) for one in node.decorator_list]  # type: ignore[misc]
    for statement in statements:
        for node in ast.walk(statement):
            words = _words(node)
            if isinstance(node, ast.Dict):
                words = [one.value for one in node.keys if isinstance(one, ast.Constant) and isinstance(one.value, str)]
            elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documents:
                words = node.value.split()
            named = [last for last in (word.rpartition(".")[2] for word in words) if last in known or last.rstrip("_") in known]
            if len(named) >= 6 and len(named) >= 0.6 * len(words):
                yield statement.lineno
                break


def test_facts_about_operations_do_not_leave_them() -> None:
    """A fact about an operation is declared with it; a table of kernels or rules by name is counted too, so that the number only falls."""
    known = set(re.findall(r"^\w+", (PACKAGE / "_library" / "schemas.txt").read_text("utf-8"), re.MULTILINE))
    found = [_place(path, line) for path in FILES for line in sorted(set(_named_in_any_form(path, known)))]
    assert len(found) <= MOST_BY_NAME, f"{len(found)} statements name operations:\n" + "\n".join(found)
