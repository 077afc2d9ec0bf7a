"""Activation checkpointing and offloading wrappers."""
