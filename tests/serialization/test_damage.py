"""Truncated, changed and foreign files: a clear error, or the right values, never anything else."""

import io
import pickle
import zipfile

import numpy as np
import pytest
import torch

import mstorch as ms
from mstorch import serialization
from tests.serialization.serialization_files import our_bytes, our_load, torch_bytes, torch_load, values

REAL = {"weight": torch.arange(200.0).reshape(10, 20), "step": torch.tensor(7), "names": ["a", "b"], "rate": 0.5}
ERRORS = (RuntimeError, pickle.UnpicklingError, EOFError, ValueError)


def same(ours):
    return (
        isinstance(ours, dict) and list(ours) == list(REAL) and ours["names"] == ["a", "b"] and ours["rate"] == 0.5
        and values(ours["weight"]).tolist() == REAL["weight"].tolist() and int(values(ours["step"])) == 7
    )  # fmt: skip


def ends_well(data, **options):
    """Load, and return whether there was an error. Fail unless the error is in the list, or the values are right."""
    try:
        ours = our_load(data, **options)
    except ERRORS as error:
        assert str(error), "an error without a word"
        return True
    except MemoryError:
        pytest.fail("a damaged length reserved memory")
    assert same(ours), "damaged values were loaded"
    return False


@pytest.mark.parametrize("weights_only", [True, False])
def test_truncated_archives(weights_only):
    data = torch_bytes(REAL)
    for length in range(0, len(data), 7):
        assert ends_well(data[:length], weights_only=weights_only)
    for length in range(12, len(data) - 22, 101):
        with pytest.raises(RuntimeError, match="PytorchStreamReader failed reading zip archive"):
            our_load(data[:length])


def test_flipped_bits():
    data = our_bytes(our_load(torch_bytes(REAL)))
    rng = np.random.default_rng(1)
    noticed = 0
    for _ in range(600):
        at, bit = int(rng.integers(len(data))), int(rng.integers(8))
        changed = bytearray(data)
        changed[at] ^= 1 << bit
        noticed += ends_well(bytes(changed))
    assert noticed > 200


def test_every_changed_value_is_noticed():
    data = torch_bytes(REAL)
    start = data.index(REAL["weight"].numpy().tobytes())
    for at in range(start, start + 800, 13):
        changed = bytearray(data)
        changed[at] ^= 0x10
        with pytest.raises(RuntimeError, match="data/0: checksum mismatch"):
            our_load(bytes(changed))


def test_the_pickle_is_checked_before_it_is_run():
    data = torch_bytes(["harmless"])
    changed = data.replace(b"harmless", b"harmfull")
    with pytest.raises(RuntimeError, match="data.pkl: checksum mismatch"):
        our_load(changed, weights_only=False)


def test_changed_blocks():
    data = torch_bytes(REAL)
    rng = np.random.default_rng(2)
    for _ in range(200):
        at, length = int(rng.integers(len(data))), int(rng.integers(1, 80))
        kind = rng.integers(3)
        if kind == 0:
            changed = data[:at] + bytes(length) + data[at + length :]
        elif kind == 1:
            changed = data[:at] + data[at + length :]
        else:
            changed = data[:at] + rng.bytes(length) + data[at:]
        ends_well(changed)


def test_a_changed_archive_that_is_mapped(tmp_path):
    data = torch_bytes(REAL)
    rng = np.random.default_rng(3)
    for number in range(60):
        changed = bytearray(data)
        at = int(rng.integers(len(data)))
        changed[at] ^= 1 << int(rng.integers(8))
        path = tmp_path / f"{number}.pt"
        path.write_bytes(changed if number % 2 else changed[:at])
        try:
            ours = serialization.load(path, mmap=True)
        except ERRORS:
            continue
        assert list(ours) == list(REAL)


@pytest.mark.parametrize("weights_only", [True, False])
def test_truncated_legacy_files(weights_only):
    data = torch_bytes(REAL, _use_new_zipfile_serialization=False)
    for length in range(0, len(data), 5):
        assert ends_well(data[:length], weights_only=weights_only)
    with pytest.raises(RuntimeError, match="unexpected EOF, expected .* more bytes. The file might be corrupted."):
        our_load(data[:-20], weights_only=weights_only)


def test_flipped_bits_in_legacy_files():
    data = torch_bytes(REAL, _use_new_zipfile_serialization=False)
    head = len(data) - 8 - 800
    rng = np.random.default_rng(4)
    for _ in range(300):
        changed = bytearray(data)
        changed[int(rng.integers(head))] ^= 1 << int(rng.integers(8))
        try:
            our_load(bytes(changed))
        except (*ERRORS, NotImplementedError) as error:
            assert str(error)


@pytest.mark.parametrize(
    "data, words",
    [
        (b"", "Ran out of input"),
        (b"hello world" * 20, ""),
        (b"PK\x03\x04", "PytorchStreamReader failed reading zip archive"),
        (b"PK\x03\x04" + bytes(1000), "PytorchStreamReader failed reading zip archive"),
        (pickle.dumps({"a": 1}, 2), "Invalid magic number; corrupt file?"),
        (pickle.dumps(0x1950A86A20F9469CFC6C, 2) + pickle.dumps(5, 2), "Invalid protocol version: 5"),
        (pickle.dumps(0x1950A86A20F9469CFC6C, 2), "unexpected EOF"),
        (b"\x89PNG\r\n\x1a\n" + bytes(600), ""),
        (b'{"json": true}', ""),
        (bytes(257) + b"ustar" + bytes(1000), "tar format"),
    ],
    ids=range(10),
)
def test_wrong_files(data, words, tmp_path):
    for weights_only in (True, False):
        with pytest.raises(ERRORS, match=words or None):
            our_load(data, weights_only=weights_only)
    (tmp_path / "a.pt").write_bytes(data)
    with pytest.raises(ERRORS, match=words or None):
        serialization.load(tmp_path / "a.pt")


def rewritten(data, change, compress=zipfile.ZIP_STORED):
    buffer = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(buffer, "w", compress) as new:
        for name in old.namelist():
            content = change(name, old.read(name))
            if content is not None:
                new.writestr(name, content)
    return buffer.getvalue()


def test_records_that_do_not_fit():
    data = torch_bytes(REAL)
    for change, words in [
        (
            lambda name, content: None if name.endswith("data/0") else content,
            "failed locating file data/0: file not found",
        ),
        (
            lambda name, content: content[:-4] if name.endswith("data/0") else content,
            "record size \\(796 bytes\\) does not",
        ),
        (
            lambda name, content: content + b"xxxx" if name.endswith("data/0") else content,
            "record size \\(804 bytes\\)",
        ),
        (lambda name, content: None if name.endswith("data.pkl") else content, "failed locating file data.pkl"),
    ]:
        changed = rewritten(data, change)
        with pytest.raises(RuntimeError, match=words or None):
            our_load(changed)
        with pytest.raises(RuntimeError, match=words if "data.pkl" not in words else None):
            torch_load(changed)


def test_archives_that_other_tools_wrote_again():
    data = torch_bytes(REAL)
    for compress in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
        assert same(our_load(rewritten(data, lambda name, content: content, compress)))


def test_an_archive_behind_other_bytes():
    file = io.BytesIO(b"prefix" + torch_bytes(REAL))
    file.seek(6)
    assert same(serialization.load(file))


def test_a_bomb_of_compressed_zeros():
    data = rewritten(our_bytes(ms.from_numpy(np.arange(3.0))),
                     lambda name, content: bytes(50_000_000) if name.endswith("data/0") else content,
                     zipfile.ZIP_DEFLATED)  # fmt: skip
    with pytest.raises(RuntimeError, match="does not match expected size"):
        our_load(data)
