"""Calls below autograd, by the names of torch's own library, which ``__torch_dispatch__`` sees.

A public call with such a mode or tensor is bound to an overload (``binding``), or taken apart into several as torch does
(``composites``); each is shown to whoever takes it and recorded on the tape with a gradient in the same terms (``calling``,
``derivatives``), so that backward is seen too.
"""
