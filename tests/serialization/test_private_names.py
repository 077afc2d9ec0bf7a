"""Private names of ``torch.serialization`` that packages import, compared with torch."""
from __future__ import annotations

import gzip
import io
import warnings

import pytest


def test_openers(both, tmp_path):
    def body(torch):
        home = torch.serialization
        path = tmp_path / torch.__name__
        with home._open_file_like(path, "wb") as file:
            file.write(b"some")
        with home._open_file_like(path, "rb") as file:
            read = file.read()
        buffer = io.BytesIO()
        with home._open_zipfile_writer(buffer) as archive:
            archive.write_record("a", b"text", 4)
        buffer.seek(0)
        with home._open_zipfile_reader(buffer) as archive:
            names = archive.get_all_records()
        kinds = [issubclass(getattr(home, name), home._opener) for name in ("_open_file", "_open_buffer_reader", "_open_zipfile_writer_file")]
        with open(path, "rb") as file:
            direct = home._should_read_directly(file), home._should_read_directly(io.BytesIO())
        with gzip.open(path, "rb") as packed:
            return read, "a" in names, kinds, direct, home._is_compressed_file(packed), home._should_read_directly(packed)

    both(body)


def test_tags_and_checks(both):
    def body(torch):
        home = torch.serialization
        storage, meta = torch.ones(2).untyped_storage(), torch.ones(2, device="meta").untyped_storage()
        restored = home._meta_deserialize(storage, "meta")
        return (
            [home._cpu_tag(one) for one in (storage, meta)], [home._meta_tag(one) for one in (storage, meta)],
            home._cpu_deserialize(3, "cpu"), home._cpu_deserialize(3, "cuda"), str(restored.device), restored.nbytes(),
            [home._is_meta_location(one) for one in ("meta", torch.device("meta"), {"a": "meta"}, None)], home._get_storage_alignment(),
            home._default_to_weights_only(None), home._default_to_weights_only(io), home._maybe_decode_ascii(b"a"),
            home._get_restore_location({"cuda:0": "cpu"})(storage, "cuda:0").device.type,
        )  # fmt: skip

    both(body)


@pytest.mark.parametrize("name", ["_check_save_filelike", "_check_seekable", "_open_zipfile_writer"])
def test_errors(both, name):
    both(lambda torch: getattr(torch.serialization, name)(3))


def test_a_mode_that_is_none(both):
    both(lambda torch: torch.serialization._open_file_like(io.BytesIO(), "x"))


def test_types(both):
    def body(torch):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return torch.serialization.normalize_storage_type(torch.FloatStorage).__name__

    both(body)
