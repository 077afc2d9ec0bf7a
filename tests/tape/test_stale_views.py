"""Views whose base gets a history, or loses it, after they were made."""
from __future__ import annotations

import pytest

VIEWS = {"slice": lambda x: x[:2], "view": lambda x: x.view(3, 1), "expand": lambda x: x.expand(1, 3)}


@pytest.mark.parametrize("name", VIEWS)
def test_a_written_view_outlives_the_history_of_its_base(both, name):
    def body(torch):
        leaf = torch.ones(3).requires_grad_()
        base = leaf * 1
        view = VIEWS[name](base)
        view.mul_(2)
        base.detach_()
        kept = view.requires_grad, base.requires_grad, type(view.grad_fn).__name__
        view.sum().backward()
        return kept, leaf.grad

    both(body)


@pytest.mark.parametrize("seen", [False, True])
def test_a_view_that_was_not_written(both, seen):
    def body(torch):
        leaf = torch.ones(3).requires_grad_()
        base = leaf * 1
        view = base[:2]
        base.mul_(2)
        if seen:
            assert view.grad_fn is not None
        base.detach_()
        view.sum().backward()
        return leaf.grad

    both(body)


FIRST = {
    "mul": lambda torch, base, w: base.mul_(w), "set": lambda torch, base, w: base.__setitem__(slice(0, 1), w[:1]),
    "view": lambda torch, base, w: base.view(3).mul_(w), "copy": lambda torch, base, w: base.copy_(w),
    "put": lambda torch, base, w: base.index_put_((torch.tensor([0]),), w[:1]),
}  # fmt: skip
THEN = {
    "mul": lambda torch, v: v.mul_(2), "copy": lambda torch, v: v.copy_(torch.ones(2)), "set": lambda torch, v: v.__setitem__(0, 1.0),
    "fill": lambda torch, v: v.fill_(1), "zero": lambda torch, v: v.zero_(), "part": lambda torch, v: v.__setitem__(slice(0, 1), torch.ones(1)),
    "mask": lambda torch, v: v.__setitem__(v > 0, 1.0), "flag first": lambda torch, v: (v.requires_grad, v.mul_(2)),
    "leaf first": lambda torch, v: (v.is_leaf, v.mul_(2)), "use first": lambda torch, v: (v * 2, v.mul_(2)),
    "node first": lambda torch, v: (v.grad_fn, v.mul_(2)), "view of it": lambda torch, v: v[:1].mul_(2),
    "turned": lambda torch, v: v.unsqueeze_(0), "history": lambda torch, v: v.mul_(torch.ones(2).requires_grad_()),
    "random": lambda torch, v: v.normal_(), "detached first": lambda torch, v: (v.detach(), v.mul_(2)),
    "shown first": lambda torch, v: (str(v), v.mul_(2)),
}  # fmt: skip


@pytest.mark.parametrize("then", THEN)
@pytest.mark.parametrize("first", FIRST)
def test_writes_to_a_view_made_before(both, first, then):
    """torch treats such a view as a leaf until its history is read."""

    def body(torch):
        base = torch.ones(3)
        view = base[:2]
        FIRST[first](torch, base, torch.ones(3).requires_grad_())
        try:
            THEN[then](torch, view)
        except RuntimeError as error:
            return str(error)
        return view.requires_grad, type(view.grad_fn).__name__

    both(body)


@pytest.mark.parametrize("key", [..., slice(None), slice(0, 1), None])
def test_backward_from_a_view_that_has_no_history(both, key):
    def body(torch):
        leaf = torch.ones(3, 2, requires_grad=True)
        with torch.no_grad():
            view = leaf[key]
        view.backward(torch.ones_like(view))

    both(body)


def test_the_second_gradient_of_a_view_of_nothing_leads_nowhere(both):
    def body(torch):
        leaf = torch.zeros(3, 2, requires_grad=True)
        view = leaf.narrow(-1, 2, 0)
        with torch.no_grad():
            leaf.sub_(2.0)
        return torch.autograd.grad((view**2).sum(), leaf, create_graph=True)[0]

    both(body)


@pytest.mark.parametrize("write", ["view[0] -= 0.25", "view[:1][0].mul_(2)", "view.sub_(0.25)", "view[0] = 3.0", "base.sub_(0.25)", "view + 1"])
def test_hooks_of_a_view_that_was_written_in_part(both, write):
    """The gradient of the old values goes from the base directly to the written part, past the view and its hooks."""

    def body(torch):
        seen, leaf = [], torch.ones(2, 2, requires_grad=True)
        base = leaf * 1
        view = base.diagonal(1)
        view.register_hook(lambda g: seen.append(g.clone()))
        exec(write, {"view": view, "base": base})
        view.sum().backward()
        return seen, leaf.grad

    both(body)


def test_a_view_that_has_another_dtype_than_its_base_by_now(both):
    def body(torch):
        view, other = torch.arange(6).reshape(2, 3).squeeze(), torch.ones(3, 5, requires_grad=True)
        view.data = other
        view.copy_(other)
        return view.requires_grad, torch.cdist(view, view)

    both(body)


@pytest.mark.parametrize("view", ["base.view(2, 2)", "base[:2]", "base.view(2, 2)[0]"])
def test_a_written_view_takes_part_though_its_base_was_detached(both, view):
    def body(torch):
        base = torch.arange(4.0)
        written = eval(view, {"base": base})
        written.mul_(torch.tensor(2.0, requires_grad=True))
        base.detach_()
        return written.requires_grad, (written * 2).requires_grad, type(written.grad_fn).__name__

    both(body)


@pytest.mark.parametrize("order", [(2, 0, 1), (1, 0, 2), (2, 1, 0)])
@pytest.mark.parametrize("window", [((3,), (0,), 0), ((2, 2), (1, 3), 0), ((4,), (3,), 1)])
@pytest.mark.parametrize("twice", [False, True])
def test_gradients_through_memory_have_the_strides_of_the_tensor(both, order, window, twice):
    def body(torch):
        turned = torch.arange(12.0).reshape(2, 2, 3).requires_grad_().permute(order)
        return torch.autograd.grad((turned.as_strided(*window) ** 2).sum(), turned, create_graph=twice)[0]

    both(body)
