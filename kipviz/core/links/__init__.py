"""Permalinks: what they contain, and their letters."""
