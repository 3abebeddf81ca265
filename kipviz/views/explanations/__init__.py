"""A step in words: what happens, by which rule, with which checks, and what a client makes of it."""
