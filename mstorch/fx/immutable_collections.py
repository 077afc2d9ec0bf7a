"""torch.fx.immutable_collections: immutable lists and dicts, for the arguments of nodes."""
from __future__ import annotations

from typing import Any, NoReturn

from ..utils._pytree import (
    _dict_flatten,
    _dict_flatten_with_keys,
    _list_flatten,
    register_pytree_node,
)
from ..utils._trees.kinds import sequence_flatten_with_keys


def _refuse(self: immutable_list, *args: Any, **kwargs: Any) -> NoReturn:
    raise TypeError(
        f"'{type(self).__name__}' object does not support mutation. If you are attempting to modify the kwargs or args of a "
        "torch.fx.Node object,\ninstead create a new copy of it and assign the copy to the node:\n\n"
        "    new_args = ... # copy and mutate args\n    node.args = new_args"
    )


class immutable_list(list):  # type: ignore[type-arg]
    """An immutable list."""

    append = extend = insert = pop = remove = clear = reverse = sort = _refuse
    __setitem__ = __delitem__ = __iadd__ = __imul__ = _refuse

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __reduce__(self) -> tuple[Any, ...]:
        return immutable_list, (tuple(self),)


class immutable_dict(dict):  # type: ignore[type-arg]
    """An immutable dict."""

    clear = pop = popitem = setdefault = update = _refuse
    __setitem__ = __delitem__ = __ior__ = _refuse

    def __hash__(self) -> int:
        return hash(frozenset(self.items()))

    def __reduce__(self) -> tuple[Any, ...]:
        return immutable_dict, (iter(tuple(self.items())),)


register_pytree_node(
    immutable_list, _list_flatten, lambda values, _: immutable_list(values),
    serialized_type_name="torch.fx.immutable_collections.immutable_list",
    flatten_with_keys_fn=sequence_flatten_with_keys,
)  # fmt: skip
register_pytree_node(
    immutable_dict, _dict_flatten, lambda values, keys: immutable_dict(zip(keys, values)),
    serialized_type_name="torch.fx.immutable_collections.immutable_dict", flatten_with_keys_fn=_dict_flatten_with_keys,
)  # fmt: skip

__all__ = ["immutable_dict", "immutable_list"]
