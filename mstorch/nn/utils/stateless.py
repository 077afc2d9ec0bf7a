"""Calling modules with replaced parameters and buffers."""
from __future__ import annotations

from functools import partial
from typing import Any

from ..._src.core.warned import warn
from ..._src.leaving import Undo, each, item_again, undoing
from ..._tensor import Tensor
from ..modules.module import Module
from ..parallel import DataParallel
from ._named_member_accessor import NamedMemberAccessor

__all__ = ["functional_call"]


def _named_tensors(module: Module) -> dict[str, Any]:
    return {
        **dict(module.named_parameters(remove_duplicate=False)), **dict(module.named_buffers(remove_duplicate=False))
    }  # fmt: skip


def _untie_named_tensors_map(module: Module, parameters_and_buffers: dict[str, Any]) -> dict[str, Any]:
    """Return the given tensors, repeated under all other names under which the module has the same tensors."""
    names_of: dict[int, list[str]] = {}
    for name, tensor in _named_tensors(module).items():
        names_of.setdefault(id(tensor), []).append(name)
    complete = dict(parameters_and_buffers)
    for names in names_of.values():
        chosen = [name for name in names if name in parameters_and_buffers]
        if not chosen or len(names) == 1:
            continue
        if len({id(parameters_and_buffers[name]) for name in chosen}) > 1:
            raise ValueError(
                f"functional_call got multiple values for keys {sorted(names)}, which are tied. Consider using "
                "tie_weights=False"
            )
        complete.update(dict.fromkeys(names, parameters_and_buffers[chosen[0]]))
    return complete


def _check_names(module: Module, given: dict[str, Any]) -> None:
    own = _named_tensors(module)
    lines = [
        f"{words} key(s): {', '.join(map(repr, names))}."
        for words, names in (
            ("Unexpected", sorted(given.keys() - own.keys())), ("Missing", sorted(own.keys() - given.keys()))
        )
        if names
    ]  # fmt: skip
    if lines:
        text = "\n\t".join(lines)
        raise RuntimeError(f"Error(s) in reparametrizing for {module._get_name()}:\n\t{text}")


@undoing
def _replaced(undo: Undo, module: Module, tensors: dict[str, Any], tie_weights: bool, strict: bool) -> None:
    """Context manager in which the module uses the given tensors."""
    complete = _untie_named_tensors_map(module, tensors) if tie_weights else dict(tensors)
    if strict:
        _check_names(module, complete)
    accessor = NamedMemberAccessor(module)
    for name, tensor in complete.items():
        home, last = accessor.home(name)
        members = next((members for members in (home._parameters, home._buffers) if last in members), vars(home))
        if members is not vars(home):
            undo[:0] = (item_again(members, last),)
        else:  # a tensor that is not a parameter or buffer, or a missing one: the assigned value may become either
            again = item_again(members, last)
            undo[:0] = (each(*(partial(others.pop, last, None) for others in (home._parameters, home._buffers)), again),)
        accessor.swap_tensor(name, tensor, allow_missing=True)


class _reparametrize_module:
    """Context manager in which the module uses the given tensors, by dotted name. At the end those that it has put in the place of one of
    them are in the dict. What was there before comes back in reverse order, with ``stack_weights`` or without."""

    def __init__(
        self, module: Module, parameters_and_buffers: dict[str, Any], tie_weights: bool = False, strict: bool = False,
        stack_weights: bool = False,
    ) -> None:  # fmt: skip
        self._module, self._tensors = module, parameters_and_buffers
        self._replaced = _replaced(module, parameters_and_buffers, tie_weights, strict)

    def __enter__(self) -> None:
        self._replaced.__enter__()

    def __exit__(self, *error: Any) -> None:
        try:
            accessor = NamedMemberAccessor(self._module)
            for name in self._tensors:
                home, last = accessor.home(name)
                self._tensors[name] = getattr(home, last, self._tensors[name])
        finally:
            self._replaced.__exit__(*error)


def _functional_call(
    module: Module, parameters_and_buffers: dict[str, Any], args: Any = None, kwargs: dict[str, Any] | None = None, *,
    tie_weights: bool = True, strict: bool = False,
) -> Any:  # fmt: skip
    """Return ``module(*args, **kwargs)`` with tensors replaced by dotted name."""
    if isinstance(module, DataParallel):
        raise RuntimeError("The stateless API can't be used with nn.DataParallel module")
    arguments = () if args is None else args if isinstance(args, tuple) else (args,)
    with _reparametrize_module(module, parameters_and_buffers, tie_weights, strict):
        return module(*arguments, **(kwargs or {}))


def functional_call(
    module: Module, parameters_and_buffers: dict[str, Any], args: Any | tuple[Any, ...] | None = None,
    kwargs: dict[str, Any] | None = None, *, tie_weights: bool = True, strict: bool = False,
) -> Tensor:  # fmt: skip
    """Return ``module(*args, **kwargs)`` with replaced tensors. Deprecated for torch.func's, with a FutureWarning, as in torch."""
    warn(
        "`torch.nn.utils.stateless.functional_call` is deprecated as of PyTorch 2.0 and will be removed in a future version of "
        "PyTorch. Please use `torch.func.functional_call` instead which is a drop-in replacement.",
        FutureWarning,
    )
    return _functional_call(module, parameters_and_buffers, args, kwargs, tie_weights=tie_weights, strict=strict)
