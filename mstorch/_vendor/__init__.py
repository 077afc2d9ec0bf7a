"""torch._vendor: packages that torch carries with it."""
