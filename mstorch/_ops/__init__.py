"""torch's functions, one file a family, named like the kernel files."""
