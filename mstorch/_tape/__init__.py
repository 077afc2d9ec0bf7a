"""The tape of recorded operations and the backward engine; nothing here depends on public functions."""
