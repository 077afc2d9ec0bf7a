"""Packages' own test suites as a measure: what of the tests that pass on torch pass on mstorch."""
