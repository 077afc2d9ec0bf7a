"""Functions that torch writes in C accept an argument by torch's name and by NumPy's."""
from __future__ import annotations

import types
import warnings

import pytest
import torch as real_torch

import mstorch
from tests.against_torch import both

FACES = {"": 320, "linalg": 18, "fft": 18, "special": 38, "nn.functional": 10}
WORDS = ("input", "x", "a", "x1")
# Functions that change settings of the process, and those that return uninitialized tensors.
APART = {"is_vulkan_available", "nonzero", "empty_like"}


def _at(library, face):
    for part in face.split(".") if face else ():
        library = getattr(library, part)
    return library


def _accepted(library, function, word):
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            function(**{word: library.tensor([[2.0, 1.0], [1.0, 3.0]])})
    except Exception as error:  # noqa: BLE001 - whatever it is, the call was not taken
        return f"{type(error).__name__}: {error}"
    return ""


@pytest.mark.parametrize("face", FACES)
def test_keywords_that_torch_refuses(face):
    seen, wrong = 0, []
    theirs, ours = _at(real_torch, face), _at(mstorch, face)
    for name, function in sorted(vars(theirs).items()):
        if name.startswith("_") or name in APART or not isinstance(function, types.BuiltinFunctionType) or not hasattr(ours, name):
            continue
        for word in WORDS:
            if not _accepted(real_torch, function, word):
                seen += 1
                said = _accepted(mstorch, getattr(ours, name), word)
                if said:
                    wrong.append((name, word, said))
    assert not wrong
    assert seen >= FACES[face]


@pytest.mark.parametrize("call", [
    lambda t, x: t.linalg.norm(input=x, ord=2, dim=0), lambda t, x: t.linalg.norm(x=x, axis=1, keepdims=True), lambda t, x: t.add(x1=x, x2=x, alpha=2),
    lambda t, x: t.fft.fft(x=x, n=3), lambda t, x: t.linalg.eigh(input=x), lambda t, x: t.special.erf(a=x), lambda t, x: t.linalg.pinv(input=x, rtol=1e-3),
    lambda t, x: t.linalg.norm(y=x), lambda t, x: t.abs(x, x=x), lambda t, x: t.nn.functional.normalize(x=x), lambda t, x: t.tensordot(x=x),
])  # fmt: skip
def test_values_and_refusals(call):
    def body(t):
        x = t.tensor([[2.0, 1.0], [1.0, 3.0]])
        try:
            found = call(t, x)
        except TypeError as error:
            return type(error).__name__
        return tuple(found) if isinstance(found, tuple) else found

    both(body)
