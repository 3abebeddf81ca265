"""A step in words: what happens, by which rule, with which checks, and what the client sees of it."""
