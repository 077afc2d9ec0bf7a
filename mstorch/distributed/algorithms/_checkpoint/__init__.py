"""Wrappers that keep fewer activations."""
