"""Devices of results on the stand-in device while the default device is the CPU: ``python -m tests.devices.places``."""
from __future__ import annotations

import inspect
import math
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import mstorch as torch

F, rnn = torch.nn.functional, torch.nn.utils.rnn
X = torch.tensor([[0.5, 0.25, 0.1], [0.3, 0.7, 0.2], [0.9, 0.4, 0.6]])
LABELS = torch.tensor([0, 2, 1])


def _own_view(x: Any, at: Any) -> Any:
    square = torch.zeros_like(x) + 3
    return square.masked_scatter_(square > 0, square.movedim(0, 1))


def _smaller(x: Any, fill: Callable[[Any], Any]) -> Any:
    """Return a tensor and its base after ``out=`` shrank the tensor and a write followed: both must see the write."""
    base = x * 2
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        part = fill(base[1:])
    part.mul_(3)
    return [base, part]


def _stacked(x: Any) -> Any:
    """Return the values of ``out`` before and after a call that resizes it and then raises for its dtype."""
    out = torch.arange(12, dtype=torch.int32).to(x.device)[2:8]
    before = out * 1
    try:
        torch.stack([x[:1], x[:1]], out=out)
    except TypeError:
        return [before, out * 1]
    raise AssertionError("integers took floats")


FUNCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "one_hot": lambda x, at: F.one_hot(at, 3), "one_hot, sized by its values": lambda x, at: F.one_hot(at),
    "histc": lambda x, at: torch.histc(x, 3), "histogram": lambda x, at: list(torch.histogram(x.flatten(), 3)),
    "histogramdd": lambda x, at: torch.histogramdd(x, [2, 2, 2])[0], "isin": lambda x, at: torch.isin(x, 0.25),
    "isin of a number": lambda x, at: torch.isin(0.25, x), "where": lambda x, at: list(torch.where(x > 0.3)),
    "matrix_exp": lambda x, at: torch.matrix_exp(x), "matrix_power": lambda x, at: torch.linalg.matrix_power(x, 0),
    "new": lambda x, at: x.new([1, 2]), "new of a size": lambda x, at: x.new(2, 2).fill_(1), "repeat_interleave": lambda x, at: torch.repeat_interleave(at),
    "lu_unpack": lambda x, at: list(torch.lu_unpack(x, (at + 1).int().clamp(2, 3))),
    "native_batch_norm": lambda x, at: list(torch.native_batch_norm(x, None, None, x[0], x[1], False, 0.1, 1e-5)),
    "native_group_norm": lambda x, at: list(torch.native_group_norm(x[None, :, :0], None, None, 1, 3, 0, 3, 1e-5)),
    "fractional_max_pool": lambda x, at: F.fractional_max_pool2d(x[None, None], 1, 2, return_indices=True, _random_samples=x[None, :1, :2])[1],
    "embedding_bag": lambda x, at: F.embedding_bag(at, x, torch.tensor([0, 1]).to(x.device), mode="sum"),
    "embedding_bag, largest": lambda x, at: F.embedding_bag(at, x, torch.tensor([0, 1]).to(x.device), mode="max"),
    "packed": lambda x, at: rnn.pad_packed_sequence(rnn.pack_padded_sequence(x[:, :2, None], torch.tensor([3, 2])), total_length=4)[0],
    "reductions of nothing": lambda x, at: [x[:0].mean(0), x[:0].prod(0), x[:0].sum(0), (x[:0] > 0).all(0), (x[:0] > 0).any(0)],
    "nothing in a pool": lambda x, at: [F.adaptive_avg_pool1d(x[None][:0], 2), F.prelu(x[:0], x[0, :1])],
    "nothing that is complex": lambda x, at: [torch.complex(x[:0], x[:0]).conj().resolve_conj(), torch.view_as_real(torch.complex(x[:0], x[:0]))],
    "searchsorted beside NaN": lambda x, at: torch.searchsorted(torch.tensor([0.2, math.nan]).to(x.device), x),
    "nothing grows": lambda x, at: (x[:0] * 1).bfloat16().resize_(1).float() * 0,
    "its own view where a mask holds": _own_view,
    "a result in less room": lambda x, at: _smaller(x, lambda out: torch.add(x[0], 1, out=out)),
    "a range in less room": lambda x, at: _smaller(x, lambda out: torch.arange(4, out=out)),
    "a number where three were": lambda x, at: _smaller(x, lambda out: torch.sum(x, (0, 1), out=out)),
    "a stack of what does not fit": lambda x, at: _stacked(x),
    "a softmax of a number": lambda x, at: x[0, 0].bfloat16().softmax(0).float(),
    "nothing where no mask holds": lambda x, at: (x * 1).masked_scatter_(x > 9, x[:0]),
    "division by zero": lambda x, at: [1 / (x * -0.0), (x * math.nan) / 0.0, torch.complex(x * 0, x * 0) / torch.complex(x * 0, x * 0)],
}  # fmt: skip
DRAWS: dict[str, Callable[[Any], Any]] = {
    "bernoulli": lambda x: torch.bernoulli(x), "bernoulli of a number": lambda x: x.bernoulli(0.5), "normal": lambda x: torch.normal(x, 1.0),
    "normal of deviations": lambda x: torch.normal(0.0, x), "multinomial": lambda x: torch.multinomial(x, 2), "poisson": torch.poisson,
    "categorical": lambda x: torch.distributions.Categorical(x).sample(), "trials": lambda x: torch.distributions.Bernoulli(x).sample(),
}  # fmt: skip
ARGUMENTS: dict[str, tuple[Any, ...] | None] = {  # functions that create tensors; None if they need more than a size
    "linspace": (0, 1, 3), "logspace": (0, 1, 3), "full": ((2,), 1.0), "randint": (3, (2,)), "tensor": ([1.0],), "as_tensor": ([1.0],),
    "asarray": ([1.0],), "tril_indices": (2, 2), "triu_indices": (2, 2), "normal": (0.0, 1.0, (2,)), "empty_strided": ((2,), (1,)),
    "empty_permuted": ((2, 3), (0, 1)), "scalar_tensor": (1.0,), "full_like": (X, 1), "randint_like": (X, 3), "range": (0, 3),
    "from_file": None, "from_dlpack": None, "set_default_device": None, "get_device_module": None, "empty_quantized": None,
}  # fmt: skip


def _flat(value: Any) -> list[Any]:
    return [part for item in value for part in _flat(item)] if isinstance(value, (list, tuple)) else [value]


def functions() -> list[str]:
    """Return functions of device tensors whose results are elsewhere, or differ from the CPU's."""
    wrong = []
    for name, function in FUNCTIONS.items():
        here, there = _flat(function(X, LABELS)), _flat(function(X.npu(), LABELS.npu()))
        if any(not item.is_npu for item in there):
            wrong.append(f"{name}: on {[str(item.device) for item in there]}")
        elif any(a.dtype != b.dtype or not torch.allclose(a, b.cpu(), 1e-5, 1e-6, equal_nan=True) for a, b in zip(here, there)):
            wrong.append(f"{name}: {there} for {here}")
    for name, draw in DRAWS.items():
        found = []
        for x in (X, X.npu()):
            torch.manual_seed(3)
            found.append(draw(x))
        if not found[1].is_npu or not torch.equal(found[0], found[1].cpu()):
            wrong.append(f"{name}: {found[1]} for {found[0]}")
    return wrong


def _factories() -> Iterator[tuple[str, Callable[..., Any]]]:
    for space, prefix in ((torch, ""), (torch.signal.windows, "signal."), (torch.fft, "fft.")):
        for name in sorted(vars(space)):
            function = getattr(space, name)
            if inspect.isroutine(function) and not name.startswith(("_", "sparse_")) and name != "general_cosine":
                if "device" in inspect.signature(function).parameters and ARGUMENTS.get(name, ()) is not None:
                    yield prefix + name, function


def factories() -> list[str]:
    """Return the factories whose result is on another device than ``device=`` says."""
    wrong = []
    count = 0
    for name, function in _factories():
        for place in ("npu", "meta", "cpu"):
            args = ARGUMENTS.get(name) or ((X,) if name.endswith("_like") else (3,))
            count += 1
            found = function(*args, device=place)
            if found.device.type != place:
                wrong.append(f"{name}: on {found.device} for {place}")
    return wrong if count > 100 else [f"{count} calls"]


def aliases() -> list[str]:
    """Return the calls of ``asarray`` that share memory or copy otherwise than requested."""
    wrong = []
    x = torch.ones(2).npu()
    if torch.asarray(x) is not x or torch.asarray(x, copy=True) is x or torch.asarray(x, device="npu", copy=False) is not x:
        wrong.append("asarray")
    for tensor, rest in ((x, {"dtype": torch.float64}), (torch.ones(2), {"device": "npu"})):
        try:
            wrong.append(f"asarray without a copy: {torch.asarray(tensor, copy=False, **rest)}")
        except ValueError as error:
            wrong += [] if "can't alias tensor" in str(error) else [str(error)]
    return wrong


def leaves() -> list[str]:
    """Return the factories that, unlike on the CPU, do not refuse a leaf as ``out=``, or without grad mode do not set its
    ``requires_grad``."""
    wrong = []
    for name, args in (("arange", (3,)), ("zeros", (3,)), ("eye", (3,)), ("rand", (3,)), ("linspace", (0, 1, 3))):
        leaf = torch.zeros(3).npu().requires_grad_()
        try:
            wrong.append(f"{name}: {getattr(torch, name)(*args, out=leaf)}")
        except RuntimeError as error:
            wrong += [] if f"aten::{name}()" in str(error) else [f"{name}: {error}"]
        with torch.no_grad():
            filled = getattr(torch, name)(*args, out=leaf)
        if filled is not leaf or leaf.requires_grad or not leaf.is_npu:
            wrong.append(f"{name} without grad: {leaf}")
    return wrong


def modules() -> list[str]:
    """Return modules that are moved to the device before their lazy parameters are initialized, or whose outputs are elsewhere."""
    wrong = []
    lazy = torch.nn.LazyLinear(2).npu()
    adaptive = torch.nn.AdaptiveLogSoftmaxWithLoss(3, 3, [1]).npu()
    results = {"lazy": lazy(X.npu()), "adaptive": adaptive(X.npu(), LABELS.npu()).output}
    for name, result in results.items():
        if not result.is_npu:
            wrong.append(f"{name}: on {result.device}")
    return wrong


def _write_all(z: Any, y: Any) -> None:
    z[...] = y


def _write_part(z: Any, y: Any) -> None:
    z[1:] = y[1:]


def overwritten() -> list[str]:
    """Return gradients of overwritten tensors, recorded or not, that are elsewhere or differ from the CPU's."""
    writes: list[Callable[[Any, Any], Any]] = [
        _write_all, _write_part, lambda z, y: z.copy_(y), lambda z, y: z.zero_(), lambda z, y: z[1:].zero_(), lambda z, y: z.fill_(2),
        lambda z, y: z.eq_(y), lambda z, y: z.sgn_(), lambda z, y: z.masked_fill_(z > 1, 0), lambda z, y: z.floor_(),
    ]  # fmt: skip
    wrong = []
    for number, write in enumerate(writes):
        for recorded in (False, True):
            found = []
            for place in ("cpu", "npu"):
                x, y = (torch.tensor(values, device=place, requires_grad=True) for values in ([1.0, math.inf, 3.0], [4.0, 5.0, 6.0]))
                z = x * 1
                write(z, y)
                (z**2 * y).sum().backward(create_graph=recorded)
                found.append([x.grad, y.grad])
            for here, there in zip(*found):
                if not there.is_npu or not torch.equal(here.nan_to_num(-1), there.cpu().nan_to_num(-1)):
                    wrong.append(f"write {number}, recorded {recorded}: {there} for {here}")
    return wrong


def _parts(made: Any) -> list[Any]:
    """Return the tensors that a sparse tensor consists of."""
    if made.layout is torch.sparse_coo:
        return [made._indices(), made._values()]
    rows = made.layout in (torch.sparse_csr, torch.sparse_bsr)
    return [*((made.crow_indices(), made.col_indices()) if rows else (made.ccol_indices(), made.row_indices())), made.values()]


def sparse() -> list[str]:
    """Return sparse tensors with a part on another device, or whose elements differ from the CPU's."""
    dense = torch.tensor([[0, 1.0, 2], [0, 3.0, 0]])
    calls: dict[str, Callable[[Any, Any], Any]] = {
        "coo": lambda x, s: s, "csr": lambda x, s: x.to_sparse_csr(), "csc": lambda x, s: x.to_sparse_csc(), "bsr": lambda x, s: x.to_sparse_bsr((1, 3)),
        "csr of coo": lambda x, s: s.to_sparse_csr(), "coo of csr": lambda x, s: x.to_sparse_csr().to_sparse(), "add": lambda x, s: s + s.t().t(),
        "mul": lambda x, s: s * s, "div": lambda x, s: s / 2, "t": lambda x, s: s.t(), "sum": lambda x, s: torch.sparse.sum(s, 0), "mm": lambda x, s: torch.sparse.mm(s, s.t()),
        "mask": lambda x, s: x.sparse_mask(s), "select": lambda x, s: s[0], "rows": lambda x, s: s.index_select(0, torch.tensor([1], device=x.device)),
        "cat": lambda x, s: torch.cat([s, s]), "softmax": lambda x, s: torch.sparse.softmax(s, 1), "log_softmax": lambda x, s: torch.sparse.log_softmax(s, 0),
        "unsqueeze": lambda x, s: s.unsqueeze(0), "zeros_like": lambda x, s: torch.zeros_like(s), "zeros_like csr": lambda x, s: torch.zeros_like(x.to_sparse_csr()),
        "zeros": lambda x, s: torch.zeros(2, 3, layout=torch.sparse_coo, device=x.device), "resized": lambda x, s: s.clone().sparse_resize_and_clear_((4, 4), 2, 0),
        "new_zeros": lambda x, s: s.new_zeros(2, 2), "csr * 2": lambda x, s: x.to_sparse_csr() * 2, "moved": lambda x, s: s.cpu().to(x.device),
        "gradient": lambda x, s: _sparse_gradient(x), "uncoalesced": lambda x, s: (s + s).coalesce(), "csr.t": lambda x, s: x.to_sparse_csr().t(),
    }  # fmt: skip
    wrong = []
    for name, call in calls.items():
        here, there = (call(x, x.to_sparse()) for x in (dense, dense.npu()))
        if {part.device.type for part in _parts(there)} != {"npu"} or there.layout is not here.layout:
            wrong.append(f"{name}: {[part.device.type for part in _parts(there)]}")
        if not all(torch.allclose(a, b.cpu()) for a, b in zip(_parts(here), _parts(there), strict=True)):
            wrong.append(f"{name}: other elements")
    if not torch.equal(dense.to_sparse().npu().to_dense().cpu(), dense):
        wrong.append("npu()")
    wrong += [f"{name} of sparse gradients" for name, make in _OF_ROWS.items() if not torch.allclose(_trained("cpu", make), _trained("npu", make))]
    if not torch.allclose(_product_gradient("cpu"), _product_gradient("npu")):
        wrong.append("the gradient of a product of sparse tensors")
    return wrong


_OF_ROWS: dict[str, Callable[[Any], Any]] = {
    "SGD": lambda p: torch.optim.SGD(p, 0.1), "SGD, momentum": lambda p: torch.optim.SGD(p, 0.1, 0.5), "Adagrad": lambda p: torch.optim.Adagrad(p, 0.1),
    "SGD, maximize": lambda p: torch.optim.SGD(p, 0.1, 0.5, maximize=True), "SparseAdam": lambda p: torch.optim.SparseAdam(p, 0.1),
}  # fmt: skip


def _trained(place: str, make: Callable[[Any], Any]) -> Any:
    """Return a table with sparse gradients after four steps."""
    table = torch.nn.Embedding.from_pretrained(torch.linspace(-1, 1, 18).reshape(6, 3).to(place), freeze=False, sparse=True)
    optimizer = make(list(table.parameters()))
    for i in range(4):
        optimizer.zero_grad()
        table(torch.tensor([i, 1, 1, 5], device=place)).square().sum().backward()
        optimizer.step()
    return table.weight.detach().cpu()


def _product_gradient(place: str) -> Any:
    places, values = torch.tensor([[0, 1, 0], [0, 1, 2]], device=place), torch.tensor([5.0, 7.0, 1.0], device=place).requires_grad_()
    first = torch.sparse_coo_tensor(places, values, (2, 3))
    second = torch.sparse_coo_tensor(places[:, :2], torch.ones(2, device=place), (2, 3))
    (first * second).to_dense().square().sum().backward()
    return values.grad.cpu()


def _sparse_gradient(x: Any) -> Any:
    table = torch.nn.Embedding.from_pretrained(x.detach().clone(), freeze=False, sparse=True)
    table(torch.tensor([1, 0], device=x.device)).sum().backward()
    return table.weight.grad


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        print(functions() + factories() + aliases() + leaves() + modules() + overwritten() + sparse())
