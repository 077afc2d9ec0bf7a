"""Objects without operations: dtypes, devices, sizes, promotion rules, storages and views."""
