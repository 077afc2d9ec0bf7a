"""Warnings compared with torch: their texts, how often they come, and the user's line."""
from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch as real_torch

import mstorch

CALLS: dict[str, Callable[[Any], Any]] = {
    "T of three dimensions": lambda t: t.ones(2, 2, 2).T, "T of one": lambda t: t.ones(2).T, "T of two": lambda t: t.ones(2, 2).T,
    "storage": lambda t: t.ones(2).storage(), "meshgrid": lambda t: t.meshgrid(t.ones(2), t.ones(2)),
    "meshgrid with indexing": lambda t: t.meshgrid(t.ones(2), t.ones(2), indexing="ij"),
    "complex to real": lambda t: t.ones(2, dtype=t.complex64).float(), "complex to bool": lambda t: t.ones(2, dtype=t.complex64).bool(),
    "complex to int": lambda t: t.ones(2, dtype=t.complex64).to(t.int32),
    "complex copied": lambda t: t.ones(2).copy_(t.ones(2, dtype=t.complex64)),
    "cross": lambda t: t.cross(t.ones(3, 3), t.ones(3, 3)), "cross along": lambda t: t.cross(t.ones(3, 3), t.ones(3, 3), dim=1),
    "chain_matmul": lambda t: t.chain_matmul(t.ones(2, 2), t.ones(2, 2)), "lu": lambda t: t.lu(t.ones(2, 2)),
    "lu of Tensor": lambda t: t.eye(2).lu(), "cholesky": lambda t: t.cholesky(t.eye(2)), "qr": lambda t: t.qr(t.eye(2)),
    "lu_solve": lambda t: t.lu_solve(t.ones(2, 1), *t.linalg.lu_factor(t.eye(2))),
    "where": lambda t: t.where(t.ones(2, dtype=t.uint8), t.ones(2), t.ones(2)),
    "index of bytes": lambda t: t.ones(2)[t.ones(2, dtype=t.uint8)], "list of lists": lambda t: t.ones(2, 2)[[[0, 1], [1, 0]]],
    "list": lambda t: t.ones(2, 2)[[0, 1]],
    "backward with graph": lambda t: (t.ones(2, requires_grad=True) ** 2).sum().backward(create_graph=True),
    "read-only array": lambda t: t.from_numpy(np.broadcast_to(np.ones(1), (3,))), "variance of one": lambda t: t.ones(1).var(),
    "deviation": lambda t: t.std(t.ones(1)), "variance and mean": lambda t: t.var_mean(t.ones(1)),
    "broadcast loss": lambda t: t.nn.functional.mse_loss(t.ones(2, 1), t.ones(2)),
    "searchsorted": lambda t: t.searchsorted(t.ones(2, 2).t(), t.ones(2, 2).t()), "range": lambda t: t.range(0, 3),
    "resized out": lambda t: t.add(t.ones(2), 1, out=t.empty(3)), "grad of no leaf": lambda t: (t.ones(2, requires_grad=True) * 2).grad,
}  # fmt: skip


def _given(torch: Any, name: str, always: bool) -> list[list[tuple[str, str, bool]]]:
    with warnings.catch_warnings():  # warnings that come once per process may have come in another test
        warnings.simplefilter("ignore")
        CALLS[name](torch)
    torch.set_warn_always(always)
    found = []
    try:
        for _ in range(2):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                CALLS[name](torch)
            found.append([(w.category.__name__, str(w.message).partition(" (Triggered")[0], w.filename == __file__) for w in caught])
    finally:
        torch.set_warn_always(False)
    return found


@pytest.mark.parametrize("name", CALLS)
def test_warnings(both: Callable[..., Any], name: str) -> None:
    """Every time, under ``set_warn_always``; otherwise as often as in torch (the first time may have been in another test)."""
    both(lambda torch: [[(kind, text) for kind, text, _ in given] for given in _given(torch, name, True)])
    both(lambda torch: [[(kind, text) for kind, text, _ in given] for given in _given(torch, name, False)][1])
    assert all(here for given in _given(mstorch, name, True) for _, _, here in given)


def test_asking_for_all(both: Callable[..., Any]) -> None:
    def body(torch: Any) -> Any:
        before = torch.is_warn_always_enabled()
        torch.set_warn_always(True)
        torch.set_warn_always(False)
        return before, torch.is_warn_always_enabled()

    both(body)


@pytest.mark.parametrize("call", [
    f"{start}{name}{form}" for name in ("addmm", "addbmm", "baddbmm", "addmv", "addr")
    for start, form in (("m.", "(2, a, b)"), ("m.", "_(2, a, b)"), ("m.", "(2, 3, a, b)"), ("m.", "_(2, 3, a, b)"), ("torch.", "(2, m, 3, a, b)"),
                        ("torch.", "(2, m, a, b)"))
] + ["m.addcmul_(2, a, b)", "m.addcdiv_(2, a, b)", "torch.addcmul(m, 2, a, b)", "torch.addcdiv(m, 2, a, b)", "torch.add(m, 2, a)",
     "m.add_(2, a)", "m.sub_(2, a)"])  # fmt: skip
def test_texts_of_older_orders_of_arguments(call):
    shapes = {"addbmm": ((2, 2), (2, 2, 2), (2, 2, 2)), "baddbmm": ((2, 2, 2),) * 3, "addmv": ((2,), (2, 2), (2,)), "addr": ((2, 2), (2,), (2,))}
    own = shapes.get(call.split(".")[1].split("(")[0].rstrip("_"), ((2, 2),) * 3)
    texts = []
    for torch in (real_torch, mstorch):
        names = {"torch": torch, **{name: torch.ones(shape) for name, shape in zip("mab", own)}}
        before = torch.is_warn_always_enabled()
        torch.set_warn_always(True)
        try:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                found = eval(call, names)
        finally:
            torch.set_warn_always(before)
        texts.append((found.tolist(), [str(w.message).split(" (Triggered")[0] for w in caught]))
    assert texts[0] == texts[1]


OLD_NAMES = {
    "sdp_kernel": lambda t: t.backends.cuda.sdp_kernel().__class__.__mro__[-1], "_check_is_size": lambda t: t._check_is_size(3),
    "vmap": lambda t: importlib.import_module(f"{t.__name__}._vmap_internals").vmap(lambda x: x * 2)(t.ones(2)),
    "apply_permutation": lambda t: t.nn.modules.rnn.apply_permutation(t.arange(2.0).view(1, 2, 1), t.tensor([1, 0])),
    "a packed sequence": lambda t: t.nn.GRU(1, 2)(t.nn.utils.rnn.pack_sequence([t.ones(1, 1), t.ones(2, 1)], enforce_sorted=False), t.zeros(1, 2, 2))[1].shape,
    "impl_abstract": lambda t: callable(t.library.impl_abstract("absent::operator")),
    "load_state_dict": lambda t: importlib.import_module(f"{t.__name__}.distributed.checkpoint").load_state_dict({}),
    "save_state_dict": lambda t: importlib.import_module(f"{t.__name__}.distributed.checkpoint").save_state_dict({}),
    "clip_grad_norm": lambda t: t.nn.utils.clip_grad_norm([t.ones(2, requires_grad=True)], 1.0),
    "functional_call": lambda t: importlib.import_module(f"{t.__name__}.nn.utils.stateless").functional_call(t.nn.ReLU(), {}, t.ones(1)),
}  # fmt: skip


@pytest.mark.parametrize("name", OLD_NAMES)
def test_old_names_of_functions(both: Callable[..., Any], name: str) -> None:
    def body(torch: Any) -> Any:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                found = OLD_NAMES[name](torch)
            except TypeError:
                found = "the rest is missing"
        return found, [(w.category.__name__, str(w.message)) for w in caught]

    both(body)
