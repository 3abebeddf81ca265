"""Searches and runs in the formats of TLA+'s tools: a module that TLC checks, ITF, and traces that are read back."""
