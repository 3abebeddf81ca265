"""Check whether a model's properties hold: seeded runs, exhaustive search, comparison."""
