"""torch.nn.attention: registered flash attention implementations; varlen_attn into a given tensor."""
from __future__ import annotations

import importlib
import logging
from logging.handlers import BufferingHandler

import pytest

import mstorch
from tests.against_torch import both


def test_register_activate_restore():
    handler = BufferingHandler(100)

    def body(torch):
        a, seen = importlib.import_module(f"{torch.__name__}.nn.attention"), []

        class Handle:
            def remove(self):
                seen.append("removed")

        def register():
            seen.append("registered")
            return Handle()

        before = set(a.list_flash_attention_impls())
        a.register_flash_attention_impl("mine", register_fn=register)
        a.register_flash_attention_impl("no handle", register_fn=lambda: seen.append("called"))
        seen.append(sorted(set(a.list_flash_attention_impls()) - before))
        seen.append(a.current_flash_attention_impl())
        a.activate_flash_attention_impl("mine")
        seen.append(a.current_flash_attention_impl())
        a.activate_flash_attention_impl("mine")
        a.restore_flash_attention_impl()
        seen.append(a.current_flash_attention_impl())
        a.activate_flash_attention_impl("no handle")
        seen.append(a.current_flash_attention_impl())
        a.restore_flash_attention_impl()
        return seen

    loggers = [logging.getLogger(name) for name in ("torch.nn.attention._registry", "mstorch.nn.attention._registry")]
    for logger in loggers:
        logger.addHandler(handler)
    try:
        both(body)
    finally:
        for logger in loggers:
            logger.removeHandler(handler)
    assert sum("no custom impl was activated" in record.getMessage() for record in handler.buffer) == 2


def test_an_unknown_implementation():
    both(lambda torch: importlib.import_module(f"{torch.__name__}.nn.attention").activate_flash_attention_impl("none"),
         message="Unknown flash attention impl 'none'. Available implementations:")  # fmt: skip


def test_varlen_attn_out():
    torch = mstorch
    varlen = importlib.import_module("mstorch.nn.attention.varlen")
    q, k, v = (torch.rand(7, 2, 4, requires_grad=True) for _ in range(3))
    ends = torch.tensor([0, 3, 7])
    want, sums = varlen.varlen_attn(q, k, v, ends, ends, 4, 4, return_aux=varlen.AuxRequest(lse=True), window_size=(-1, 0))
    out = torch.full((7, 2, 4), 9.0)
    got = varlen.varlen_attn_out(out, q, k, v, ends, ends, 4, 4, window_size=(-1, 0))
    assert got is out and torch.equal(out, want) and not out.requires_grad
    both_parts = varlen.varlen_attn_out(out, q, k, v, ends, ends, 4, 4, window_size=(-1, 0), return_aux=varlen.AuxRequest(lse=True))
    assert both_parts[0] is out and torch.equal(both_parts[1], sums)
    with pytest.raises(ValueError, match="shape"):
        varlen.varlen_attn_out(torch.empty(2), q, k, v, ends, ends, 4, 4)
    both(lambda torch: importlib.import_module(f"{torch.__name__}.nn.attention.varlen").varlen_attn_out(
        torch.empty(1), torch.ones(1, 2, 4), torch.ones(1, 1, 4), torch.ones(1, 1, 4), None, None, 1, 1))  # fmt: skip
