"""Values that need no operation: dtypes, devices, sizes, promotion rules, storage cells and views."""
