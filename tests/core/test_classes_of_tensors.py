"""The classes of tensors that are lazy, sparse, nested, quantized or mapped: what ``type`` returns, compared with torch."""
from __future__ import annotations

import copy
import pickle
import warnings

import pytest

import mstorch
from mstorch._src.core.mirrors import MIRRORS
from mstorch._src.core.modes import MODES

_LAZY = {
    "conj": lambda x: x.conj(), "H": lambda x: x.H, "mH": lambda x: x.mH, "adjoint": lambda x: x.adjoint(), "imag": lambda x: x.conj().imag,
    "row": lambda x: x.conj()[0], "transposed": lambda x: x.conj().T, "_neg_view": lambda x: x._neg_view(),
}  # fmt: skip


@pytest.mark.parametrize("name", _LAZY)
def test_lazy_tensors_have_the_class_of_all(both, name):
    def body(torch):
        x = torch.tensor([[1 + 2j, 3 - 1j], [0.5j, 2.0]])
        lazy = _LAZY[name](x)
        copied, restored = copy.deepcopy(lazy), pickle.loads(pickle.dumps(lazy))
        return [type(one) is torch.Tensor for one in (lazy, copied, restored)], lazy.is_conj(), lazy.is_neg(), lazy + 0

    both(body)


_KINDS = {
    "sparse": lambda torch: torch.eye(2).to_sparse(),
    "sparse rows": lambda torch: torch.eye(2).to_sparse_csr(),
    "nested": lambda torch: torch.nested.nested_tensor([torch.ones(2), torch.ones(3)]),
    "jagged": lambda torch: torch.nested.nested_tensor([torch.ones(2), torch.ones(3)], layout=torch.jagged),
    "quantized": lambda torch: torch.quantize_per_tensor(torch.ones(2), 1.0, 0, torch.qint8),
}


def _shown(cls):
    return repr(cls), cls.__name__, cls.__qualname__


@pytest.mark.parametrize("name", _KINDS)
def test_other_kinds_are_shown_as_torchs(both, name):
    def body(torch):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made = _KINDS[name](torch)
            return _shown(type(made)), _shown(type(pickle.loads(pickle.dumps(made)))), isinstance(made, torch.Tensor)

    both(body)


def test_mapped_tensors_are_shown_as_torchs(both):
    def body(torch):
        classes = []
        torch.vmap(lambda x: classes.append(_shown(type(x))) or x)(torch.ones(2))
        return classes

    both(body)


def test_modules_of_the_classes():
    """Packages choose their backend by the first part of the module's name."""
    made = [make(mstorch) for name, make in _KINDS.items() if name != "jagged"]
    assert {type(one).__module__ for one in made} == {mstorch.Tensor.__module__}


def test_a_lazy_tensor_elsewhere_changes_nothing():
    lazy = mstorch.ones(2, dtype=mstorch.complex64).conj()
    x = mstorch.ones(3, requires_grad=True)
    (x * x).sum().backward()
    assert x.grad.tolist() == [2, 2, 2]
    del lazy
    assert MODES == MIRRORS
