"""Runs and searches on the timed clock: landscapes, limits, the critical path, costs."""
