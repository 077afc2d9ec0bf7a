"""Serialization of TreeSpecs as JSON, in torch's format."""
from __future__ import annotations

import importlib
import json
from enum import Enum
from typing import Any

from .kinds import NO_SERIALIZED_TYPE_NAME_FOUND, SERIALIZED_TYPE_TO_PYTHON_TYPE, SUPPORTED_SERIALIZED_TYPES
from .spec import LEAF, TreeSpec

DEFAULT_TREESPEC_SERIALIZATION_PROTOCOL = 1


class EnumEncoder(json.JSONEncoder):
    """Encodes enum members by the qualified name of their class and their name."""

    def default(self, obj: Any) -> Any:
        if isinstance(obj, Enum):
            kind = type(obj)
            return {"__enum__": True, "fqn": f"{kind.__module__}:{kind.__qualname__}", "name": obj.name}
        return super().default(obj)


def enum_object_hook(obj: dict[str, Any]) -> Any:
    """Decode an enum member that ``EnumEncoder`` encoded; return other dicts unchanged."""
    if "__enum__" not in obj:
        return obj
    module, _, path = obj["fqn"].partition(":")
    kind: Any = importlib.import_module(module)
    for part in path.split("."):
        kind = getattr(kind, part)
    return kind[obj["name"]]


def treespec_dumps(treespec: TreeSpec, protocol: int | None = None) -> str:
    """Serialize a TreeSpec to JSON. Raise NotImplementedError for a type without a serialized name."""
    if not isinstance(treespec, TreeSpec):
        raise TypeError(
            f"treespec_dumps(treespec, protocol): Expected `treespec` to be instance of TreeSpec but got item of type {type(treespec)}."
        )
    version = DEFAULT_TREESPEC_SERIALIZATION_PROTOCOL if protocol is None else protocol
    if version != 1:
        raise ValueError(f"Unknown protocol {version}. Available protocols: [1]")
    return json.dumps((version, _described(treespec)), cls=EnumEncoder)


def _described(spec: TreeSpec) -> dict[str, Any]:
    if spec.is_leaf():
        return {"type": None, "context": None, "children_spec": []}
    known = SUPPORTED_SERIALIZED_TYPES.get(spec.type)
    if known is None:
        raise NotImplementedError(f"Serializing {spec.type} in pytree is not registered.")
    if known.serialized_type_name == NO_SERIALIZED_TYPE_NAME_FOUND:
        raise NotImplementedError(
            f"No registered serialization name for {spec.type} found. Please update your _register_pytree_node call with a "
            "`serialized_type_name` kwarg."
        )
    if known.to_dumpable_context is None:
        try:
            context = json.dumps(spec.context, cls=EnumEncoder)
        except TypeError as error:
            raise TypeError(
                "Unable to serialize context. Please make the context json dump-able, or register a custom serializer using "
                "_register_pytree_node."
            ) from error
    else:
        context = known.to_dumpable_context(spec.context)
    return {
        "type": known.serialized_type_name, "context": context,
        "children_spec": [_described(child) for child in spec.children_specs],
    }  # fmt: skip


def treespec_loads(serialized: str) -> TreeSpec:
    """Return the TreeSpec that ``treespec_dumps`` of mstorch or torch serialized."""
    version, described = json.loads(serialized)
    if version != 1:
        raise ValueError(f"Unknown protocol {version}. Available protocols: [1]")
    return _built(described)


def _built(described: dict[str, Any]) -> TreeSpec:
    name = described["type"]
    if name is None and described["context"] is None and not described["children_spec"]:
        return LEAF
    if name not in SERIALIZED_TYPE_TO_PYTHON_TYPE:
        raise NotImplementedError(f"Deserializing {name} in pytree is not registered.")
    kind = SERIALIZED_TYPE_TO_PYTHON_TYPE[name]
    read = SUPPORTED_SERIALIZED_TYPES[kind].from_dumpable_context
    context = json.loads(described["context"], object_hook=enum_object_hook) if read is None else read(described["context"])
    return TreeSpec(kind, context, [_built(child) for child in described["children_spec"]])


class _Star:
    def __repr__(self) -> str:
        return "*"


def treespec_pprint(treespec: TreeSpec) -> str:
    """Return the structure as Python shows it with "*" as every leaf."""
    return repr(treespec.unflatten([_Star() for _ in range(treespec.num_leaves)]))
