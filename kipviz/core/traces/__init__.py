"""Traces: the tree of what was tried, in memory and in a file."""
