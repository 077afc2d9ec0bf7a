"""Code that no graph supports: a warning names the line, and results are those of eager mode."""
from __future__ import annotations

import gc
import linecache
import warnings
from typing import Any

import numpy as np
import pytest

import mstorch as torch
from mstorch._src.compile import GraphBreak
from tests import warm

pytestmark = pytest.mark.slow

COUNTER: list[int] = []
SCALE = torch.ones((), requires_grad=True)


def item(x: Any) -> Any:
    return x * x.sum().item()


def branch(x: Any) -> Any:
    if x.sum() > 0:
        return x + 1
    return x - 1


def to_numpy(x: Any) -> Any:
    return torch.from_numpy(np.sin(x.detach().numpy())) + x


def loop(x: Any) -> Any:
    while x.max() < 10:
        x = x * 2
    return x


def appended(x: Any) -> Any:
    COUNTER.append(1)
    return x + len(COUNTER)


def chosen(x: Any) -> Any:
    return x[x > 0]


def gradient(x: Any) -> Any:
    with torch.enable_grad():
        y = x * SCALE
    return torch.autograd.grad(y.sum(), SCALE)[0] + x


def leaf(x: Any) -> Any:
    y = (x * 1).detach().requires_grad_()
    return y.detach() * y.is_leaf


def _counting() -> Any:
    count = 0

    def nonlocal_count(x: Any) -> Any:
        nonlocal count
        count += 1
        return x * 2

    return nonlocal_count


nonlocal_count = _counting()


class Holder:
    def __init__(self) -> None:
        self.kept = 1


HOLDER = Holder()
KEPT: dict[str, int] = {}


def new_attribute(x: Any) -> Any:
    HOLDER.last = HOLDER.kept  # type: ignore[attr-defined]
    return x * 2


def new_key(x: Any) -> Any:
    KEPT["calls"] = KEPT.get("calls", 0) + 1
    return x * 2


# The function, words of the warning, and the text of the line that it names.
BREAKS = [
    (item, "are read on the host", "return x * x.sum().item()"),
    (branch, "are read on the host", "if x.sum() > 0:"),
    (to_numpy, "are read on the host", "return torch.from_numpy(np.sin(x.detach().numpy())) + x"),
    (loop, "are read on the host", "while x.max() < 10:"),
    (appended, "changes COUNTER", None),
    (chosen, "are read on the host", "return x[x > 0]"),
    (gradient, "gradients are computed", "return torch.autograd.grad(y.sum(), SCALE)[0] + x"),
    (leaf, "a tensor is made a leaf", "y = (x * 1).detach().requires_grad_()"),
    (nonlocal_count, "changes count", None),
    (new_attribute, "changes HOLDER.last", None),
    (new_key, "changes KEPT", None),
]


@pytest.mark.parametrize("function, reason, line", BREAKS, ids=[case[0].__name__ for case in BREAKS])
def test_one_warning_names_the_line(function: Any, reason: str, line: str | None) -> None:
    compiled = torch.compile(function, backend="mindspore")
    inputs = [torch.tensor([1.0, -2.0, 3.0]), torch.tensor([-1.0, 2.0, 0.5]), torch.tensor([4.0, 5.0])]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        COUNTER.clear()
        found = [compiled(x) for x in inputs]
    assert len(caught) == 1, [str(one.message) for one in caught]
    message = str(caught[0].message)
    assert message.startswith(f"torch.compile: {function.__qualname__} runs without a graph: ") and reason in message
    if line is not None:
        number = next(i for i in range(1, 200) if linecache.getline(__file__, i).strip() == line)
        assert f"{__file__}:{number} in {function.__name__}: {line}" in message
    COUNTER.clear()
    for x, got in zip(inputs, found):
        np.testing.assert_allclose(got.numpy(), function(x).numpy(), rtol=1e-6)


REFUSED = [case for case in BREAKS if case[0] is not chosen]  # torch's graphs support shapes that depend on values


@pytest.mark.parametrize("function, reason, line", REFUSED, ids=[case[0].__name__ for case in REFUSED])
def test_fullgraph_raises(function: Any, reason: str, line: str | None) -> None:
    compiled = torch.compile(function, fullgraph=True)
    for state in (COUNTER, KEPT, vars(HOLDER)):
        state.clear()
    HOLDER.kept = 1
    for _ in range(2):
        with pytest.raises(RuntimeError, match=reason) as caught:
            compiled(torch.tensor([1.0, -2.0, 3.0]))
        assert isinstance(caught.value, GraphBreak) and (line is None or line in str(caught.value))
        assert not COUNTER and not KEPT and vars(HOLDER) == {"kept": 1}, "nothing that the function did stays"


TORCH = """
import linecache, torch
linecache.cache["branch.py"] = (0, None, ["def branch(x):\\n", "    return x + 1 if x.sum() > 0 else x - 1\\n"], "branch.py")
exec(compile("".join(linecache.cache["branch.py"][2]), "branch.py", "exec"))
try:
    torch.compile(branch, fullgraph=True, backend="eager")(torch.ones(2))
except RuntimeError:
    print("refused")
for text in ("x.unique()", "x.nonzero()", "x.masked_select(x > 1)", "x[x > 0]", "x.repeat_interleave(x.long())", "x.long().bincount()"):
    torch.compile(eval(f"lambda x: {text}"), fullgraph=True, backend="eager")(torch.ones(3))
print("held")
"""


def test_torch_refuses_a_branch_on_values_and_holds_shapes_that_depend_on_them() -> None:
    # In a process of its own: torch's compiler stays active, and holds one more reference in later calls.
    assert warm.said("-c", TORCH, library="torch").split() == ["refused", "held"]


def test_branches_on_shapes_and_numbers_are_no_breaks() -> None:
    def function(x: Any, factor: int = 2, *, flip: bool = False) -> Any:
        for _ in range(factor):
            x = x + x.shape[0] if x.shape[0] > 2 else x * x.numel()
        return -x if flip else x

    compiled = torch.compile(function, fullgraph=True)
    for shape in ((2,), (3, 2)):
        for factor in (1, 3):
            for flip in (False, True):
                x = torch.arange(float(np.prod(shape))).reshape(shape)
                assert torch.equal(compiled(x, factor, flip=flip), function(x, factor, flip=flip))


def test_training_goes_on_without_a_graph() -> None:
    class Odd(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = torch.nn.Linear(2, 2)

        def forward(self, x: Any) -> Any:
            out = self.inner(x)
            return out * 2 if out.sum().item() > 0 else out * 3

    torch.manual_seed(0)
    model = Odd()
    compiled = torch.compile(model, backend="mindspore")
    x = torch.ones(1, 2)
    with pytest.warns(UserWarning, match=r"Odd runs without a graph.*out \* 2 if out.sum\(\).item\(\)"):
        out = compiled(x)
    assert torch.equal(out, model(x))
    out.sum().backward()
    assert model.inner.weight.grad is not None


def test_errors_of_the_function_are_its_own() -> None:
    def wrong(x: Any) -> Any:
        return x @ torch.ones(7, 2)

    def refuses(x: Any) -> Any:
        raise KeyError("of its own")

    for function, kind, text in ((wrong, RuntimeError, "shapes cannot be multiplied"), (refuses, KeyError, "of its own")):
        for options in ({}, {"fullgraph": True}):
            compiled = torch.compile(function, **options)
            for _ in range(2):
                with pytest.raises(kind, match=text):
                    compiled(torch.ones(2, 3))
    assert torch.compile(lambda x: x + 1)(torch.ones(2)).tolist() == [2.0, 2.0], "later captures are not disturbed"


def test_too_many_kinds_of_arguments() -> None:
    compiled = torch.compile(lambda x, n: x * n, recompile_limit=2, backend="mindspore")
    x = torch.ones(2)
    with pytest.warns(UserWarning, match="more than 2 graphs would be needed") as caught:
        for n in (0, 1, 2, 3, 0):
            assert compiled(x, n).tolist() == [float(n)] * 2
    assert len(caught) == 1 and caught[0].filename == __file__
    strict = torch.compile(lambda x, n: x * n, recompile_limit=1, fullgraph=True)
    assert strict(x, 1).tolist() == [1.0, 1.0]
    with pytest.raises(RuntimeError, match="more than 1 graphs"):
        strict(x, 2)


BY_KERNELS: dict[str, Any] = {
    "inv": lambda x: torch.linalg.inv(x), "svd": lambda x: torch.linalg.svd(x)[1], "cholesky": lambda x: torch.linalg.cholesky(x @ x.mT),
    "solve_triangular": lambda x: torch.linalg.solve_triangular(x, x, upper=True), "histc": lambda x: torch.histc(x, 5), "det": lambda x: x.det(),
    "eigh": lambda x: torch.linalg.eigh(x @ x.mT)[0], "topk": lambda x: x.topk(2)[0], "fft": lambda x: torch.fft.fft(x).abs(), "sort": lambda x: x.sort()[0],
    "stft": lambda x: torch.stft(x.flatten(), 4, window=torch.ones(4), return_complex=True).abs(), "pinv": lambda x: torch.linalg.pinv(x),
}  # fmt: skip


@pytest.mark.parametrize("name", BY_KERNELS)
def test_what_a_kernel_reads_is_no_fault_of_the_program(name: str) -> None:
    """If a kernel reads values, the function runs without a graph, also under ``fullgraph``, after at most one warning, which names the
    kernel."""
    function = BY_KERNELS[name]
    compiled = torch.compile(function, fullgraph=True)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for factor in (1.0, 2.0, -1.0):
            x = factor * torch.tensor([[2.0, 1.0, 0.5], [0.3, 3.0, 0.2], [0.1, 0.4, 2.0]])
            np.testing.assert_allclose(compiled(x).numpy(), function(x).numpy(), rtol=1e-5, atol=1e-5)
    assert len(caught) <= 1 and all("runs without a graph" in str(one.message) for one in caught)


BY_VALUES: dict[str, Any] = {
    "unique": lambda x: x.unique(), "nonzero": lambda x: (x - 1).nonzero(), "masked_select": lambda x: x.masked_select(x > 1),
    "repeat_interleave": lambda x: x.repeat_interleave(x.long()), "bincount": lambda x: x.long().bincount(), "argwhere": lambda x: (x - 1).argwhere(),
    "unique_consecutive": lambda x: x.unique_consecutive(), "mask": lambda x: x[x > 1], "where": lambda x: torch.where(x > 1)[0],
}  # fmt: skip


@pytest.mark.parametrize("options", [{"backend": "mindspore"}, {"fullgraph": True}], ids=str)
@pytest.mark.parametrize("name", BY_VALUES)
def test_shapes_that_depend_on_values_are_in_no_graph(name: str, options: Any) -> None:
    """torch's graphs support such shapes, also with ``fullgraph`` (TORCH); mstorch's do not."""
    function = BY_VALUES[name]
    compiled = torch.compile(function, **options)
    with pytest.warns(UserWarning, match="runs without a graph") as caught:
        for values in ([1.0, 1.0, 2.0], [1.0, 1.0, 1.0], [3.0, 4.0, 5.0]):
            assert torch.equal(compiled(torch.tensor(values)), function(torch.tensor(values)))
    assert len(caught) == 1


@pytest.mark.parametrize("block", [torch.no_grad, torch.enable_grad, torch.inference_mode])
def test_modes_within_a_function_are_no_breaks(block: Any) -> None:
    def computes(x: Any) -> Any:
        with block():
            y = x * 2
        return y + x

    compiled = torch.compile(computes, fullgraph=True)
    for _ in range(2):
        assert compiled(torch.ones(3)).tolist() == [3.0] * 3


def test_a_collection_of_garbage_is_no_part_of_the_function() -> None:
    """Callbacks of the garbage collector and finalizers of other objects may run during a capture, and do not belong to the function."""
    seen = []

    class Left:
        def __del__(self) -> None:
            seen.append(len(seen))

    def told(phase: str, details: Any) -> None:
        seen.append(len(seen))

    def computes(x: Any) -> Any:
        for _ in range(200):
            made = [[i] for i in range(20)]
        return x * len(made)

    left = Left()
    left.itself = left  # type: ignore[attr-defined]
    del left
    thresholds = gc.get_threshold()
    gc.callbacks.append(told)
    gc.set_threshold(50, 2, 2)
    try:
        compiled = torch.compile(computes, fullgraph=True)
        assert [compiled(torch.ones(2)).tolist() for _ in range(3)] == [[20.0, 20.0]] * 3 and gc.isenabled()
    finally:
        gc.callbacks.remove(told)
        gc.set_threshold(*thresholds)


@pytest.mark.filterwarnings("ignore:torch.compile")  # MindSpore's CPU kernels support bfloat16 in few graphs
@pytest.mark.parametrize("function", [
    lambda x: x.clone(), lambda x: x.t().contiguous(), lambda x: torch.expand_copy(x, (3, 4, 2)), lambda x: x.diff(),
    lambda x: torch.einsum("an,bo,aA,bB,AB->no", x[:2], x[2:], x[:2], x[2:], x[:2] @ x[2:]),
])  # fmt: skip
def test_copies_in_bfloat16(function: Any) -> None:
    x = torch.randn(4, 2).to(torch.bfloat16)
    found = torch.compile(function, fullgraph=True)(x)
    assert found.dtype is torch.bfloat16 and torch.equal(found, function(x))


def test_tensors_of_an_ended_vmap_do_not_hinder_graphs() -> None:
    """A capture looks at all tensors that live, and these have no memory to look at."""
    kept: list[Any] = []
    torch.func.vmap(lambda x: kept.append(x) or x * 2)(torch.ones(3))
    compiled = torch.compile(lambda x: x + len(kept), fullgraph=True)
    assert compiled(torch.ones(2)).tolist() == [2, 2]
