"""``torch.load(…, map_location="meta")``: views keep their storages' sizes, their offsets and strides."""
from __future__ import annotations

import io

import pytest


@pytest.mark.parametrize("where", ["meta", "device", "function", "dict"])
@pytest.mark.parametrize("options", [{}, {"weights_only": False}])
def test_views(both, where, options):
    def body(torch):
        big = torch.arange(10000.0)
        views = {
            "window": big[5:15], "column": big.view(100, 100)[:, 3], "transposed": big.view(100, 100).t(), "empty": big[:0], "one": big[3],
            "whole": big, "parameter": torch.nn.Parameter(torch.ones(2, 3)), "expanded": big.expand(2, 10000),
            "other": torch.ones(4, dtype=torch.complex64)[1:],
        }  # fmt: skip
        file = io.BytesIO()
        torch.save(views, file)
        file.seek(0)
        location = {"meta": "meta", "device": torch.device("meta"), "dict": {"cpu": "meta", "npu:0": "meta"}, "function": lambda storage, place: storage}[where]
        loaded = torch.load(file, map_location=location, **options)
        return {
            name: (x.shape, x.stride(), x.storage_offset(), x.dtype, x.is_meta, x.untyped_storage().nbytes(), x.requires_grad, x._version)
            for name, x in loaded.items()
        }

    both(body)
