"""autograd.Function: operations with user-defined backward."""
from __future__ import annotations

import functools
import inspect
import weakref
from collections.abc import Sequence
from typing import Any

from .._src.backend import tape
from .._src.core.auto import MULTIPLE_OUTPUTS, OF_FUNCTION
from .._src.core.dtype import dtype
from .._src.core.formats import strided
from .._src.core.modes import capturing, modes
from .._src.core.nested_parts import nested_in
from .._src.core.overriding import FUNCTION_TRANSFORMS, MODES, state
from .._src.core.tangents import LEVELS, levels_of_all
from .._src.core.tensor_base import TensorBase, is_tracked
from .._src.core.warned import warn
from .._src.core.writable import check_history
from .._src.hook import missing as _missing
from .._src.ops.memory.creation import zeros
from .._src.tape.bare import bare_of, bare_twin, dressed
from .._src.tape.node import FREED, Node, edge_of, named
from .._src.tape.saved import SavedTensor, saved_tensor
from .._src.tape.saved_values import Saved
from .._src.tape.writes import settle
from .._tensor import Tensor
from ._context import FunctionCtx as FunctionCtx
from ._creation import is_watched, watched
from ._function_forward import push
from ._nested_function import apply as apply_to_nested
from ._once import once_differentiable as once_differentiable
from .grad_mode import no_grad


class _FunctionNode(Node):
    """The node of an ``autograd.Function``; attributes set on the context can be read from it."""

    __slots__ = ("ctx", "cls", "outputs", "likes")
    in_the_open = True

    def __repr__(self) -> str:
        return super().__repr__().replace("<", "<torch.autograd.function.", 1)

    ctx: Any
    cls: Any
    outputs: Any
    likes: Any

    def run(self, gradients: Sequence[Any], recorded: bool) -> Sequence[Any]:
        """Return the result of the function's ``backward``: one gradient for each argument of ``forward``."""
        full: list[Any] = []
        declared = self.ctx._output_grad_dtypes
        for position, like in enumerate(self.outputs):
            gradient = dressed(gradients[position]) if position < len(gradients) else None
            if gradient is None and like is not None and self.ctx.materialize_grads:
                gradient = zeros(like[0], dtype=like[1])
            elif declared is not None and gradient is not None and declared[position] not in (None, gradient._ms_dtype):
                gradient = gradient.to(declared[position])
            full.append(gradient)
        given = self.cls._mstorch_backward(self.ctx, *full)
        given = given if isinstance(given, tuple) else (given,)
        count = len(self.likes)
        if len(given) < count or any(item is not None for item in given[count:]):
            raise RuntimeError(
                f"function {self.name()} returned an incorrect number of gradients (expected {count}, got {len(given)})"
            )
        found: list[Any] = []
        for position, (gradient, like) in enumerate(zip(given, self.likes)):
            if like is None:
                if gradient is not None:
                    raise RuntimeError(
                        f"function {self.name()} returned a gradient different than None at position {position + 1}, but the "
                        "corresponding forward input was not a Variable"
                    )
                continue
            if gradient is None or self.edges[len(found)] is None:
                found.append(None)
                continue
            if not isinstance(gradient, TensorBase):
                raise RuntimeError(
                    f"expected Variable or None (got {type(gradient).__name__})"
                )
            if gradient.layout is not strided and any(gradient is other for other in given[:position]):
                gradient = gradient.clone()  # leaves keep a sparse gradient's parts, and each has its own
            found.append(bare_of(self._fitted(len(found), gradient, like), recorded))
        return found

    def _fitted(self, position: int, gradient: Any, like: tuple[Any, ...]) -> Any:
        shape, kind = like
        if gradient.layout is not strided or shape is None:
            return gradient
        if gradient._ms_shape != shape:
            try:
                gradient = gradient.sum_to_size(shape)
            except RuntimeError:
                raise RuntimeError(
                    f"Function {self.name()} returned an invalid gradient at index {position} - got {list(gradient._ms_shape)} but "
                    f"expected shape compatible with {list(shape)}"
                ) from None
        if gradient._ms_dtype is not kind:
            if gradient._ms_dtype.is_complex and not kind.is_complex:
                gradient = gradient.real
            gradient = gradient.to(kind)
        return gradient

    def release(self) -> None:
        """Release the saved tensors."""
        if self.ctx._saved:
            self.saved = None
            self.ctx._saved = []

    @property
    def _raw_saved_tensors(self) -> tuple[SavedTensor, ...]:
        if self.saved is None:
            raise RuntimeError(FREED)
        kept = self.ctx._saved
        return tuple(saved_tensor(self, kept, place) for place in range(len(kept)))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.ctx, name)


class _BackwardClass:
    """The class of a Function's nodes, created when it is first asked for; it names the Function as ``_forward_cls``."""

    def __get__(self, instance: Any, owner: type[Function]) -> type[Any]:
        found = owner.__dict__.get("_ms_backward_cls")
        if found is None:
            found = type(f"{owner.__name__}Backward", (_FunctionNode,), {
                "label": f"{owner.__name__}Backward", "__slots__": (), "_forward_cls": owner,
            })  # fmt: skip
            owner._ms_backward_cls = found  # type: ignore[attr-defined]
        return found


class Function:
    """The base of operations with user-defined backward.

    A subclass has static methods ``forward(ctx, *args)`` (or ``forward(*args)`` and ``setup_context(ctx, inputs, output)``) and
    ``backward(ctx, *grad_outputs)``, which returns one gradient, or None, for each argument. Call ``apply``.
    """

    generate_vmap_rule = False
    # In torch a Function is a context too, and documentation names these as its methods; a context's are called.
    mark_dirty, mark_non_differentiable = FunctionCtx.mark_dirty, FunctionCtx.mark_non_differentiable
    save_for_backward, save_for_forward = FunctionCtx.save_for_backward, FunctionCtx.save_for_forward
    set_materialize_grads = FunctionCtx.set_materialize_grads
    _backward_cls: Any = _BackwardClass()

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        warn(
            f"{type(self)} should not be instantiated. Methods on autograd functions are all static, so you should invoke them "
            "on the class itself. Instantiating an autograd function will raise an error in a future version of PyTorch.",
            DeprecationWarning,
        )  # fmt: skip

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Raise RuntimeError: use ``apply``."""
        raise RuntimeError(
            "Legacy autograd function with non-static forward method is deprecated. Please use new-style autograd function with "
            "static forward method. (Example: https://pytorch.org/docs/stable/autograd.html#torch.autograd.Function)"
        )

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """Compute the result; defined by each subclass."""
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> Any:
        """Save tensors and values for backward; called if ``forward`` takes no ``ctx``."""
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx: FunctionCtx, *grad_outputs: Any) -> Any:
        """Compute the gradients of the arguments; defined by each subclass."""
        raise NotImplementedError(
            "You must implement either the backward or vjp method for your custom autograd.Function to use it with backward "
            "mode AD."
        )

    @staticmethod
    def vjp(ctx: FunctionCtx, *grad_outputs: Any) -> Any:
        """Alias of ``backward``: a subclass defines one of them."""
        raise NotImplementedError(
            "You must implement either the backward or vjp method for your custom autograd.Function to use it with backward "
            "mode AD."
        )

    @staticmethod
    def jvp(ctx: FunctionCtx, *grad_inputs: Tensor) -> Any:
        """Compute the tangents of the results; defined by subclasses that support forward mode."""
        raise NotImplementedError(
            "You must implement the jvp function for custom autograd.Function to use it with forward mode AD."
        )

    @staticmethod
    def vmap(info: Any, in_dims: Any, *args: Any) -> Any:
        """Compute the results for a batch (``torch.vmap``), and return them with their batch dimensions."""
        raise NotImplementedError(
            "To use autograd.Function with vmap, you must either override the vmap staticmethod or set generate_vmap_rule=True."
        )

    @classmethod
    def _mstorch_backward(cls, ctx: Any, *gradients: Tensor | None) -> Any:
        if cls.vjp is not Function.vjp:
            if cls.backward is not Function.backward:
                raise RuntimeError(
                    "Implementing both 'backward' and 'vjp' for a custom Function is not allowed. You should only implement one of "
                    "them."
                )
            return cls.vjp(ctx, *gradients)
        return cls.backward(ctx, *gradients)

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Run ``forward`` on the arguments and make ``backward`` the gradient of its results."""
        if MODES and is_watched():
            return watched(functools.partial(cls.apply, *args, **kwargs), (args, kwargs))
        if state.maps or state.levels:
            transformed = _transformed(cls, args, kwargs)
            if transformed is not NotImplemented:
                return transformed
        apart = cls.setup_context is not Function.setup_context
        if apart or kwargs:
            args = _in_places(cls, args, kwargs, apart)
        if (state.levels or state.functional) and not apart:
            raise RuntimeError(
                "In order to use an autograd.Function with functorch transforms (vmap, grad, jvp, jacrev, ...), it must override the "
                "setup_context staticmethod. For more details, please see https://pytorch.org/docs/main/notes/extending.func.html"
            )
        if nested_in(*args):
            return apply_to_nested(cls, Function, args, apart)
        tensors = [argument if isinstance(argument, TensorBase) else None for argument in args]
        needs = tuple([tensor is not None and is_tracked(tensor) for tensor in tensors])
        ctx = FunctionCtx(needs)
        record = modes.grad and True in needs
        edges = _edges(tensors, needs) if record else []  # before ``forward``, which may write to the tensors
        levels = levels_of_all(tensors) if LEVELS else []
        forward, modes.forward = modes.forward, False  # operations inside have no tangents; the Function has its own ``jvp``
        try:
            with no_grad():
                if apart:
                    output = cls.forward(*args)
                    cls.setup_context(ctx, args, output)
                else:
                    output = cls.forward(ctx, *args)
        finally:
            modes.forward = forward
        if ctx._output_grad_dtypes is not None:
            _check_declared(ctx, output)
        if not record:
            output = _plain_output(_not_written(ctx, tensors), output)
        elif modes.native is not None:
            return _native_output(cls, output)
        else:
            output = _record(cls, ctx, tensors, edges, output)
        if levels:
            push(cls.jvp, ctx, levels, tensors, output)
        return output


def _transformed(cls: type[Function], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return what the first transform that is active makes of a call; NotImplemented if none takes it."""
    for transform in FUNCTION_TRANSFORMS:
        result = transform(cls, args, kwargs)
        if result is not NotImplemented:
            return result
    return NotImplemented


def _edges(tensors: list[Any], needs: tuple[bool, ...]) -> list[Any]:
    """Return the edge of each tensor, None for one that needs no gradient."""
    edges = []
    for tensor, needed in zip(tensors, needs):
        if tensor is not None:
            edges.append(edge_of(tensor) if needed else None)
    return edges


def _not_written(ctx: FunctionCtx, tensors: list[Any]) -> list[Any]:
    dirty = {id(tensor) for tensor in ctx._dirty}
    return [tensor for tensor in tensors if id(tensor) not in dirty] if dirty else tensors


def _in_places(cls: type[Function], args: tuple[Any, ...], kwargs: dict[str, Any], apart: bool) -> tuple[Any, ...]:
    """Return arguments with those given by name at the places that ``forward`` has for them, where their gradients have places too. Raise
    TypeError, as torch, for a name that is keyword-only or unknown, and for a gap before one that is given. A ``forward`` without ctx
    (``apart``) gets its defaults, too."""
    if apart:
        bound = inspect.signature(cls.forward).bind(*args, **kwargs)
        bound.apply_defaults()
        args, kwargs = bound.args, bound.kwargs
    if not kwargs:
        return args
    parameters = list(inspect.signature(cls.forward).parameters.values())[0 if apart else 1 :]
    names = [parameter.name for parameter in parameters if parameter.kind is parameter.POSITIONAL_OR_KEYWORD]
    for name in kwargs:
        if name not in names:
            raise TypeError(f"forward() got an unexpected keyword argument {name!r}")
        if name in names[: len(args)]:
            raise TypeError(f"forward() got multiple values for argument {name!r}")
    placed = list(args)
    for name in names[len(args) : 1 + max(map(names.index, kwargs))]:
        if name not in kwargs:
            raise TypeError(f"forward() missing required argument: {name!r} (position {len(placed)})")
        placed.append(kwargs[name])
    return tuple(placed)


def _plain_output(tensors: list[Any], output: Tensor) -> Any:
    """Return results that autograd does not track; a returned input becomes a new tensor over the same memory."""
    if isinstance(output, TensorBase):
        if modes.native is not None or output.layout is not strided:
            return output
        if any(output is tensor for tensor in tensors):
            return output.view_as(output) if modes.grad else bare_twin(output)
        if output._ms_auto is not None and output._ms_auto.base is not None:
            output._ms_auto.origin = OF_FUNCTION
        return output
    if type(output) is tuple:
        return tuple(_plain_output(tensors, item) for item in output)
    return output


def _native_output(cls: type[Function], output: Tensor) -> Any:
    """Raise RuntimeError: MindSpore cannot differentiate a Function whose forward ran with gradients disabled."""
    if capturing():
        tape.refuse_in_trace(f"{cls.__name__} has a backward of its own")
    raise RuntimeError(f"mstorch: MindSpore's own training cannot use {cls.__name__}, an autograd.Function")


def _like(tensor: Tensor) -> tuple[tuple[int, ...] | None, dtype | None]:
    """Return the shape and dtype that a tensor's gradient must match; (None, None) for a sparse tensor."""
    return (tensor._ms_shape, tensor._ms_dtype) if tensor.layout is strided else (None, None)


_VIEW_OF_SEVERAL = (
    "If your Function modifies inplace an input that is a view of another Tensor, your Function cannot return more than one Tensor. "
    "This is not supported by the current autograd engine. You should either make sure the input is not a view (using .clone() for "
    "example) or make your Function only return one Tensor (potentially splitting it into two Functions: one doing the inplace that "
    "returns a single Tensor and a second one that does the other operations). You can ask on the forum https://discuss.pytorch.org/ "
    "if you need help to do this change."
)


def _record(cls: type[Function], ctx: FunctionCtx, tensors: list[Any], edges: list[Any], output: Tensor) -> Any:
    single = not isinstance(output, tuple)
    outputs = [output] if single else list(output)
    kind = cls._backward_cls
    if state.levels:  # inside a transform torch records a Function of its own making in the place of this one
        kind = named(kind, f"{cls.__name__}GeneratedBackward")
    node: Any = kind(edges)
    node.ctx, node.cls = ctx, cls
    node.likes = [None if tensor is None else _like(tensor) for tensor in tensors]
    ctx._ms_node = weakref.ref(node)
    given = {id(tensor) for tensor in tensors if tensor is not None}
    dirty = _checked_dirty(ctx, given, outputs)
    replaced, shapes = _made_outputs(ctx, node, outputs, given, dirty)
    node.outputs = shapes
    if len(shapes) > 1:
        node.width = len(shapes)
    ctx._saved = [_kept(tensor, outputs, None if id(tensor) in given else replaced.get(id(tensor))) for tensor in ctx._to_save]
    ctx._to_save = ()
    node.saved = (True,)  # cleared by ``release``
    return outputs[0] if single else tuple(outputs)


def _check_declared(ctx: FunctionCtx, output: Any) -> None:
    """Raise RuntimeError for dtypes of gradients (``set_output_grad_dtype``) that do not fit the outputs."""
    outputs = output if isinstance(output, tuple) else (output,)
    declared = ctx._output_grad_dtypes or ()
    if len(declared) != len(outputs):
        raise RuntimeError(
            "set_output_grad_dtype expected the number of declarations to match the number of outputs: the Function returned "
            f"{len(outputs)} values but {len(declared)} declarations were provided"
        )
    plain = {id(tensor) for tensor in ctx._non_differentiable}
    for number, (kind, item) in enumerate(zip(declared, outputs)):
        if kind is None:
            continue
        if not isinstance(kind, dtype):
            raise RuntimeError(f"set_output_grad_dtype expects each declaration to be a torch.dtype or None, but got {type(kind).__name__}")
        if not isinstance(item, TensorBase) or id(item) in plain or item._ms_dtype.is_integral:
            raise RuntimeError(
                f"set_output_grad_dtype: got a concrete dtype for output {number}, but that output is not a differentiable tensor (it is a "
                f"non-tensor, was marked non-differentiable, or has a non-differentiable dtype). Pass None for output {number} instead."
            )


def _kept(tensor: Tensor, outputs: list[Any], number: int | None) -> Saved | None:
    """Return a tensor saved for backward; ``number`` is its output number if it is an output of the node itself."""
    if tensor is None:
        return None
    if number is None:
        return Saved(tensor)
    kept = Saved(outputs[number], True)
    kept.number = number
    return kept


def _checked_dirty(ctx: FunctionCtx, given: set[int], outputs: list[Any]) -> set[int]:
    """Return the ids of the tensors that were marked dirty. Warn if one is not an input; raise RuntimeError if one is not an output."""
    dirty = {id(tensor) for tensor in ctx._dirty}
    if dirty - given:
        words = (
            "ctx.mark_dirty() received a tensor that was not an input. Only input Tensors that have been mutated should be passed to "
            "ctx.mark_dirty()."
        )
        if any(id(tensor) not in given and tensor._is_view() for tensor in ctx._dirty):
            raise RuntimeError(words)
        warn(words, UserWarning)
    if not dirty <= {id(item) for item in outputs}:
        raise RuntimeError(
            "Some elements marked as dirty during the forward method were not returned as output. The inputs that are modified inplace "
            "must all be outputs of the Function."
        )
    return dirty


def _made_outputs(
    ctx: FunctionCtx, node: Node, outputs: list[Any], given: set[int], dirty: set[int]
) -> tuple[dict[int, int], list[Any]]:
    """Make the tensors that forward returned outputs of the node; return the outputs' numbers by id, and the outputs' shapes and dtypes."""
    plain = {id(tensor) for tensor in ctx._non_differentiable}
    replaced: dict[int, int] = {}
    shapes: list[Any] = []
    for position, item in enumerate(list(outputs)):
        if not isinstance(item, TensorBase):
            shapes.append(None)
            continue
        first = replaced.get(id(item))
        replaced[id(item)] = position
        if first is not None and id(item) not in dirty:  # one tensor returned twice stays one tensor
            outputs[position] = outputs[first]
            outputs[position]._ms_number = position
            shapes.append((item._ms_shape, item._ms_dtype))
            continue
        if id(item) in plain or item._ms_dtype.is_integral:
            shapes.append((item._ms_shape, item._ms_dtype) if ctx._materialize_non_diff_grads else None)
            if id(item) in given and id(item) not in dirty:
                outputs[position] = item.detach()
            continue
        if item.layout is not strided:
            shapes.append((item.shape, item._ms_dtype))
            if id(item) in given:
                item = outputs[position] = item.detach()
            item._made_by(node, position)
            continue
        shapes.append((item._ms_shape, item._ms_dtype))
        outputs[position] = made_by(item, node, position, id(item) in dirty, id(item) in given, len(outputs))
    return replaced, shapes


def made_by(item: Any, node: Node, position: int, dirty: bool, given: bool, count: int) -> Tensor:
    """Make ``item`` output number ``position`` of the node, and return it. The result is ``item`` if it was modified in place (``dirty``),
    a view of it if it is an input (``given``), an alias if it has a node or is a leaf, else ``item``."""
    if dirty:
        check_history(item)
        if item._ms_auto is not None and item._ms_auto.base is not None and count > 1:
            raise RuntimeError(_VIEW_OF_SEVERAL)
        stand_in = bare_twin(item)
        stand_in._ms_node, stand_in._ms_number = node, position
        settle(item, stand_in, node.name())
        return item
    if given:
        with no_grad():
            item = item.view_as(item)
    elif item._ms_node is not None or (item._ms_auto is not None and item._ms_auto.leaf):
        item = bare_twin(item)
    if item._ms_auto is not None and item._ms_auto.base is not None:
        item._ms_auto.origin = OF_FUNCTION if count == 1 else MULTIPLE_OUTPUTS
        item._ms_auto.seen = item._ms_counter.version
    else:
        item._ms_auto = None
    item._ms_node, item._ms_number = node, position
    return item


class InplaceFunction(Function):
    """The base class of old-style functions (without static methods) that may work in place."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace


class NestedIOFunction(Function):
    """The base class of old-style functions (without static methods) of nested inputs; as in torch, it can no longer be called."""

    def forward_extended(self, *input: Any) -> None:
        """Compute the result; defined by each subclass."""
        raise NotImplementedError

    def backward_extended(self, *grad_output: Any) -> None:
        """Compute the gradients; defined by each subclass."""
        raise NotImplementedError


BackwardCFunction = _FunctionNode  # torch's name of the nodes' base
_ContextMethodMixin = FunctionCtx  # and its older name of contexts


__getattr__ = _missing(__name__)
