"""Calls of ATen operators below autograd, which ``__torch_dispatch__`` sees.

A public call under such a mode or with such a tensor is bound to an overload (``binding``), or decomposed into several as torch does
(``composites``). Each overload is passed to its handler, and enters the autograd graph with a gradient in terms of ATen operators
(``calling``, ``derivatives``), so that the handler sees the operators of backward too.
"""
