"""torch.library.opcheck: whether an operator does what its schema, its fake function and its gradient say."""
from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from .._src.core.above import above
from .._src.core.schemas import Schema
from .._src.core.size import Size
from .._subclasses.fake_tensor import MetadataMismatchError, UnsupportedOperatorException
from .._tensor import Tensor
from ..autograd.backward import grad as gradients_of
from ..ops import OpOverload
from ..utils._pytree import tree_leaves, tree_map
from . import registry
from .dynamic_sizes import supposing

_UNTRACKED = (
    "{}: at least one output of this operator has requires_grad=True but the operator does not have an autograd kernel defined at an "
    "autograd key (e.g. DispatchKey::Autograd). This could mean that its gradients are silently incorrect: register the kernel at the "
    "Autograd key, or as CompositeImplicitAutograd if the operator consists of regular operations."
)


_SIZES = (7, 11)  # what sizes that depend on values are supposed to be


class OpCheckError(Exception):
    """Error of an operator that did not pass a test of ``opcheck``."""


class _Call:
    """An operator, and arguments of which each run gets copies."""

    def __init__(self, op: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any], atol: float | None, rtol: float | None) -> None:
        self.op, self._args, self._kwargs = op, args, kwargs
        self.schema: Schema = op._known  # type: ignore[assignment]
        self.tolerances = {} if atol is None and rtol is None else {"atol": atol, "rtol": rtol}
        self.operator = registry.operators.get((self.schema.namespace, self.schema.name, self.schema.overload))

    def inputs(self, place: str | None = None) -> Any:
        """Return copies of the positional and the keyword arguments, on another device if ``place`` is given."""

        def copied(leaf: Any) -> Any:
            if not isinstance(leaf, Tensor):
                return leaf
            return (leaf.detach().clone() if place is None else leaf.detach().to(place)).requires_grad_(leaf.requires_grad)

        return tree_map(copied, (self._args, self._kwargs))

    def named(self, inputs: Any) -> Iterator[tuple[Any, Tensor]]:
        """Yield each tensor among the inputs with its parameter in the schema."""
        positional, named = self.schema.bind(*inputs)
        values = iter(positional)
        for argument in self.schema.arguments:
            value = named[argument.name] if argument.kwarg_only else next(values)
            yield from ((argument, leaf) for leaf in tree_leaves(value) if isinstance(leaf, Tensor))

    def refuse_without_fake(self) -> None:
        """Raise torch's error if a user-defined operator that gives results has no fake function."""
        key = (self.schema.namespace, self.schema.name, self.schema.overload)
        if self.operator is None or key in registry.FAKES or self.schema.returns in ("()", "") or self.operator.kernels.keys() & {
            "Meta", "META", "CompositeImplicitAutograd"
        }:
            return
        if not self.operator.is_custom:
            raise UnsupportedOperatorException(str(self.op))
        raise RuntimeError(
            f"There was no fake impl registered for <CustomOpDef({self.operator.title})>. This is necessary for torch.compile/export/fx "
            f"tracing to work. Please use `{self.schema.name}.register_fake` to add an fake impl."
        )


def _tensors(tree: Any) -> list[Tensor]:
    return [leaf for leaf in tree_leaves(tree) if isinstance(leaf, Tensor)]


def _schema(call: _Call) -> None:
    """Raise RuntimeError if arguments were written to, or share memory with results, though the schema does not say so."""
    inputs, before = call.inputs(), call.inputs()
    results = _tensors(call.op(*inputs[0], **inputs[1]))
    for (argument, tensor), (_, kept) in zip(call.named(inputs), call.named(before)):
        if not argument.is_write and not above.torch.allclose(tensor.detach(), kept.detach(), 0, 0, equal_nan=True):
            raise RuntimeError(f"Argument {argument.name} is not defined as mutable but was mutated")
        memory = tensor.untyped_storage().data_ptr()
        if not argument.alias and memory and any(result.untyped_storage().data_ptr() == memory for result in results):
            raise RuntimeError(f"Argument {argument.name} is not defined to alias output but was aliasing")


def _autograd_registration(call: _Call) -> None:
    """Raise AssertionError if kernels of a device are differentiated by the operations that they consist of."""
    operator = call.operator
    if operator is None or operator.is_custom or operator.backward is not None or any("Autograd" in key for key in operator.kernels):
        return
    inputs = call.inputs()
    if any(result.requires_grad for result in _tensors(call.op(*inputs[0], **inputs[1]))):
        raise AssertionError(_UNTRACKED.format(operator.title))


def _fake(call: _Call) -> None:
    """Raise MetadataMismatchError unless results without memory have the shapes, dtypes and strides of the real ones."""
    call.refuse_without_fake()
    real, shapes = call.inputs(), call.inputs("meta")
    head = f"When comparing the output of {call.op} on FakeTensor and concrete Tensors, found mismatched tensor metadata: "
    if call.schema.returns in ("()", ""):
        return
    results = _tensors(call.op(*real[0], **real[1]))
    # Sizes that depend on values differ between two suppositions: they are not compared, and strides are not where there are such sizes.
    fakes = [_tensors(supposing(size, lambda: call.op(*shapes[0], **shapes[1]))) for size in _SIZES]
    for one, other, further in zip(results, *fakes):
        open_sizes = [a != b for a, b in zip(other.shape, further.shape)]
        shape = other.shape
        if len(shape) == len(one.shape):
            shape = Size(a if is_open else b for a, b, is_open in zip(one.shape, shape, open_sizes))
        told = {"Shapes": (one.shape, shape), "Dtypes": (one.dtype, other.dtype)}
        if not any(open_sizes):
            told["Strides"] = one.stride(), other.stride()
        for what, (a, b) in told.items():
            if a != b:
                raise MetadataMismatchError(f"{head}{what} {a} and {b} are not equal!")


def _compiled(call: _Call) -> None:
    """Raise AssertionError unless results and gradients are the same in ``torch.compile``."""

    def outcome(run: Callable[..., Any]) -> list[Tensor]:
        inputs = call.inputs()
        results = _tensors(run(*inputs[0], **inputs[1]))
        leaves = [tensor for tensor in _tensors(inputs) if tensor.requires_grad]
        roots = [result for result in results if result.requires_grad]
        slopes = gradients_of([root.abs().sum() for root in roots], leaves, allow_unused=True) if roots and leaves else ()
        return [*results, *_tensors(inputs), *(slope for slope in slopes if slope is not None)]

    wanted = outcome(call.op)
    call.refuse_without_fake()
    found = outcome(above.torch.compile(lambda *args, **kwargs: call.op(*args, **kwargs)))
    above.torch.testing.assert_close(found, wanted, **call.tolerances)


TESTS = {"test_schema": _schema, "test_autograd_registration": _autograd_registration, "test_faketensor": _fake,
         "test_aot_dispatch_static": _compiled, "test_aot_dispatch_dynamic": _compiled}  # fmt: skip
USUAL = ("test_schema", "test_autograd_registration", "test_faketensor", "test_aot_dispatch_dynamic")


def checked(
    op: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any], names: Sequence[str], raise_exception: bool, atol: float | None,
    rtol: float | None
) -> dict[str, Any]:  # fmt: skip
    """Return "SUCCESS" or the error of each test by its name. Raise OpCheckError for the first error with ``raise_exception``."""
    if set(names) - TESTS.keys():
        raise ValueError(f"opcheck(op, ..., test_utils={names}), expected test_utils to be subset of {tuple(TESTS)} but it was not")
    call, found = _Call(op, args, kwargs, atol, rtol), {}
    for name in names:
        try:
            TESTS[name](call)
            found[name] = "SUCCESS"
        except Exception as error:
            if raise_exception:
                raise OpCheckError(f"opcheck(op, ...): {name} failed with {error} (scroll up for stack trace)") from error
            found[name] = error  # type: ignore[assignment]
    return found
