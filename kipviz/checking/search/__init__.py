"""Exhaustive search: every interleaving of a small cluster, sound reductions, and what can never be resolved."""
