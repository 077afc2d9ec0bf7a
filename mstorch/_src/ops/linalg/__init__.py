"""Matrix products, factorizations, solvers."""
