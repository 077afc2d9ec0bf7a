"""MindSpore's own Ascend plugin on a machine without an Ascend: CANN is emulated below it (README.md)."""
