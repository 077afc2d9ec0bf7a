"""backward and grad: traversal of the autograd graph from roots to leaves."""
from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .._src.backend import tape
from .._src.backend.arrays import Array
from .._src.backend.device_memory import full
from .._src.core.above import above
from .._src.core.formats import sparse_bsc, sparse_bsr, sparse_coo, sparse_csc, sparse_csr
from .._src.core.modes import capturing, grad_set_to, modes
from .._src.core.nested_parts import kept, kept_gradients, like_nested, nested_in
from .._src.core.no_memory import tells_no_memory
from .._src.core.overriding import MODES, PLAIN, dispatches, for_maps, mode_is_on, overrides, state
from .._src.core.postponed import refuse_after_steps
from .._src.core.size import Size
from .._src.core.sparse_parts import is_sparse
from .._src.core.storage import NATIVE, DeviceMemory, Storage
from .._src.core.tangents import LEVELS
from .._src.core.tensor_base import (
    TensorBase,
    array_of,
    is_meta,
    is_tracked,
    laid_out,
    on_device,
    tensor_of,
    to_meta,
    value_of,
)
from .._src.core.warned import warn_once
from .._src.ops._dispatch import cast_tensor
from .._src.ops.shape.join import stack
from .._src.tape import engine
from .._src.tape.bare import bare, bare_of, dressed, repeats
from .._src.tape.node import edge_of, node_of
from .._src.tape.passes import running
from .._src.tape.windows import view_of_hidden
from .graph import GradientEdge, retain_grad

if TYPE_CHECKING:
    from .._tensor import Tensor


class _Checkpoints:
    """Tells ``torch.utils.checkpoint``, through ``valid``, whether the running backward accumulates into all leaves, as it requires."""

    @property
    def valid(self) -> bool:
        """True if every running backward accumulates into all leaves, or if none is running."""
        return all(running.accumulates)


checkpoints = _Checkpoints()


def _as_tuple(value: Any) -> tuple[Any, ...]:
    if value is None:
        return ()
    return (value,) if isinstance(value, (TensorBase, GradientEdge)) or hasattr(value, "__torch_function__") else tuple(value)


def _inputs(value: Any, name: str) -> tuple[Any, ...]:
    """Return the inputs of a gradient as a tuple: one, an iterable that may end after one pass, or the values of a dict. Raise TypeError or
    RuntimeError for anything else, and for none at all."""
    if isinstance(value, Mapping):
        if type(value) is not dict:
            raise TypeError(
                f"`inputs` argument to `{name}()` must be a dict, not {type(value).__name__}. Other Mapping types are not supported."
            )
        value = value.values()
    inputs = _as_tuple(value)
    if not inputs:
        raise RuntimeError(f"`inputs` argument to `{name}()` cannot be empty.")
    for one in inputs:
        if not isinstance(one, (TensorBase, GradientEdge)) and not hasattr(one, "__torch_function__"):
            raise RuntimeError(f"all inputs have to be Tensors or GradientEdges, but got {type(one).__name__}")
    return inputs


def _root_gradients(roots: Sequence[Any], gradients: Sequence[Any], recorded: bool) -> list[Any]:
    if len(gradients) != len(roots):
        raise RuntimeError(f"got {len(roots)} tensors and {len(gradients)} gradients")
    found: list[Any] = []
    for root, gradient in zip(roots, gradients):
        if gradient is None:
            if isinstance(root, GradientEdge):
                found.append(_ones_at(root, recorded))
                continue
            if is_tracked(root) and root.numel() != 1:
                raise RuntimeError("grad can be implicitly created only for scalar outputs")
            if root._ms_dtype.is_complex:
                raise RuntimeError(f"grad can be implicitly created only for real scalar outputs but got {root._ms_dtype}")
            if engine.is_watched() or type(root) not in PLAIN and dispatches(type(root)):
                found.append(engine.beginnings[0](root))
                continue
            if is_meta(root):
                ones = to_meta(root)
            elif root._ms_storage.__class__ in NATIVE:
                ones = on_device(full(root._ms_shape, 1, root._ms_dtype.name))
            else:
                ones = tensor_of(np.ones(root._ms_shape, root._ms_dtype.np))
            found.append(bare_of(ones, recorded))
            continue
        if not isinstance(gradient, TensorBase):
            raise TypeError(f"gradients can be either Tensors or None, but got {type(gradient).__name__}")
        shape, kind = _like_at(root)
        if shape is not None:
            if gradient.shape != shape:
                raise RuntimeError(
                    f"Mismatch in shape: grad_output[{len(found)}] has a shape of {gradient.shape} and output[{len(found)}] has a "
                    f"shape of {Size(shape)}."
                )
            if gradient._ms_dtype is not kind:
                if gradient._ms_dtype.is_complex and not kind.is_complex:
                    raise RuntimeError(
                        "For complex Tensors, both grad_output and output are required to have the same dtype. Mismatch in dtype: "
                        f"grad_output[{len(found)}] has a dtype of {gradient._ms_dtype} and output[{len(found)}] has a dtype of {kind}."
                    )
                gradient = cast_tensor(gradient, kind)
        layout = gradient._layout if is_sparse(gradient) else sparse_coo
        if layout is not sparse_coo and not isinstance(root, GradientEdge) and not is_sparse(root):
            words = "SparseCsr", "SparseCsc", "SparseBsr", "SparseBsc"
            word = words[(sparse_csr, sparse_csc, sparse_bsr, sparse_bsc).index(layout)]
            raise RuntimeError(f"invalid gradient at index {len(found)} - expected layout Strided but got {word}")
        found.append(gradient if LEVELS else bare_of(gradient, recorded))
    return found


def _plain_start(root: Tensor, gradient: Tensor | None) -> tuple[Any, Any] | None:
    """Return the edge and the gradient (an array) where backward starts, in the usual case: one plain tensor, and a gradient of its dtype,
    device and shape or None. Return None in any other case."""
    if root.__class__ not in PLAIN or not isinstance(root, TensorBase) or LEVELS or MODES or modes.native is not None:
        return None
    shape, kind, place = root._ms_shape, root._ms_dtype, root._ms_storage.__class__
    if (place is not Storage and place is not DeviceMemory) or shape is None or not is_tracked(root):
        return None
    edge = edge_of(root)
    if edge is None:  # a view of a leaf without a node
        return None
    if gradient is None:
        if not kind.is_floating_point or math.prod(shape) != 1:
            return None
        return edge, np.ones(shape, kind.np) if place is Storage else full(shape, 1, kind.name)
    if (
        gradient.__class__ not in PLAIN or not isinstance(gradient, TensorBase) or gradient._ms_storage.__class__ is not place
        or gradient._ms_dtype is not kind or gradient._ms_shape != shape
    ):  # fmt: skip
        return None
    return edge, array_of(gradient) if place is Storage else value_of(gradient)


def from_one(root: Any, gradient: Any, retain_graph: bool | None) -> bool:
    """Run a backward from one plain tensor and return True; return False in any other case."""
    start = None if state.maps else _plain_start(root, gradient)
    if start is None:
        return False
    engine.run((start,), bool(retain_graph), False)
    return True


above.backward_from_one = from_one


def _like_at(root: Tensor | GradientEdge) -> tuple[Any, Any]:
    """Return the shape and dtype of a root; (None, None) for an edge whose node has not recorded them."""
    if isinstance(root, GradientEdge):
        return (root.node.likes_of or {}).get(root.output_nr, (None, None))
    return root.shape, root._ms_dtype


def _ones_at(edge: GradientEdge, recorded: bool) -> Array:
    """Return a gradient of ones for an edge of a one-element output."""
    shape, kind = _like_at(edge)
    if shape is None:
        raise RuntimeError("mstorch: a gradient is needed for an edge that get_gradient_edge did not make")
    if math.prod(shape) != 1:
        raise RuntimeError("grad can be implicitly created only for scalar outputs")
    ones = tensor_of(np.ones(shape, kind.np))
    return ones if recorded else bare(ones)


def _check_roots(roots: Sequence[Any]) -> None:
    if any(root.__class__ in (str, int, float, type(None)) for root in roots):
        raise AssertionError("Expected output to be a torch.Tensor")


def _starts(roots: Sequence[Any], gradients: Sequence[Any], create_graph: bool) -> list[tuple[Any, Any]]:
    """Return the starting points of backward with their gradients."""
    _refuse_in_graph(create_graph)
    _check_roots(roots)
    with grad_set_to(create_graph):
        values = _root_gradients(roots, gradients or (None,) * len(roots), create_graph)
    return list(zip(_edges(roots), values))


def _edges(roots: Sequence[Any]) -> list[Any]:
    found: list[Any] = []
    for number, root in enumerate(roots):
        if isinstance(root, GradientEdge):
            found.append((root.node, root.output_nr))
            continue
        edge = _strided_edge(root) if is_tracked(root) else None
        if edge is None:
            raise RuntimeError(f"element {number} of tensors does not require grad and does not have a grad_fn")
        found.append(edge)
    return found


def _refuse_in_graph(create_graph: bool) -> None:
    if modes.native is not None and modes.native.steps and not create_graph:
        refuse_after_steps("gradients are computed")
        return
    if capturing():
        tape.refuse_in_trace("gradients are computed", "step")
    if modes.native is not None:
        raise RuntimeError("mstorch: backward() in the middle of a network that MindSpore trains; MindSpore computes the gradients")


@for_maps
@tells_no_memory
def backward(
    tensors: Any, grad_tensors: Any = None, retain_graph: bool | None = None, create_graph: bool = False,
    grad_variables: Any = None, inputs: Any = None,
) -> None:  # fmt: skip
    """Accumulate the gradients of ``tensors`` into the leaves that they depend on (or only into ``inputs``)."""
    inputs = None if inputs is None else _inputs(inputs, "backward")
    if nested_in(tensors, grad_tensors, inputs):
        tensors, grad_tensors, inputs = kept(tensors), kept_gradients(tensors, grad_tensors), kept(inputs)
    if inputs is None and not create_graph and from_one(tensors, grad_tensors, retain_graph):
        return
    roots = _as_tuple(tensors)
    if (any(map(overrides, roots)) or mode_is_on()) and above.torch.overrides.has_torch_function(roots):
        return above.torch.overrides.handle_torch_function(
            backward, roots, tensors, grad_tensors=grad_tensors, retain_graph=retain_graph, create_graph=create_graph, inputs=inputs
        )  # fmt: skip
    if create_graph:
        warn_once(
            "Using backward() with create_graph=True will create a reference cycle between the parameter and its gradient which can cause "
            "a memory leak. We recommend using autograd.grad when creating the graph to avoid this. If you have to use this function, "
            "make sure to reset the .grad fields of your parameters to None after use to break the cycle and avoid the leak."
        )
    keep = create_graph if retain_graph is None else retain_graph
    starts = _starts(roots, _as_tuple(grad_tensors), create_graph)
    if inputs is None:
        engine.run(starts, keep, create_graph)
        return
    only = []
    for tensor in inputs:
        if isinstance(tensor, GradientEdge):
            only.append(tensor.node)
            continue
        if not is_tracked(tensor):
            raise RuntimeError("One of the differentiated Tensors does not require grad")
        retain_grad(tensor)
        edge = edge_of(tensor)
        if edge is not None:
            only.append(edge[0])
    engine.run(starts, keep, create_graph, only=only)


def _end(tensor: Any) -> Any:
    """Return the edge at which the gradient of a tensor, or of an edge that stands for one, is wanted."""
    if isinstance(tensor, GradientEdge):
        return tensor.node, tensor.output_nr
    if not is_tracked(tensor):
        raise RuntimeError("One of the differentiated Tensors does not require grad")
    return _strided_edge(tensor)


def _fill_with_zeros(results: list[Any], missing: list[int], wanted: Any, create_graph: bool) -> None:
    if any(isinstance(wanted[place], GradientEdge) for place in missing):
        raise RuntimeError("materialize_grads cannot be used when the given input is a GradientEdge")
    for place in missing:
        like = wanted[place]
        results[place] = tensor_of(np.zeros(like._ms_shape, like._ms_dtype.np)).requires_grad_(create_graph)


@for_maps
@tells_no_memory
def grad(
    outputs: Any, inputs: Any, grad_outputs: Any = None, retain_graph: bool | None = None, create_graph: bool = False,
    only_inputs: bool = True, allow_unused: bool | None = None, is_grads_batched: bool = False, materialize_grads: bool = False,
) -> tuple[Tensor, ...]:  # fmt: skip
    """Return the gradients of ``outputs`` with respect to ``inputs`` as a tuple, or a dict if ``inputs`` is one; ``.grad`` is unchanged."""
    if type(inputs) is dict:
        gradients = grad(
            outputs, _inputs(inputs, "grad"), grad_outputs, retain_graph, create_graph, only_inputs, allow_unused, is_grads_batched,
            materialize_grads,
        )  # fmt: skip
        return dict(zip(inputs, gradients))  # type: ignore[return-value]  # callers know whether they passed a dict
    if nested_in(outputs, inputs, grad_outputs):
        gradients = grad(
            kept(outputs), kept(inputs), kept_gradients(outputs, grad_outputs), retain_graph, create_graph, only_inputs, allow_unused,
            is_grads_batched, materialize_grads,
        )  # fmt: skip
        return tuple(like_nested(tensor, gradient) for tensor, gradient in zip(_as_tuple(inputs), gradients))
    if materialize_grads and allow_unused is False:
        raise ValueError("Expected allow_unused to be True or not passed when materialize_grads=True, but got: allow_unused=False.")
    if outputs is None or inputs is None:
        raise TypeError("'NoneType' object is not iterable")
    roots = _as_tuple(outputs)
    _check_roots(roots)
    wanted = _inputs(inputs, "grad")
    if (any(map(overrides, (*roots, *wanted))) or mode_is_on()) and above.torch.overrides.has_torch_function((*roots, *wanted)):
        return above.torch.overrides.handle_torch_function(
            grad, (*roots, *wanted), roots, wanted, grad_outputs=grad_outputs, retain_graph=retain_graph, create_graph=create_graph,
            only_inputs=only_inputs, allow_unused=allow_unused, is_grads_batched=is_grads_batched, materialize_grads=materialize_grads,
        )  # fmt: skip
    if is_grads_batched:
        return _batched(roots, wanted, _as_tuple(grad_outputs), retain_graph, create_graph, allow_unused, materialize_grads)
    keep = create_graph if retain_graph is None else retain_graph
    starts = _starts(roots, _as_tuple(grad_outputs), create_graph)
    raw = engine.run(starts, keep, create_graph, list(map(_end, wanted)))
    with grad_set_to(create_graph):
        results = [_owned_gradient(gradient, starts) for gradient in raw]
    missing = [place for place, result in enumerate(results) if result is None]
    if missing and materialize_grads:
        _fill_with_zeros(results, missing, wanted, create_graph)
    elif missing and not allow_unused:
        raise RuntimeError(
            f"The differentiated Tensor at index {missing[0]} appears to not have been used in the graph. Set allow_unused=True if "
            "this is the desired behavior."
        )
    return tuple(results)


def _strided_edge(tensor: Tensor) -> Any:
    """Return a tensor's gradient edge. For a sparse tensor, reading ``_ms_shape`` raises SparseOperand, so that the sparse form of the
    function runs."""
    return edge_of(tensor) if tensor._ms_shape is not None else None


def _owned_gradient(gradient: Tensor | Array, starts: Sequence[tuple[Any, Any]]) -> Any:
    """Return a gradient as a tensor. It is copied if it shares memory with another result or with a given gradient, unless it is expanded.
    """
    if gradient is None or isinstance(gradient, TensorBase):
        return gradient
    shared = isinstance(gradient, np.ndarray) and (gradient.base is not None or any(gradient is item for _, item in starts))
    if shared and not repeats(gradient):
        copy = np.array(gradient, order="K")  # in the memory order of the view that it passed through
        return laid_out(copy, None if copy.flags.c_contiguous else tuple(step // copy.itemsize for step in copy.strides))
    if shared and not gradient.flags.writeable:
        return view_of_hidden(dressed(gradient))
    made = dressed(gradient)
    if made._ms_storage.__class__ not in NATIVE:
        return made
    alone = made._ms_shape == (1,) and getattr(gradient, "_shown", None) is not None  # a single number, viewed as 1-d
    return view_of_hidden(made) if alone or (made._ms_stride is not None and 0 in made._ms_stride) else made


def _batched(
    roots: tuple[Any, ...], inputs: tuple[Any, ...], gradients: tuple[Any, ...], keep: bool | None, create: bool,
    allow_unused: bool | None, materialize: bool,
) -> tuple[Any, ...]:  # fmt: skip
    """Return the gradients for each slice of ``gradients`` along dimension 0, stacked."""
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


__all__ = ["backward", "checkpoints", "grad", "node_of"]
