"""torch.utils.deterministic: how far results are the same in each run."""

# Whether new memory without values of its own is filled under use_deterministic_algorithms; here it always is, with zeros.
fill_uninitialized_memory = True

__all__ = ["fill_uninitialized_memory"]
