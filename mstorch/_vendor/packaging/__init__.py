"""torch._vendor.packaging: the installed `packaging`."""
