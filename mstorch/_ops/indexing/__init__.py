"""Elements by positions, masks and keys: read, written, scattered."""
