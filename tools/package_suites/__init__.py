"""Run packages' own test suites on torch and on mstorch, and count the tests that pass on both."""
