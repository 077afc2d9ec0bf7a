"""``local_map``: call a function on local shards with DTensor arguments."""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ...._src.core.trees import tree_flatten, tree_unflatten
from ...._tensor import Tensor
from ...device_mesh import DeviceMesh
from .._dtensor import DTensor


def local_map(
    func: Callable[..., Any] | None = None, out_placements: Any = None, in_placements: Any = None,
    in_grad_placements: Any = None,
    device_mesh: DeviceMesh | None = None, *, redistribute_inputs: bool = False,
) -> Callable[..., Any]:  # fmt: skip
    """Return ``func`` wrapped to run on the local shards of its DTensor arguments; its outputs become DTensors of ``out_placements``, one
    per output.

    ``in_placements`` has one entry per argument, None for a non-tensor. A DTensor with other placements is redistributed with
    ``redistribute_inputs``, else ValueError is raised. ``in_grad_placements`` gives the placements of the gradients, where they differ from
    the arguments'. Without a DTensor argument it just calls ``func``. Without ``func`` it is a decorator.
    """
    options = {
        "out_placements": out_placements, "in_placements": in_placements, "in_grad_placements": in_grad_placements,
        "device_mesh": device_mesh, "redistribute_inputs": redistribute_inputs,
    }  # fmt: skip
    if func is None:
        return functools.partial(local_map, **options)
    return functools.partial(_called, func, options)


def _called(func: Callable[..., Any], options: dict[str, Any], /, *args: Any, **kwargs: Any) -> Any:
    leaves, form = tree_flatten(args)
    wanted = options["in_placements"]
    if wanted is not None and len(wanted) != len(leaves):
        raise AssertionError(f"in_placements length {len(wanted)} does not match the number of input args {len(leaves)}!")
    mesh = options["device_mesh"]
    local = []
    for place, leaf in enumerate(leaves):
        if isinstance(leaf, DTensor):
            mesh = leaf.device_mesh if mesh is None else mesh
            leaf = _part(leaf, place, options)
        elif wanted is not None and not isinstance(leaf, Tensor) and wanted[place] is not None:
            raise AssertionError(f"Non-Tensor input {leaf} expects None placements but received {wanted[place]}!")
        local.append(leaf)
    found = func(*tree_unflatten(local, form), **kwargs)
    return _spread(found, options["out_placements"], mesh) if any(isinstance(leaf, DTensor) for leaf in leaves) else found


def _part(tensor: DTensor, place: int, options: dict[str, Any]) -> Any:
    """Return the local shard of an argument, with the requested placements."""
    if options["in_placements"] is not None:
        wanted = options["in_placements"][place]
        if wanted is None:
            raise AssertionError(f"DTensor input {tensor} expects placements but received {wanted}!")
        if tuple(tensor.placements) != tuple(wanted):
            if not options["redistribute_inputs"]:
                raise ValueError(
                    f"arg {tensor} in local_map has a mismatched placements: arg placements is {tensor.placements} but the input "
                    f"placements is {tuple(wanted)}! If redistribute_inputs is wanted, set redistribute_inputs=True to local_map."
                )
            tensor = tensor.redistribute(placements=tuple(wanted))
    if options["in_grad_placements"] is None:
        return tensor.to_local()
    wanted = options["in_grad_placements"][place]
    if wanted is None:
        raise AssertionError(f"DTensor input {tensor} expects in grad placements but received {wanted}!")
    return tensor.to_local(grad_placements=tuple(wanted))


def _spread(found: Any, placements: Any, mesh: Any) -> Any:
    """Return the results as DTensors."""
    leaves, form = tree_flatten(found)
    each = placements if isinstance(placements, tuple) else (placements,)
    if len(leaves) != len(each):
        raise AssertionError(
            f"local_map requires one PlacementType be provided for each output value, received {len(each)} out_placements but "
            f"{len(leaves)} is expected!"
        )
    made = []
    for leaf, wanted in zip(leaves, each):
        if isinstance(leaf, DTensor):
            raise AssertionError(f"torch.Tensor output expected but received {type(leaf)}: {leaf}")
        if not isinstance(leaf, Tensor):
            if wanted is not None:
                raise AssertionError(f"Non-tensor output {leaf} expects None placements but received {wanted}!")
            made.append(leaf)
        else:
            made.append(DTensor.from_local(leaf, mesh, wanted, run_check=False))
    return tree_unflatten(made, form)
