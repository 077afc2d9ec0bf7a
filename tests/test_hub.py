"""torch.hub: local folders, file:// addresses, the cache."""
from __future__ import annotations

import hashlib
import os

import pytest

import mstorch
from tests.against_torch import both

CONF = '''
dependencies = [{dependency!r}]
import helper
def small(width=2):
    """A small one."""
    return helper.VALUE * width
_hidden = len
'''


@pytest.fixture
def repository(tmp_path):
    (tmp_path / "hubconf.py").write_text(CONF.format(dependency="math"))
    (tmp_path / "helper.py").write_text("VALUE = 3")
    return str(tmp_path)


def test_local_folders(repository, tmp_path, monkeypatch):
    import sys

    def body(torch):
        sys.modules.pop("helper", None)
        return torch.hub.load(repository, "small", source="local"), torch.hub.load(repository, "small", source="local", width=5)

    both(body)
    both(lambda torch: torch.hub.load(repository, "large", source="local"))
    both(lambda torch: torch.hub.load(repository, 3, source="local"))
    both(lambda torch: torch.hub.load(repository, "small", source="web"))
    assert mstorch.hub.list(repository) == ["small"] and mstorch.hub.help(repository, "small") == "A small one."
    (tmp_path / "hubconf.py").write_text(CONF.format(dependency="no_such_package"))
    both(lambda torch: torch.hub.load(repository, "small", source="local"))
    with pytest.raises(NotImplementedError, match="source='local'"):
        mstorch.hub.load("someone/something", "small")


def test_weights_from_an_address(tmp_path, monkeypatch):
    monkeypatch.setenv("TORCH_HOME", str(tmp_path / "home"))
    mstorch.save({"a": mstorch.arange(3)}, tmp_path / "weights.pt")
    digest = hashlib.sha256((tmp_path / "weights.pt").read_bytes()).hexdigest()
    good, bad = tmp_path / f"net-{digest[:8]}.pt", tmp_path / "net-00000000.pt"
    for path in (good, bad):
        path.write_bytes((tmp_path / "weights.pt").read_bytes())

    def body(torch):
        assert torch.hub.get_dir() == str(tmp_path / "home" / "hub")
        first = torch.hub.load_state_dict_from_url(good.as_uri(), progress=False, check_hash=True)
        again = torch.hub.load_state_dict_from_url("file:///nowhere/" + good.name, check_hash=True)
        return first, again, sorted(os.listdir(tmp_path / "home" / "hub" / "checkpoints"))

    both(body)
    both(lambda torch: torch.hub.load_state_dict_from_url(bad.as_uri(), progress=False, check_hash=True))
    both(lambda torch: torch.hub.download_url_to_file((tmp_path / "none").as_uri(), str(tmp_path / "x"), progress=False))
    assert not [name for name in os.listdir(tmp_path / "home" / "hub" / "checkpoints") if name != good.name]


def test_chosen_folder(tmp_path):
    before = mstorch.hub.get_dir()
    try:
        mstorch.hub.set_dir(tmp_path)
        assert mstorch.hub.get_dir() == str(tmp_path)
    finally:
        mstorch.hub.set_dir(before)
