"""The text of the stubs, and of the list of torch's public names."""
from __future__ import annotations

import ast
import inspect
import pathlib
import re
import types
from typing import Any

import mstorch
from mstorch._src.core.built_in import written
from mstorch._src.core.overriding import is_entry

from . import places
from .forms import PREFIXES, STUBS, by_hand, function_forms, method_forms, with_stars
from .schemas import Form

ROOT = STUBS.parents[2]
HEAD = "# Written by `python -m tools.public_types`: types for type checkers.\n# fmt: off\n"
NAMES = frozenset(
    "Any Array Bool Callable Complex Device DType Float Generator Index Int IntLike Ints Iterable Iterator Layout "
    "LinearCrossEntropyOptions Literal MemoryFormat NoReturn Number OptionalTensors Place Scalar ScalingType Sequence Size Storage "
    "SwizzleType Tensor Tensors Text return_types".split()
)
# A file for the functions of a namespace whose names begin with these letters.
PARTS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(PREFIXES, ("",)), "": ("_", "ab", "c", "defghi", "jklm", "nopq", "r", "s", "tuvwxyz"),
}  # fmt: skip
# Functions whose own annotations say it all.
_TYPED_AT_HOME = (
    "mstorch._src.namespace.symbolic", "mstorch.overrides", "mstorch._src.ops.linalg.removed", "mstorch.nn._functional.names",
    "mstorch._src.namespace.checks",
)  # fmt: skip
METHOD_PARTS = ("_", "abc", "defghi", "jklm", "nopqr", "s", "tuvwxyz")


def files() -> dict[pathlib.Path, str]:
    """Return the text of each file that this tool writes, by path."""
    found: dict[pathlib.Path, str] = {}
    for face in PREFIXES:
        home = _functions(face, found)
        path = ROOT / "mstorch" / f"{face.replace('.', '/')}.pyi" if face else ROOT / "mstorch" / "__init__.pyi"
        found[path] = _face(face, path, home)
    _methods(found)
    found[ROOT / "mstorch" / "return_types.pyi"] = _return_types()
    found[ROOT / "mstorch" / "_src" / "core" / "public_names.txt"] = places.text()
    return found


def _namespace(face: str) -> Any:
    module: Any = mstorch
    for part in face.split(".") if face else ():
        module = getattr(module, part)
    return module


def _file(body: str, besides: str = "") -> str:
    """Return the text of a stub: the imports of the names that its body uses, then the body."""
    used = sorted(set(re.findall(r"[A-Za-z]\w*", body)) & set(NAMES))
    overloads = "from typing import overload\n\n" if "@overload" in body else ""
    return f"{HEAD}{overloads}from .names import {', '.join(used)}\n{besides}\n{body}\n"


def _stub(name: str, forms: list[Form], method: bool = False) -> str:
    lines = [form.text(name, method) for form in forms]
    indent = "    " if method else ""
    marked = [f"{indent}@overload\n{indent}{line}" for line in lines] if len(lines) > 1 else [indent + line for line in lines]
    return "\n".join(marked)


def _is_typed_here(name: str, value: Any) -> bool:
    if not isinstance(written(value), types.FunctionType) or name.startswith("__"):
        return False
    home = inspect.unwrap(written(value)).__module__
    if home.startswith(_TYPED_AT_HOME):
        return False
    return is_entry(value) or home.startswith(("mstorch._src.ops", "mstorch._src.namespace.foreach"))


def hand_file(face: str) -> str:
    """Return the file name of the hand-written stub for the functions of a namespace."""
    return f"by_hand{'_' + face.replace('.', '_') if face else ''}.pyi"


def _functions(face: str, found: dict[pathlib.Path, str]) -> dict[str, str]:
    """Add the stubs of a namespace's functions to ``found``; return the file of each function."""
    home: dict[str, str] = {}
    namespace = vars(_namespace(face))
    manual = by_hand(hand_file(face)) if (STUBS / hand_file(face)).exists() else frozenset()
    home.update((name, hand_file(face)[:-4]) for name in manual)
    for part in PARTS[face]:
        stem = (face.replace(".", "_") or "torch") + (f"_{part.strip('_') or 'private'}" if part else "")
        blocks = []
        for name in sorted(namespace):
            if part and name[0].lower() not in part or name in manual or not _is_typed_here(name, namespace[name]):
                continue
            function = namespace[name]
            known = inspect.signature(written(function)).parameters
            blocks.append(_stub(name, [each for form in function_forms(face, name, function) for each in with_stars(form, known)]))
            home[name] = stem
        found[STUBS / f"{stem}.pyi"] = _file("\n".join(blocks))
    return home


def _face(face: str, path: pathlib.Path, home: dict[str, str]) -> str:
    """Return the stub of a namespace: the imports of its module, and its functions from their stubs."""
    source = path.with_suffix(".py")
    tree = ast.parse(source.read_text())
    up = "." * (len(path.relative_to(ROOT).parts) - 1)
    lines, renamed = [HEAD.rstrip()], []
    seen = set(home)
    for node in tree.body:
        if not isinstance(node, ast.ImportFrom) or node.module == "__future__":
            continue
        names = [(alias.name, alias.asname or alias.name) for alias in node.names]
        names = [(name, shown) for name, shown in names if shown not in seen and not (shown.startswith("_") and name != shown)]
        if names:
            seen |= {shown for _, shown in names}
            # A stub passes on what it imports under the same name only.
            given = ", ".join(f"{name} as {name if name == shown else f'_{shown}_'}" for name, shown in names)
            lines.append(f"from {'.' * node.level}{node.module or ''} import {given}")
            renamed += [f"{shown} = _{shown}_" for name, shown in names if name != shown]
    for stem in sorted(set(home.values())):
        names_of = ", ".join(f"{name} as {name}" for name in sorted(home) if home[name] == stem)
        lines.append(f"from {up}_src.stubs.{stem} import {names_of}")
    if not face:
        lines += [_rest(seen), "", "newaxis: None"]
    return "\n".join(lines + renamed) + "\n"


def _rest(seen: set[str]) -> str:
    """Return the import of the submodules that are loaded on access, except those in ``seen``."""
    folder = ROOT / "mstorch"
    late = (
        "_C _VF __future__ _dynamo _functorch _jit_internal _utils _utils_internal ao distributed distributions export futures fx hub jit "
        "classes library monitor onnx profiler quasirandom testing types"
    ).split()
    there = [name for name in late if name not in seen and ((folder / name).is_dir() or (folder / f"{name}.py").exists())]
    return f"from . import {', '.join(f'{name} as {name}' for name in there)}"


def _own_methods() -> set[str]:
    """Return the names that class Tensor itself defines."""
    tree = ast.parse((ROOT / "mstorch" / "_tensor.py").read_text())
    (body,) = (node.body for node in tree.body if isinstance(node, ast.ClassDef) and node.name == "Tensor")
    found = {node.name for node in body if isinstance(node, ast.FunctionDef)}
    for node in body:
        if isinstance(node, ast.Assign):
            found |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    return found


def _methods(found: dict[pathlib.Path, str]) -> None:
    written, own = by_hand("methods.pyi"), _own_methods()
    stems = []
    for part in METHOD_PARTS:
        stem = f"methods_{part.strip('_') or 'operators'}"
        blocks = []
        for name, value in sorted(vars(mstorch.Tensor).items()):
            if name[0].lower() not in part or name in written or name in own:
                continue
            if isinstance(value, property):
                kind = "Tensor" if name in ("T", "H", "mT", "mH") else "Any" if name.startswith("_") else "Bool"
                blocks.append(f"    @property\n    def {name}(self) -> {kind}: ...")
            elif isinstance(value, types.FunctionType):
                blocks.append(_stub(name, method_forms(name, value), method=True))
        base = f"({stems[-1].title().replace('_', '')})" if stems else ""
        imported = f"from .{stems[-1]} import {stems[-1].title().replace('_', '')}\n" if stems else ""
        found[STUBS / f"{stem}.pyi"] = _file(f"class {stem.title().replace('_', '')}{base}:\n" + "\n".join(blocks), imported)
        stems.append(stem)


def _return_types() -> str:
    lines = [HEAD + "from ._tensor import Tensor\n"]
    for name, kind in vars(mstorch.return_types).items():
        if not hasattr(kind, "n_fields"):
            continue
        several = "bin_edges" if name.startswith("histogramdd") else None
        types_of = {field: "tuple[Tensor, ...]" if field == several else "Tensor" for field in kind.__match_args__}
        lines.append(f"class {name}(tuple[{', '.join(types_of.values())}]):")
        for field, type_name in types_of.items():
            lines.append(f"    @property\n    def {field}(self) -> {type_name}: ...")
    lines.append("all_return_types: list[type]")
    return "\n".join(lines) + "\n"
