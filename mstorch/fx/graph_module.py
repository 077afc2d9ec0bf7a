"""torch.fx.graph_module: a module whose ``forward`` is generated from a graph."""
from __future__ import annotations

import copy
import importlib
import itertools
import linecache
import sys
from collections.abc import Callable
from typing import Any

from typing_extensions import Self

from .._src.core.above import above
from .._src.hook import missing as _missing
from .._tensor import Tensor
from ..nn.modules.module import Module
from ..nn.parameter import Parameter
from ._code import PythonCode, PyTreeCodeGen
from .graph import Graph

_USER_PRESERVED_ATTRIBUTES_KEY = "_user_preserved_attributes"
_numbers = itertools.count()


def _compiled(code: PythonCode) -> Callable[..., Any]:
    """Compile the source and return its function; tracebacks show its lines."""
    name = f"<eval_with_key>.{next(_numbers)}"
    linecache.cache[name] = (len(code.src), None, code.src.splitlines(keepends=True), name)
    space = dict(code.globals)
    exec(compile(code.src, name, "exec", dont_inherit=True), space)
    return space["forward"]


def _imports(code: PythonCode) -> dict[str, tuple[str, str]]:
    """Return where the code's globals are imported from, for pickling."""
    found = {}
    for name, value in code.globals.items():
        if name == "torch":
            continue
        of_annotations = {id(None.__class__): ("types", "NoneType"), id(...): ("builtins", "Ellipsis")}.get(id(value))
        if isinstance(value, str) or of_annotations:
            found[name] = of_annotations or ("", value)
            continue
        module, qualname = getattr(value, "__module__", None), getattr(value, "__qualname__", None)
        if module is None or qualname is None:
            raise RuntimeError(f"mstorch: a GraphModule that uses {value!r} cannot be pickled")
        found[name] = (module, qualname)
    return found


def _rebuilt(members: dict[str, Any], src: str, imports: dict[str, tuple[str, str]], tracer: type, name: str) -> GraphModule:
    """Rebuild a GraphModule from a pickle: compile its source, and trace the resulting module with every submodule as a leaf."""
    space: dict[str, Any] = {"torch": sys.modules[__name__.partition(".")[0]]}
    for alias, (module, qualname) in imports.items():
        value: Any = importlib.import_module(module) if module else qualname
        for part in qualname.split(".") if module else ():
            value = getattr(value, part)
        space[alias] = value
    code_only = _CodeOnlyModule(members)
    type(code_only).forward = _compiled(PythonCode(src, space))  # type: ignore[method-assign]

    class KeepModules(tracer or above.tracer):
        def is_leaf_module(self, _: Module, __: str) -> bool:
            return True

    made = GraphModule(code_only, KeepModules().trace(code_only), name)
    for key, value in members.items():
        if key not in made.__dict__:
            made.__dict__[key] = value
    made.__dict__["training"] = members.get("training", True)
    return made


class _CodeOnlyModule(Module):
    """Module initialized with the ``__dict__`` of another one, from which a GraphModule is rebuilt."""

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        return super().__new__(type(cls.__name__, (cls,), {}) if cls is _CodeOnlyModule else cls)

    def __init__(self, body: dict[str, Any]) -> None:
        super().__init__()
        self.__setstate__(body)


def _copy_attr(from_module: Module, to_module: Module, target: str) -> None:
    """Copy the attribute at a dotted name to another module, creating plain modules on the way."""
    *path, name = target.split(".")
    for part in path:
        source, place = getattr(from_module, part), getattr(to_module, part, None)
        if place is source:
            return
        if place is None:
            place = Module()
            setattr(to_module, part, place)
        from_module, to_module = source, place
    value = getattr(from_module, name)
    if isinstance(value, Tensor) and not isinstance(value, Parameter):
        to_module.register_buffer(name, value, name not in from_module._non_persistent_buffers_set)
    else:
        setattr(to_module, name, value)


def _assign_attr(value: Tensor, to_module: Module, target: str) -> None:
    """Set the attribute at a dotted name, creating plain modules on the way."""
    *path, name = target.split(".")
    for part in path:
        if not hasattr(to_module, part):
            setattr(to_module, part, Module())
        to_module = getattr(to_module, part)
    if isinstance(value, Tensor) and not isinstance(value, Parameter):
        to_module.register_buffer(name, value)
    else:
        setattr(to_module, name, value)


class GraphModule(Module):
    """A module whose ``forward`` is generated from its ``graph``; call ``recompile`` after changing the graph."""

    _is_own_class = False

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        # Each instance has its own class, because ``forward`` is an attribute of the class.
        if not cls._is_own_class:
            cls = type("GraphModuleImpl", (cls,), {"__module__": cls.__module__, "_is_own_class": True})
        return super().__new__(cls)

    def __init__(self, root: Module | dict[str, Any], graph: Graph, class_name: str = "GraphModule") -> None:
        super().__init__()
        self.__dict__["_class_name"] = class_name
        if type(self)._is_own_class:
            type(self).__name__ = class_name
        self.meta: dict[str, Any] = {}
        targets = [node.target for node in graph.nodes if node.op in ("get_attr", "call_module")]
        if isinstance(root, Module):
            self.training = root.training
            for target in targets:
                _copy_attr(root, self, target)
        elif isinstance(root, dict):
            lacking = [target for target in targets if target not in root]
            if lacking:
                raise RuntimeError(f"Node referenced target {lacking[0]} but that target was not provided in ``root``!")
            for target in sorted(dict.fromkeys(targets), key=lambda text: text.count(".")):
                _assign_attr(root[target], self, target)
        else:
            raise RuntimeError(f"Unsupported type {root} passed for root!")
        local = "<locals>" in getattr(graph._tracer_cls, "__qualname__", "")
        self.__dict__["_tracer_cls"] = None if local else graph._tracer_cls  # a pickle cannot refer to a local class
        self.graph = graph

    @property
    def graph(self) -> Graph:
        """The graph; assigning one recompiles."""
        return self.__dict__["_graph"]

    @graph.setter
    def graph(self, g: Graph) -> None:
        if not isinstance(g, Graph):
            raise AssertionError(f"Expected a Graph instance, but got {type(g)}")
        self.__dict__["_graph"] = copy.deepcopy(g) if g.owning_module is not None and g.owning_module is not self else g
        self.graph.owning_module = self
        self.recompile()

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "graph":
            object.__setattr__(self, name, value)
        else:
            super().__setattr__(name, value)

    def recompile(self) -> PythonCode:
        """Regenerate ``forward`` from the graph."""
        codegen = self.graph._codegen
        if isinstance(codegen, PyTreeCodeGen):
            self.__dict__["_in_spec"], self.__dict__["_out_spec"] = codegen.in_spec, codegen.out_spec
        code = self.graph.python_code(root_module="self")
        self.__dict__["_code"], self.__dict__["_written"] = code.src, code
        type(self).forward = _compiled(code)  # type: ignore[method-assign]
        return code

    @property
    def code(self) -> str:
        """The source of ``forward``."""
        if "_code" not in self.__dict__:
            raise RuntimeError("Code has not been generated! Please report a bug to PyTorch")
        return self.__dict__["_code"]

    # Members

    def add_submodule(self, target: str, m: Module) -> bool:
        """Set the module at a dotted name, creating plain modules on the way; return False if the name is taken."""
        *path, name = target.split(".")
        place: Module = self
        for part in path:
            found = getattr(place, part, None)
            if found is None:
                found = Module()
                setattr(place, part, found)
            if not isinstance(found, Module):
                return False
            place = found
        place.add_module(name, m)
        return True

    def delete_submodule(self, target: str) -> bool:
        """Remove the module at a dotted name; return False if there is none."""
        *path, name = target.split(".")
        place: Any = self
        for part in path:
            place = getattr(place, part, None)
            if not isinstance(place, Module):
                return False
        if not isinstance(getattr(place, name, None), Module):
            return False
        delattr(place, name)
        return True

    def delete_all_unused_submodules(self) -> None:
        """Remove the modules that no node uses."""
        used: set[str] = set()
        for node in self.graph.nodes:
            if node.op in ("call_module", "get_attr"):
                parts = node.target.split(".")
                used.update(".".join(parts[: i + 1]) for i in range(len(parts)))
            if node.op == "call_module":
                try:
                    called = self.get_submodule(node.target)
                except AttributeError:
                    continue
                used.update(f"{node.target}.{name}" for name, _ in called.named_modules() if name)
        for name in [name for name, _ in self.named_modules() if name and name not in used]:
            self.delete_submodule(name)

    # Copies and text

    def _get_name(self) -> str:
        return self.__dict__.get("_class_name", type(self).__name__)  # a subclass may only call Module's __init__ (as in torchvision)

    def __str__(self) -> str:
        shown = super().__repr__()
        return "\n".join([shown, self.code, "# To see more debug info, please use `graph_module.print_readable()`"])

    def print_readable(self, print_output: bool = True, **options: Any) -> str:
        """Print and return the code as a class definition."""
        body = "\n".join(f"    {line}" if line else "" for line in self.code.strip("\n").split("\n"))
        text = f"class {self._get_name()}(torch.nn.Module):\n{body}\n"
        if print_output:
            print(text)
        return text

    def __deepcopy__(self, memo: dict[int, Any]) -> GraphModule:
        members = {name: value for name, value in self.__getstate__().items() if name not in ("_graph", "_written")}
        fake = _CodeOnlyModule(copy.deepcopy(members, memo))
        made: GraphModule = type(self).__new__(type(self).__mro__[1])
        GraphModule.__init__(made, fake, copy.deepcopy(self.graph), self._get_name())
        for name, value in fake.__getstate__().items():
            if name not in ("_parameters", "_buffers", "_modules", "_code", "training") and name not in made.__dict__:
                made.__dict__[name] = value
        for name in ("_parameters", "_buffers", "_modules"):
            for key, value in fake.__dict__[name].items():
                made.__dict__[name].setdefault(key, value)
        made.meta = {**made.meta, **members.get("meta", {})}
        made.__dict__["training"] = self.training
        return made

    def __copy__(self) -> GraphModule:
        made = GraphModule(self, copy.deepcopy(self.graph), self._get_name())
        made.meta = dict(self.meta)
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        members = {name: value for name, value in self.__getstate__().items() if name not in ("_graph", "_written", "_tracer_cls")}
        written = self.__dict__["_written"]
        return _rebuilt, (members, written.src, _imports(written), self.__dict__.get("_tracer_cls"), self._get_name())


__all__ = ["GraphModule"]

__getattr__ = _missing(__name__)
