"""How the outcomes of checks become the outcome of a run: one module a policy."""
