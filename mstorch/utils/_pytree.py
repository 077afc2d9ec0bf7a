"""torch.utils._pytree: nested containers, flattened to leaves and a TreeSpec."""
from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ._trees.keys import GetAttrKey, MappingKey, SequenceKey, key_get, keystr
from ._trees.kinds import (
    BUILTIN_TYPES,
    CONSTANT_NODES,
    NO_SERIALIZED_TYPE_NAME_FOUND,
    SERIALIZED_TYPE_TO_PYTHON_TYPE,
    STANDARD_DICT_TYPES,
    SUPPORTED_NODES,
    SUPPORTED_SERIALIZED_TYPES,
    ConstantNode,
    NodeDef,
    is_constant_class,
    is_namedtuple,
    is_namedtuple_class,
    is_namedtuple_instance,
    is_structseq,
    is_structseq_class,
    is_structseq_instance,
    register_constant,
    register_dataclass,
    register_pytree_node,
    sequence_flatten_with_keys,
)  # fmt: skip
from ._trees.kinds import defaultdict_flatten as _defaultdict_flatten
from ._trees.kinds import defaultdict_flatten_with_keys as _defaultdict_flatten_with_keys
from ._trees.kinds import defaultdict_unflatten as _defaultdict_unflatten
from ._trees.kinds import deque_flatten as _deque_flatten
from ._trees.kinds import deque_flatten_with_keys as _deque_flatten_with_keys
from ._trees.kinds import deque_unflatten as _deque_unflatten
from ._trees.kinds import deregister_pytree_node as _deregister_pytree_node
from ._trees.kinds import dict_flatten as _dict_flatten
from ._trees.kinds import dict_flatten_with_keys as _dict_flatten_with_keys
from ._trees.kinds import dict_unflatten as _dict_unflatten
from ._trees.kinds import is_namedtuple_instance as _is_namedtuple_instance
from ._trees.kinds import list_flatten as _list_flatten
from ._trees.kinds import list_unflatten as _list_unflatten
from ._trees.kinds import namedtuple_flatten as _namedtuple_flatten
from ._trees.kinds import namedtuple_flatten_with_keys as _namedtuple_flatten_with_keys
from ._trees.kinds import namedtuple_unflatten as _namedtuple_unflatten
from ._trees.kinds import node_type as _get_node_type
from ._trees.kinds import ordereddict_unflatten as _ordereddict_unflatten
from ._trees.kinds import register_namedtuple as _register_namedtuple
from ._trees.kinds import tuple_flatten as _tuple_flatten
from ._trees.kinds import tuple_unflatten as _tuple_unflatten
from ._trees.spec import LeafSpec, TreeSpec
from ._trees.text import (
    DEFAULT_TREESPEC_SERIALIZATION_PROTOCOL,
    EnumEncoder,
    enum_object_hook,
    treespec_dumps,
    treespec_loads,
    treespec_pprint,
)  # fmt: skip
from ._trees.walks import (
    arg_tree_leaves,
    map_only,
    tree_all,
    tree_all_only,
    tree_any,
    tree_any_only,
    tree_flatten,
    tree_flatten_with_path,
    tree_is_leaf,
    tree_iter,
    tree_leaves,
    tree_leaves_with_path,
    tree_map,
    tree_map_,
    tree_map_only,
    tree_map_only_,
    tree_map_with_path,
    tree_structure,
    tree_unflatten,
)  # fmt: skip
from ._trees.walks import broadcast_to_and_flatten as _broadcast_to_and_flatten
from ._trees.walks import is_constant_holder as _is_constant_holder
from ._trees.walks import tree_is_leaf as _is_leaf

Context = Any
PyTree = Any
FlattenFn = FlattenFunc = Callable[[PyTree], tuple[list[Any], Context]]
UnflattenFn = UnflattenFunc = Callable[[Iterable[Any], Context], PyTree]
DumpableContext = Any
ToDumpableContextFn = Callable[[Context], DumpableContext]
FromDumpableContextFn = Callable[[DumpableContext], Context]
KeyEntry = Any
KeyPath = tuple[KeyEntry, ...]
FlattenWithKeysFn = FlattenWithKeysFunc = Callable[[PyTree], tuple[list[tuple[KeyEntry, Any]], Any]]
PyTreeSpec = TreeSpec
_list_flatten_with_keys = _tuple_flatten_with_keys = sequence_flatten_with_keys
_odict_flatten = _ordereddict_flatten = _dict_flatten
_ordereddict_flatten_with_keys = _dict_flatten_with_keys
_odict_unflatten = _ordereddict_unflatten
_private_register_pytree_node = _register_pytree_node = register_pytree_node


def treespec_leaf() -> TreeSpec:
    """Return the TreeSpec of a leaf."""
    return LeafSpec()


def treespec_tuple(iterable: Iterable[TreeSpec] = (), /) -> TreeSpec:
    """Return the TreeSpec of a tuple, given those of its items."""
    return TreeSpec(tuple, None, list(iterable))


def treespec_dict(mapping: Mapping[Any, TreeSpec] | Iterable[tuple[Any, TreeSpec]] = (), /, **kwargs: TreeSpec) -> TreeSpec:
    """Return the TreeSpec of a dict, given those of its values."""
    items = dict(mapping, **kwargs)
    return TreeSpec(dict, list(items), list(items.values()))


__all__ = [
    "BUILTIN_TYPES", "CONSTANT_NODES", "ConstantNode", "Context", "DEFAULT_TREESPEC_SERIALIZATION_PROTOCOL",
    "DumpableContext", "EnumEncoder", "FlattenFn", "FlattenFunc", "FlattenWithKeysFn", "FlattenWithKeysFunc",
    "FromDumpableContextFn", "GetAttrKey", "KeyEntry", "KeyPath", "LeafSpec", "MappingKey", "NO_SERIALIZED_TYPE_NAME_FOUND",
    "NodeDef", "PyTree", "PyTreeSpec", "SERIALIZED_TYPE_TO_PYTHON_TYPE", "STANDARD_DICT_TYPES", "SUPPORTED_NODES",
    "SUPPORTED_SERIALIZED_TYPES", "SequenceKey", "ToDumpableContextFn", "TreeSpec", "UnflattenFn", "UnflattenFunc",
    "_broadcast_to_and_flatten", "_defaultdict_flatten", "_defaultdict_flatten_with_keys", "_defaultdict_unflatten",
    "_deque_flatten", "_deque_flatten_with_keys", "_deque_unflatten", "_deregister_pytree_node", "_dict_flatten",
    "_dict_flatten_with_keys", "_dict_unflatten", "_get_node_type", "_is_constant_holder", "_is_leaf",
    "_is_namedtuple_instance", "_list_flatten", "_list_flatten_with_keys", "_list_unflatten", "_namedtuple_flatten",
    "_namedtuple_flatten_with_keys", "_namedtuple_unflatten", "_odict_flatten", "_odict_unflatten", "_ordereddict_flatten",
    "_ordereddict_flatten_with_keys", "_ordereddict_unflatten", "_private_register_pytree_node", "_register_namedtuple",
    "_register_pytree_node", "_tuple_flatten", "_tuple_flatten_with_keys", "_tuple_unflatten", "arg_tree_leaves",
    "enum_object_hook", "is_constant_class", "is_namedtuple", "is_namedtuple_class", "is_namedtuple_instance",
    "is_structseq", "is_structseq_class", "is_structseq_instance", "key_get", "keystr", "map_only", "register_constant",
    "register_dataclass", "register_pytree_node", "tree_all", "tree_all_only", "tree_any", "tree_any_only", "tree_flatten",
    "tree_flatten_with_path", "tree_is_leaf", "tree_iter", "tree_leaves", "tree_leaves_with_path", "tree_map", "tree_map_",
    "tree_map_only", "tree_map_only_", "tree_map_with_path", "tree_structure", "tree_unflatten", "treespec_dict",
    "treespec_dumps", "treespec_leaf", "treespec_loads", "treespec_pprint", "treespec_tuple",
]  # fmt: skip
