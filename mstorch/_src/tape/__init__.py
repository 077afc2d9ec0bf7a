"""The autograd graph and the backward engine; nothing in this package depends on public functions."""
