"""Registered node types, and how each is flattened and unflattened."""
from __future__ import annotations

import dataclasses
import importlib
from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, NamedTuple

from ... import return_types
from ..._src.core.size import Size
from ..._src.core.trees import REGISTERED
from .keys import GetAttrKey, MappingKey, SequenceKey

NO_SERIALIZED_TYPE_NAME_FOUND = "NO_SERIALIZED_TYPE_NAME_FOUND"


class NodeDef(NamedTuple):
    """Functions of a node type: flatten, unflatten, and flatten with keys."""

    type: Any
    flatten_fn: Callable[[Any], tuple[list[Any], Any]]
    unflatten_fn: Callable[[Iterable[Any], Any], Any]
    flatten_with_keys_fn: Callable[[Any], tuple[list[tuple[Any, Any]], Any]] | None


class SerializeNodeDef(NamedTuple):
    """The serialized name of a node type, and the conversions of its context to and from JSON."""

    typ: Any
    serialized_type_name: str
    to_dumpable_context: Callable[[Any], Any] | None
    from_dumpable_context: Callable[[Any], Any] | None


class ConstantNode(NamedTuple):
    """The context of a registered constant, which is part of the TreeSpec."""

    value: Any


SUPPORTED_NODES: dict[Any, NodeDef] = REGISTERED
SUPPORTED_SERIALIZED_TYPES: dict[Any, SerializeNodeDef] = {}
SERIALIZED_TYPE_TO_PYTHON_TYPE: dict[str, Any] = {}
CONSTANT_NODES: set[type] = set()
STANDARD_DICT_TYPES = frozenset({dict, OrderedDict, defaultdict})


def register_pytree_node(
    cls: type, flatten_fn: Callable[[Any], tuple[list[Any], Any]], unflatten_fn: Callable[[Iterable[Any], Any], Any], *,
    serialized_type_name: str | None = None, to_dumpable_context: Callable[[Any], Any] | None = None,
    from_dumpable_context: Callable[[Any], Any] | None = None,
    flatten_with_keys_fn: Callable[[Any], tuple[list[tuple[Any, Any]], Any]] | None = None,
) -> None:
    """Register a node type: ``flatten_fn`` returns (children, context), ``unflatten_fn`` rebuilds it.

    Raise ValueError if the type is registered, or if only one of the conversions of its context is given.
    """
    if cls in SUPPORTED_NODES:
        raise ValueError(f"{cls} is already registered as pytree node.")
    if (to_dumpable_context is None) != (from_dumpable_context is None):
        raise ValueError(f"Both to_dumpable_context and from_dumpable_context for {cls} must be None or registered.")
    SUPPORTED_NODES[cls] = NodeDef(cls, flatten_fn, unflatten_fn, flatten_with_keys_fn)
    name = NO_SERIALIZED_TYPE_NAME_FOUND if serialized_type_name is None else serialized_type_name
    SUPPORTED_SERIALIZED_TYPES[cls] = SerializeNodeDef(cls, name, to_dumpable_context, from_dumpable_context)
    SERIALIZED_TYPE_TO_PYTHON_TYPE[name] = cls


def register_dataclass(
    cls: type, *, field_names: list[str] | None = None, drop_field_names: list[str] | None = None,
    serialized_type_name: str | None = None,
) -> None:
    """Register a dataclass, or a class constructed from its fields, as a node.

    Raise ValueError if the given names are not the class's fields, or are missing for a class that is not a dataclass.
    """
    dropped = drop_field_names or []
    if not dataclasses.is_dataclass(cls):
        if field_names is None:
            raise ValueError(
                f"field_names must be specified with a list of all fields used to initialize {cls}, as it is not a dataclass."
            )
    else:
        names = [field.name for field in dataclasses.fields(cls) if field.init]
        if field_names is None:
            field_names = [name for name in names if name not in dropped]
        else:
            given = set(field_names) | set(dropped)
            missing = [name for name in names if name not in given]
            if missing:
                raise ValueError(f"Dataclass fields: {missing} were not specified in field_names/drop_field_names for {cls}.")
            unknown = [name for name in field_names if name not in names]
            if unknown:
                raise ValueError(f"field_names {unknown} are no fields of {cls}.")
    chosen = list(field_names)

    def named(obj: Any) -> tuple[list[tuple[str, Any]], Any]:
        given = [(name, getattr(obj, name)) for name in chosen]
        filled = [pair for pair in given if pair[1] is not None]
        return filled, [[name for name, _ in filled], [name for name, value in given if value is None]]

    def flatten(obj: Any) -> tuple[list[Any], Any]:
        pairs, context = named(obj)
        return [value for _, value in pairs], context

    def flatten_with_keys(obj: Any) -> tuple[list[tuple[Any, Any]], Any]:
        pairs, context = named(obj)
        return [(GetAttrKey(name), value) for name, value in pairs], context

    def unflatten(values: Iterable[Any], context: Any) -> Any:
        filled, absent = context
        return cls(**dict(zip(filled, values)), **dict.fromkeys(absent))

    register_pytree_node(
        cls, flatten, unflatten, serialized_type_name=serialized_type_name, flatten_with_keys_fn=flatten_with_keys
    )


def register_constant(cls: type) -> None:
    """Register a type whose instances are part of the TreeSpec, not leaves. Raise TypeError if they do not compare by value."""
    if cls.__eq__ is object.__eq__:
        raise TypeError("register_constant(cls) expects `cls` to have a non-default `__eq__` implementation.")
    if cls.__hash__ in (None, object.__hash__):
        raise TypeError("register_constant(cls) expects `cls` to have a non-default `__hash__` implementation.")
    register_pytree_node(
        cls,
        lambda value: ([], ConstantNode(value)),
        lambda _, context: context.value,
        flatten_with_keys_fn=lambda value: ([], ConstantNode(value)),
    )
    CONSTANT_NODES.add(cls)


def is_constant_class(cls: type) -> bool:
    """Return whether a class was registered with ``register_constant``."""
    return isinstance(cls, type) and cls in CONSTANT_NODES


def deregister_pytree_node(cls: type) -> None:
    """Unregister a node type."""
    del SUPPORTED_NODES[cls]
    name = SUPPORTED_SERIALIZED_TYPES.pop(cls).serialized_type_name
    SERIALIZED_TYPE_TO_PYTHON_TYPE.pop(name, None)
    CONSTANT_NODES.discard(cls)


# Named tuples


def is_namedtuple_class(cls: object) -> bool:
    """Return whether a class is, or derives from, a ``namedtuple``."""
    fields = getattr(cls, "_fields", None) if isinstance(cls, type) and issubclass(cls, tuple) else None
    return (
        type(fields) is tuple and all(isinstance(name, str) for name in fields)
        and callable(getattr(cls, "_make", None)) and callable(getattr(cls, "_asdict", None))
    )  # fmt: skip


def is_namedtuple(obj: Any) -> bool:
    """Return whether an object is a namedtuple or a namedtuple class."""
    return is_namedtuple_class(obj if isinstance(obj, type) else type(obj))


def is_namedtuple_instance(obj: Any) -> bool:
    """Return whether an object is a namedtuple."""
    return is_namedtuple_class(type(obj))


def is_structseq_class(cls: type[Any]) -> bool:
    """Return whether a class is a struct sequence, such as ``time.struct_time`` and the types in ``torch.return_types``."""
    return (
        isinstance(cls, type) and cls.__bases__ == (tuple,)
        and all(isinstance(getattr(cls, name, None), int) for name in ("n_fields", "n_sequence_fields", "n_unnamed_fields"))
    )  # fmt: skip


def is_structseq(obj: Any) -> bool:
    """Return True for an instance of a struct sequence class, and for such a class."""
    return is_structseq_class(obj if isinstance(obj, type) else type(obj))


def is_structseq_instance(obj: Any) -> bool:
    """Return whether an object is a struct sequence."""
    return is_structseq_class(type(obj))


def node_type(tree: Any) -> Any:
    """Return the node type of a container; ``collections.namedtuple`` for every namedtuple."""
    kind = type(tree)
    return namedtuple if kind not in SUPPORTED_NODES and is_namedtuple_class(kind) else kind


# Built-in containers


def list_flatten(d: list[Any]) -> tuple[list[Any], Any]:
    """Return (children, None)."""
    return d, None


def tuple_flatten(d: tuple[Any, ...]) -> tuple[list[Any], Any]:
    """Return (children, None)."""
    return list(d), None


def list_unflatten(values: Iterable[Any], context: Any) -> list[Any]:
    """Return a list of the children."""
    return list(values)


def tuple_unflatten(values: Iterable[Any], context: Any) -> tuple[Any, ...]:
    """Return a tuple of the children."""
    return tuple(values)


def sequence_flatten_with_keys(d: Any) -> tuple[list[tuple[Any, Any]], Any]:
    """Return ((index key, child) pairs, None)."""
    return [(SequenceKey(place), item) for place, item in enumerate(d)], None


def dict_flatten(d: dict[Any, Any]) -> tuple[list[Any], Any]:
    """Return (values, keys)."""
    return list(d.values()), list(d)


def dict_flatten_with_keys(d: dict[Any, Any]) -> tuple[list[tuple[Any, Any]], Any]:
    """Return ((key, value) pairs, keys)."""
    return [(MappingKey(key), value) for key, value in d.items()], list(d)


def dict_unflatten(values: Iterable[Any], context: Sequence[Any]) -> dict[Any, Any]:
    """Return a dict of the keys in ``context`` and ``values``."""
    return dict(zip(context, values))


def ordereddict_unflatten(values: Iterable[Any], context: Sequence[str]) -> OrderedDict[Any, Any]:
    """Return an OrderedDict of the keys in ``context`` and ``values``."""
    return OrderedDict(zip(context, values))


def deque_flatten(d: deque[Any]) -> tuple[list[Any], Any]:
    """Return (children, maxlen)."""
    return list(d), d.maxlen


def deque_flatten_with_keys(d: deque[Any]) -> tuple[list[tuple[Any, Any]], Any]:
    """Return ((index key, child) pairs, maxlen)."""
    return sequence_flatten_with_keys(d)[0], d.maxlen


def deque_unflatten(values: Iterable[Any], context: int | None) -> deque[Any]:
    """Return a deque of the children with the maxlen in ``context``."""
    return deque(values, maxlen=context)


def defaultdict_flatten(d: defaultdict[Any, Any]) -> tuple[list[Any], Any]:
    """Return (values, [default_factory, keys])."""
    return list(d.values()), [d.default_factory, list(d)]


def defaultdict_flatten_with_keys(d: defaultdict[Any, Any]) -> tuple[list[tuple[Any, Any]], Any]:
    """Return ((key, value) pairs, [default_factory, keys])."""
    return dict_flatten_with_keys(d)[0], [d.default_factory, list(d)]


def defaultdict_unflatten(values: Iterable[Any], context: Sequence[Any]) -> defaultdict[Any, Any]:
    """Return a defaultdict with the factory and keys in ``context``."""
    factory, keys = context
    return defaultdict(factory, zip(keys, values))


def namedtuple_flatten(d: Any) -> tuple[list[Any], Any]:
    """Return (fields, class)."""
    return list(d), type(d)


def namedtuple_flatten_with_keys(d: Any) -> tuple[list[tuple[Any, Any]], Any]:
    """Return ((field name key, field) pairs, class)."""
    return [(GetAttrKey(name), item) for name, item in zip(d._fields, d)], type(d)


def namedtuple_unflatten(values: Iterable[Any], context: type[Any]) -> Any:
    """Return a namedtuple of class ``context``."""
    return context(*values)


def _defaultdict_to_json(context: Any) -> dict[str, Any]:
    factory, keys = context
    return {"default_factory_module": factory.__module__, "default_factory_name": factory.__qualname__, "dict_context": keys}


def _defaultdict_from_json(dumped: dict[str, Any]) -> list[type | list[str]]:
    module = importlib.import_module(dumped["default_factory_module"])
    return [getattr(module, dumped["default_factory_name"]), dumped["dict_context"]]


NAMEDTUPLE_NAMES: dict[type, str] = {}


def register_namedtuple(cls: type, *, serialized_type_name: str) -> None:
    """Register the serialized name of a namedtuple class."""
    NAMEDTUPLE_NAMES[cls] = serialized_type_name


def _namedtuple_to_json(context: type[Any]) -> str:
    if context not in NAMEDTUPLE_NAMES:
        raise NotImplementedError(
            f"Can't serialize TreeSpec of namedtuple class {context} because we didn't register a serializated_type_name. "
            "Please register using `_register_namedtuple`."
        )
    return NAMEDTUPLE_NAMES[context]


def _namedtuple_from_json(dumped: str) -> type:
    for cls, name in NAMEDTUPLE_NAMES.items():
        if name == dumped:
            return cls
    raise NotImplementedError(f"Can't deserialize TreeSpec of namedtuple class {dumped} because we couldn't find a serializated name.")


def _register_what_python_and_torch_have() -> None:
    plain: list[tuple[Any, Callable[..., Any], Callable[..., Any], Callable[..., Any], str]] = [
        (tuple, tuple_flatten, tuple_unflatten, sequence_flatten_with_keys, "builtins.tuple"),
        (list, list_flatten, list_unflatten, sequence_flatten_with_keys, "builtins.list"),
        (dict, dict_flatten, dict_unflatten, dict_flatten_with_keys, "builtins.dict"),
        (OrderedDict, dict_flatten, ordereddict_unflatten, dict_flatten_with_keys, "collections.OrderedDict"),
        (deque, deque_flatten, deque_unflatten, deque_flatten_with_keys, "collections.deque"),
        (Size, tuple_flatten, tuple_unflatten, sequence_flatten_with_keys, "torch.Size"),
    ]  # fmt: skip
    for cls, flatten, unflatten, with_keys, name in plain:
        register_pytree_node(cls, flatten, unflatten, serialized_type_name=name, flatten_with_keys_fn=with_keys)
    register_pytree_node(
        namedtuple, namedtuple_flatten, namedtuple_unflatten, serialized_type_name="collections.namedtuple",  # type: ignore[arg-type]
        to_dumpable_context=_namedtuple_to_json, from_dumpable_context=_namedtuple_from_json,
        flatten_with_keys_fn=namedtuple_flatten_with_keys,
    )  # fmt: skip
    register_pytree_node(
        defaultdict, defaultdict_flatten, defaultdict_unflatten, serialized_type_name="collections.defaultdict",
        to_dumpable_context=_defaultdict_to_json, from_dumpable_context=_defaultdict_from_json,
        flatten_with_keys_fn=defaultdict_flatten_with_keys,
    )  # fmt: skip
    for cls in vars(return_types).values():
        if is_structseq_class(cls):
            register_pytree_node(
                cls, tuple_flatten, lambda values, _, cls=cls: cls(list(values)), flatten_with_keys_fn=sequence_flatten_with_keys
            )


_register_what_python_and_torch_have()
BUILTIN_TYPES: frozenset[Hashable] = frozenset({tuple, list, dict, namedtuple, OrderedDict, defaultdict, deque})
