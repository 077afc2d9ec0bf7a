"""Kullback-Leibler divergences: ``kl_divergence`` of two distributions, ``register_kl`` for more pairs of classes."""
from . import _kl_cross, _kl_same
from ._kl_registry import _KL_MEMOIZE, _KL_REGISTRY, _dispatch_kl, kl_divergence, register_kl
from ._kl_same import _kl_expfamily_expfamily as _kl_expfamily_expfamily

__all__ = ["kl_divergence", "register_kl"]
