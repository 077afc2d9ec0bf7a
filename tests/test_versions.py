"""torch.version, torch.__version__, torch.__config__."""

from __future__ import annotations

import pickle

import pytest
from packaging.version import Version

import mstorch
from tests.against_torch import of_cpu_build


@pytest.mark.parametrize("text", ["2.13.0+mstorch0.3.0", "2.13.0", "1.10.0a", "parrot"])
@pytest.mark.parametrize(
    "other", [(2,), (2, 13), (1, 10, 0), [2, 13, 1], "2.13", "2.9", "2.13.0+mstorch0.3.0", "3", "parrot", "", None, 2.13, 3]
)
def test_comparing(both, text, other):
    def body(torch):
        version = torch.torch_version.TorchVersion(text)
        results = [version == other, version != other, other == version, hash(version) == hash(text)]
        for compare in ("__lt__", "__le__", "__gt__", "__ge__"):
            try:
                results.append(getattr(version, compare)(other))
            except TypeError as error:
                results.append(str(error))
        return results

    both(body)


def test_comparing_with_a_version_of_packaging():
    version = mstorch.torch_version.TorchVersion("2.13.0+mstorch0.3.0")
    assert version > Version("2.12") and version >= Version("2.13.0") and version < Version("2.14")
    assert version == Version("2.13.0+mstorch0.3.0") and Version("2.13.0") < Version(version)


def test_ordering_refuses_numbers(both):
    both(lambda torch: torch.torch_version.TorchVersion("2.1") < 3)


def test_kinds(both):
    both(lambda torch: [type(torch.__version__).__name__, type(torch.version.__version__), torch.version.__all__, torch.version.debug])
    both(lambda torch: [torch.version.hip, torch.version.rocm, torch.version.xpu])
    both(lambda torch: [torch.torch_version.__all__, torch.__version__ == torch.version.__version__, torch.__version__ >= (2, 13)])
    both(lambda torch: type(torch.torch_version.__version__).__name__)


@of_cpu_build
def test_built_without_cuda(both):
    both(lambda torch: torch.version.cuda)


def test_ours():
    own = mstorch.version.mstorch
    assert mstorch.__version__ == f"2.13.0+mstorch{own}" and str(mstorch.__version__) == mstorch.version.__version__
    kept = pickle.loads(pickle.dumps(mstorch.__version__))
    assert kept == mstorch.__version__ and type(kept) is mstorch.torch_version.TorchVersion
    assert f"TORCH_VERSION={mstorch.__version__}" in mstorch.__config__.show()
    assert f"get_num_threads() : {mstorch.get_num_threads()}" in mstorch.__config__.parallel_info()
    assert mstorch.__config__._cxx_flags() == ""


def test_versions_in_files(tmp_path):
    import torch

    mstorch.save({"version": mstorch.__version__}, tmp_path / "ours.pt")
    torch.save({"version": torch.__version__}, tmp_path / "theirs.pt")
    assert torch.load(tmp_path / "ours.pt", weights_only=False)["version"] == str(mstorch.__version__)
    assert mstorch.load(tmp_path / "theirs.pt", weights_only=False)["version"] == str(torch.__version__)
