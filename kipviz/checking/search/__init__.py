"""Exhaustive search: every interleaving of a small cluster, what may be left out, and what is pending for ever."""
