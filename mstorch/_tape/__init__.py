"""The tape: what was computed from what, and how gradients go back. Nothing here knows a public function."""
