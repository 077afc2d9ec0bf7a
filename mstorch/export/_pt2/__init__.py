"""torch's ``.pt2`` archives: programs as JSON by torch's published schema, with tensors as raw bytes beside it."""
