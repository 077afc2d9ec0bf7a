"""backward and grad: from roots to leaves through MindSpore's tape."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._backend import tape
from .._backend.cast import cast
from .._backend.raw import Raw
from .._backend.table import kernel
from .._core import sparse_parts
from .._core.tensor_base import TensorBase, is_leaf, is_tracked, value_of, wrap
from . import graph
from .anomaly_mode import check as check_anomaly

_ones = kernel("ones_like")


class _Checkpoints:
    """Whether the backward that is going on accumulates into all leaves: what ``torch.utils.checkpoint`` may rely on."""

    valid = True


checkpoints = _Checkpoints()


def _as_tuple(value: Any) -> tuple[Any, ...]:
    if value is None:
        return ()
    return (value,) if isinstance(value, TensorBase) else tuple(value)


def _root_gradients(roots: Sequence[Any], gradients: Sequence[Any]) -> list[Raw]:
    if len(gradients) != len(roots):
        raise RuntimeError(f"got {len(roots)} tensors and {len(gradients)} gradients")
    raws = []
    for root, gradient in zip(roots, gradients):
        if gradient is None:
            if not is_tracked(root):
                raw = value_of(root)
            elif value_of(root).size != 1:
                raise RuntimeError("grad can be implicitly created only for scalar outputs")
            raws.append(_ones[root._dtype.name](value_of(root)))
            continue
        if not isinstance(gradient, TensorBase):
            raise TypeError(f"gradients can be either Tensors or None, but got {type(gradient).__name__}")
        if gradient.shape != root.shape:
            raise RuntimeError(
                f"Mismatch in shape: grad_output[{len(raws)}] has a shape of {gradient.shape} and output[{len(raws)}] has a "
                f"shape of {root.shape}."
            )
        raw = value_of(gradient)
        raws.append(raw if gradient._dtype is root._dtype else cast(raw, root._dtype.name))
    return raws


def _check_roots(roots: Sequence[Any]) -> None:
    for number, root in enumerate(roots):
        if not is_tracked(root):
            raise RuntimeError(f"element {number} of tensors does not require grad and does not have a grad_fn")


def _run(
    roots: Sequence[Any], gradients: Sequence[Raw], inputs: Sequence[Any], keep: bool, create: bool
) -> list[Raw | None]:
    """Gradients of leaf inputs. A root that is itself a leaf gives its own gradient through."""
    raws: list[Raw | None] = [None] * len(inputs)
    recorded = [(root, gradient) for root, gradient in zip(roots, gradients) if not is_leaf(root)]
    if recorded and inputs:  # without leaves alive there is nobody to get a gradient
        raws = list(
            tape.run_backward(
                [value_of(root) for root, _ in recorded], [gradient for _, gradient in recorded],
                [value_of(leaf) for leaf in inputs], keep, create,
            )
        )  # fmt: skip
    for root, gradient in zip(roots, gradients):
        if is_leaf(root):
            for position, leaf in enumerate(inputs):
                if leaf is root:
                    raws[position] = gradient if raws[position] is None else raws[position] + gradient
    return raws


def backward(
    tensors: Any, grad_tensors: Any = None, retain_graph: bool | None = None, create_graph: bool = False,
    grad_variables: Any = None, inputs: Any = None,
) -> None:  # fmt: skip
    """Accumulate the gradients of ``tensors`` into the leaves that they depend on (or into ``inputs`` only)."""
    roots = _as_tuple(tensors)
    if inputs is not None and not isinstance(inputs, TensorBase) and len(inputs) == 0:
        raise RuntimeError("`inputs` argument to `backward()` cannot be empty.")
    gradients = _as_tuple(grad_tensors) or (None,) * len(roots)
    keep = create_graph if retain_graph is None else retain_graph
    _check_roots(roots)
    tape.refuse_in_trace("gradients are computed")
    raws = _root_gradients(roots, gradients)
    wanted = _as_tuple(inputs)
    for tensor in wanted:
        if not is_tracked(tensor):
            raise RuntimeError("One of the differentiated Tensors does not require grad")
    inner = [tensor for tensor in wanted if not is_leaf(tensor)]
    leaves = graph.leaves() if not wanted or inner else list(wanted)
    caught = _catch(inner)
    outer, checkpoints.valid = checkpoints.valid, inputs is None
    try:
        found = _run(roots, raws, leaves, keep, create_graph)
    finally:
        checkpoints.valid = outer
        _release(caught)
    check_anomaly(found)
    before = tape.grad_mode.enabled
    tape.set_grad_enabled(create_graph)
    try:
        if sparse_parts.any_left():
            found = _with_rows(leaves, found, wanted)
        for leaf, gradient in zip(leaves, found):
            if gradient is not None and (not wanted or any(leaf is tensor for tensor in wanted)):
                graph.accumulate(leaf, graph.run_leaf_hooks(leaf, gradient))
                for hook in list(leaf.__dict__.get("_post_hooks", {}).values()):
                    hook(leaf)
        for tensor, (_, grads) in zip(inner, caught):
            for gradient in grads:
                graph.accumulate(tensor, gradient)
    finally:
        tape.set_grad_enabled(before)


def _with_rows(leaves: Sequence[Any], found: Sequence[Raw | None], wanted: Sequence[Any]) -> list[Raw | None]:
    """Accumulate the gradients with sparse parts; the dense ones that are left."""
    from .._sparse.gradients import sparse_rows

    rest: list[Raw | None] = []
    for leaf, gradient in zip(leaves, found):
        whole = sparse_rows(leaf, gradient)
        if whole is not None and (not wanted or any(leaf is tensor for tensor in wanted)):
            graph.accumulate_tensor(leaf, graph.hooked_tensor(leaf, whole))
            for hook in list(leaf.__dict__.get("_post_hooks", {}).values()):
                hook(leaf)
        rest.append(gradient if whole is None else None)
    sparse_parts.forget()
    return rest


def _catch(tensors: Sequence[Any]) -> list[tuple[Any, list[Raw]]]:
    """Hooks that keep the gradients of non-leaves."""
    caught = []
    for tensor in tensors:
        kept: list[Raw] = []
        handle = tape.register_hook(value_of(tensor), lambda gradient, kept=kept: kept.append(gradient))
        caught.append((handle, kept))
    return caught


def _release(caught: Sequence[tuple[Any, list[Raw]]]) -> None:
    for handle, _ in caught:
        handle.remove()


def _batched(
    roots: tuple[Any, ...], inputs: tuple[Any, ...], gradients: tuple[Any, ...], keep: bool | None, create: bool,
    allow_unused: bool | None, materialize: bool,
) -> tuple[Any, ...]:  # fmt: skip
    """The gradients for each entry along the first dimension of ``gradients``, stacked."""
    from .._ops.join import stack

    if not gradients or any(gradient is None for gradient in gradients):
        raise RuntimeError("grad can be implicitly created only for scalar outputs")
    for gradient, root in zip(gradients, roots):
        if gradient.shape[1:] != root.shape:
            raise RuntimeError(
                "If `is_grads_batched=True`, we interpret the first dimension of each grad_output as the batch dimension. The "
                "sizes of the remaining dimensions are expected to match the shape of corresponding output, but a mismatch was "
                f"detected: grad_output[0] has a shape of {gradient.shape[1:]} and output[0] has a shape of {root.shape}. If you "
                "only want some tensors in `grad_output` to be considered batched, consider using vmap."
            )
    count = gradients[0].shape[0]
    last = create if keep is None else keep
    rows = [
        grad(
            roots, inputs, tuple(gradient[i] for gradient in gradients), last or i < count - 1, create,
            allow_unused=allow_unused, materialize_grads=materialize,
        )
        for i in range(count)
    ]  # fmt: skip
    return tuple(None if column[0] is None else stack(column) for column in zip(*rows))


def grad(
    outputs: Any, inputs: Any, grad_outputs: Any = None, retain_graph: bool | None = None, create_graph: bool = False,
    only_inputs: bool = True, allow_unused: bool | None = None, is_grads_batched: bool = False, materialize_grads: bool = False,
) -> tuple[Any, ...]:  # fmt: skip
    """The gradients of ``outputs`` with respect to ``inputs``, as a tuple; no ``.grad`` is touched."""
    if materialize_grads and allow_unused is False:
        raise ValueError("Expected allow_unused to be True or not passed when materialize_grads=True, but got: allow_unused=False.")
    roots, wanted = _as_tuple(outputs), _as_tuple(inputs)
    if is_grads_batched:
        return _batched(roots, wanted, _as_tuple(grad_outputs), retain_graph, create_graph, allow_unused, materialize_grads)
    gradients = _as_tuple(grad_outputs) or (None,) * len(roots)
    keep = create_graph if retain_graph is None else retain_graph
    _check_roots(roots)
    tape.refuse_in_trace("gradients are computed")
    raws = _root_gradients(roots, gradients)
    for tensor in wanted:
        if not is_tracked(tensor):
            raise RuntimeError("One of the differentiated Tensors does not require grad")
    leaves = [tensor for tensor in wanted if is_leaf(tensor)]
    inner = [tensor for tensor in wanted if not is_leaf(tensor)]
    caught = _catch(inner)
    # Where inputs are not leaves, the engine still needs ends to run to.
    ends = graph.leaves() if inner else leaves
    outer, checkpoints.valid = checkpoints.valid, False
    try:
        found = _run(roots, raws, ends, keep, create_graph)
    finally:
        checkpoints.valid = outer
        _release(caught)
    results: list[Any] = []
    inner_results = iter(caught)
    for tensor in wanted:
        if is_leaf(tensor):
            position = next(i for i, end in enumerate(ends) if end is tensor)
            raw = found[position]
            if sparse_parts.any_left():
                from .._sparse.gradients import sparse_rows

                whole = sparse_rows(tensor, raw)
                if whole is not None:
                    results.append(graph.hooked_tensor(tensor, whole))
                    continue
            if raw is not None:
                raw = graph.run_leaf_hooks(tensor, raw)
        else:
            _, kept = next(inner_results)
            raw = kept[-1] if kept else None
            for root, gradient in zip(roots, raws):
                if root is tensor and not kept:
                    raw = gradient
        check_anomaly((raw,))
        results.append(None if raw is None else wrap(raw, create_graph and tape.is_recorded(raw)))
    sparse_parts.forget()
    if any(result is None for result in results):
        if materialize_grads:
            from .._ops.creation import zeros_like

            return tuple(zeros_like(t) if r is None else r for t, r in zip(wanted, results))
        if not allow_unused:
            position = next(i for i, result in enumerate(results) if result is None)
            raise RuntimeError(
                f"The differentiated Tensor at index {position} appears to not have been used in the graph. Set "
                "allow_unused=True if this is the desired behavior."
            )
    return tuple(results)
