"""Empty operands, overlapping ``out=``, views whose storage is replaced, writes that are interrupted."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch as real_torch

import mstorch

Both = Callable[..., Any]

EMPTY_PRODUCTS: dict[str, tuple[tuple[int, ...], str, tuple[int, ...], str]] = {
    "batches of two dtypes": ((2, 1, 0), "int64", (2, 0, 3), "bool"),
    "batches of bool": ((2, 1, 0), "bool", (2, 0, 3), "bool"),
    "floats of two widths": ((2, 2, 0), "float32", (2, 0, 2), "float64"),
    "no rows": ((2, 0, 2), "float32", (2, 2, 0), "float64"),
    "no batches": ((0, 2, 2), "float32", (0, 2, 2), "float64"),
    "folded": ((2, 0, 2), "float32", (2, 2), "float64"),
    "folded bool": ((2, 0, 2), "bool", (2, 2), "bool"),
    "a matrix and a vector": ((0, 2), "float32", (2,), "float64"),
    "bool, a matrix and a vector": ((2, 0), "bool", (0,), "bool"),
    "batches and a vector": ((2, 0, 2), "float32", (2,), "float64"),
    "bool, batches and a vector": ((2, 0, 2), "bool", (2,), "bool"),
    "a vector and batches": ((2,), "float32", (2, 2, 0), "float64"),
    "full, two dtypes": ((2, 2, 2), "float32", (2, 2, 2), "float64"),
    "full, bool first": ((2, 2, 2), "bool", (2, 2, 2), "float32"),
    "full, bool and a vector": ((2, 2, 2), "bool", (2,), "bool"),
}


@pytest.mark.parametrize("name", EMPTY_PRODUCTS)
@pytest.mark.parametrize("tracked", [False, True])
def test_products_of_empty_tensors(both: Both, name: str, tracked: bool) -> None:
    shape, kind, other, other_kind = EMPTY_PRODUCTS[name]

    def body(torch: Any) -> Any:
        a = torch.ones(shape, dtype=getattr(torch, kind))
        b = torch.ones(other, dtype=getattr(torch, other_kind))
        return a @ (b.requires_grad_() if tracked and b.is_floating_point() else b)

    both(body)


TAKEN: dict[str, Callable[[Any, Any], Any]] = {
    "places beyond": lambda torch, t: t[..., torch.tensor([0, 2, -1])],
    "a list beyond": lambda torch, t: t[..., [5]],
    "rows beyond": lambda torch, t: t[torch.tensor([7])],
    "of nothing": lambda torch, t: t[:, torch.tensor([0])],
    "of nothing, two": lambda torch, t: t[torch.tensor([7]), torch.tensor([0])],
    "written beyond": lambda torch, t: t.__setitem__(torch.tensor([7]), 1),
    "written of nothing": lambda torch, t: t.__setitem__((slice(None), torch.tensor([7])), 1),
    "a number beyond": lambda torch, t: t[:, :, :, 5],
    "index_select": lambda torch, t: t.index_select(0, torch.tensor([7])),
    "columns": lambda torch, t: torch.ones(3, 2).index_select(1, torch.tensor([5])),
    "rows": lambda torch, t: torch.ones(3, 2).index_select(0, torch.tensor([5])),
    "the last of three": lambda torch, t: torch.ones(3, 2, 2).index_select(2, torch.tensor([5])),
}


@pytest.mark.parametrize("name", TAKEN)
def test_indices_into_empty_tensors(both: Both, name: str) -> None:
    both(lambda torch: TAKEN[name](torch, torch.ones(3, 0, 3, 2)))


OVER_A_PART = ("max", "min", "mode", "sort", "topk", "aminmax", "kthvalue", "logcumsumexp")


@pytest.mark.parametrize("name", OVER_A_PART)
def test_out_that_is_a_part_of_the_input(both: Both, name: str) -> None:
    def body(torch: Any) -> Any:
        t = ((torch.arange(24) * 5 % 11) * 0.25).reshape(2, 3, 4)
        part, places = t[1:], torch.zeros(0, dtype=torch.int64)
        if name == "aminmax":
            return torch.aminmax(t, dim=0, out=(part, torch.zeros(0)))
        if name == "logcumsumexp":
            return torch.logcumsumexp(t, 0, out=part)
        return getattr(torch, name)(*((t, 1, 0) if name in ("topk", "kthvalue") else (t, 0)), out=(part, places))

    both(body)


OUTS: dict[str, Callable[[Any], Any]] = {
    "sort of the transpose": lambda torch: _sorted_transpose(torch),
    "max of a view": lambda torch: _max_of_a_view(torch),
    "cat of what requires grad": lambda torch: torch.cat([torch.ones(2, requires_grad=True)], out=torch.arange(3)),
}


def _sorted_transpose(torch: Any) -> Any:
    t = torch.arange(6.0).reshape(3, 2)
    values, places = torch.sort(t.t(), out=(t, torch.zeros(0, dtype=torch.int64)))
    return values.shape, places.shape


def _max_of_a_view(torch: Any) -> Any:
    t = torch.zeros(())
    return torch.max(t.view(1, 1), 0, out=(t, torch.zeros(0, dtype=torch.int64)))


@pytest.mark.filterwarnings("ignore:An output with one or more elements was resized")
@pytest.mark.parametrize("name", OUTS)
def test_out_gets_its_size_first(both: Both, name: str) -> None:
    both(OUTS[name])


@pytest.mark.parametrize("source", ["leaf", "product", "plain"])
@pytest.mark.parametrize("target", ["plain", "product"])
def test_set_of_a_view_counts_for_its_base(both: Both, source: str, target: str) -> None:
    def body(torch: Any) -> Any:
        a, b = torch.ones(3), torch.ones(3)
        a = a.requires_grad_() * 1 if target == "product" else a
        b = b if source == "plain" else b.requires_grad_() if source == "leaf" else b.requires_grad_() * 2
        view = a[None]
        view.set_(b)
        part = a[1:]
        found = [a.requires_grad, a.is_leaf, a._version, view.requires_grad, view.is_leaf, view._base is a, part.requires_grad, view.detach()]
        a.sum().backward()
        return found

    both(body)


BROKEN_OFF: dict[str, Callable[[Any, Any], Any]] = {
    "whole": lambda torch, t: t.masked_scatter_(t > 0, torch.tensor([9.0])),
    "transposed": lambda torch, t: t.t().masked_scatter_(t.t() > 0, torch.tensor([9.0, 8.0])),
    "part": lambda torch, t: t[:, 1:].masked_scatter_(t[:, 1:] > 0, torch.tensor([9.0, 8.0])),
    "of itself": lambda torch, t: t.masked_scatter_(t >= 0, t[0]),
    "nothing": lambda torch, t: t.masked_scatter_(t > 0, torch.zeros(0)),
    "elsewhere": lambda torch, t: t.masked_scatter(t > 0, torch.zeros(1)),
}


@pytest.mark.parametrize("name", BROKEN_OFF)
def test_masked_scatter_of_too_few_elements_writes_nothing(name: str) -> None:
    """torch, which raises the same error, has written some elements by then."""
    for torch in (real_torch, mstorch):
        t = torch.arange(6.0).reshape(2, 3)
        with pytest.raises(RuntimeError, match="Number of elements of source < number of ones in mask"):
            BROKEN_OFF[name](torch, t)
    assert t.tolist() == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]


WITHOUT_DERIVATIVE = (lambda t: True % t, lambda t: 2.0 % t, lambda t: 2 // t)


@pytest.mark.parametrize("number", range(3))
def test_remainders_of_numbers_have_no_derivative(both: Both, number: int) -> None:
    def body(torch: Any) -> Any:
        found = WITHOUT_DERIVATIVE[number](torch.ones(3, requires_grad=True))
        shown = found.requires_grad, found.detach()
        found.sum().backward()
        return shown

    both(body)


@pytest.mark.parametrize("weight", [0.25, 0.75])
def test_lerp_by_a_number_keeps_nothing(both: Both, weight: float) -> None:
    def body(torch: Any) -> Any:
        a, b = torch.ones(3, requires_grad=True), torch.arange(3.0).requires_grad_()
        found = a.lerp(b, weight)
        found.sum().backward()
        found.sum().backward()
        return found, a.grad, b.grad

    both(body)


@pytest.mark.parametrize("exponent", [1, 2, 3])
def test_derivatives_of_powers_down_to_the_last(both: Both, exponent: int) -> None:
    def body(torch: Any) -> Any:
        x = torch.tensor([0.0, -1.5, 2.0], requires_grad=True)
        found, steps = x**exponent, []
        while found.requires_grad:
            (found,) = torch.autograd.grad(found.sum(), x, create_graph=True)
            steps.append((found, found.requires_grad))
        return steps

    both(body)


@pytest.mark.parametrize("how", ["base", "base in no_grad", "view"])
def test_kept_gradients_follow_a_view_that_is_looked_up_again(both: Both, how: str) -> None:
    def body(torch: Any) -> Any:
        x = torch.ones(2, requires_grad=True)
        base = x if how == "base in no_grad" else x * 1
        view = base[0:]
        view.retain_grad()
        if how == "base in no_grad":
            with torch.no_grad():
                base.mul_(2)
        else:
            (base if how == "base" else view).mul_(2)
        view.sum().backward()
        return view.grad, view.retains_grad, x.grad

    both(body)


EINSUMS = (
    ("ijk,ljk->ilk", (2, 1, 3), (5, 4, 3)), ("ijk,ijk->ik", (2, 1, 3), (1, 4, 3)), ("ij,jk", (3, 1), (4, 2)), ("ij,jk", (3, 4), (1, 2)),
    ("...j,...j->...", (3, 1), (2, 3, 4)), ("ij,ij->", (3, 1), (1, 4)), ("ij,ij->ji", (3, 1), (1, 4)), ("ij,ji->ji", (3, 4), (4, 3)),
)  # fmt: skip


@pytest.mark.parametrize("number", range(len(EINSUMS)))
def test_einsum_where_a_subscript_has_one_element(both: Both, number: int) -> None:
    equation, first, second = EINSUMS[number]

    def body(torch: Any) -> Any:
        torch.manual_seed(0)
        a, b = torch.randn(first, requires_grad=True), torch.randn(second, requires_grad=True)
        found = torch.einsum(equation, a, b)
        return found, [gradient.sum() for gradient in torch.autograd.grad((found**2).sum(), (a, b))]

    both(body, rtol=1e-4)


REFUSED: dict[str, Callable[[Any], Any]] = {
    "cdist": lambda torch: torch.cdist(torch.ones(2, 2).half(), torch.ones(2, 2).half()),
    "cdist of two": lambda torch: torch.cdist(torch.ones(2, 2), torch.ones(2, 2).half()),
    "cdist of complex": lambda torch: torch.cdist(torch.ones(2, 2, dtype=torch.complex64), torch.ones(2, 2, dtype=torch.complex64)),
    "pdist": lambda torch: torch.nn.functional.pdist(torch.ones(2, 2).bfloat16()),
    "trapezoid": lambda torch: torch.trapezoid(torch.ones(3, dtype=torch.bool)),
    "trapezoid over points": lambda torch: torch.trapezoid(torch.ones(3), torch.ones(3, dtype=torch.bool)),
    "cumulative": lambda torch: torch.cumulative_trapezoid(torch.ones(3, dtype=torch.bool)),
    "set_": lambda torch: torch.arange(3).set_(torch.ones(3)),
}


@pytest.mark.parametrize("name", REFUSED)
def test_dtypes_that_are_refused(both: Both, name: str) -> None:
    both(REFUSED[name])


TWICE: dict[str, Callable[[Any, Any], Any]] = {
    "index_add": lambda torch, x: x.index_add(0, torch.tensor([0]), torch.ones(1, 4)),
    "index_copy": lambda torch, x: x.index_copy(0, torch.tensor([0]), torch.ones(1, 4)),
    "scatter_add": lambda torch, x: x.scatter_add(0, torch.zeros(1, 4, dtype=torch.int64), torch.ones(1, 4)),
    "scatter": lambda torch, x: x.scatter(0, torch.zeros(1, 4, dtype=torch.int64), torch.ones(1, 4)),
    "index_put": lambda torch, x: x.index_put((torch.tensor([0]),), torch.ones(4), accumulate=True),
    "put": lambda torch, x: x.put(torch.tensor([0]), torch.ones(1), accumulate=True),
    "from a source": lambda torch, x: torch.ones(2, 4).index_add(0, torch.tensor([0, 0, 1]), x),
}


@pytest.mark.parametrize("name", TWICE)
def test_sums_into_a_tensor_keep_positions_for_their_sources(both: Both, name: str) -> None:
    """A second backward through the graph raises if something was saved."""

    def body(torch: Any) -> Any:
        x = torch.ones(3, 4, requires_grad=True)
        found = TWICE[name](torch, x)
        found.sum().backward()
        found.sum().backward()
        return x.grad

    both(body)


CONVERTED: tuple[tuple[int, ...], ...] = ((0, 2), (1,), (2, 0, 3), (3,), (1, 1))


@pytest.mark.parametrize("shape", CONVERTED)
def test_gradients_of_conversions_stay_expanded_where_they_have_one_element(both: Both, shape: tuple[int, ...]) -> None:
    def body(torch: Any) -> Any:
        x = torch.ones(shape, dtype=torch.float16, requires_grad=True)
        return torch.autograd.grad(x.float().sum(), x, create_graph=True)

    both(body)


def test_glu_keeps_the_order_of_memory(both: Both) -> None:
    def body(torch: Any) -> Any:
        torch.manual_seed(0)
        x = torch.randn(4, 3, 2, 4).permute(3, 1, 2, 0)
        return [torch.nn.functional.glu(x, dim) for dim in (0, 2, -1)]

    both(body)


OF_TWO = ("atan2", "logaddexp", "logaddexp2", "xlogy", "hypot", "copysign", "maximum", "fmod", "mul")


@pytest.mark.parametrize("name", OF_TWO)
def test_results_that_backward_needs_not_may_be_written(both: Both, name: str) -> None:
    def body(torch: Any) -> Any:
        x, y = torch.tensor([2.0, 1.0, 1.5], requires_grad=True), torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
        found = getattr(torch, name)(x, y)
        found.mul_(3)
        return torch.autograd.grad(found.sum(), (x, y), create_graph=True)

    both(body)


OF_ONE = ("erfc", "lgamma", "digamma", "i0", "special.ndtr", "special.entr", "special.log_ndtr")


@pytest.mark.parametrize("name", OF_ONE)
def test_results_of_special_functions_may_be_written(both: Both, name: str) -> None:
    def body(torch: Any) -> Any:
        x = torch.tensor([0.5, 0.25, 1.5], requires_grad=True)
        found = getattr(torch.special if name.startswith("special.") else torch, name.removeprefix("special."))(x)
        found.mul_(2)
        return torch.autograd.grad(found.sum(), x)

    both(body)


@pytest.mark.parametrize("key", [
    "(..., torch.tensor([3, 0]))", "[9]", "(0, [9])", "9", "(slice(None), [9])", "([0, 1], [0, 1, 2])", "(9, [0])",
])  # fmt: skip
@pytest.mark.parametrize("value", [0, 1j])
def test_a_leaf_is_refused_before_its_places(both: Both, key: str, value: Any) -> None:
    both(lambda torch: torch.ones(4, 3, 2).requires_grad_().__setitem__(eval(key, {"torch": torch}), value))


@pytest.mark.parametrize("shape", [(2, 3, 0), (1, 0), (2, 3), (0, 2)])
def test_extremes_into_their_input(both: Both, shape: tuple[int, ...]) -> None:
    def body(torch: Any) -> Any:
        t = torch.zeros(shape)
        return torch.max(t, t.dim() - 1 if shape[0] == 0 else 0, out=(t, torch.zeros(0, dtype=torch.int64)))

    both(body)


def test_a_storage_of_others_does_not_grow(both: Both) -> None:
    import numpy as np

    def body(torch: Any) -> Any:
        t = torch.from_numpy(np.arange(2.0))
        return t.set_(t.storage(), 0, (3,), (1,))

    both(body)


@pytest.mark.parametrize("change", ["unsqueeze_(0)", "squeeze_()", "transpose_(0, 1)", "as_strided_((1,), (1,))", "zero_()", "detach()"])
@pytest.mark.parametrize("made", ["unbind(1)", "chunk(2, 1)", "split(1, 1)"])
@pytest.mark.parametrize("asked", ["grad_fn.name()", "is_leaf", "requires_grad", "mul(2).requires_grad"])
def test_views_among_several_that_changed_unseen(both: Both, change: str, made: str, asked: str) -> None:
    def body(torch: Any) -> Any:
        view = eval(f"t.{made}[1]", {"t": torch.ones(3, 2, 1).requires_grad_() * 1})
        with torch.no_grad():
            eval(f"view.{change}", {"view": view})
        return eval(f"view.{asked}", {"view": view})

    both(body)


@pytest.mark.parametrize("name", ["hardtanh", "relu6"])
def test_strides_of_clamped_tensors(both: Both, name: str) -> None:
    def body(torch: Any) -> Any:
        inputs = (torch.zeros(0, 2, 3, 0)[:, 0, :, 0::1], torch.arange(3.0)[::3], torch.zeros(2, 2, 3, 4)[:, 0, :, ::2].transpose(0, 2))
        return [getattr(torch.nn.functional, name)(t) for t in inputs]

    both(body)


def test_what_is_written_altogether_leaves_zeros_as_gradients(both: Both) -> None:
    def body(torch: Any) -> Any:
        a, b = torch.ones(3, 3).requires_grad_(), torch.ones(3, 3).requires_grad_()
        t = a * 2
        t[:] = b
        t.backward(torch.ones_like(t))
        return a.grad, b.grad

    both(body)


NO_KINDS: list[Callable[[Any], Any]] = [
    lambda torch: torch.cross(torch.ones(3, 3, dtype=torch.int32), torch.ones(3, 3, dtype=torch.int64), torch.tensor(1)),
    lambda torch: torch.cross(torch.ones(2, 3), torch.ones(1, 3), torch.tensor(1)),
    lambda torch: torch.cross(torch.ones(2, 3), torch.ones(2, 3), torch.tensor(1.0)),
    lambda torch: torch.cross(torch.ones(2, 3, dtype=torch.bool), torch.ones(2, 3, dtype=torch.bool), 1),
    lambda torch: torch.linalg.cross(torch.ones(2, 3).double(), torch.ones(2, 3)),
    lambda torch: torch.mv(torch.ones(()), torch.ones(2, 2)),
    lambda torch: torch.mv(torch.ones(2, 2), torch.ones(2, 2)),
    lambda torch: torch.ones(()).__getitem__(slice(0, 1)),
    lambda torch: torch.ones(1, 4).__setitem__((torch.tensor([0]), slice(1, 1)), torch.ones(1, 4)),
]


@pytest.mark.parametrize("number", range(len(NO_KINDS)))
def test_dtypes_and_dimensions_that_are_refused(both: Both, number: int) -> None:
    both(NO_KINDS[number])


SHOWN = {
    "unbind": lambda t: t.unbind(0)[0], "slice": lambda t: t[0], "split": lambda t: t.split(1)[0], "reshape": lambda t: t.reshape(-1, 1),
    "clone": lambda t: t.clone(), "detach": lambda t: t.detach(), "exp": lambda t: t.exp(),
}  # fmt: skip


@pytest.mark.parametrize("grad", [False, True])
@pytest.mark.parametrize("name", SHOWN)
def test_set_to_a_view_of_itself(both: Both, name: str, grad: bool) -> None:
    def body(torch: Any) -> Any:
        leaf = torch.arange(6.0).reshape(3, 2).requires_grad_()
        x = leaf * 2
        with torch.set_grad_enabled(grad):
            shown = SHOWN[name](x)
        x.set_(shown)
        found = [tuple(x.shape), x.requires_grad, x.is_leaf, x._version, shown._version, type(x.grad_fn).__name__]
        try:
            found.append(type(shown.grad_fn).__name__)
        except RuntimeError as error:
            found.append(str(error))
        try:
            x.sum().backward()
        except RuntimeError as error:
            found.append(str(error))
        return found

    both(body)


@pytest.mark.parametrize("name", ["arange", "eye", "linspace", "zeros", "empty", "full", "exp"])
@pytest.mark.parametrize("grad", [False, True])
def test_out_that_is_a_view_written_without_autograd(both: Both, grad: bool, name: str) -> None:
    """``out`` is a view that was made without autograd and written to since."""
    given = {"arange": (4,), "eye": (2, 2), "linspace": (0, 1, 4), "zeros": (4,), "empty": (4,), "full": ((4,), 1.0)}

    def body(torch: Any) -> Any:
        leaf = torch.ones(2, 2).requires_grad_()
        with torch.no_grad():
            view = leaf.view(4)
            view.frac_()
        with torch.set_grad_enabled(grad):
            getattr(torch, name)(*given.get(name, (torch.ones(4),)), out=view)
        return tuple(view.shape)

    both(body)


@pytest.mark.parametrize("exponent", [[True, False], True])
def test_powers_by_truth_values_have_no_slope(both: Both, exponent: Any) -> None:
    def body(torch: Any) -> Any:
        x = torch.tensor([2.0, 3.0]).requires_grad_()
        y = x ** torch.tensor(exponent)
        y.sum().backward()

    both(body)


@pytest.mark.parametrize("name", ["gather", "take", "index_select"])
def test_gradients_of_taken_elements_are_no_views(both: Both, name: str) -> None:
    def body(torch: Any) -> Any:
        x = torch.arange(4.0).requires_grad_()
        at = torch.tensor([0, 2])
        y = {"gather": lambda: x.gather(0, at), "take": lambda: x.take(at), "index_select": lambda: x.index_select(0, at)}[name]()
        (first,) = torch.autograd.grad((y**2).sum(), x, create_graph=True)
        return first._is_view(), first, torch.autograd.grad(first.sum(), x)[0]

    both(body)


@pytest.mark.parametrize("tracked", [False, True])
def test_a_shape_that_is_no_view(both: Both, tracked: bool) -> None:
    def body(torch: Any) -> Any:
        x = torch.arange(24.0).reshape(4, 6).requires_grad_(tracked) * 1
        found = torch.ops.aten._unsafe_view(x, [2, -1])
        told = [found._base is None, found._is_view(), type(found.grad_fn).__name__, found.data_ptr() == x.data_ptr()]
        found.mul_(2)
        turned = torch.ops.aten._unsafe_view(x.t(), [3, 2, 4])
        for size in ([24], [7, -1]):
            with pytest.raises(RuntimeError) as raised:
                torch.ops.aten._unsafe_view(x.t(), size)
            told.append(str(raised.value).splitlines()[0][:60])
        return *told, x._version, found._version, found.detach(), x.detach(), turned.stride()

    both(body)
