"""torch's CPU random numbers, reproduced bit by bit in NumPy.

The functions take an Engine as first argument. ``dtype`` is given by torch's name, and they return an array of that dtype; for bfloat16 one
of float32."""

from .continuous import cauchy as cauchy
from .continuous import exponential as exponential
from .continuous import log_normal as log_normal
from .counts import binomial as binomial
from .counts import poisson as poisson
from .discrete import bernoulli as bernoulli
from .discrete import bernoulli_each as bernoulli_each
from .discrete import dropout_bits as dropout_bits
from .discrete import dropout_mask as dropout_mask
from .discrete import geometric as geometric
from .discrete import multinomial as multinomial
from .engine import DEFAULT_SEED as DEFAULT_SEED
from .engine import STATE_SIZE as STATE_SIZE
from .engine import Engine as Engine
from .gamma import dirichlet as dirichlet
from .gamma import standard_gamma as standard_gamma
from .integer import permutation as permutation
from .integer import random_all as random_all
from .integer import random_between as random_between
from .normal import normal as normal
from .normal import normal_around as normal_around
from .truncated import trunc_normal as trunc_normal
from .uniform import uniform as uniform
