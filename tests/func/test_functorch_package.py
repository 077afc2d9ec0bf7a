"""The package functorch, compared with torch's."""
from __future__ import annotations

import functorch.experimental
import numpy as np
import pytest
import torch

import mstorch
from mstorch._functorch import package
from mstorch._functorch.package import einops, experimental

NAMES = [
    "combine_state_for_ensemble", "functionalize", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "make_functional",
    "make_functional_with_buffers", "vmap",
]  # fmt: skip


def called(name, library, module):
    """Return the first warning of a call with a valid argument."""
    layer = library.nn.Linear(2, 2)
    given = layer if name.startswith("make") else [layer, layer] if name.startswith("combine") else library.sin
    with pytest.warns(FutureWarning) as caught:
        getattr(module, name)(given)
    return str(caught[0].message)


@pytest.mark.parametrize("name", NAMES)
def test_successors(name):
    """Each warning names the function's successor."""
    words = called(name, torch, functorch).partition("Please use ")[2].partition(" instead")[0]
    assert f"`functorch.{name}` is deprecated" in called(name, mstorch, package)
    assert words.split("`")[1] in called(name, mstorch, package)


def test_names():
    for name in ("FunctionalModule", "FunctionalModuleWithBuffers", "jvp", "vjp", "__version__"):
        assert hasattr(functorch, name) and hasattr(package, name)
    public = {name for name in dir(functorch) if not name.startswith("_") and callable(getattr(functorch, name))}
    assert public - set(dir(package)) == set()
    with pytest.raises(AttributeError, match="module 'functorch' has no attribute 'nothing'"):
        package.nothing  # noqa: B018


@pytest.mark.parametrize("chunks", [1, 2, 3, 9])
def test_chunks(chunks):
    x = np.arange(14.0).reshape(2, 7)
    results = [
        module.chunk_vmap(lambda a, b: (a * 2).sum() + b, in_dims=(1, None), chunks=chunks)(library.tensor(x), library.tensor(1.0)).numpy()
        for library, module in ((torch, functorch.experimental), (mstorch, experimental))
    ]
    np.testing.assert_array_equal(*results)


def test_ensembles():
    """Models of one architecture as one function, mapped over their parameters."""
    models = [mstorch.nn.Linear(3, 2) for _ in range(4)]
    with pytest.warns(FutureWarning):
        function, params, buffers = package.combine_state_for_ensemble(models)
    found = mstorch.vmap(function, in_dims=(0, 0, None))(params, buffers, mstorch.ones(5, 3))
    wanted = mstorch.stack([model(mstorch.ones(5, 3)) for model in models])
    np.testing.assert_allclose(found.detach().numpy(), wanted.detach().numpy(), rtol=1e-5)


def test_rearrange():
    assert einops.rearrange(mstorch.ones(2, 3), "a b -> b a").shape == (3, 2)
